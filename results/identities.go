package results

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
)

// tolerance is how far two ways to compute the same sum may differ: histograms know values to 0.1 % and to a microsecond.
const (
	tolerance  = 0.01
	resolution = 0.002 // ms
	slot       = 0.002 // relative: a percentile is the upper edge of its slot, and a mean uses the middle
)

// document checks the numbers of run.json against each other.
func (v *validation) document() {
	violated, unknown := false, false
	for i, c := range v.r.Cells {
		v.where = cellName(i, c)
		v.scope(c)
		v.outcomes(c)
		v.clocks(c.Latency)
		v.phases(c)
		v.items(c)
		v.requests(c)
		v.shares(c)
		if v.unknown(c.Server); c.Generator.CPUShare < 0 || c.Generator.CPUPerOp < 0 {
			v.add("negative CPU time of the generator: %+v", c.Generator)
		}
		for _, k := range c.Checks {
			v.verdict(k)
			violated, unknown = violated || k.Verdict == "violated", unknown || k.Verdict == "unknown" && !k.Uncontended
		}
	}
	for i, p := range v.r.Pools {
		v.where = "pool " + string(rune('0'+i%10))
		v.clocks(p.Latency)
	}
	v.where = RunFile
	for i, c := range v.r.Cells {
		if c.Environment < 0 || c.Environment >= len(v.r.Everywhere()) {
			v.add("cell %d: environment %d of %d", i, c.Environment, len(v.r.Everywhere()))
		}
	}
	if code := v.r.Exit.Code; violated && code != 4 || unknown && code == 0 {
		v.add("exit code %d, but checks are violated: %v, lack evidence: %v", code, violated, unknown)
	}
}

// verdict checks a verdict against its evidence: silence is not success.
func (v *validation) verdict(k Check) {
	switch {
	case k.Verdict == "holds" && (k.Evidence <= 0 || k.Count != 0),
		k.Verdict == "violated" && k.Count <= 0,
		k.Verdict != "unknown" && k.Uncontended,
		!slices.Contains([]string{"holds", "violated", "unknown"}, k.Verdict):
		v.add("check %s: verdict %s with evidence %d and %d violations", k.Name, k.Verdict, k.Evidence, k.Count)
	}
}

// scope checks that operations are throughput x length, and that what came due is what was offered.
func (v *validation) scope(c Cell) {
	if length := max(c.Steady.To-c.Steady.From, 0); math.Abs(length-c.ElapsedS) > 1e-6 {
		v.add("the steady phase lasts from %v s to %v s, but elapsed_s is %v", c.Steady.From, c.Steady.To, c.ElapsedS)
	}
	done := sum(c.Done, c.Counted...)
	if got := c.Throughput * c.ElapsedS; math.Abs(got-float64(done)) > 1e-6*float64(done)+1e-6 {
		v.add("throughput_per_s x elapsed_s is %.3f, but %d of %v were done", got, done, c.Counted)
	}
	open := c.Loop == "open"
	if want := map[bool]string{true: ScopeDue, false: ScopeDone}[open]; c.Scope.Operations != want || c.Scope.PerOperation != ScopeDone {
		v.add("loop %s, but scope %+v", c.Loop, c.Scope)
	}
	if !open {
		if c.Operations != done {
			v.add("%d operations in a closed loop, but %d of %v were done", c.Operations, done, c.Counted)
		}
		return
	}
	if got := c.OfferedPerS * c.ElapsedS; math.Abs(got-float64(c.Due)) > 1e-6*float64(c.Due)+1e-6 {
		v.add("offered_per_s x elapsed_s is %.3f, but %d came due", got, c.Due)
	}
	if c.Unserved < 0 || c.Unserved > c.Due || c.Unserved > 0 && !c.Saturated && !c.Partial {
		v.add("%d of %d due operations were not served, but saturated is %v", c.Unserved, c.Due, c.Saturated)
	}
}

// outcomes checks the counts of the histograms against those of the outcomes.
func (v *validation) outcomes(c Cell) {
	served, unserved := int64(0), int64(0)
	for _, op := range c.Counted {
		l := c.Latency[op+".response"]
		served += l.Count + l.Overflow + l.Negative
		if l.Unserved > 0 {
			l = c.Latency[op+".response.unserved"]
			unserved += l.Count + l.Overflow + l.Negative
		}
	}
	if served != c.Operations {
		v.add("the histograms of %v have %d, but there are %d operations", c.Counted, served, c.Operations)
	}
	given, cut := c.Errors["timeout"], c.Errors["unfinished"]
	open := c.Loop == "open"
	// In a closed loop errors.unfinished also counts what was cut off after the steady phase.
	if unserved > given+cut || unserved < given || open && unserved != given+cut {
		v.add("the histograms of %v have %d unserved, but there are %d timeouts and %d unfinished", c.Counted, unserved, given, cut)
	}
	if all := c.Operations + sum(c.Errors, "timeout", "lost", "failed", "unfinished", "in doubt"); open && same(c.Offered, c.Counted) && all != c.Due {
		v.add("%d came due, but %d ended", c.Due, all)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Errors)) {
		if c.Errors[name] < 0 {
			v.add("negative count of errors: %d %s", c.Errors[name], name)
		}
	}
}

func same(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func sum[N int64 | float64](of map[string]N, keys ...string) (n N) {
	for _, key := range keys {
		n += of[key]
	}
	return n
}

// clocks checks that percentiles rise, that a response is lag plus service, and that what is unknown is null.
func (v *validation) clocks(all map[string]Latency) {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		l := all[key]
		n := l.Count + l.Unserved
		if n <= 0 {
			v.add("%s has times, but no samples", key)
			continue
		}
		if l.Negative > 0 {
			v.add("%s has %d negative times", key, l.Negative)
		}
		if (l.P99 != nil) != (n >= EnoughForP99) || (l.P999 != nil) != (n >= EnoughForP999) {
			v.add("%s has %d samples, but p99 known: %v, p99.9 known: %v", key, n, l.P99 != nil, l.P999 != nil)
		}
		rising := []float64{l.Min, l.P50, l.P90}
		for _, p := range []*float64{l.P99, l.P999, &l.Max} {
			if p != nil {
				rising = append(rising, *p)
			}
		}
		if !slices.IsSorted(rising) || l.Mean < l.Min*(1-slot)-resolution || l.Mean > l.Max {
			v.add("%s: the percentiles %v are not ascending, or the mean %v is outside them", key, rising, l.Mean)
		}
		if (l.Unserved > 0) != (len(l.AtLeast) > 0) {
			v.add("%s: %d were not served, but lower bounds are %v", key, l.Unserved, l.AtLeast)
		}
		if op, isResponse := strings.CutSuffix(key, ".response"); isResponse && (op != BothSides || l.Unserved == 0) {
			v.near(op+": response and service and lag", total(all, op, metrics.Response), total(all, op, metrics.Service)+total(all, op, metrics.Lag), n)
		}
	}
}

// total returns the sum of the times of an operation's successes, in ms. The mean also covers unserved operations.
func total(all map[string]Latency, op string, clock metrics.Clock) float64 {
	l := all[op+"."+clock.String()]
	lost := all[op+"."+clock.String()+".unserved"]
	return l.Mean*float64(l.Count+l.Unserved) - lost.Mean*float64(l.Unserved)
}

// near checks that two sums of n times are equal within the tolerance.
func (v *validation) near(what string, got, want float64, n int64) {
	if math.Abs(got-want) > tolerance*math.Abs(want)+resolution*float64(n) {
		v.add("%s: sums of %.3f ms and %.3f ms differ", what, got, want)
	}
}

// phasesOf lists the parts of an acquisition, and wholes what they are parts of.
var (
	phasesOf = []string{"enqueue", "list", "wait", "delivery", "re-check"}
	wholes   = []string{"acquire", "read-acquire", "campaign"}
)

// phases checks that the phases of a cell's acquisitions sum up to their service.
func (v *validation) phases(c Cell) {
	parts, whole, n := 0.0, 0.0, int64(0)
	for _, op := range phasesOf {
		parts += total(c.Latency, op, metrics.Service)
		n += c.Latency[op+".service"].Count
	}
	for _, op := range wholes {
		whole += total(c.Latency, op, metrics.Service)
	}
	if n > 0 {
		v.near("phases and services", parts, whole, n)
	}
}

// items checks that in a queue each take ends an item's transit, and that in an open loop each item whose put came due in the steady phase was taken or
// still waits. Items from before the load have no transit time. After a fault, or if a check convicts the queue, an item may have been taken twice, or unseen.
func (v *validation) items(c Cell) {
	if !slices.Contains(c.Measures, "put-to-take") {
		return
	}
	takes, ways, before := c.Done["take"], c.Done["put-to-take"], int64(0)
	if n, some := c.Parameters["preload"]; some {
		fmt.Sscan(fmt.Sprint(n), &before)
	}
	violated := slices.ContainsFunc(c.Checks, func(k Check) bool { return k.Verdict == check.Violated.String() })
	broken := violated || len(c.Faults) > 0 || c.Partial || len(c.Shares) > 1 || // shares record this time only for items of which they know both ends
		sum(c.Errors, "lost", "in doubt", "session expired") > 0
	if ways > takes || !broken && ways < takes-before*int64(c.Objects) {
		v.add("%d items were taken, but %d have a time from put to take", takes, ways)
	}
	l, puts := c.Latency["put-to-take.response"], c.Latency["put.response"]
	if n := l.Count + l.Overflow + l.Unserved; c.Loop == "open" && !broken && c.Errors["timeout"] == 0 && n != puts.Count+puts.Overflow+puts.Unserved {
		v.add("%d items came due in the steady phase, but %d were taken or still wait", puts.Count+puts.Overflow+puts.Unserved, n)
	}
}

// underWay returns the maximum number of in-flight operations of a cell: one per session, or as many as its profile allows to be outstanding.
func underWay(c Cell) int64 {
	each := int64(1)
	if n, some := c.Parameters["outstanding"]; some {
		fmt.Sscan(fmt.Sprint(n), &each)
	}
	return each * int64(c.Sessions)
}

// requests checks that at least the requests that every recipe needs were sent in the steady phase, except for operations that were in flight when the steady
// phase started.
func (v *validation) requests(c Cell) {
	cost := map[string]float64{} // in total
	per := v.costedPer(c)
	broken := slices.ContainsFunc(c.Checks, func(k Check) bool { return k.Verdict == "violated" }) // such a recipe may send fewer
	for _, line := range c.Costs {
		cost[line.Of] = line.Measured * float64(per)
		if line.Measured < 0 || math.IsNaN(line.Measured) {
			v.add("cost_per_success of %s is %v", line.Of, line.Measured)
		}
		if least := line.Least * float64(per-underWay(c)); !broken && cost[line.Of] < least-0.5 {
			v.add("%.0f %s for %d successes: at least %.0f are needed", cost[line.Of], line.Of, per, least)
		}
	}
	written := int64(0)
	for name, n := range c.Done {
		if op, known := findOp(name); known && op.Writes() {
			written += n
		}
	}
	if least := written - underWay(c); !broken && len(c.Costs) > 0 && cost["writes"] < float64(least)-0.5 {
		v.add("%.0f writes for %v: at least %d are needed", cost["writes"], c.Done, least)
	}
	if cost["bytes"] < 5*cost["names"]*(1-1e-9) {
		v.add("%.0f names have %.0f bytes: each needs at least 5", cost["names"], cost["bytes"])
	}
	if cost["names"] > 0 && cost["lists"] == 0 {
		v.add("%.0f names, but no getChildren call", cost["names"])
	}
	if c.Fanout == nil {
		return
	}
	grants, requests := float64(sum(c.Done, "acquire", "read-acquire")), 0.0
	for _, key := range requestKinds {
		requests += c.Cost[key] * grants
	}
	if all := sum(cost, "writes", "reads", "watches", "session"); math.Abs(requests-all) > 0.5+1e-6*all {
		v.add("%.1f requests by kind, but %.1f in writes, reads, watches and session", requests, all)
	}
}

// requestKinds are the keys of cost that count requests.
var requestKinds = []string{"create", "delete", "set", "get", "exists", "list", "multi", "sync", "check", "request", "add-watch", "remove-watches", "set-watches", "ping",
	"connect", "auth", "close"}

// otherCosts are the other keys of cost. docs/results.md has the unit and the scope of each.
var otherCosts = []string{"failed_writes", "wake_efficiency", "ownerless_share", "ownerless_share_worst", "fairness_jain", "fairness_random",
	"overtakes_per_grant", "overtakes_max", "longest_wait_per_median", "stale_writes_accepted", "stale_writes_rejected",
	"stale_writes_unfenced"}

// costedPer returns the number of successes that cost_per_success is divided by.
func (v *validation) costedPer(c Cell) int64 {
	if c.CostPer != "" && c.CostPer != "grant" && c.CostPer != "transaction" && c.CostPer != "request" {
		v.add("unknown cost_per %q", c.CostPer)
		return 0
	}
	return costedOf(c)
}
