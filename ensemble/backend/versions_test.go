package backend

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/ensemble/versions"
	"github.com/zkbench/zkbench/internal/tier"
)

// Three servers of each version start, serve, and answer with that version. All classes that they load are of one place, whatever is installed in
// /usr/share/java, where the manifests of Debian's jars point to.
func TestEveryVersionStarts(t *testing.T) {
	tier.Long(t, "fetches three versions from Debian's archive; TestTheVersionAskedForIsTheOneThatAnswers")
	for _, r := range versions.Releases() {
		t.Run(r.Version, func(t *testing.T) {
			ensembletest.NeedVersion(t, r.Version)
			p, err := versions.Find(r.Version)
			if err != nil {
				t.Fatal(err)
			}
			loaded := t.TempDir()
			l, err := local.Start(t.Context(), local.Config{ZooKeeper: r.Version, Heap: "128m", Tick: 500 * time.Millisecond,
				JavaArgs: []string{"-Xlog:class+load:file=" + filepath.Join(loaded, "%p")}})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if about := l.Describe(); about.Version != r.Version || about.Java == "" {
				t.Errorf("Describe() = version %q, Java %q, want %s and Java's version", about.Version, about.Java, r.Version)
			}
			for _, s := range l.Stats(t.Context()) {
				if s.Err != nil || s.Version != r.Version || s.From != "mntr" {
					t.Errorf("server %d: version %q from %s, %v", s.Server, s.Version, s.From, s.Err)
				}
				if said := word(t, s.Address, "srvr"); !strings.HasPrefix(said, "Zookeeper version: "+r.Version) {
					t.Errorf("server %d answers srvr with %q", s.Server, said)
				}
				if err := ensemble.Dialer(nil).Serves(t.Context(), s.Address); err != nil {
					t.Errorf("server %d: %v", s.Server, err)
				}
			}
			var ours []string
			for _, jar := range p.ClassPath {
				real, err := filepath.EvalSymlinks(jar) // Java says what a link points to
				if err != nil {
					t.Fatal(err)
				}
				ours = append(ours, real)
			}
			jars := loadedFrom(t, loaded)
			if len(jars) == 0 {
				t.Error("no server says what it loaded")
			}
			for _, jar := range jars {
				if !slices.Contains(ours, jar) {
					t.Errorf("a class comes from %s, which is not in the class path of %s", jar, p.Source)
				}
			}
		})
	}
}

// word asks a server over a plain connection.
func word(t *testing.T, address, word string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, word)
	said, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(said)
}

// loadedFrom returns the jars in the logs of loaded classes, with lines such as '[0.1s][info][class,load] org.a.B source: file:/usr/share/java/a.jar'.
func loadedFrom(t *testing.T, dir string) (jars []string) {
	t.Helper()
	logs, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, log := range logs {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if _, jar, ok := strings.Cut(strings.TrimSpace(line), "source: file:"); ok && !slices.Contains(jars, jar) {
				jars = append(jars, jar)
			}
		}
	}
	return jars
}

// A server with a library of another version dies at its first connection; the error names the jars.
func TestMixedJarsAreNamed(t *testing.T) {
	tier.Long(t, "fetches two versions from Debian's archive; TestTheClassPathOfAPackageIsOfOneRoot")
	ensembletest.NeedVersion(t, "3.8.0")
	ensembletest.NeedVersion(t, "3.9.3")
	p, err := versions.Find("3.9.3")
	if err != nil {
		t.Fatal(err)
	}
	old, err := versions.Find("3.8.0")
	if err != nil {
		t.Fatal(err)
	}
	mixed := t.TempDir()
	for _, jar := range append(p.ClassPath, filepath.Join(filepath.Dir(old.Source), "zookeeper-jute.jar")) {
		text, err := os.ReadFile(jar)
		if err == nil {
			err = os.WriteFile(filepath.Join(mixed, filepath.Base(jar)), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", t.TempDir())
	l, err := local.Start(t.Context(), local.Config{Servers: 1, ZooKeeper: mixed, Heap: "128m", StartTimeout: 20 * time.Second})
	if err == nil {
		l.Close()
		t.Fatal("Start(a server of 3.9.3 with the jute of 3.8.0) = nil, want an error")
	}
	if !errors.Is(err, ensemble.ErrNotReady) || !strings.Contains(err.Error(), "NoSuchMethodError") || !strings.Contains(err.Error(), filepath.Join(mixed, "zookeeper-jute.jar")) {
		t.Errorf("Start() = %v, does not name the jars that are mixed", err)
	}
}

func TestTheVersionAskedForIsTheOneThatAnswers(t *testing.T) {
	ensembletest.NeedServers(t)
	ctx := t.Context()
	e, err := Start(ctx, ensemble.Target{Local: 1}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	has := e.Describe().Version
	at := func(asked string) error {
		other, err := Start(context.WithoutCancel(ctx), ensemble.Target{Addresses: e.Addresses(), ZooKeeper: asked}, Options{})
		if err == nil {
			other.Close()
		}
		return err
	}
	if err := at(has); err != nil {
		t.Errorf("Start(servers of %s, which was asked for) = %v", has, err)
	}
	if err := at("3.0.1"); !errors.Is(err, ensemble.ErrVersion) || !strings.Contains(err.Error(), has) || !strings.Contains(err.Error(), "3.0.1") {
		t.Errorf("Start(servers of %s, but 3.0.1 was asked for) = %v, want ErrVersion with both", has, err)
	}
	for _, target := range []ensemble.Target{{Addresses: e.Addresses(), ZooKeeper: "/opt/zookeeper"}, {Compose: 3, ZooKeeper: "/opt/zookeeper"}, {Local: 3, ZooKeeper: "/no/such/directory"},
		{Local: 3, ZooKeeper: "3.0.1"}} {
		if err := Check(target); err == nil || !strings.Contains(err.Error(), target.ZooKeeper) {
			t.Errorf("Check(%v with ZooKeeper %s) = %v, want an error that names it", target, target.ZooKeeper, err)
		}
	}
}
