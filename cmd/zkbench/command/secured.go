package command

import (
	"context"
	"fmt"
	"net"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/scenarios/secured"
	"github.com/zkbench/zkbench/zk"
)

// identitiesAtOnce is how many identity scenarios run at a time. Each has three sessions.
const identitiesAtOnce = 8

// playSecured returns the workload that plays failures around identity, on secured servers.
func playSecured() bench.Act {
	return bench.Act{
		Name: "secured", Doc: "play failures around identity: locks whose znodes only their creator may use, clients that reconnect unauthenticated; no load",
		Once: true, Secured: true, Variants: secured.Variants, Persistent: secured.Persistent, Sessions: 3*identitiesAtOnce + 4, Znodes: secured.Znodes(),
		Do: func(ctx context.Context, s bench.Stage) error {
			rules, found, err := secured.Run(ctx, secured.Config{Config: trials(ctx, s, identitiesAtOnce), Servers: stagedServers{s}, Dir: s.Root})
			if err == nil || len(found) > 0 {
				s.Document.Notes = append(s.Document.Notes, rulesNote(rules))
			}
			note(s, found, err)
			return err
		},
	}
}

// rulesNote says what the servers require, which determines the expected findings.
func rulesNote(r secured.Rules) string {
	need := func(asked bool) string {
		if asked {
			return "needs READ of the znode"
		}
		return "needs no permission"
	}
	text := "Tried out: the servers let in"
	if r.Enforced {
		text += " nobody without credentials"
	} else {
		text += " clients without credentials, so the scenario ping-first is not played"
	}
	return fmt.Sprintf("%s; exists %s, and a watch event %s.", text, need(r.ReadLook), need(r.ReadEvents))
}

// stagedServers are the servers of a stage.
type stagedServers struct{ bench.Stage }

func (s stagedServers) Dial(ctx context.Context) (zk.Session, error) {
	return s.Stage.Dial(ctx, s.Addresses)
}

func (s stagedServers) DialAs(ctx context.Context, credential []byte, wrap func(net.Conn) net.Conn) (zk.Session, error) {
	who := s.Identity.As(credential)
	if wrap != nil {
		who = who.Through(wrap)
	}
	return s.Stage.DialAs(ctx, who)
}

func (s stagedServers) DialNobody(ctx context.Context) (zk.Session, error) {
	return s.Stage.DialAs(ctx, s.Identity.Nobody())
}
