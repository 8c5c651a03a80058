package command

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/internal/tier"
)

// The first of two processes kills the server of 'zkbench up', which comes back: both processes and the merged run know that this was planned.
func TestTheFirstShareInjectsFaultsOfServers(t *testing.T) {
	tier.Long(t, "waits for faults of servers; TestAServerIsKilledDuringTheRun has one without shares")
	ensembletest.NeedServers(t)
	differing, dir := ensembletest.Start(t, 1).Addresses()[0], t.TempDir()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	address := strings.TrimSpace(zkbench(t, "up", "-n", "1").want(exitOK).stdout)
	defer func() { zkbench(t, "down").want(exitOK) }()
	profile := small(t, "sessions: 6", "objects: 6", "rate: 60", "duration: 12s", "drain: 10s", "session_timeout: 8s", "saturation: allowed", "faults: [{at: 2s, kind: kill, server: 1, for: 1s}]")
	args := func(share string) []string {
		return []string{"run", profile, "--servers", address, "--share", share, "--meet", "zk://" + differing + "/" + filepath.Base(dir), "--quiet", "--out", filepath.Join(dir, share)}
	}
	zkbench(t, "ab", "--a", profile, "--b", profile, "--servers", address, "--share", "1/2", "--meet", "zk://"+differing+"/ab", "--out", out(t)).want(exitUsage, "not supported in searches and comparisons of several shares")
	var ends [2]ending
	var wait sync.WaitGroup
	for i := range ends {
		wait.Go(func() { ends[i] = inChild(t, "plain", "", args(fmt.Sprintf("%d/2", i+1))...) })
	}
	wait.Wait()
	for i := range ends {
		ends[i].want(exitOK, "kill, server 1")
		doc := result(t, filepath.Join(dir, fmt.Sprintf("%d/2", i+1)))
		if all := doc.Cells[0].Faults; len(all) != 1 || all[0].Error != "" || all[0].SessionsCut == nil || *all[0].SessionsCut != 3 {
			t.Errorf("share %d has the faults %+v, want that the kill cut its 3 sessions off", i+1, all)
		}
	}
	merged := filepath.Join(dir, "merged")
	zkbench(t, "merge", filepath.Join(dir, "2/2"), filepath.Join(dir, "1/2"), "--out", merged).wantEnd("kill, server 1", "merged from 2 shares") // on a busy machine there may be no evidence
	zkbench(t, "validate-result", merged).want(exitOK, "consistent")
	f := result(t, merged).Cells[0].Faults
	if len(f) != 1 || *f[0].SessionsCut != 6 || f[0].BackHalf == nil || f[0].BackAll == nil || *f[0].HealedS < f[0].AtS+1 || f[0].LongestPause == nil || *f[0].LongestPause <= *f[0].PauseBefore {
		t.Errorf("the merged run has the faults %+v, want the kill of 6 sessions, all of which came back, and a longer pause than before", f)
	}
}

func TestFaultsThatSharesCannotInject(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	kill, expire := small(t, "faults: [{at: 100ms, kind: kill, server: 1}]"), small(t, "faults: [{at: 100ms, kind: expire, session: 1}]")
	meet := []string{"--meet", "zk://127.0.0.1:1/x", "--servers", "127.0.0.1:1", "--share", "1/2"}
	zkbench(t, append([]string{"run", kill}, meet...)...).want(exitUsage, "servers that somebody else runs", "zkbench up")
	zkbench(t, append([]string{"run", expire}, meet...)...).want(exitUsage, "expire is injected into sessions of one process")
	zkbench(t, "fleet", "slurm", kill, "--shares", "2", "--servers", "zk1:2181", "--meet", "zk://coord/x").want(exitUsage, "injected by the first share into the ensemble of 'zkbench up'")
}
