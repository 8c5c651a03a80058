package zktest

import (
	"testing"

	"github.com/zkbench/zkbench/zk"
)

func TestConformance(t *testing.T) {
	conform(t, Config{})
}

func TestConformanceOfOlderServers(t *testing.T) {
	for _, version := range []string{"3.4.13", "3.5.10", "3.8.0"} {
		t.Run(version, func(t *testing.T) { conform(t, Config{Version: version}) })
	}
}

func conform(t *testing.T, cfg Config) {
	ens := New(cfg)
	powers := ens.powers()
	Conformance(t, func(t *testing.T, cfg DialConfig) zk.Session { return ens.DialTimeout(cfg.Timeout) }, powers)
	if n := len(ens.Tree()); n != 0 {
		t.Errorf("%d znodes are left", n)
	}
	if n := len(ens.Sessions()); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}
