package command

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
)

// prober carries out the probes of a search, one after the other: each is a run of its own.
type prober struct {
	a        *app
	s        *signals
	r        rung
	search   *capacity.Search
	from     float64 // the lowest load
	rate     float64 // operations a second there
	ensemble ensemble.Ensemble
	crew     *crew // nil: this process carries all of each probe out
	look     func(bench.Update)
	tell     func(format string, args ...any)
	patience time.Duration   // for the base latency
	base     time.Duration   // p99 at the lowest load, the lowest that was measured; 0: none was yet
	troubled bool            // the probe before was too much, or said nothing
	broken   error           // why the search did not come to its end
	znodes   []float64       // that were there before each probe, NaN where no server tells
	there    map[string]bool // the servers that answered before the first probe
}

// patience is how long the servers have to get over a probe.
const patience = time.Minute

// The directory of a probe has a number behind this, and that of the wait for the base latency before it has this behind the number.
const (
	probeDir = "probe-"
	waitDir  = "-recovery"
)

// short is a time to drain, and to look at the base latency: 2 s for blocks of 5 s.
func (p *prober) short() time.Duration { return p.search.Block() * 2 / 5 }

// run carries one load out.
func (p *prober) run(at float64, seed uint64, warmup time.Duration, blocks *bench.Blocks, path string) (*results.Run, error) {
	profile, err := p.r.axis.at(p.r.profile, at)
	if err != nil {
		return nil, err
	}
	profile.Seed, profile.Warmup, profile.Duration, profile.Drain, profile.Saturation = seed, warmup, blocks.Steady(), p.short(), profiles.SaturationAllowed
	return p.crew.record(p.a, p.s, load{profile: profile, path: path, root: p.r.root, ensemble: p.ensemble, blocks: blocks, look: p.look,
		said: fmt.Sprintf("%s: %s %s", filepath.Base(path), phrase.Number(at, 4), p.r.axis.unit)})
}

// carry carries a probe out, after the base latency is back where the probe before may have raised it. The run is of the probe, or, where it was not begun
// because the latency did not come back, the one that waited.
func (p *prober) carry(probe capacity.Probe, path string) (m capacity.Measurement, run *results.Run, err error) {
	began := time.Now()
	defer func() { m.Took = time.Since(began) }()
	p.count()
	recovery, unsafe := time.Duration(0), false
	if p.troubled && p.base > 0 {
		back, waited, err := p.recover(probe.Seed+1, path+waitDir)
		if recovery = time.Since(began); err != nil || len(waited.Cells) != 1 {
			return m, waited, err
		}
		if m = measurement(waited.Cells[0]); !back {
			m.Recovery = recovery
			if m.Suspect == capacity.Trusted {
				m.Suspect = capacity.NotRecovered
			}
			return m, waited, nil
		}
		unsafe = m.Unsafe
	}
	blocks := &bench.Blocks{Length: probe.Block, Max: probe.Max, Limits: p.r.limits, Enough: p.search.Enough}
	if run, err = p.run(probe.Load, probe.Seed, probe.Settle, blocks, path); err != nil || len(run.Cells) != 1 {
		return m, run, err
	}
	cell := run.Cells[0]
	if m = measurement(cell); m.Suspect == capacity.Trusted && p.lost() {
		m.Suspect = capacity.ServerLost
	}
	m.Blocks, m.Recovery, m.Unsafe = blocks.Counted, recovery, m.Unsafe || unsafe
	l, known := cell.Response()
	for i, goal := range p.search.Result().Goals {
		g, value := p.r.limits[i], math.NaN()
		if g.Response > 0 && known {
			value = l.Quantile(1 - goal.Share)
		}
		m.Values = append(m.Values, value)
	}
	if known && probe.Load == p.from && m.Suspect == capacity.Trusted {
		p.learn(l)
	}
	return m, run, nil
}

// count notes how many znodes are there before a probe, and before the first one which servers. Each removes what it made, and one that cannot ends the search: what there is more of is somebody else's.
func (p *prober) count() {
	there, all := math.NaN(), p.ensemble.Stats(p.s.working)
	if p.there == nil {
		p.there = map[string]bool{}
		for _, st := range all {
			p.there[st.Address] = st.Err == nil || errors.Is(st.Err, ensemble.ErrWordsOff)
		}
	}
	for _, st := range all {
		if st.Err == nil && !st.Lacks("zk_znode_count") && !(float64(st.Znodes) >= there) { // one that lags behind has not removed all yet
			there = float64(st.Znodes)
		}
	}
	if p.znodes = append(p.znodes, there); there > p.znodes[0] {
		p.tell("  %.0f znodes existed before this probe, %.0f before the first", there, p.znodes[0])
	}
}

// lost reports whether a server is no longer there that was before the first probe. One that takes too long to answer is not lost: it has much to do.
func (p *prober) lost() bool {
	return slices.ContainsFunc(p.ensemble.Stats(p.s.working), func(st ensemble.ServerStats) bool {
		gone := errors.Is(st.Err, ensemble.ErrUnreachable) || errors.Is(st.Err, ensemble.ErrNoQuorum)
		slow := errors.Is(st.Err, os.ErrDeadlineExceeded) || errors.Is(st.Err, context.DeadlineExceeded)
		return p.there[st.Address] && gone && !slow
	})
}

// stopped is how late a timer of zkbench has to be to say that it did not run at all meanwhile.
const stopped = time.Second

// measurement is what the result of a probe says of its circumstances.
func measurement(cell results.Cell) (m capacity.Measurement) {
	for _, c := range cell.Checks {
		m.Unsafe = m.Unsafe || c.Verdict == "violated"
	}
	restarts, _ := cell.Server.Get("restarts")
	switch {
	case cell.Generator.Saturated:
		m.Suspect = capacity.Generator
	case cell.Generator.TimerLagMax >= float64(stopped.Milliseconds()):
		m.Suspect = capacity.Paused
	case restarts > 0:
		m.Suspect = capacity.ServerLost
	}
	for _, f := range cell.Faults { // none was planned
		if f.Kind != "" {
			m.Suspect = capacity.LeaderChanged
		}
	}
	return m
}

// learn takes the response at the lowest load for the base latency, if it is the shortest so far: servers are cold at first.
func (p *prober) learn(l results.Latency) {
	ms := l.Max
	if l.P99 != nil {
		ms = *l.P99
	}
	if at := time.Duration(ms * float64(time.Millisecond)); at > 0 && (p.base == 0 || at < p.base) {
		p.base = at
	}
}

// judged says whether servers may still have to do with a probe that was judged so: it failed, pointed that way, or was invalid.
func (p *prober) judged(j capacity.Judgement) {
	p.troubled = j.Decision == capacity.Fail || j.Decision == capacity.Invalid || j.Decision == capacity.Undecided && j.Above
}

const (
	backFactor = 2    // the base latency is back when the responses are within so many times of it,
	backShare  = 0.02 // but for so many of them: of few responses the p99 is one or two
	backLeast  = 100  // operations in a block
)

// recover offers the lowest load until the base latency is back, for as long as there is patience.
func (p *prober) recover(seed uint64, path string) (back bool, run *results.Run, err error) {
	limit := max(backFactor*p.base, time.Millisecond)
	length := max(p.short(), time.Duration(backLeast/p.rate*float64(time.Second)))
	blocks := &bench.Blocks{Length: length, Max: max(int(p.patience/length), 1), Limits: []bench.Limit{{Response: limit}},
		Enough: func(all []capacity.Block) bool { back = recovered(all[len(all)-1]); return back }}
	began := time.Now()
	run, err = p.run(p.from, seed, p.short()/2, blocks, path)
	if took := time.Since(began); err == nil && !back {
		p.tell("  the base latency, a p99 of %s at %s, did not recover within %s", phrase.Duration(p.base), phrase.Number(p.from, 4), phrase.Rough(took))
	} else if err == nil && len(blocks.Counted) > 1 {
		p.tell("  the base latency, a p99 of %s at %s, recovered after %s", phrase.Duration(p.base), phrase.Number(p.from, 4), phrase.Rough(took))
	}
	if err == nil && len(run.Cells) != 1 {
		err = fmt.Errorf("%s: the run that waits for the base latency has %d cells", path, len(run.Cells))
	}
	return back, run, err
}

// recovered reports whether the responses of a block of the lowest load are those of the start.
func recovered(b capacity.Block) bool {
	return b.Due > 0 && float64(b.Over[0]) <= backShare*float64(b.Due)
}
