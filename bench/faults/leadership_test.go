package faults

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
)

func TestLeadership(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	type poll struct {
		leader int // 1 to 3; 0 for none
		serve  bool
		uptime time.Duration
	}
	up := func(leader, s int) poll { return poll{leader, true, time.Duration(s) * time.Second} }
	for _, c := range []struct {
		sentence string
		asked    int
		polls    []poll // one per second
		want     []Outage
	}{
		{"a leader that stays", 3, []poll{up(1, 9), up(1, 10), up(1, 11)}, nil},
		{"nobody leads for a while, then another one", 3, []poll{up(1, 9), up(1, 10), {}, {}, up(2, 1), up(2, 2)},
			[]Outage{{seen: at(1), Noticed: at(2), leaderless: at(3), over: at(4), from: "1", to: "2"}}},
		{"another one leads between two polls", 3, []poll{up(1, 9), up(2, 0)}, []Outage{{seen: at(0), Noticed: at(1), leaderless: at(1), over: at(1), from: "1", to: "2"}}},
		{"the same one was elected again", 3, []poll{up(1, 9), up(1, 0)}, []Outage{{seen: at(0), Noticed: at(1), leaderless: at(1), over: at(1), from: "1", to: "1"}}},
		{"the leader misses an answer, and has led on", 3, []poll{up(1, 9), {serve: true}, up(1, 11), up(1, 12)}, nil},
		{"no server answers twice, and the leader has led on", 3, []poll{up(1, 9), {}, {}, up(1, 12)}, nil},
		{"the same one was elected again, and nobody answered meanwhile", 3, []poll{up(1, 9), {}, {}, up(1, 2)},
			[]Outage{{seen: at(0), Noticed: at(1), leaderless: at(2), over: at(3), from: "1", to: "1"}}},
		{"of three, two are asked, and the leader misses an answer", 2, []poll{up(1, 9), {serve: true}, up(1, 11), up(1, 12)}, nil},
		{"a leader that led on is lost after all", 3, []poll{up(1, 9), {serve: true}, up(1, 11), {serve: true}, up(2, 1)},
			[]Outage{{seen: at(2), Noticed: at(3), leaderless: at(3), over: at(4), from: "1", to: "2"}}},
		{"nobody comes back", 3, []poll{up(1, 9), {}, {}}, []Outage{{seen: at(0), Noticed: at(1), leaderless: at(2), from: "1"}}},
		{"followers say that they follow, and no leader answers", 3, []poll{up(1, 9), {serve: true}, up(2, 1)},
			[]Outage{{seen: at(0), Noticed: at(1), leaderless: at(1), over: at(2), from: "1", to: "2"}}},
		{"of three, a follower alone is asked", 1, []poll{{serve: true}, {serve: true}, {serve: true}}, nil},
		{"of three, one is asked, which stops leading and follows another", 1, []poll{up(1, 9), {}, {serve: true}},
			[]Outage{{seen: at(0), Noticed: at(1), leaderless: at(1), over: at(2), from: "1"}}},
		{"nobody tells", 3, []poll{{}, {}, {}}, nil},
	} {
		var l Leadership
		for i, p := range c.polls {
			var all []ensemble.ServerStats
			for n := 1; n <= c.asked; n++ {
				st := ensemble.ServerStats{Address: string(rune('0' + n)), Err: ensemble.ErrNoQuorum}
				if p.serve {
					st.Err, st.Stats = nil, ensemble.Stats{State: "follower", Uptime: time.Hour}
				}
				if p.leader == n {
					st.Stats = ensemble.Stats{State: "leader", Uptime: p.uptime}
				}
				all = append(all, st)
			}
			l.See(at(i), all, 3, func() []Place { return nil })
		}
		if len(l.Outages) != len(c.want) {
			t.Errorf("%s: %+v, want %+v", c.sentence, l.Outages, c.want)
			continue
		}
		for i, o := range l.Outages {
			w := c.want[i]
			if o.seen != w.seen || o.Noticed != w.Noticed || o.leaderless != w.leaderless || o.over != w.over || o.from != w.from || o.to != w.to {
				t.Errorf("%s: %+v, want %+v", c.sentence, o, w)
			}
		}
	}
}

type ticking struct{ ensemble.Ensemble }

func (ticking) Describe() ensemble.Description { return ensemble.Description{Tick: 2 * time.Second} }

// A loss of the leader is attributed to the planned fault whose time it shares, if there is one. Servers are polled once a second.
func TestUnexplained(t *testing.T) {
	origin := metrics.NewOrigin(time.Now())
	at := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	fault := func(kind string, server int, begun, done, recovered float64) Fault {
		return Fault{PlannedFault: profiles.PlannedFault{Kind: kind}, Server: server, Injected: true, Begun: at(begun), At: at(done),
			Recovered: recovered > 0, RecoveredAt: at(recovered)}
	}
	for _, c := range []struct {
		sentence            string
		seen, noticed, over float64
		planned             Fault
		explained           bool
	}{
		{"killed between two answers", 34.3, 35.3, 36.3, fault("kill", 3, 35.1, 35.2, 40), true},
		{"the last answer before its restart is the first one without it: it stops before its process ends", 34.3, 35.3, 36.3, fault("restart", 3, 35, 35.4, 38), true},
		{"its answer before its kill was late", 33.3, 34.3, 36.3, fault("kill", 3, 35, 35.1, 40), true},
		{"it was lost, and its server is killed after another one leads", 20, 21, 22, fault("kill", 3, 35, 35.1, 40), false},
		{"it was lost, and meanwhile a follower is killed", 30, 31, 37, fault("kill", 1, 35, 35.1, 40), false},
		{"it was lost when a follower was killed, on which a majority depended", 34.3, 35.3, 37, fault("kill", 1, 35, 35.1, 40), true},
		{"it was lost while another one of its servers came back", 41, 42, 43, fault("kill", 1, 35, 35.1, 40), true},
		{"it was lost long after", 80, 81, 82, fault("kill", 3, 35, 35.1, 40), false},
		{"it was lost while a server was down that never came back", 80, 81, 82, fault("kill", 1, 35, 35.1, 0), true},
		{"nothing was done to a server", 34.3, 35.3, 36.3, fault("reset", 0, 35, 35.1, 40), false},
	} {
		s := New(nil, Target{Origin: origin, SessionTimeout: 4 * time.Second, Ensemble: ticking{}})
		s.all = []Fault{c.planned}
		lost := Outage{seen: origin.Time(at(c.seen)), asked: origin.Time(at(c.seen)), Noticed: origin.Time(at(c.noticed)), leaderless: origin.Time(at(c.noticed)),
			over: origin.Time(at(c.over)), from: "3", to: "2", lost: 3}
		if got := s.Unexplained([]Outage{lost}, 0, at(100)); len(got) == 0 != c.explained {
			t.Errorf("%s: %+v, want explained %v", c.sentence, got, c.explained)
		}
	}
}
