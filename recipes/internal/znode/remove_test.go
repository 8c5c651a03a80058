package znode

import (
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// A znode of that path is ours by its czxid, and where that is not known by its owner.
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
			{"it is there", mine, false},
			{"it is there, and its czxid is not known", zk.Created{Path: "/mine"}, false},
			{"another one is there", zk.Created{Path: "/others", Czxid: mine.Czxid}, true},
			{"that of another session is there, and the czxid is not known", zk.Created{Path: "/others"}, true},
			{"that of another session, whose czxid is known", others, false},
			{"there is none", zk.Created{Path: "/none", Czxid: mine.Czxid}, true},
			{"there is none, and its czxid is not known", zk.Created{Path: "/none"}, true},
		} {
			if gone, err := IsGone(t.Context(), own, c.created); gone != c.gone || err != nil {
				t.Errorf("%s: IsGone = %v, %v, want %v", c.sentence, gone, err, c.gone)
			}
		}
		ens.Expire(own)
		if gone, err := IsGone(t.Context(), own, mine); gone || err == nil {
			t.Errorf("a session that is over: IsGone = %v, %v, want an error", gone, err)
		}
	})
}
