package check

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// Host is the history of one of several processes that carried out one run. Its times are on its own clock, and times of different hosts are never
// subtracted from each other directly; where an estimate suffices, Skews says how far the clocks are apart.
type Host struct {
	History iter.Seq[metrics.Sample]
	Name    string // for sentences: "share 2"
	// Cut says that the history is incomplete: what ended after some instant is missing, so what seems never to have ended may have ended.
	Cut bool
	// Meets are the points at which all hosts waited for each other, in the same order for all.
	Meets []Meet
}

// Together returns the histories of all hosts, one after the other, for checks that do not look at times.
func Together(hosts []Host) iter.Seq[metrics.Sample] {
	return func(yield func(metrics.Sample) bool) {
		for _, h := range hosts {
			for s := range h.History {
				if !yield(s) {
					return
				}
			}
		}
	}
}

// JudgeAcross judges a promise on the histories of several hosts. If the order of transactions can decide it, that order decides; what concerns each session
// alone, and what was found after the load, is judged as on one host. An incomplete history proves nothing but violations. A violation that the servers may
// have caused by refusing requests is Unknown. judged is false for a check that needs a common clock.
func (c Check) JudgeAcross(hosts []Host, room *spill.Room) (v Verdict, judged bool) {
	v = c.excusing(hosts, func(hosts []Host) (v Verdict) {
		v, judged = c.judgeHosts(hosts, room)
		return v
	})
	return c.classified(v), judged
}

func (c Check) judgeHosts(hosts []Host, room *spill.Room) (v Verdict, judged bool) {
	cut := slices.IndexFunc(hosts, func(h Host) bool { return h.Cut })
	if cut < 0 || c.Left {
		return c.judgeAcross(hosts, room)
	}
	incomplete := fmt.Sprintf("not judged: the history of %s is incomplete", hosts[cut].Name)
	if c.Across == nil {
		return Verdict{Detail: incomplete}, len(hosts) == 1
	}
	hosts = slices.Clone(hosts)
	for i, h := range hosts {
		if h.Cut {
			hosts[i].History = unfinished(h.History)
		}
	}
	if v = c.Across(hosts, room); v.Answer != Violated {
		v = Verdict{Detail: incomplete, Judges: v.Judges}
	}
	return v, true
}

func (c Check) judgeAcross(hosts []Host, room *spill.Room) (v Verdict, judged bool) {
	switch {
	case len(hosts) == 1:
		return c.Judge(hosts[0].History, room), true
	case c.Across != nil:
		return c.Across(hosts, room), true
	case c.Left:
		return c.Judge(Together(hosts), room), true
	}
	return v, false
}

// rest stands for the missing part of a history that was cut, at its end. No recorded operation has this value.
const rest = metrics.Op(math.MaxUint8)

// unfinished returns a history marked as cut.
func unfinished(history iter.Seq[metrics.Sample]) iter.Seq[metrics.Sample] {
	return func(yield func(metrics.Sample) bool) {
		for s := range history {
			if !yield(s) {
				return
			}
		}
		yield(metrics.Sample{Op: rest, Session: metrics.Everybody})
	}
}

// within judges each host by itself and combines the verdicts: Violated if any is, otherwise Holds if any is, with the evidence of all.
func within(hosts []Host, room *spill.Room, judge func(iter.Seq[metrics.Sample], *spill.Room) Verdict) (all Verdict) {
	for i, h := range hosts {
		v := judge(h.History, room)
		if v.Answer == Violated && all.Answer != Violated {
			all.Answer, all.Witness, all.Detail = Violated, v.Witness, h.say(v.Detail)
		}
		if v.Answer == Holds && all.Answer == Unknown {
			all.Answer, all.Detail = Holds, ""
		}
		if all.Answer == Unknown && i == 0 {
			all.Detail = v.Detail
		}
		all.Evidence += v.Evidence
		all.Count += v.Count
		for _, j := range v.Judges {
			all.judge(j)
		}
	}
	return all
}

func (h Host) say(detail string) string { return h.Name + ", by its own clock: " + detail }

// judge adds the result of a judge on another host.
func (v *Verdict) judge(j Judge) {
	i := slices.IndexFunc(v.Judges, func(k Judge) bool { return k.By == j.By })
	if i < 0 {
		v.Judges = append(v.Judges, j)
		return
	}
	k := &v.Judges[i]
	k.Answer, k.Evidence, k.Count, k.Held = max(k.Answer, j.Answer), k.Evidence+j.Evidence, k.Count+j.Count, k.Held+j.Held
}

// Two holds h and k of different hosts clash if G(k) < R(h) and G(h) < R(k), as on one host: see zxid.go. What would be unknown there lies between bounds
// here, because no clock can decide:
//
//   - G of a grant that came from an event without a zxid is not below the place of its session, nor below what that session had been notified of by
//     then, and it is below whatever its host sent after the grant.
//   - R of a session that was lost, or of a release without a reply, is only known to be above G: the session of a client that was stopped for long
//     enough is gone before the client knows. A session that let go no longer holds anything with respect to sessions that are granted in a state that
//     is not before the next write of its host.
//
// Two holds clash certainly if they clash wherever G and R lie within their bounds, or if both are known to have been held at one instant (D): holds that
// exist at one instant clash. They clash perhaps if they clash for some G and R within their bounds, unless it is known that they were not held
// simultaneously (T).
//
//   - D, simultaneously: for each of two holds, its host sent something at or after the grant that the other's host had seen when the other ended.
//   - T, not simultaneously: the host of one sent something when the hold was given up, or later, that the other's host had seen when the other was granted.
//
// If it takes several holds to exclude another, as with permits, each of them must clash with every other: among intervals of one order, if every two have a
// point in common, all have one in common, so there is a transaction at which all were held. Candidates that do not clash with the rest neither prove nor
// excuse anything. Enough holds that clash certainly are a violation; enough that clash perhaps leave the answer open.

// known is a hold as known across several hosts. Its span is by the clock of its own host.
type known struct {
	span
	host     uint32
	granted  [2]int64 // G: between these
	removed  [2]int64 // R
	exact    bool
	doubtful bool // R is not known: only D proves a clash
}

// sure returns the part of the order of transactions that the hold certainly covers; false: there is none.
func (k *known) sure() (from, to int64, some bool) {
	return k.granted[1], k.removed[0], !k.doubtful && k.granted[1] < k.removed[0]
}

// across judges the holds of several hosts: within each host as usual, and between hosts by the order of transactions.
func (x exclusion) across(hosts []Host, room *spill.Room) Verdict {
	own := within(hosts, room, x.judge)
	all, horizons, exact := x.known(hosts, room)
	defer all.Close()
	defer closeAll(horizons)
	found := clashed{of: x, hosts: hosts, horizons: horizons}
	eachClash(all.All(), room, x.rule, func(k known, held []known) {
		need := 1
		for x.all && !x.rule(k.span, need, 0) {
			need++
		}
		switch with, how := found.clique(&k, held, need); how {
		case certainly:
			found.add(k, with, found.when(k, with))
		case perhaps:
			found.open++
		}
	})
	return found.conclude(own, exact, all.Len())
}

// clashed collects what the order of transactions shows about several hosts.
type clashed struct {
	of       exclusion
	hosts    []Host
	horizons []horizon
	count    int
	times    [atOnce + 1]int // by timing
	open     int             // possible clashes that cannot be decided
	best     clash           // the first of the clashes with the strongest timing
	detail   string
}

func (f *clashed) add(k known, held []known, when timing) {
	f.count++
	f.times[when]++
	if f.count > 1 && f.times[when] > 1 || slices.Max(append(f.times[when+1:], 0)) > 0 {
		return
	}
	f.best = clash{intruder: k.span}
	for _, h := range held {
		f.best.held = append(f.best.held, h.span)
	}
	h := held[max(slices.IndexFunc(held, func(h known) bool { return h.span == f.best.holder() }), 0)]
	name := func(k known) string { return fmt.Sprintf("%s (%s)", f.of.who(k.span), f.hosts[k.host].Name) }
	others := name(h)
	if f.of.all {
		others = fmt.Sprintf("each of %d others, %s among them,", len(held), others)
	}
	f.detail = fmt.Sprintf("%s was granted object %d as of transaction %#x, and %s had been granted it before and gave it up later, at %s: %s", name(k), k.object,
		k.granted[1], others, h.gone(), when)
}

// conclude combines the verdicts within the hosts and between them.
func (f *clashed) conclude(own Verdict, exact, grants int) Verdict {
	v := own
	i := slices.IndexFunc(v.Judges, func(j Judge) bool { return j.By == ByZxid })
	if i < 0 { // nothing was granted
		return v
	}
	zxid := Judge{By: ByZxid, Evidence: exact, Count: max(f.count, v.Judges[i].Count)}
	if zxid.Count > 0 {
		zxid.Answer = Violated
	} else if exact > 0 && f.open == 0 {
		zxid.Answer = Holds
	}
	v.Judges[i] = zxid
	switch {
	case f.count > 0 && (own.Answer != Violated || f.count > own.Count):
		v.Answer, v.Count, v.Evidence = Violated, f.count, max(exact, own.Evidence)
		v.Witness, v.Detail = f.of.witness(f.best), f.detail
		if f.count > 1 {
			v.Detail += fmt.Sprintf("; of %d such grants %d were held at once, %d by luck were not, and %d are undecided", f.count, f.times[atOnce], f.times[notAtOnce], f.times[untold])
		}
	case own.Answer == Violated:
	case f.open > 0:
		v.Answer, v.Evidence, v.Detail = Unknown, exact, fmt.Sprintf("%d of %d grants may have been given while another host held: replies or sessions were lost, or servers before 3.9 sent "+
			"events without their transactions", f.open, grants)
	case exact == 0:
		v.Answer, v.Evidence, v.Detail = Unknown, 0, "the transactions of grants and releases are not known, and the clocks of several hosts cannot be compared"
	default:
		v.Answer, v.Evidence, v.Detail = Holds, exact, ""
	}
	return v
}

// gone returns where in the order of transactions a hold ended.
func (k known) gone() string {
	switch {
	case k.removed[0] == math.MaxInt64:
		return "no transaction"
	case k.removed[0] == k.removed[1]:
		return fmt.Sprintf("%#x", k.removed[0])
	}
	return fmt.Sprintf("%#x or later", k.removed[0])
}

// known finds the holds of all hosts, in no particular order. exact is the number of holds that are known by their own two transactions alone.
func (x exclusion) known(hosts []Host, room *spill.Room) (all *spill.List[known], horizons []horizon, exact int) {
	all = spill.New[known](room, nil)
	for i, host := range hosts {
		horizons = append(horizons, horizonOf(host.History, room))
		held := spans(host.History, room, x.of...)
		o, nth := ordering{again: places(held)}, 0
		for s := range held.all() {
			first, last := o.grant(&s, nth)
			nth++
			if s.void() {
				continue
			}
			if last { // earlier holds of the same place were held, too: only D proves that one clashes
				s.begin = first
			}
			k := known{span: s, host: uint32(i)}
			k.bound(&horizons[i])
			if k.exact {
				exact++
			}
			all.Add(k)
		}
		for _, s := range held.late() {
			all.Add(lateHold(s, i, &horizons[i]))
		}
		held.close()
	}
	return all, horizons, exact
}

// lateHold returns what a client continued to hold of a session that had been expired. It contains no transaction: its host may have seen the transactions
// before it, and what starts after it comes after what its host sends then. Only D proves a clash.
func lateHold(s span, host int, h *horizon) known {
	from := h.by(s.from)
	return known{span: s, host: uint32(host), granted: [2]int64{from, from}, removed: [2]int64{from + 1, max(h.after(s.to), from+1)}, doubtful: true}
}

// bound sets what is known of G and R.
func (k *known) bound(h *horizon) {
	g, r := k.begin.Zxid, removedAt(&k.span)
	k.granted = [2]int64{g, g}
	if g <= 0 {
		from := max(k.begin.Token, -g)
		k.granted = [2]int64{from, max(h.after(k.begin.End)-1, from)}
	}
	k.removed = [2]int64{r, r}
	if r <= k.granted[0] {
		k.removed, k.doubtful = [2]int64{k.granted[0] + 1, max(h.after(k.to), k.granted[0]+1)}, true
		if !k.ended() && k.excused == 0 { // its end is missing
			k.removed[1] = math.MaxInt64
		}
	}
	k.exact = g > 0 && r > g
}

// eachClash finds the holds that may start while others forbid it, and the holds that exclude each of them.
func eachClash(all iter.Seq[known], room *spill.Room, forbidden rule, do func(k known, held []known)) {
	list := spill.New(room, func(a, b *known) int {
		return cmp.Or(cmp.Compare(a.granted[0], b.granted[0]), cmp.Compare(a.object, b.object), cmp.Compare(a.removed[1], b.removed[1]))
	})
	defer list.Close()
	for k := range all {
		list.Add(k)
	}
	here := map[uint32][]known{}
	for k := range list.All() {
		there := slices.DeleteFunc(here[k.object], func(o known) bool { return o.removed[1] <= k.granted[0] })
		exclusive, shared := 0, 0
		var held []known
		for _, o := range there {
			if o.shared {
				shared++
			} else {
				exclusive++
			}
			if !o.shared || !k.shared {
				held = append(held, o)
			}
		}
		if forbidden(k.span, exclusive, shared) {
			do(k, held)
		}
		here[k.object] = append(there, k)
	}
}

// timing says whether clashing holds were held at one instant.
type timing uint8

const (
	notAtOnce timing = iota
	untold
	atOnce
)

func (t timing) String() string {
	return [...]string{"granted wrongly, by luck not held at once", "whether both held it at once is unknown", "both held at once"}[t]
}

// when reports whether an intruder and the holds that excluded it were held simultaneously: the intruder and any of them if one is enough to exclude,
// otherwise every pair of all.
func (f *clashed) when(k known, held []known) timing {
	if !f.of.all {
		found := notAtOnce
		for i := range held {
			found = max(found, f.meeting(&k, &held[i]))
		}
		return found
	}
	found, all := atOnce, append(slices.Clip(held), k)
	for i := range all {
		for j := range i {
			found = min(found, f.meeting(&all[i], &all[j]))
		}
	}
	return found
}

// meeting reports whether two holds were held at one instant: by the clock of their host, or by what their hosts had sent and seen.
func (f *clashed) meeting(a, b *known) timing {
	ha, hb := &f.horizons[a.host], &f.horizons[b.host]
	switch {
	case a.host == b.host && a.from < b.to && b.from < a.to:
		return atOnce
	case a.host == b.host, ha.after(a.to) <= hb.by(b.from), hb.after(b.to) <= ha.by(a.from):
		return notAtOnce
	case ha.after(a.from) <= hb.by(b.to) && hb.after(b.from) <= ha.by(a.to):
		return atOnce
	}
	return untold
}
