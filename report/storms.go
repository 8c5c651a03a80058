package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// stormTables returns the tables on what many sessions did at once, and on the bystanders; none if nothing of the kind happened.
func stormTables(group []row) (all []captioned) {
	if t := arrivalsOf(group); len(t.rows) > 0 {
		all = append(all, captioned{t, arrivalsCaption(group)})
	}
	if t := bystandersOf(group); len(t.rows) > 0 {
		all = append(all, captioned{t, "Bystanders: responses of the load while the fault lasted and in up to five seconds before it, by due time."})
	}
	return all
}

// arrivalsCaption explains the words that occur in the lines, and no others.
func arrivalsCaption(group []row) string {
	var there, words []string
	for _, r := range group {
		for _, c := range r.cells {
			for _, f := range c.Faults {
				for _, step := range steps(f) {
					there = append(there, step.name)
				}
			}
		}
	}
	for _, w := range [][2]string{{"gone", "removed ephemeral znodes of lost sessions, as seen by the first watcher at the latest"}, {"notified", "events that reached a watcher"},
		{"read", "sessions that had finished reading"}} {
		if slices.Contains(there, w[0]) {
			words = append(words, w[0]+": "+w[1])
		}
	}
	return "Storms: what many sessions did at once, in milliseconds from the fault until the first, half, 99 % and all of what was due had happened; " + strings.Join(words, "; ") + "."
}

// arrivalsOf has one line per thing that many sessions did at once.
func arrivalsOf(group []row) table {
	return linesOfFaults(group, slices.Concat([]column{named("what", "what", true)}, under("", partOfOp, "due", "came"), under("until, ms", partOfOp, "first|first, ms", "half|half, ms", "99 %|99 %, ms", "all|all, ms")),
		func(f results.Fault, add func(cells ...string)) {
			for _, step := range steps(f) {
				a := step.Arrivals
				add(step.name, fmt.Sprint(a.Due), fmt.Sprint(a.Came), maybe(a.First, 2), maybe(a.Half, 2), maybe(a.P99, 2), maybe(a.All, 2))
			}
		})
}

// step is one consequence of a fault for many sessions.
type step struct {
	name string
	*results.Arrivals
}

// steps returns the consequences of a storm.
func steps(f results.Fault) (all []step) {
	if s := f.Storm; s != nil {
		for _, one := range []step{{"gone", s.Gone}, {"notified", s.Notified}, {"read", s.Read}} {
			if one.Arrivals != nil {
				all = append(all, one)
			}
		}
	}
	return all
}

// bystandersOf has one line per fault that did not affect the load directly.
func bystandersOf(group []row) table {
	var columns []column
	for _, h := range []string{"meanwhile", "before"} {
		columns = append(columns, under(h+", ms", partOfOp, "count|"+h+", count", "p50|"+h+", p50 ms", "p99|"+h+", p99 ms", "max|"+h+", max ms")...)
	}
	return linesOfFaults(group, columns, func(f results.Fault, add func(cells ...string)) {
		if f.Bystanders == nil {
			return
		}
		var cells []string
		for _, r := range []results.Responses{f.Bystanders.During, f.Bystanders.Before} {
			cells = append(cells, fmt.Sprint(r.Count))
			for _, ms := range []*float64{r.P50, r.P99, r.Max} {
				cells = append(cells, map[bool]string{true: ">="}[ms != nil && r.Unserved > 0]+maybe(ms, 2))
			}
		}
		add(cells...)
	})
}

// storm describes what many sessions did at once; "" if none did.
func storm(f results.Fault, success string) string {
	var text string
	if f.SessionsCut != nil && *f.SessionsCut > 0 {
		text += "; " + phrase.Count(*f.SessionsCut, "client") + " lost their connection" + oftener(f) + ", " + until(&results.Arrivals{Half: f.BackHalf, P99: f.Back99, All: f.BackAll}, "back")
		if f.Handshakes != nil {
			text += ", with " + phrase.Count(*f.Handshakes, "handshake")
		}
		if r := f.Reconnecting; r != nil {
			text += "; until then the load's sessions sent " + phrase.Count(r.Requests, "request")
			if r.Watches > 0 {
				text += fmt.Sprintf(" (%d setWatches)", r.Watches)
			}
			if r.SentBytes != nil && r.ReceivedBytes != nil {
				text += fmt.Sprintf(", %s, and received %s", phrase.Bytes(*r.SentBytes), phrase.Bytes(*r.ReceivedBytes))
			}
		}
	}
	if s := f.Storm; s != nil {
		if s.Expired != nil {
			text += fmt.Sprintf("; %s were lost, %d expired: %s, %s, and %s, %s", phrase.Count(s.Sessions, "session"), *s.Expired,
				phrase.Count(s.Gone.Due, "ephemeral znode"), until(s.Gone, "gone"), phrase.Count(s.Notified.Due, "event")+" to "+phrase.Count(s.Watchers, "watcher"), until(s.Notified, "delivered"))
		} else if s.Read != nil {
			text += fmt.Sprintf("; %s, %s, %s", phrase.Count(s.Sessions, "reader"), until(s.Notified, "notified"), until(s.Read, "done reading"))
		}
		text += "; cost: " + spent(s.Cost)
	}
	if b := f.Bystanders; b != nil {
		text += beside(*b, success)
	}
	return text
}

// oftener says how often clients lost their connection if that was more than once each.
func oftener(f results.Fault) string {
	if f.LinksCut == nil || *f.LinksCut <= *f.SessionsCut {
		return ""
	}
	return fmt.Sprintf(", %d times in all", *f.LinksCut)
}

// until says when half, 99 % and all had arrived.
func until(a *results.Arrivals, done string) (text string) {
	for i, share := range []struct {
		who string
		ms  *float64
	}{{"half", a.Half}, {"99 %", a.P99}, {"all", a.All}} {
		if i > 0 {
			text += ", "
		}
		if share.ms == nil {
			return text + share.who + " were not " + done
		}
		if text += share.who; i == 0 {
			text += " were " + done
		}
		text += " after " + phrase.Number(*share.ms, 2) + " ms"
	}
	return text
}

// spent describes a cost in words.
func spent(c results.StormCost) string {
	text := phrase.Count(c.Requests, "request") + " and " + phrase.Count(c.Events, "event")
	if c.SentBytes != nil && c.ReceivedBytes != nil {
		return text + fmt.Sprintf(", %s sent and %s received", phrase.Bytes(*c.SentBytes), phrase.Bytes(*c.ReceivedBytes))
	}
	return text + ", " + phrase.Bytes(c.ReadBytes) + " of data read"
}

// beside compares the load during the fault with the load before it: by the p99 if both have one, otherwise by the median and the maximum.
func beside(b results.Bystanders, success string) string {
	during, before := b.During, b.Before
	bound := func(r results.Responses, ms *float64) string { // unserved operations have waited at least this long
		return map[bool]string{true: "at least "}[r.Unserved > 0] + phrase.Number(*ms, 2)
	}
	switch {
	case during.Count == 0 || during.Max == nil:
		return fmt.Sprintf("; no %s was due meanwhile", success)
	case before.Count == 0 || before.Max == nil:
		return fmt.Sprintf("; the longest response of %s due meanwhile was %s ms", phrase.Count(during.Count, success), bound(during, during.Max))
	case during.P99 != nil && before.P99 != nil:
		return fmt.Sprintf("; of %s due meanwhile the p99 of the response was %s ms, and before it %s ms", phrase.Count(during.Count, success),
			bound(during, during.P99), bound(before, before.P99))
	}
	return fmt.Sprintf("; the longest response of %s due meanwhile was %s ms, and before it, of %d, %s ms", phrase.Count(during.Count, success),
		bound(during, during.Max), before.Count, bound(before, before.Max))
}
