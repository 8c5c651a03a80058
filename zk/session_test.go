package zk_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// A server that lags shows what others have done after a CatchUp, also after one whose znode is missing or whose reply was lost.
func TestCatchUp(t *testing.T) {
	for name, c := range map[string]struct {
		at   string
		lost int // replies
		err  error
	}{
		"answered":                {at: "/"},
		"no such znode":           {at: "/missing", err: zk.ErrNoNode},
		"a lost reply":            {at: "/", lost: 1},
		"replies that never come": {at: "/", lost: 100, err: zk.ErrMaybeApplied},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ens := zktest.New(zktest.Config{})
				behind, other := ens.Dial(), ens.Dial()
				defer behind.Close()
				defer other.Close()
				ens.Lag(behind, zktest.UntilSync)
				if _, err := other.Create(t.Context(), "/made", nil, zk.Persistent); err != nil {
					t.Fatal(err)
				}
				if _, there, err := behind.Exists(t.Context(), "/made"); there || err != nil {
					t.Fatalf("Exists() = %v, %v on a server that lags", there, err)
				}
				asked := 0
				ens.Hook(func(op zktest.Op) zktest.Action {
					if op.Kind != zk.KindMulti || !op.Applied {
						return zktest.Action{}
					}
					asked++
					return zktest.Action{Lose: asked <= c.lost}
				})
				if err := zk.CatchUp(t.Context(), behind, c.at); !errors.Is(err, c.err) || asked != min(c.lost, 9)+1 {
					t.Errorf("CatchUp(%s) = %v after %d requests, want %v after %d", c.at, err, asked, c.err, min(c.lost, 9)+1)
				}
				if _, there, err := behind.Exists(t.Context(), "/made"); !there || err != nil {
					t.Errorf("Exists() = %v, %v after CatchUp()", there, err)
				}
			})
		})
	}
}
