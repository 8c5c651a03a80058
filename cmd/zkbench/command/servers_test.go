package command

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
)

func TestUpAndDown(t *testing.T) {
	ensembletest.NeedServers(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	before := javas(t)
	zkbench(t, "up", "--print-servers").want(exitFailed, "no ensemble is up", "zkbench up starts one")
	zkbench(t, "down").want(exitFailed, "no ensemble is up")
	o := zkbench(t, "up", "-n", "1").want(exitOK, "starting 1 ZooKeeper server\n", "data and logs in")
	address := strings.TrimSpace(o.stdout)
	defer func() {
		if t.Failed() {
			zkbench(t, "down")
		}
	}()
	zkbench(t, "up", "-n", "1").want(exitFailed, "an ensemble is already up at "+address, "zkbench down stops it")
	if o := zkbench(t, "up", "--print-servers").want(exitOK); o.stdout != address+"\n" {
		t.Errorf("up --print-servers prints %q, want %q", o.stdout, address)
	}
	wantEmpty(t, address)
	zkbench(t, "down").want(exitOK, "the ensemble is down")
	if after := javas(t); len(after) != len(before) {
		t.Errorf("servers %v run, before %v", after, before)
	}
	zkbench(t, "down").want(exitFailed, "no ensemble is up")
}
