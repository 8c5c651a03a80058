package command

import (
	"syscall"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/internal/tier"
	"github.com/zkbench/zkbench/results"
)

// sentAll reports problems of a replay but that the machine was too slow for it.
func sentAll(t *testing.T, dir string) (results.Cell, results.Fidelity) {
	t.Helper()
	cell, f := fidelityOf(t, dir)
	if f.Unsent+f.Unmapped != 0 || len(f.Differ) != 0 || f.Vanished != 1 {
		t.Errorf("fidelity %+v", f)
	}
	return cell, f
}

// The other client library replays the same, the expiry of a session included.
func TestReplayWithGoZookeeper(t *testing.T) {
	t.Parallel()
	address, dir := servers.Get(t, 1).Addresses()[0], out(t)
	zkbench(t, "replay", clientsOfALock(10).write(t), "--servers", address, "--engine", "go-zookeeper", "--out", dir)
	sentAll(t, dir)
	wantEmpty(t, address)
}

// A replay on servers with TLS and SASL.
func TestReplayOnASecuredEnsemble(t *testing.T) {
	tier.Long(t, "starts secured servers; relatives: TestReplay, TestCertificatesOfAnyName")
	t.Parallel()
	e := ensembletest.Start(t, 1, func(cfg *local.Config) { cfg.Secure = ensemble.SecureSASL })
	files, dir := e.Credentials(), out(t)
	access := []string{"--servers", e.Addresses()[0], "--tls-ca", files.CA, "--auth-file", files.Auth}
	zkbench(t, append([]string{"replay", clientsOfALock(10).write(t), "--out", dir}, access...)...)
	sentAll(t, dir)
	zkbench(t, append([]string{"clean", "--yes"}, access...)...).want(exitOK, "no zkbench data under /zkbench")
}

// A fault during a replay is injected and reported, and what it did to the requests counts against the fidelity.
func TestReplayWithFaults(t *testing.T) {
	t.Parallel()
	address, dir := servers.Get(t, 1).Addresses()[0], out(t)
	zkbench(t, "replay", clientsOfALock(30).write(t), "--servers", address, "--set", "faults=[{at: 1s, kind: expire, session: 1}, {at: 2s, kind: cut-reply, op: set, times: 1}]", "--out", dir)
	cell, f := fidelityOf(t, dir)
	if len(cell.Faults) < 2 || cell.Faults[0].Error+cell.Faults[1].Error != "" || cell.Faults[0].SessionsExpired != 1 {
		t.Errorf("faults %+v", cell.Faults)
	}
	if f.Divergent == 0 || f.Requests != cell.Due || f.Vanished != 1 {
		t.Errorf("fidelity %+v\nof %d requests", f, cell.Due)
	}
	wantEmpty(t, address)
}

// The only server is killed and comes back: sessions survive, and the replay goes on.
func TestReplayWhileAServerIsKilled(t *testing.T) {
	tier.Long(t, "waits for a server that is killed; relative: TestReplayWithFaults")
	t.Parallel()
	dir := out(t)
	zkbench(t, "replay", clientsOfALock(30).write(t), "--ensemble", "local:3", "--set", "faults=[{at: 1s, kind: kill, server: leader, for: 1s}]", "--set", "drain=1m", "--out", dir)
	cell, f := fidelityOf(t, dir)
	if len(cell.Faults) != 1 || cell.Faults[0].Error != "" || cell.Faults[0].HealedS == nil {
		t.Errorf("faults %+v", cell.Faults)
	}
	if f.Unsent != 0 || f.Vanished != 1 || f.Requests != cell.Due {
		t.Errorf("fidelity %+v\nof %d requests", f, cell.Due)
	}
}

// An interrupt ends a replay in good order, and 'clean' removes what a killed one has left.
func TestAnInterruptOfAReplay(t *testing.T) {
	t.Parallel()
	address, dir, file := servers.Get(t, 1).Addresses()[0], out(t), clientsOfALock(30).write(t)
	newTerminal(t).interruptAt(", steady ", 1).run("replay", file, "--speed", "0.2", "--servers", address, "--out", dir).want(exitInterrupted, "zkbench: interrupted", "PARTIAL RESULT: interrupted")
	if r := result(t, dir); !r.Partial || len(r.Cells) != 1 || !r.Cells[0].Partial || r.Cells[0].Fidelity == nil {
		t.Errorf("result %+v, want a partial one with a fidelity", r)
	}
	wantEmpty(t, address)
	interruptProcess(t, childCommand(t, "process", "", "replay", file, "--speed", "0.2", "--servers", address, "--out", out(t)), ", steady ", syscall.SIGKILL)
	zkbench(t, "clean", "--servers", address, "--yes", "--force").want(exitOK, "removing /zkbench/replay-recorded")
	wantEmpty(t, address)
}
