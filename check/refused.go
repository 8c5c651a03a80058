package check

import (
	"fmt"
	"iter"
	"slices"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// Verdict judges the history of one process as Judge does, except that a violation that the servers may have caused by refusing requests is Unknown.
func (c Check) Verdict(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
	return c.classified(c.excusing([]Host{{History: history}}, func(hosts []Host) Verdict { return c.Judge(hosts[0].History, room) }))
}

// excusing judges as if the servers had refused nothing. If that gives a violation, it judges again with all the refused requests (Refused). A violation that
// then disappears may be due to the servers: it is Unknown, with the refused request.
func (c Check) excusing(hosts []Host, judge func(hosts []Host) Verdict) Verdict {
	v := judge(granted(hosts))
	if v.Answer != Violated {
		return v
	}
	refused := c.refused(hosts, v)
	if refused.Op == metrics.OpNone {
		return v
	}
	if again := judge(hosts); again.Answer == Violated {
		return again
	}
	what, who := "a request", fmt.Sprintf("session %d", refused.Session)
	if refused.Value == metrics.Removal {
		what = "a removal"
	}
	if refused.Session == metrics.Everybody {
		who = "the look at what is left"
	}
	return Verdict{Evidence: v.Evidence, Refused: refused,
		Detail: fmt.Sprintf("%s, but the servers refused %s of %s at %v, which may be why", v.Detail, what, who, refused.Start)}
}

// granted returns the histories without the refused requests.
func granted(hosts []Host) []Host {
	hosts = slices.Clone(hosts)
	for i, h := range hosts {
		hosts[i].History = func(yield func(metrics.Sample) bool) {
			for s := range h.History {
				if s.Op != metrics.Refused && !yield(s) {
					return
				}
			}
		}
	}
	return hosts
}

// refused returns the request to name: if something is left, the first removal, otherwise the first request of a session in the counterexample; if there is none,
// the first of all.
func (c Check) refused(hosts []Host, v Verdict) (found metrics.Sample) {
	fits := func(s *metrics.Sample) bool {
		if c.Left {
			return s.Value == metrics.Removal
		}
		return slices.ContainsFunc(v.Witness, func(w metrics.Sample) bool { return w.Session == s.Session })
	}
	for s := range Together(hosts) {
		if s.Op != metrics.Refused {
			continue
		}
		better, worse := fits(&s), found.Op != metrics.OpNone && fits(&found)
		if found.Op == metrics.OpNone || better && !worse || better == worse && s.Start < found.Start {
			found = s
		}
	}
	return found
}
