package capacity

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Interval contains the capacity that Result.IntervalOf describes with a probability of 95 %. High is infinite if only a lower bound is known.
type Interval struct{ Low, High float64 }

// figure finds the load between two ends at which the goals are just met.
type figure struct {
	goals     []Goal
	low, high float64
	width     float64
	atOnce    int        // the goal by which the high end failed
	redraw    *rand.Rand // draws the distances again; nil: use the measured ones
}

// point returns the figure, and whether the share of a goal crosses the goal between the ends: both ends are confirmed, and the capacity is between them. If
// no share crosses its goal there, the high end failed for another reason (a session was lost, work was left undone). Then only the two loads are known, and
// the figure is the low end.
func (f figure) point(low, high []Estimate) (load float64, binding int, crosses bool) {
	if load, binding = f.between(low, high); load > f.high || f.lost() {
		return f.low, f.atOnce, false
	}
	return max(load, f.low), binding, true
}

// lost reports whether the high end failed by a goal that allows no miss.
func (f figure) lost() bool { return f.atOnce >= 0 && f.goals[f.atOnce].Share == 0 }

// between interpolates the logarithm of the share of late operations, which in an M/M/1 queue is exactly linear in the load: the share of responses above t
// at a rate l is exp(-(mu-l)t) (Kleinrock, Queueing Systems I, section 5.11). Of several goals, the one that is missed first binds. The result may be up to a
// width outside the ends. If the shares do not rise, it is the low end.
func (f figure) between(low, high []Estimate) (load float64, binding int) {
	load, binding = math.Inf(1), f.atOnce
	for i, g := range f.goals {
		if g.Share == 0 {
			continue
		}
		if at := f.crossing(f.distance(low[i], g.Share), f.distance(high[i], g.Share)); at < load {
			load, binding = at, i
		}
	}
	if math.IsInf(load, 1) || f.lost() {
		return f.low, f.atOnce
	}
	return load, binding
}

// fewEvents is the effective number of independent late operations, (share / error)^2, below which the error of a share is itself unknown.
const fewEvents = 10

// coarse reports whether a share says on which side of the goal it is and little more. Operations are late together, in rare congestions, and a share of few
// congestions has no known error; far from the goal the line between the ends is no longer straight.
func (e Estimate) coarse(share float64) bool {
	return e.Over == 0 || e.P*e.P < fewEvents*e.SE*e.SE || math.Abs(e.ratio(share)) > math.Log(clearPass)
}

// distance returns ratio without the bias of a logarithm, which is half its variance. For a coarse share it is limited to the distance that decides a probe
// early.
func (e Estimate) distance(share float64) float64 {
	x, limit := e.ratio(share), math.Log(clearPass)
	if e.coarse(share) {
		return min(max(x, -limit), limit)
	}
	return x + e.SE*e.SE/e.P/e.P/2
}

func (f figure) distance(e Estimate, share float64) float64 {
	if f.redraw != nil {
		return e.redrawn(share, f.redraw)
	}
	return e.distance(share)
}

// crossing returns where the line through both ends is 0, at most a width outside them; infinite if it does not rise to 0.
func (f figure) crossing(a, b float64) float64 {
	if b <= 0 && b <= a {
		return math.Inf(1)
	}
	at := f.high * (1 + f.width)
	if b > a {
		at = min(at, f.low+(f.high-f.low)*-a/(b-a))
	} else if a > 0 {
		at = f.low / (1 + f.width)
	}
	return max(at, f.low/(1+f.width))
}

// draws is the number of draws for an interval.
const draws = 2000

// interval redraws the shares of both ends within their errors and returns the middle 95 % of the figures. (A bootstrap of four blocks knows four values and
// is too narrow.) Confirmations that differ by more than that widen it by their own standard error.
func (f figure) interval(c confirmed, seed uint64) Interval {
	load, _, crosses := f.point(c.low.Estimates, c.high.Estimates)
	if !crosses {
		return Interval{f.low, f.high}
	}
	r := rand.New(rand.NewPCG(seed, 0x696e74657276616c))
	figures := make([]float64, draws)
	for i := range figures {
		again := f
		again.redraw = r
		at, _ := again.between(c.low.Estimates, c.high.Estimates)
		figures[i] = math.Log(at)
	}
	slices.Sort(figures)
	middle := math.Log(load)
	extra := f.betweenRounds(c, variance(figures))
	down := math.Hypot(middle-quantile(figures, 0.025), extra)
	up := math.Hypot(quantile(figures, 0.975)-middle, extra)
	return Interval{math.Exp(middle - down), math.Exp(middle + up)}
}

// betweenRounds returns half the interval of the mean of the confirmations' figures, beyond what their samples explain.
func (f figure) betweenRounds(c confirmed, pooled float64) float64 {
	k := len(c.rounds)
	if k < 2 {
		return 0
	}
	var found []float64
	for _, round := range c.rounds {
		var low, high []Estimate
		for i := range f.goals {
			low, high = append(low, estimate(round[0], i, 0)), append(high, estimate(round[1], i, 0))
		}
		at, _ := f.between(low, high)
		found = append(found, math.Log(at))
	}
	t := []float64{0, 12.706, 4.303}[k-1] // of Student's t, 97.5 %, with 1 and 2 degrees of freedom
	return t * math.Sqrt(max(0, variance(found)/float64(k)-pooled))
}

// redrawn returns the distance as another measurement of the same load might have given it: with the error that was seen, in Student's t distribution with
// one degree of freedom less than there are blocks. For a coarse share the error is half the distance, the largest with which an end is decided.
func (e Estimate) redrawn(share float64, r *rand.Rand) float64 {
	x, deviation := e.distance(share), e.SE/e.P
	if e.coarse(share) {
		deviation = math.Abs(x) / sigmas
	}
	return x + student(max(e.Blocks-1, 1), r)*deviation
}

// student draws from Student's t distribution.
func student(freedom int, r *rand.Rand) float64 {
	spread := chi(freedom, r)
	return r.NormFloat64() / spread * math.Sqrt(float64(freedom))
}

// chi draws from the chi distribution.
func chi(freedom int, r *rand.Rand) float64 {
	squares := 0.0
	for range freedom {
		x := r.NormFloat64()
		squares += x * x
	}
	return math.Sqrt(squares)
}

// quantile returns a quantile of sorted values, interpolated; q is between 0 and 1.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// variance returns the variance of a sample.
func variance(x []float64) float64 {
	mean, sum := 0.0, 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		sum += (v - mean) * (v - mean)
	}
	return sum / float64(len(x)-1)
}
