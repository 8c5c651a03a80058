package report

import (
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/traffic"
)

// Traffic is the load that the files of a server tell of.
type Traffic traffic.Report

// Heading says which files the load comes from.
func (doc Traffic) Heading() []string {
	c := doc.Coverage
	from := phrase.Count(c.Logs, "transaction log")
	if c.Snapshot != "" {
		from += " and the snapshot " + c.Snapshot
	}
	return []string{fmt.Sprintf("Traffic in %s, %s UTC to %s (%s): %s in %s", strings.Join(doc.Dirs, ", "), doc.From.Format("2006-01-02 15:04:05.000"), doc.To.Format("2006-01-02 15:04:05.000"),
		phrase.Seconds(doc.Seconds), phrase.Count(c.Transactions, "transaction"), from)}
}

// Sections shows the load.
func (doc Traffic) Sections() []Section {
	all := []Section{doc.requests(), doc.mix(), doc.sessions(), doc.recipes(), doc.directories()}
	if doc.Tree != nil {
		all = append(all, doc.shape())
	}
	notes := Section{Heading: "Notes"}
	if c := doc.Coverage; c.ClockBack > 0 {
		notes.say(fmt.Sprintf("The clock of the transactions went back %s, by up to %s: times never go back here.", phrase.Times(c.ClockBack), phrase.Seconds(float64(c.ClockBackMS)/1000)))
	}
	if n := doc.Coverage.Repeated; n > 0 {
		notes.say(fmt.Sprintf("%s had been in an earlier file, and were left out.", phrase.Count(n, "transaction")))
	}
	notes.list("What is wrong with the files:", doc.Coverage.Problems)
	notes.list("Not in the files:", doc.Unknown)
	return append(all, notes)
}

func (s *Section) list(head string, lines []string) {
	if len(lines) > 0 {
		s.say(append([]string{head}, indented(lines)...)...)
	}
}

func indented(lines []string) (all []string) {
	for _, l := range lines {
		all = append(all, "  "+l)
	}
	return all
}

func whole[N int | int64](n N) string { return fmt.Sprint(n) }

func (doc Traffic) requests() (s Section) {
	s.Heading, s.Caption = "Requests", fmt.Sprintf("%s, %s/s; %s, %s/s (%s for each write).", phrase.Count(doc.Writes.Count, "write"), phrase.Number(doc.Writes.PerSecond, 4),
		phrase.Count(doc.Reads.Count, "read"), phrase.Number(doc.Reads.PerSecond, 4), phrase.Number(doc.Reads.PerWrite, 3))
	t := table{below: []string{"interval", "intervals", "most writes", "writes/s", "index of dispersion"}, text: []bool{true, false, false, false, false}}
	for _, w := range doc.Writes.Windows {
		dispersion := "-"
		if w.Intervals >= 2 {
			dispersion = phrase.Number(w.Dispersion, 3)
		}
		if w.Intervals > 0 {
			t.rows = append(t.rows, []string{phrase.Seconds(float64(w.Seconds)), whole(w.Intervals), whole(w.Peak), phrase.Number(w.PeakRate, 4), dispersion})
		}
	}
	s.add("", t, "Reads are the gaps between the numbers of a session's requests: "+phrase.Count(doc.Reads.Growing, "writing session")+" had numbers that only grew, for which the count is exact, and "+
		whole(doc.Reads.Restarted)+" had others. They include syncs and changes of watches.")
	return s
}

func (doc Traffic) mix() (s Section) {
	s.Heading, s.Caption = "Mix", "What was written; sizes in bytes of data."
	t := table{below: []string{"kind", "writes", "share %", "in multis", "mean size", "p50", "p90", "p99", "largest"}, text: []bool{true, false, false, false, false, false, false, false, false}}
	for _, k := range doc.Mix {
		row := []string{k.Kind, whole(k.Count), phrase.Number(100*float64(k.Count)/float64(max(1, doc.Writes.Count)), 3), whole(k.InMulti), "-", "-", "-", "-", "-"}
		if d := k.Data; d.Count > 0 {
			copy(row[4:], []string{phrase.Number(d.Mean, 4), whole(d.P50), whole(d.P90), whole(d.P99), whole(d.Max)})
		}
		t.rows = append(t.rows, row)
	}
	var below []string
	if m := doc.Multis; m.Count > 0 {
		below = append(below, fmt.Sprintf("A multi has %s operations in the mean, %d at most.", phrase.Number(m.Mean, 3), m.Max))
	}
	s.add("", t, below...)
	failed := table{below: []string{"failed with", "code", "writes"}, text: []bool{true, false, false}}
	for _, f := range doc.Failed {
		failed.rows = append(failed.rows, []string{f.Name, whole(int64(f.Code)), whole(f.Count)})
	}
	s.add("", failed)
	return s
}

func (doc Traffic) sessions() (s Section) {
	v := doc.Sessions
	s.Heading, s.Caption = "Sessions", fmt.Sprintf("%s opened (%s a minute) and %s from before; %s at a time in the mean, %d at most.", phrase.Count(v.Opened, "session"), phrase.Number(v.OpenedPerMin, 3),
		whole(v.Before), phrase.Number(v.Mean, 4), v.Peak)
	ended := v.Closed + v.Expired
	line := fmt.Sprintf("%d were closed by their clients, %d ended by the servers (expired, or ended by an administrator)", v.Closed, v.Expired)
	if ended > 0 {
		line += fmt.Sprintf(": %s %% of those that ended", phrase.Number(100*float64(v.Expired)/float64(ended), 3))
	}
	lines := []string{line + fmt.Sprintf("; %d were open at the end.", v.Open)}
	if l := v.LifetimeMS; l.Count > 0 {
		lines = append(lines, fmt.Sprintf("Those opened and ended in this time lasted %s in the median, %s in 90 %%.", phrase.Seconds(float64(l.P50)/1000), phrase.Seconds(float64(l.P90)/1000)))
	}
	if e := v.Ephemerals; e.Count > 0 {
		lines = append(lines, fmt.Sprintf("At its end a session had %s ephemeral znodes in the mean, %d at most.", phrase.Number(e.Mean, 3), e.Max))
	}
	t := table{below: []string{"timeout", "sessions"}, text: []bool{true, false}}
	for _, o := range v.Timeouts {
		t.rows = append(t.rows, []string{phrase.Seconds(float64(o.MS) / 1000), whole(o.Count)})
	}
	m := table{below: []string{"opened by member", "sessions"}, text: []bool{true, false}}
	for _, o := range v.Members {
		m.rows = append(m.rows, []string{whole(o.Server), whole(o.Sessions)})
	}
	s.add("", t, lines...)
	s.add("", m)
	return s
}

func (doc Traffic) recipes() (s Section) {
	s.Heading, s.Caption = "Recipes", "What came and went as recipes do, by patterns of directories."
	t := table{below: []string{"recipe", "directories", "objects", "sessions", "most", "mean", "grants or takes", "handed over %", "hold or age p50 ms", "p90 ms", "mean ms", "wait p50 ms"},
		text: []bool{true, true, false, false, false, false, false, false, false, false, false, false}}
	var claims []string
	for _, r := range doc.Recipes {
		row := []string{r.Kind, r.Pattern, whole(r.Objects), whole(r.Sessions), whole(r.Most), phrase.Number(r.Mean, 3), "-", "-", "-", "-", "-", "-"}
		times, n := r.HoldMS, r.Grants
		if r.Kind == traffic.Queue {
			times, n = r.AgeMS, r.Takes
		}
		if n > 0 {
			row[6] = whole(n)
		}
		if r.Grants > 0 && r.Kind != traffic.SingleLock {
			row[7] = phrase.Number(100*float64(r.HandOver)/float64(r.Grants), 3)
		}
		if times.Count > 0 {
			row[8], row[9], row[10] = whole(times.P50), whole(times.P90), phrase.Number(times.Mean, 4)
		}
		if r.WaitMS.Count > 0 {
			row[11] = whole(r.WaitMS.P50)
		}
		t.rows = append(t.rows, row)
		if h := r.HoldMS; r.Kind == traffic.Queue && h.Count > 0 {
			claims = append(claims, fmt.Sprintf("In %s consumers claim items: %s, for %d ms in the median, %s in the mean.", r.Pattern, phrase.Count(h.Count, "claim"), h.P50, phrase.Number(h.Mean, 4)))
		}
	}
	if len(t.rows) == 0 {
		s.Caption = ""
		s.say("No recipe was recognized.")
		return s
	}
	s.add("", t, append(claims, "'most' and 'mean' count the children of one directory: contenders, items or members. A grant lasts from when its znode is the lowest until it is gone, so that the time until "+
		"a waiter is notified is in it. What looks like a lock may be an election.")...)
	return s
}

func (doc Traffic) directories() (s Section) {
	s.Heading, s.Caption = "Directories", "Where most was written; '*' stands for digits, hexadecimal numbers and UUIDs, '~' for the hash of a name (--names shows the names)."
	t := table{below: []string{"directory", "znodes", "creates", "sets", "deletes"}, text: []bool{true, false, false, false, false}}
	for _, d := range doc.Directories[:min(len(doc.Directories), 20)] {
		t.rows = append(t.rows, []string{d.Pattern, whole(d.Znodes), whole(d.Creates), whole(d.Sets), whole(d.Deletes)})
	}
	s.add("", t)
	return s
}

func (doc Traffic) shape() (s Section) {
	v := doc.Tree
	s.Heading = "Tree"
	s.say(fmt.Sprintf("The snapshot has %s on %s (%d ephemeral, %d containers, %d with a time to live) with %s bytes of data each in the mean, %d at most, and %s.", phrase.Count(v.Znodes, "znode"),
		phrase.Count(len(v.Levels), "level"), v.Ephemerals, v.Containers, v.TTLs, phrase.Number(v.Data.Mean, 4), v.Data.Max, phrase.Count(v.Sessions, "session")))
	return s
}
