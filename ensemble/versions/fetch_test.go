package versions

import (
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// An archive whose signature cannot be checked is refused, and nothing is left of the attempt.
func TestAnUnsignedArchiveIsRefused(t *testing.T) {
	if err := needs(); err != nil && os.Getenv("ZKBENCH_REQUIRE_PACKAGES") == "1" {
		t.Fatalf("ZKBENCH_REQUIRE_PACKAGES=1: %v", err)
	} else if err != nil {
		t.Skip(err)
	}
	var asked atomic.Int32
	archive := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1); strings.HasSuffix(r.URL.Path, "/InRelease") || !strings.HasSuffix(r.URL.Path, "Release") {
			http.NotFound(w, r)
			return
		}
		w.Write([]byte("Origin: Debian\nSuite: stable\nCodename: trixie\nDate: Sat, 06 Sep 2025 10:00:00 UTC\nComponents: main\nArchitectures: amd64 arm64\nSHA256:\n"))
	}))
	defer archive.Close()
	cache := t.TempDir()
	t.Setenv(CacheVariable, cache)
	t.Setenv("no_proxy", "127.0.0.1")
	var said []string
	_, err := Fetch(t.Context(), "3.9.3", archive.URL, func(s string) { said = append(said, s) })
	if err == nil || !strings.Contains(err.Error(), "not signed") && !strings.Contains(err.Error(), "NO_PUBKEY") {
		t.Errorf("Fetch(an unsigned archive) = %v, want the refusal of apt", err)
	}
	if asked.Load() == 0 {
		t.Error("apt did not ask the archive")
	}
	if len(said) < 2 || !strings.Contains(said[0], archive.URL) || !strings.Contains(said[1], cache) || !strings.Contains(said[1], keyring) {
		t.Errorf("before the fetch it said %q: not the source, what it needs and what it writes", said)
	}
	if left, err := os.ReadDir(cache); err != nil || len(left) != 0 {
		t.Errorf("left in the cache: %v, %v", left, err)
	}
	if _, err := Fetch(t.Context(), "3.7.0", archive.URL, func(string) {}); err == nil || !strings.Contains(err.Error(), "3.4.13, 3.8.0, 3.9.3") {
		t.Errorf("Fetch(a version of no release) = %v, does not say which there are", err)
	}
}

func TestClosure(t *testing.T) {
	packages, has := closure("Reading package lists...\nInst libc6 (2.41-12 Debian:13.8/stable [amd64]) []\nInst libnetty-java (1:4.1.48-10 Debian:13.8/stable [all])\n" +
		"Inst libzookeeper-java (3.9.3-1+deb13u1 Debian:13.8/stable [all])\nConf libc6 (2.41-12 Debian:13.8/stable [amd64])\nConf libnetty-java (1:4.1 x [all])\n")
	if !slices.Equal(packages, []string{"libnetty-java", "libzookeeper-java"}) || has != "3.9.3-1+deb13u1" {
		t.Errorf("closure() = %q, %q", packages, has)
	}
}

func TestMirrorOfTheSystem(t *testing.T) {
	for _, test := range []struct{ name, targets, want string }{
		{"Debian's own", "http://a/debian/ bookworm-updates main Debian\nhttp://a/debian/ bookworm main Debian\nhttp://a/debian-security/ bookworm-security main Debian\n", "http://a/debian/"},
		{"another archive for the same release", "http://b/ bookworm main Other\nhttp://a/debian/ bookworm main Debian\n", "http://a/debian/"},
		{"before the first update", "http://a/debian/ bookworm main\n", "http://a/debian/"},
		{"an archive for Debian with another component", "http://b/debian bookworm stable\n", ""},
		{"Ubuntu", "http://u/ubuntu/ noble main Ubuntu\n", ""},
		{"none", "", ""},
	} {
		if got := mirrorIn(test.targets); got != test.want {
			t.Errorf("%s: mirrorIn() = %q, want %q", test.name, got, test.want)
		}
	}
}
