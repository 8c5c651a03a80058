package command

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/workloads"
)

// builtins returns the built-in profiles of a workload, or of all workloads for "".
func builtins(t *testing.T, workload string) []profiles.Profile {
	t.Helper()
	all, err := setup().Catalogue().Builtin()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(p profiles.Profile) bool { return workload != "" && p.Workload != workload })
}

// described returns the workloads whose load a profile describes: all but the replay of a trace, which has tests of its own.
func described() []workloads.Kind {
	return slices.DeleteFunc(setup().Workloads, func(k workloads.Kind) bool { return k.Name == workloads.ReplayName })
}

// smallest returns the built-in profile of a workload with the fewest sessions, of those that break nothing. It has the given number of sessions, or its own
// number if the given one is too small.
func smallest(t *testing.T, workload string, sessions int) profiles.Profile {
	t.Helper()
	fewest := func(p profiles.Profile) int { return slices.Min(p.Sessions) }
	all := slices.DeleteFunc(builtins(t, workload), func(p profiles.Profile) bool { return len(p.Faults)+len(p.Gates) > 0 })
	if len(all) == 0 {
		t.Fatalf("workload %s has no built-in profile without faults and gates", workload)
	}
	slices.SortStableFunc(all, func(a, b profiles.Profile) int { return fewest(a) - fewest(b) })
	for _, p := range all {
		for _, n := range []int{sessions, fewest(p)} {
			if one, err := profiles.Set(p, fmt.Sprintf("sessions=%d", n)); err == nil && setup().Check(one) == nil {
				return one
			}
		}
	}
	t.Fatalf("no built-in profile of %s can be used, with %d sessions or its own", workload, sessions)
	return profiles.Profile{}
}

// set returns a profile with other values.
func set(t *testing.T, p profiles.Profile, assignments ...string) profiles.Profile {
	t.Helper()
	p, err := profiles.Set(p, assignments...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// rounds bounds the work in a shortened profile of a workload that ends when its work is done.
const rounds = 20

// fewer returns the assignments that leave at most rounds to do: to the fields of a finite workload that may be a million.
func fewer(p profiles.Profile, rounds int) (all []string) {
	for _, w := range setup().Catalogue() {
		for _, f := range w.Fields {
			if w.Name == p.Workload && w.Shape == profiles.Finite && f.Type == profiles.WholeNumber && f.Max >= 1e6 {
				all = append(all, fmt.Sprintf("%s=%d", f.Key, min(rounds, slices.Min(append(p.Ints(f), rounds)))))
			}
		}
	}
	return all
}

// shortened returns a randomly drawn cell of a profile, with the shortest time in which its load can be judged. turn counts its runs: each safe variant
// has its turn, with its options drawn.
func shortened(t *testing.T, p profiles.Profile, r *rand.Rand, turn int) profiles.Profile {
	t.Helper()
	const most = 100 // sessions of the load and of a storm
	engine, breaks := "native", len(p.Faults) > 0
	for _, k := range setup().Workloads {
		if k.Name != p.Workload || breaks || len(p.Gates) > 0 { // gates name variants
			continue
		}
		safe := slices.DeleteFunc(slices.Clone(k.Variants), func(v workloads.Variant) bool { return v.Unsafe })
		v := safe[turn%len(safe)]
		p = set(t, p, "variants=["+v.Name+"]")
		for _, o := range v.Options {
			if len(o.Values) > 1 && o.Values[0] != "false" && r.IntN(2) == 0 { // the option is a choice of words
				p = set(t, p, "options."+o.Name+"="+o.Values[r.IntN(len(o.Values))])
			}
		}
		if !v.Persistent && r.IntN(2) == 0 {
			engine = "go-zookeeper"
		}
	}
	if len(p.Gates) == 0 {
		points := p.Points()
		least := most
		if len(p.Sessions) > 0 {
			least = max(most, slices.Min(p.Sessions))
			points = slices.DeleteFunc(points, func(q profiles.Profile) bool { return q.Sessions[0] > least })
		}
		p = points[r.IntN(len(points))]
	}
	sets := append(fewer(p, rounds), "engine="+engine, fmt.Sprintf("seed=%d", r.Uint64()))
	if p.Repetitions > 1 {
		sets = append(sets, "repetitions=1")
	}
	if len(p.Sessions) > 0 && slices.Max(p.Sessions) > most {
		sets = append(sets, fmt.Sprintf("sessions=%d", most))
	}
	if len(p.Prefill) > 0 {
		sets = append(sets, fmt.Sprintf("prefill=%d", min(p.Prefill[0], 2000)))
	}
	if len(p.Rate) > 0 { // on a busy machine it may be too much, which is not an alarm
		sets = append(sets, "saturation=allowed")
	}
	// A short session timeout is for sessions that are meant to expire: the times of such a profile are chosen for that.
	if p.Duration > 0 && !breaks && p.SessionTimeout >= 10*time.Second {
		sets = append(sets, "warmup="+min(p.Warmup, 500*time.Millisecond).String(), "duration="+min(p.Duration, 4*time.Second).String(),
			"drain="+min(p.Drain, 3*time.Second).String())
	}
	if breaks {
		p = fewerFaults(p, 2*time.Minute, most/2)
		sets = append(sets, "duration="+p.Duration.String())
	}
	return set(t, p, sets...)
}

// fewerFaults returns a profile that takes no longer than length, with its faults in proportion, and with storms of no more than the given sessions.
func fewerFaults(p profiles.Profile, length time.Duration, sessions int) profiles.Profile {
	p.Faults = slices.Clone(p.Faults)
	scaled := func(d time.Duration) time.Duration {
		return time.Duration(float64(d) * float64(length) / float64(p.Duration)).Round(time.Millisecond)
	}
	for i := range p.Faults {
		f := &p.Faults[i]
		f.Sessions = min(f.Sessions, sessions)
		if p.Duration > length {
			f.At, f.Every = scaled(f.At), scaled(f.Every)
		}
	}
	p.Duration = min(p.Duration, length)
	return p
}

// write writes a profile to a file.
func write(t *testing.T, p profiles.Profile) string {
	t.Helper()
	text, err := profiles.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), p.Name+".yaml")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}
