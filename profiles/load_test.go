package profiles

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestBuiltin(t *testing.T) {
	all, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range all {
		names = append(names, p.Name)
		if p.Description == "" || p.Seed != 7 || p.Ensemble != "local:3" && p.Name != "failover" {
			t.Errorf("built-in profile %s: description %q, seed %d, ensemble %s", p.Name, p.Description, p.Seed, p.Ensemble)
		}
		written, err := Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse("again.yaml", written)
		if err != nil || !equal(p, again) {
			t.Errorf("%s does not survive Marshal: %v\n%s", p.Name, err, written)
		}
	}
	if got := strings.Join(names, " "); got != "barrier-release barriers config counters delay-queue double-barriers elections failover faults fencing lock-5000 locks membership multi-locks priority-queue published queue-faults queues quickstart rendezvous rw-locks two-phase-commit" {
		t.Errorf("Builtin() = %s", got)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "mine.yaml")
	if err := os.WriteFile(file, []byte(least), 0o600); err != nil {
		t.Fatal(err)
	}
	long := filepath.Join(dir, "long.yaml")
	if err := os.WriteFile(long, make([]byte, maxSize+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, stdin, want, fault string }{
		{name: "quickstart", want: "quickstart"},
		{name: file, want: "mine"},
		{name: "-", stdin: least, want: "stdin"},
		{name: "-", stdin: "sessions: none", fault: `stdin:1:11: sessions: "none" is not a whole number`},
		{name: "quikstart", fault: `no built-in profile and no file is called "quikstart"; did you mean quickstart? built in are barrier-release, barriers, config, counters, delay-queue, double-barriers, elections, failover, faults, fencing, lock-5000, locks, `},
		{name: "xyzzy", fault: `is called "xyzzy"; built in are barrier-release, barriers, config, counters, delay-queue, double-barriers, elections, failover, faults, fencing, lock-5000, locks, `},
		{name: filepath.Join(dir, "none.yaml"), fault: "read profile: open"},
		{name: dir, fault: "read profile " + dir},
		{name: long, fault: "longer than 1 MiB"},
	} {
		p, err := load(c.name, strings.NewReader(c.stdin))
		switch {
		case c.fault == "" && (err != nil || p.Name != c.want):
			t.Errorf("Load(%s) = %s, %v, want %s", c.name, p.Name, err, c.want)
		case c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)):
			t.Errorf("Load(%s) = %v, want %s", c.name, err, c.fault)
		}
	}
	if _, err := Load("xyzzy"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Load(xyzzy) = %v, want fs.ErrNotExist", err)
	}
}

func TestQuickstart(t *testing.T) {
	p, err := Load("quickstart")
	if err != nil {
		t.Fatal(err)
	}
	if p.Hold.String() != "5ms" || p.Duration != 6*time.Second || len(p.Rate) != 0 || p.At("variants", 1) != "builtin:quickstart.yaml:7:19" {
		t.Errorf("quickstart = %+v, predecessor at %s", p, p.At("variants", 1))
	}
}
