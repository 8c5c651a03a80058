package capacity

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

var p99 = []Goal{{Name: "p99<50ms", Share: 0.01}}

// blocks returns blocks of 1000 operations each, with the given numbers over.
func blocks(over ...int) (all []Block) {
	for _, x := range over {
		all = append(all, Block{Seconds: 5, Due: 1000, Done: 1000, Over: []int{x}})
	}
	return all
}

func TestJudge(t *testing.T) {
	change := func(b []Block, change func(*Block)) []Block {
		change(&b[len(b)-1])
		return b
	}
	again := func(b []Block) []Block { return append(b, b[len(b)-1]) }
	for name, c := range map[string]struct {
		m     Measurement
		want  Decision
		above bool
	}{
		"far below the goal":                          {Measurement{Blocks: blocks(0, 1, 0)}, Pass, false},
		"none over":                                   {Measurement{Blocks: blocks(0)}, Pass, false},
		"below by two standard errors":                {Measurement{Blocks: blocks(5, 6, 4, 5, 5, 6)}, Pass, false},
		"below by less":                               {Measurement{Blocks: blocks(8, 9, 10, 9)}, Undecided, false},
		"above by less":                               {Measurement{Blocks: blocks(12, 11, 12, 11)}, Undecided, true},
		"above by two standard errors":                {Measurement{Blocks: blocks(20, 19, 21, 22)}, Fail, true},
		"all late in one block of four":               {Measurement{Blocks: blocks(0, 100, 0, 0)}, Undecided, true},
		"five times the goal, all in one of two":      {Measurement{Blocks: blocks(0, 110)}, Undecided, true},
		"five times the goal, in two blocks":          {Measurement{Blocks: blocks(50, 60)}, Fail, true},
		"five times the goal, in one block":           {Measurement{Blocks: blocks(60)}, Fail, true},
		"achieved 90 % in two of three blocks":        {Measurement{Blocks: again(change(blocks(0, 0), func(b *Block) { b.Done = 900 }))}, Fail, false},
		"achieved 97 %, all of it in one block":       {Measurement{Blocks: change(blocks(0, 0, 0), func(b *Block) { b.Done = 900 })}, Pass, false},
		"achieved 98.5 %":                             {Measurement{Blocks: change(blocks(0, 0, 0), func(b *Block) { b.Done = 955 })}, Pass, false},
		"94 stuck":                                    {Measurement{Blocks: change(blocks(0, 0, 0), func(b *Block) { b.Stuck = 94 })}, Pass, false},
		"95 stuck at the end of one block":            {Measurement{Blocks: change(blocks(0, 0, 0), func(b *Block) { b.Stuck = 95 })}, Pass, false},
		"95 stuck at the end of the only block":       {Measurement{Blocks: change(blocks(0), func(b *Block) { b.Stuck = 95 })}, Fail, false},
		"95 stuck at the end of two blocks":           {Measurement{Blocks: again(change(blocks(0, 0), func(b *Block) { b.Stuck = 95 }))}, Fail, false},
		"a safety check violated":                     {Measurement{Blocks: blocks(0), Unsafe: true}, Fail, false},
		"a safety check violated before anything":     {Measurement{Unsafe: true}, Fail, false},
		"the generator was late":                      {Measurement{Blocks: blocks(900, 900), Suspect: Generator}, Invalid, false},
		"a leader changed, and all was well":          {Measurement{Blocks: blocks(0, 0), Suspect: LeaderChanged}, Invalid, false},
		"a safety check violated by a sick zkbench":   {Measurement{Blocks: blocks(0), Unsafe: true, Suspect: Paused}, Invalid, false},
		"298 operations":                              {Measurement{Blocks: change(blocks(0), func(b *Block) { b.Due, b.Done = 298, 298 })}, Invalid, false},
		"299 operations":                              {Measurement{Blocks: change(blocks(0), func(b *Block) { b.Due, b.Done = 299, 299 })}, Pass, false},
		"no block":                                    {Measurement{}, Invalid, false},
		"299 operations with one over say too little": {Measurement{Blocks: change(blocks(1), func(b *Block) { b.Due, b.Done = 299, 299 })}, Undecided, false},
	} {
		if j := judge(p99, c.m, nil); j.Decision != c.want || j.Decision == Undecided && j.Above != c.above || j.Reason == "" {
			t.Errorf("%s: %v (%s), above: %v; want %v, %v", name, j.Decision, j.Reason, j.Above, c.want, c.above)
		}
	}
}

// A load passes if it meets all goals; the goal that it fails is named.
func TestSeveralGoals(t *testing.T) {
	goals := []Goal{{Name: "p99<50ms", Share: 0.01}, {Name: "errors<10%", Share: 0.1}, {Name: "expired==0", Share: 0}}
	for name, c := range map[string]struct {
		over    []int
		want    Decision
		binding int
	}{
		"all met, the first with the least room": {[]int{10, 10, 0}, Pass, 0},
		"all met, the second":                    {[]int{1, 150, 0}, Pass, 1},
		"the first fails":                        {[]int{200, 10, 0}, Fail, 0},
		"the second fails":                       {[]int{10, 1500, 0}, Fail, 1},
		"the third allows none":                  {[]int{10, 10, 1}, Fail, 2},
	} {
		m := Measurement{}
		for range 4 {
			m.Blocks = append(m.Blocks, Block{Due: 2000, Done: 2000, Over: c.over})
		}
		if j := judge(goals, m, nil); j.Decision != c.want || j.Binding != c.binding {
			t.Errorf("%s: %v by %d, want %v by %d", name, j.Decision, j.Binding, c.want, c.binding)
		}
	}
}

// The reason says what else happened in a block that missed the goal; that changes no decision.
func TestABadBlockNamesItsMark(t *testing.T) {
	for name, c := range map[string]struct {
		over []int
		at   int // the block that is marked
		want string
	}{
		"the bad block":  {[]int{0, 0, 200}, 2, "; in block 3, which missed it: snapshot"},
		"a good block":   {[]int{0, 0, 200}, 1, ""},
		"all fail":       {[]int{200, 210, 200}, 0, "; in block 1, which missed it: snapshot"},
		"nothing is bad": {[]int{0, 0, 0}, 0, ""},
	} {
		all := blocks(c.over...)
		plain := judge(p99, Measurement{Blocks: all}, nil)
		all[c.at].Mark = "snapshot"
		if got := judge(p99, Measurement{Blocks: all}, nil); got.Decision != plain.Decision || got.Reason != plain.Reason+c.want {
			t.Errorf("%s: %s (%s), want %s (%s)", name, got.Decision, got.Reason, plain.Decision, plain.Reason+c.want)
		}
	}
	stuck := blocks(900)
	stuck[0].Stuck, stuck[0].Mark = 900, "snapshot"
	if j := judge(p99, Measurement{Blocks: stuck}, nil); j.Decision != Fail || !strings.Contains(j.Reason, "stuck") || !strings.Contains(j.Reason, "snapshot") {
		t.Errorf("stuck work: %s (%s)", j.Decision, j.Reason)
	}
}

// Blocks are pooled, not voted on: two good ones do not outvote a bad one.
func TestBlocksArePooled(t *testing.T) {
	if e := estimate(blocks(0, 0, 90), 0, 0); e.P != 0.03 || e.Due != 3000 || e.Over != 90 {
		t.Errorf("estimate is %+v, want a share of 0.03", e)
	}
}

// The standard error is how much repetitions of the measurement vary: the Poisson error for independent operations, and the ratio estimator's for
// blocks that differ.
func TestTheErrorIsThatOfRepetitions(t *testing.T) {
	for name, vary := range map[string]float64{"independent operations": 0, "blocks that differ": 0.8} {
		r := rand.New(rand.NewPCG(1, 2))
		var shares, errors []float64
		for range 2000 {
			var all []Block
			for range 12 {
				mean := 50 * (1 + vary*(2*r.Float64()-1))
				x := 0
				for at := r.ExpFloat64(); at < mean; at += r.ExpFloat64() {
					x++
				}
				all = append(all, Block{Due: 5000, Over: []int{x}})
			}
			e := estimate(all, 0, 0)
			shares, errors = append(shares, e.P), append(errors, e.SE*e.SE)
		}
		mean := 0.0
		for _, v := range errors {
			mean += v / float64(len(errors))
		}
		if ratio := mean / variance(shares); ratio < 0.9 || ratio > 1.6 { // never below Poisson and the correlation of few blocks make it larger
			t.Errorf("%s: the error says a variance %.2f times that of repetitions", name, ratio)
		}
	}
}

func TestNeighboursThatAreAlikeCountLess(t *testing.T) {
	mixed, sorted := estimate(blocks(0, 40, 0, 40, 0, 40), 0, 0), estimate(blocks(0, 0, 0, 40, 40, 40), 0, 0)
	if mixed.P != sorted.P || sorted.SE < 1.3*mixed.SE {
		t.Errorf("error of blocks in turn %v, of alike neighbours %v", mixed.SE, sorted.SE)
	}
	if steady := estimate(blocks(10, 10, 10, 10), 0, 0); math.Abs(steady.SE-math.Sqrt(40)/4000) > 1e-12 {
		t.Errorf("error of equal blocks is %v, want the Poisson error", steady.SE)
	}
}

func TestQuantile(t *testing.T) {
	values := []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for q, want := range map[float64]float64{0: 0, 0.025: 0.25, 0.5: 5, 0.9: 9, 0.975: 9.75, 1: 10} {
		if got := quantile(values, q); math.Abs(got-want) > 1e-12 {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
}

// The interval is the two-sided 95 % interval: if both ends have the same error in their logarithms and are equally far from the goal on either side,
// the middle varies by that error times sqrt(1/2) over the distance of the ends.
func TestTheIntervalIsOf95Percent(t *testing.T) {
	end := func(p float64) []Estimate {
		return []Estimate{{Due: 1e6, Over: int(p * 1e6), Blocks: 60, P: p, SE: 0.1 * p, Burst: 1}}
	}
	c := confirmed{low: Judgement{Estimates: end(0.005)}, high: Judgement{Estimates: end(0.02)}}
	f := figure{goals: p99, low: 1000, high: 1040, width: 0.04, atOnce: -1}
	load, _ := f.between(c.low.Estimates, c.high.Estimates)
	want := 1.96 * 0.1 * math.Sqrt(0.5) / math.Log(4) * (1040 - 1000)
	for seed := range uint64(3) {
		i := f.interval(c, seed)
		if down, up := (load-i.Low)/want, (i.High-load)/want; down < 0.9 || down > 1.15 || up < 0.9 || up > 1.15 {
			t.Errorf("seed %d: %v around %v: %.2f and %.2f times what 95 %% are", seed, i, load, down, up)
		}
	}
}
