package command

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

// Whatever prevents a run: exit code 1, a message that names the place and the remedy, and neither a result nor a znode nor a server
// left behind.

func TestJavaMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("JAVA_HOME", "")
	dir := out(t)
	zkbench(t, "run", small(t), "--out", dir).want(exitFailed, "no Java found", "sudo apt-get install default-jre-headless", "JAVA_HOME")
	wantMissing(t, dir)
	t.Setenv("JAVA_HOME", "/nowhere")
	zkbench(t, "run", small(t), "--out", dir).want(exitFailed, "JAVA_HOME is /nowhere", "correct JAVA_HOME or unset it")
}

// If ZooKeeper is in the usual places, only the variable can make it missing. Package ensemble tests the message without the variable.
func TestZooKeeperMissing(t *testing.T) {
	ensembletest.NeedServers(t)
	empty, dir := t.TempDir(), out(t)
	t.Setenv("ZOOKEEPER_HOME", empty)
	zkbench(t, "run", small(t), "--out", dir).want(exitFailed, "no ZooKeeper found", "ZOOKEEPER_HOME "+empty, "zookeeper-*.jar", "unset it",
		"sudo apt-get install zookeeper")
	wantMissing(t, dir)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	zkbench(t, "up").want(exitFailed, "no ZooKeeper found")
}

// In a separate mount namespace the process sees empty files in the usual places.
func TestZooKeeperNotInstalled(t *testing.T) {
	ensembletest.NeedServers(t)
	t.Setenv("DOCKER_HOST", "unix:///nowhere") // otherwise the run would use containers
	dir := out(t)
	o := inChild(t, hidden+"/usr/share/java", "", "run", small(t), "--out", dir)
	o.want(exitFailed, "no ZooKeeper found in /usr/share/java/zookeeper.jar", "sudo apt-get install zookeeper", "ZOOKEEPER_HOME")
	wantMissing(t, dir)
}

func TestServersUnreachable(t *testing.T) {
	t.Parallel()
	address, dir := freeAddress(t), out(t)
	zkbench(t, "run", small(t), "--servers", address, "--out", dir).want(exitFailed, address, "unreachable", "that the servers run")
	wantMissing(t, dir)
	zkbench(t, "clean", "--servers", address).want(exitFailed, address, "unreachable")
}

// Another program listens on the port, and hangs up on four-letter words.
func TestThePortIsSomebodyElses(t *testing.T) {
	t.Parallel()
	address, dir := ensembletest.Listen(t, func(c net.Conn) { c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) }), out(t)
	zkbench(t, "run", small(t), "--servers", address, "--out", dir).want(exitFailed, address)
	wantMissing(t, dir)
}

func TestAServerWithoutQuorum(t *testing.T) {
	t.Parallel()
	e := servers.Get(t, 3)
	ctx, dir := t.Context(), out(t)
	for _, id := range []int{2, 3} {
		if err := e.Kill(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	o := zkbench(t, "run", small(t), "--servers", strings.Join(e.Addresses(), ","), "--out", dir)
	for _, id := range []int{2, 3} {
		if err := e.Restart(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	o.want(exitFailed, "no quorum", "none of 3 servers serves", "start at least 2", e.Addresses()[0], e.Addresses()[1], e.Addresses()[2])
	wantMissing(t, dir)
	if err := e.Ready(ctx); err != nil {
		t.Fatal(err)
	}
}

// Without four-letter words the run is carried out, and says what is missing in its result.
func TestFourLetterWordsOff(t *testing.T) {
	t.Parallel()
	e := ensembletest.Start(t, 1, func(c *local.Config) { c.Extra = map[string]string{"4lw.commands.whitelist": "ruok"} })
	o, dir := evident(t, "run", small(t, "duration: 1500ms"), "--servers", e.Addresses()[0])
	o.want(exitOK, "warning: server 1", "four-letter words off",
		"4lw.commands.whitelist=mntr,srvr,conf")
	r := result(t, dir)
	if r.Partial || len(r.Cells) != 1 || r.Cells[0].Server != nil || !strings.Contains(strings.Join(r.Cells[0].Notes, "\n"), "failed to report its figures") {
		t.Errorf("result %+v, want a whole one that notes the missing figures", r)
	}
	wantEmpty(t, e.Addresses()[0])
}

func TestMoreSessionsThanFileDescriptors(t *testing.T) {
	t.Parallel()
	e, dir := servers.Get(t, 1), out(t)
	o := inChild(t, "limited", "ulimit -n 200", "run", small(t, "sessions: 500"), "--servers", e.Addresses()[0], "--out", dir)
	o.want(exitFailed, "501 sessions need 565 open files here", "(limit 200", "ulimit -n ", "/etc/security/limits.conf")
	wantMissing(t, dir)
	wantEmpty(t, e.Addresses()[0])
}

// The directory has room for two pages: for the profile, and for a part of what a second of load writes.
func TestTheDiskIsFull(t *testing.T) {
	t.Parallel()
	e, disk := servers.Get(t, 1), t.TempDir()
	o := inChild(t, tiny+disk, "", "run", small(t, "duration: 600ms", "repetitions: 8"), "--servers", e.Addresses()[0], "--out", filepath.Join(disk, "r"))
	o.want(exitFailed, "no space left on device", "free some space, or choose another directory with --out", "PARTIAL RESULT")
	for line := range strings.Lines(o.stderr) {
		if progress := strings.HasPrefix(line, "["); !progress && strings.Count(o.stderr, line) > 1 {
			t.Errorf("standard error says more than once: %s", line)
		}
	}
	wantEmpty(t, e.Addresses()[0])
}

func TestTheResultsDirectoryIsUsed(t *testing.T) {
	t.Parallel()
	e, dir := servers.Get(t, 1), out(t)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	before := []byte("of somebody's")
	if err := os.WriteFile(filepath.Join(dir, results.RunFile), before, 0o644); err != nil {
		t.Fatal(err)
	}
	zkbench(t, "run", small(t), "--servers", e.Addresses()[0], "--out", dir).want(exitFailed, "a result exists already", dir, "--out")
	if after, err := os.ReadFile(filepath.Join(dir, results.RunFile)); string(after) != string(before) {
		t.Errorf("the result is %q now (%v), want it untouched", after, err)
	}
	if names, _ := os.ReadDir(dir); len(names) != 1 {
		t.Errorf("the directory holds %v, want nothing new", names)
	}
}

func TestTheRootIsThere(t *testing.T) {
	t.Parallel()
	e, dir := servers.Get(t, 1), out(t)
	s := session(t, e.Addresses()[0])
	if _, err := s.Create(t.Context(), "/theirs", []byte("precious"), zk.Persistent); err != nil {
		t.Fatal(err)
	}
	defer s.Delete(t.Context(), "/theirs", zk.AnyVersion)
	zkbench(t, "run", small(t), "--servers", e.Addresses()[0], "--root", "/theirs", "--out", dir).want(exitFailed, "the root already exists",
		"/theirs", "--root", "zkbench clean")
	wantMissing(t, dir)
	if data, st, err := s.Get(t.Context(), "/theirs"); err != nil || string(data) != "precious" || st.NumChildren != 0 || st.Version != 0 {
		t.Errorf("the foreign znode is %q, %+v (%v) now, want it untouched", data, st, err)
	}
	zkbench(t, "run", small(t), "--servers", e.Addresses()[0], "--root", "/zookeeper", "--out", dir).want(exitUsage, `"/zookeeper"`, "absolute path")
}
