package ensembletest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/wire"
)

// complaints is a test that records its failures.
type complaints struct {
	testing.TB
	said []string
}

func (c *complaints) Helper() {}
func (c *complaints) Errorf(format string, args ...any) {
	c.said = append(c.said, args[0].(string)+": "+format)
}

func TestTheOnlookerSeesWhatChanges(t *testing.T) {
	NeedServers(t)
	e, err := local.Start(t.Context(), config(1, nil)) // without another onlooker
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s, err := wire.Dial(t.Context(), wire.Config{Servers: e.Addresses(), Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := context.WithoutCancel(t.Context())
	create := func(path string) error { _, err := s.Create(ctx, path, nil, zk.Persistent); return err }
	for _, path := range []string{"/others", "/others/child"} {
		if err := create(path); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		do, undo func() error
		strict   bool
		want     string
	}{
		"nothing":          {want: ""},
		"a strange znode":  {do: func() error { return create("/new") }, undo: func() error { return s.Delete(ctx, "/new", -1) }, strict: true, want: "/new"},
		"one that may be":  {do: func() error { return create("/new") }, undo: func() error { return s.Delete(ctx, "/new", -1) }},
		"the same data":    {do: func() error { _, err := s.Set(ctx, "/others", nil, -1); return err }, strict: true, want: "/others"},
		"gone":             {do: func() error { return s.Delete(ctx, "/others/child", -1) }, undo: func() error { return create("/others/child") }, strict: true, want: "/others/child"},
		"made again":       {do: func() error { return s.Delete(ctx, "/others/child", -1) }, undo: func() error { return create("/others/child") }, want: ""},
		"come and gone":    {do: func() error { create(Garden + "/x"); return s.Delete(ctx, Garden+"/x", -1) }, want: Garden},
		"the garden's own": {do: func() error { _, err := s.Set(ctx, Garden+"/config", []byte("x"), -1); return err }, want: Garden + "/config"},
	} {
		c := &complaints{TB: t}
		o := &Onlooker{addresses: e.Addresses(), strict: test.strict}
		if err := o.plant(); err != nil {
			t.Fatal(err)
		}
		for _, do := range []func() error{test.do, func() error { return o.Compare(c) }, test.undo} {
			if do != nil && do() != nil {
				t.Fatalf("%s: cannot be done", name)
			}
		}
		if said := strings.Join(c.said, "\n"); (said == "") != (test.want == "") || !strings.HasPrefix(said, test.want) {
			t.Errorf("%s: the onlooker says %q, want %q", name, said, test.want)
		}
	}
}
