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

	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
)

// prober carries out the probes of a search, one after the other. Each probe is a separate run.
type prober struct {
	a               *app
	s               *signals
	r               capacitySearch
	search          *capacity.Search
	from            float64 // the lowest load
	rate            float64 // operations a second at the lowest load
	ensemble        ensemble.Ensemble
	sharedPlan      *sharedPlan // nil if this process carries out each probe alone
	look            func(load.Update)
	tell            func(format string, args ...any)
	recoveryTimeout time.Duration   // how long to wait for the base latency
	base            time.Duration   // lowest p99 measured at the lowest load; 0 before the first
	troubled        bool            // the previous probe was too much for the servers, or invalid
	broken          error           // why the search did not finish
	znodes          []float64       // number of znodes before each probe, NaN if no server reports it
	there           map[string]bool // the servers that answered before the first probe
}

// recoveryTimeout is how long the servers may take to recover from a probe.
const recoveryTimeout = time.Minute

// The directory of probe 1 is probe-01, and that of the wait for the base latency before it is probe-01-recovery.
const (
	probeDir = "probe-"
	waitDir  = "-recovery"
)

// short returns the time to drain, and to observe the base latency: 2 s for blocks of 5 s.
func (p *prober) short() time.Duration { return p.search.Block() * 2 / 5 }

// run carries out a run at one load.
func (p *prober) run(at float64, seed uint64, warmup time.Duration, blocks *load.Blocks, path string) (*results.Run, error) {
	profile, err := p.r.axis.at(p.r.profile, at)
	if err != nil {
		return nil, err
	}
	profile.Seed, profile.Warmup, profile.Duration, profile.Drain, profile.Saturation = seed, warmup, blocks.Steady(), p.short(), profiles.SaturationAllowed
	return p.sharedPlan.record(p.a, p.s, recorded{profile: profile, path: path, root: p.r.root, ensemble: p.ensemble, blocks: blocks, look: p.look,
		said: fmt.Sprintf("%s: %s %s", filepath.Base(path), phrase.Number(at, 4), p.r.axis.unit)})
}

// carry carries out a probe. If the previous probe may have raised the base latency, it first waits for the latency to recover. If that fails, it does not
// start the probe and returns the run that waited; otherwise it returns the run of the probe.
func (p *prober) carry(probe capacity.Probe, path string) (m capacity.Measurement, run *results.Run, err error) {
	began := time.Now()
	p.count()
	defer func() { m.Took, m.Znodes = time.Since(began).Seconds(), orNull(p.znodes[len(p.znodes)-1]) }()
	recovery, unsafe := time.Duration(0), false
	if p.troubled && p.base > 0 {
		back, waited, err := p.recover(probe.Seed+1, path+waitDir)
		if recovery = time.Since(began); err != nil || len(waited.Cells) != 1 {
			return m, waited, err
		}
		if m = measurement(waited.Cells[0]); !back {
			m.Recovery = recovery.Seconds()
			if m.Suspect == capacity.Trusted {
				m.Suspect = capacity.NotRecovered
			}
			return m, waited, nil
		}
		unsafe = m.Unsafe
	}
	blocks := &load.Blocks{Length: probe.Block, Max: probe.Max, Limits: p.r.limits, Enough: p.search.Enough}
	if run, err = p.run(probe.Load, probe.Seed, probe.Settle, blocks, path); err != nil || len(run.Cells) != 1 {
		return m, run, err
	}
	cell := run.Cells[0]
	if m = measurement(cell); m.Suspect == capacity.Trusted && p.lost() {
		m.Suspect = capacity.ServerLost
	}
	m.Blocks, m.Recovery, m.Unsafe = blocks.Counted, recovery.Seconds(), m.Unsafe || unsafe
	l, known := cell.Response()
	for i, goal := range p.search.Result().Goals {
		var value *float64
		if p.r.limits[i].Response > 0 && known {
			value = orNull(l.Quantile(1 - goal.Share))
		}
		m.Values = append(m.Values, value)
	}
	if known && probe.Load == p.from && m.Suspect == capacity.Trusted {
		p.learn(l)
	}
	return m, run, nil
}

// count records the number of znodes before a probe and, before the first probe, the servers that answer. Each probe removes what it created, and one that
// cannot ends the search, so additional znodes belong to other clients.
func (p *prober) count() {
	there, all := math.NaN(), p.ensemble.Stats(p.s.working)
	if p.there == nil {
		p.there = map[string]bool{}
		for _, st := range all {
			p.there[st.Address] = st.Err == nil || errors.Is(st.Err, ensemble.ErrWordsOff)
		}
	}
	for _, st := range all {
		if st.Err == nil && !st.Lacks("zk_znode_count") && !(float64(st.Znodes) >= there) { // the lowest count: a server that lags behind has not applied all removals
			there = float64(st.Znodes)
		}
	}
	if p.znodes = append(p.znodes, there); there > p.znodes[0] {
		p.tell("  %.0f znodes existed before this probe, %.0f before the first", there, p.znodes[0])
	}
}

// lost reports whether a server that answered before the first probe is gone. A server that takes too long to answer is not lost: it is busy.
func (p *prober) lost() bool {
	return slices.ContainsFunc(p.ensemble.Stats(p.s.working), func(st ensemble.ServerStats) bool {
		gone := errors.Is(st.Err, ensemble.ErrUnreachable) || errors.Is(st.Err, ensemble.ErrNoQuorum)
		slow := errors.Is(st.Err, os.ErrDeadlineExceeded) || errors.Is(st.Err, context.DeadlineExceeded)
		return p.there[st.Address] && gone && !slow
	})
}

// stopped is how late a timer has to be to show that zkbench did not run at all in the meantime.
const stopped = time.Second

// measurement returns what the result of a probe says about its circumstances: whether it violated a check, and any reason not to trust it.
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

// learn takes the response at the lowest load as the base latency if it is the shortest so far: servers are cold at first.
func (p *prober) learn(l results.Latency) {
	ms := l.Max
	if l.P99 != nil {
		ms = *l.P99
	}
	if at := time.Duration(ms * float64(time.Millisecond)); at > 0 && (p.base == 0 || at < p.base) {
		p.base = at
	}
}

// judged records whether the servers may still be busy with a probe: it failed, was undecided and pointed towards failure, or was invalid.
func (p *prober) judged(j capacity.Judgement) {
	p.troubled = j.Decision == capacity.Fail || j.Decision == capacity.Invalid || j.Decision == capacity.Undecided && j.Above
}

const (
	backFactor = 2    // the base latency is back when responses take at most this many times as long,
	backShare  = 0.02 // except for this share of them: with few responses, one or two make up the p99
	backLeast  = 100  // lowest number of operations in a block
)

// recover offers the lowest load until the base latency is back, for at most p.recoveryTimeout.
func (p *prober) recover(seed uint64, path string) (back bool, run *results.Run, err error) {
	limit := max(backFactor*p.base, time.Millisecond)
	length := max(p.short(), time.Duration(backLeast/p.rate*float64(time.Second)))
	blocks := &load.Blocks{Length: length, Max: max(int(p.recoveryTimeout/length), 1), Limits: []load.Limit{{Response: limit}},
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

// recovered reports whether the responses in a block at the lowest load are as fast as at the start.
func recovered(b capacity.Block) bool {
	return b.Due > 0 && float64(b.Over[0]) <= backShare*float64(b.Due)
}
