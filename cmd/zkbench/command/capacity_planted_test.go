package command

import (
	"flag"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/results"
)

// searched returns the document of a search. Neither it nor its probes may contradict themselves.
func searched(t *testing.T, dir string) *results.Capacity {
	t.Helper()
	zkbench(t, "validate-result", dir).want(exitOK, "consistent (")
	d, err := results.ReadDocument(dir)
	if err != nil || d.Capacity == nil {
		t.Fatalf("%s: %+v, %v, want a search", dir, d, err)
	}
	return d.Capacity
}

// reading returns the file of a profile whose sessions read, with one request per operation.
func reading(t *testing.T) string {
	t.Helper()
	return file(t, "reading.yaml", `name: reading
workload: operations
variants: persistent
sessions: 20
mix: {get: 100}
fan_out: 5
session_timeout: 30s
ensemble: local:1
`)
}

// plants returns servers whose capacity is known, in requests a second.
func plants(planted time.Duration) map[string]*turns {
	return map[string]*turns{
		"one after the other": {service: time.Second / planted},
		"a bucket of tokens":  {service: time.Second / planted, ahead: 10 * time.Second / planted},
		"stalls":              {service: time.Second / planted / 2, still: 10 * time.Second / 4 / planted, every: 10 * time.Second / 2 / planted},
	}
}

// toTheEnd carries out the whole search.
func (p *prober) toTheEnd(t *testing.T) capacity.Result {
	t.Helper()
	dir := t.TempDir()
	for probe, more := p.search.Next(); more; probe, more = p.search.Next() {
		got, _, err := p.carry(probe, filepath.Join(dir, fmt.Sprint(probeDir, probe.Number)))
		if err != nil {
			t.Fatal(err)
		}
		p.search.Tell(got)
		p.judged(p.search.Result().Steps[probe.Number].Judgement)
	}
	return p.search.Result()
}

// The whole search finds a capacity that is planted in a server in memory: one that serves one request after the other, one with a token bucket, and one
// that pauses half of the time.
func TestAPlantedCapacityIsFoundInMemory(t *testing.T) {
	t.Parallel()
	const planted = 250
	for name, s := range plants(planted) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m, p := memorySearchOf(t, reading(t), overRate, capacity.Plan{From: 50, To: 1000, Width: 0.08, Confirm: 6, Block: 2 * time.Second, Budget: 5 * time.Minute, Seed: 7,
					Goals: []capacity.Goal{{Name: "p90<100ms", Share: 0.1}}})
				p.r.limits = []load.Limit{{Response: 100 * time.Millisecond}}
				m.turns.service, m.ahead, m.still, m.every = s.service, s.ahead, s.still, s.every
				r := p.toTheEnd(t)
				if r.Outcome != capacity.Found || math.Abs(math.Log(r.Load/planted)) > math.Log(1.15) || r.Interval.Low > planted || r.Interval.High < 0.95*planted {
					t.Errorf("%s (%s): %.4g, %+v after %d probes; want %d", r.Outcome, r.Reason, r.Load, r.Interval, len(r.Steps), planted)
				}
			})
		})
	}
}

// long enables tests that take minutes and need a quiet machine.
var long = flag.Bool("long", false, "search for planted capacities on real servers and with a starved generator; 10,000 watchers")

// A capacity that is planted in front of real servers is found: by a proxy that serves one request after the other, one with a token bucket, and one that
// pauses half of the time. If the noise of the machine hides it, the search is repeated with longer blocks.
func TestAPlantedCapacityIsFound(t *testing.T) {
	if !*long {
		t.Skip("takes minutes, on a quiet machine: -long")
	}
	const planted = 250
	upstreams := servers.Get(t, 1).Addresses()
	for name, s := range plants(planted) {
		t.Run(name, func(t *testing.T) {
			p, err := proxy.Start(t.Context(), proxy.Config{Upstreams: upstreams})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			p.Add(proxy.Rule{On: proxy.Request, Do: proxy.Delay, Notify: func(proxy.Frame) { time.Sleep(time.Until(s.take())) }})
			for _, block := range []time.Duration{time.Second / 2, time.Second, 4 * time.Second} {
				dir := out(t)
				o := zkbench(t, "capacity", reading(t), "--goal", "p50<200ms", "--servers", strings.Join(p.Addresses(), ","), "--from", fmt.Sprint(planted*0.43), "--width", "45%",
					"--confirm", "2", "--block", block.String(), "--budget", (60 * block).String(), "--out", dir)
				doc := searched(t, dir)
				if doc.Outcome == "found" && math.Abs(math.Log(*doc.Load/planted)) < math.Log(1.4) {
					if o.code != exitOK || *doc.Passed > planted*1.1 || *doc.Failed < planted/1.1 {
						t.Errorf("exit code %d, between %v and %v", o.code, *doc.Passed, *doc.Failed)
					}
					return
				}
				t.Logf("blocks of %v: %s%s", block, o.stdout, o.stderr)
			}
			t.Errorf("no search has found %d requests a second", planted)
		})
	}
}

// A generator with one CPU, which other work in its process keeps busy, is reported as the limit.
func TestAStarvedGeneratorIsTheLimit(t *testing.T) {
	if !*long {
		t.Skip("takes minutes, on a quiet machine: -long")
	}
	addresses := strings.Join(servers.Get(t, 1).Addresses(), ",")
	for range 3 {
		dir := out(t)
		o := inChild(t, starved, "", "capacity", reading(t), "--goal", "p50<200ms", "--servers", addresses, "--block", "1s", "--budget", "1m", "--out", dir)
		doc := searched(t, dir)
		if doc.Outcome == "limited" && strings.HasPrefix(doc.Limit, "zkbench") {
			o.want(exitUnknown, "limited", "zkbench")
			return
		}
		t.Logf("%s%s", o.stdout, o.stderr) // other processes used the CPU, which is not the generator's limit
	}
	t.Error("nothing says that the generator is the limit")
}
