package command

import (
	"archive/tar"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A result is sent as one tar. It is sent again to a server that fails once, but not to one that refuses it.
func TestShip(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "share-1")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"run.json": "{}", "history-x.gz": strings.Repeat("x", 100000)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	puts := map[string]int{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		puts[r.URL.Path]++
		switch {
		case r.URL.Path == "/refused":
			w.WriteHeader(http.StatusForbidden)
		case r.URL.Path == "/down" || puts[r.URL.Path] == 1:
			w.WriteHeader(http.StatusInternalServerError)
		default:
			in, names := tar.NewReader(r.Body), []string{}
			for h, err := in.Next(); !errors.Is(err, io.EOF); h, err = in.Next() {
				if err != nil {
					t.Error(err)
					return
				}
				names = append(names, h.Name)
			}
			if !slices.Equal(names, []string{"share-1/history-x.gz", "share-1/run.json"}) || r.Method != http.MethodPut || r.ContentLength < 100000 {
				t.Errorf("%s of %d bytes with %v", r.Method, r.ContentLength, names)
			}
		}
	}))
	defer s.Close()
	for path, want := range map[string]string{"/bench/": "", "/x.tar?token=secret": "", "/refused?token=secret": "403 Forbidden", "/down?token=secret": "500"} {
		err := ship(t.Context(), s.URL+path, dir)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), dir) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if puts["/bench/share-1.tar"] != 2 || puts["/x.tar"] != 2 || puts["/refused"] != 1 || puts["/down"] != shipTries {
		t.Errorf("the requests were %v", puts)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), ".ship-*")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	if got := concealed([]string{"run", "--ship", "https://u:p@h/a?t=1", "--ship=http://h/b?t=2"}); !slices.Equal(got, []string{"run", "--ship", "https://h/a", "--ship=http://h/b"}) {
		t.Errorf("concealed() = %v", got)
	}
	for _, bad := range []string{"ftp://h/x", "/x", "http://", "%"} {
		if _, err := shipTarget(bad, dir); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
