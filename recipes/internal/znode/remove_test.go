package znode

import (
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// A znode at the path is the session's own if its czxid matches or, when the czxid is unknown, its owner.
func TestIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ens := zktest.New(zktest.Config{})
		own, other := ens.Dial(), ens.Dial()
		defer own.Close()
		defer other.Close()
		made := func(s zk.Session, path string) zk.Created {
			c, err := s.Create(t.Context(), path, nil, zk.Ephemeral)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		mine, others := made(own, "/mine"), made(other, "/others")
		for _, c := range []struct {
			sentence string
			created  zk.Created
			gone     bool
		}{
			{"it exists", mine, false},
			{"it exists, czxid unknown", zk.Created{Path: "/mine"}, false},
			{"another znode exists at the path", zk.Created{Path: "/others", Czxid: mine.Czxid}, true},
			{"another session's exists at the path, czxid unknown", zk.Created{Path: "/others"}, true},
			{"another session's, czxid known", others, false},
			{"it is missing", zk.Created{Path: "/none", Czxid: mine.Czxid}, true},
			{"it is missing, czxid unknown", zk.Created{Path: "/none"}, true},
		} {
			if gone, err := IsGone(t.Context(), own, c.created); gone != c.gone || err != nil {
				t.Errorf("%s: IsGone = %v, %v, want %v", c.sentence, gone, err, c.gone)
			}
		}
		ens.Expire(own)
		if gone, err := IsGone(t.Context(), own, mine); gone || err == nil {
			t.Errorf("with an expired session IsGone = %v, %v, want an error", gone, err)
		}
	})
}
