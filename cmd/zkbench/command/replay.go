package command

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/bench/fleet"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/internal/program"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/traffic/replay"
	"github.com/zkbench/zkbench/workloads"
)

// replayPrefix is what the name of the profile of a replay starts with; the speed and the file of the trace follow: replay:2.5:monday.trace.
const replayPrefix = "replay:"

// Values of --speed.
const (
	asRecorded = "1"
	fastest    = "max"
	mostSpeed  = 100
)

func (a *app) replay(ctx context.Context, args []string) error {
	f := a.flags("replay TRACE [flags]", `Sends the requests of a trace again, below one znode: a run of the workload 'replay' in an open loop, with all that a run has. Each recorded session is a session,
opened, closed or left to expire when it was; names that servers give are those of this run; requests wait for those of other sessions that had to come before them.
A replay is judged like a promise: if more than 1 % of its requests are not sent, late or answered differently, it is not faithful (exit code 5).`)
	var r runFlags
	speed := f.String("speed", asRecorded, "how many times as fast as recorded, such as 2.5, or max: once, as fast as the order of the requests allows")
	reads := f.String("reads", "", "kinds of the reads of which the trace has only the number, such as get=70,exists=20,children=10, which is the default")
	r.add(f)
	if err := r.parse(a, f, args); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return usagef("replay takes one trace; '%s trace' and '%s record' make them", program.Name(), program.Name())
	}
	sets, err := replaySets(*reads)
	if err != nil {
		return err
	}
	dealt, err := dealtOut(f.Arg(0), r.fleet.part)
	if err != nil {
		return err
	}
	r.sets = slices.Concat(sets, dealt, r.sets)
	return a.runOne(ctx, replayed(f.Arg(0), *speed), r, append([]string{program.Name(), "replay"}, concealed(args)...))
}

// replayed returns the name of the profile of a replay.
func replayed(file, speed string) string { return replayPrefix + speed + ":" + file }

// replaySets returns the assignments that --reads stands for.
func replaySets(reads string) ([]string, error) {
	weights, err := readWeights(reads)
	if err != nil || len(weights) == 0 {
		return nil, err
	}
	var all []string
	for _, kind := range slices.Sorted(maps.Keys(weights)) {
		all = append(all, fmt.Sprintf("%s: %d", kind, weights[kind]))
	}
	return []string{"reads={" + strings.Join(all, ", ") + "}"}, nil
}

// dealtOut returns the assignments with which the shares of a run replay a trace, if there is one.
func dealtOut(file string, part fleet.Share) ([]string, error) {
	if file == "" || part.Whole() {
		return nil, nil
	}
	plan, err := workloads.ReadPlan(file, replay.AnyReads, part.Count)
	if err != nil {
		return nil, usageError{err}
	}
	return []string{fmt.Sprintf("%s=%d", workloads.SharesKey, part.Count), fmt.Sprintf("sessions=%d", len(plan.Clients))}, nil
}

// planOf reads a trace. Of its plan, only the length and the number of requests are used, which do not depend on the kinds of reads.
func planOf(file string) (*replay.Plan, error) {
	plan, err := workloads.ReadPlan(file, replay.AnyReads, 1)
	if err != nil {
		return nil, usageError{err}
	}
	return plan, nil
}

// rateAt returns the rate of a trace at a speed.
func rateAt(plan *replay.Plan, speed float64) string {
	return strconv.FormatFloat(speed*plan.Rate(), 'f', -1, 64) + "/s"
}

// lengthAt returns how long the replay lasts at a speed: just not long enough to start again.
func lengthAt(plan *replay.Plan, speed float64) time.Duration {
	return time.Duration(float64(plan.Length)/speed).Truncate(time.Microsecond) - time.Microsecond
}

// replayOf returns the profile with the rest of a name after replayPrefix, and prints what of the trace is not sent as it was recorded.
func (a *app) replayOf(name string) (profiles.Profile, error) {
	speed, file, _ := strings.Cut(name, ":")
	times, err := strconv.ParseFloat(speed, 64)
	if speed != fastest && (err != nil || !(times > 0 && times <= mostSpeed)) {
		return profiles.Profile{}, usagef("--speed %q: expected a number above 0 and up to %d, such as 2.5, or max", speed, mostSpeed)
	}
	plan, err := planOf(file)
	if err != nil {
		return profiles.Profile{}, err
	}
	for _, unlike := range []struct {
		what string
		n    map[string]int
	}{{"left out", plan.LeftOut}, {"replaced", plan.Replaced}} {
		for _, kind := range slices.Sorted(maps.Keys(unlike.n)) {
			fmt.Fprintf(a.stderr, "%s: %s: %s, %s\n", file, unlike.what, kind, phrase.Times(unlike.n[kind]))
		}
	}
	title := strings.Trim(regexp.MustCompile(`[^A-Za-z0-9._+-]+`).ReplaceAllString(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), "-"), "-.")
	text := fmt.Sprintf("name: replay-%.50s\nworkload: %s\nvariants: [trace]\nsessions: %d\ntrace: %s\n", title, workloads.ReplayName, len(plan.Clients), strconv.Quote(file))
	if speed != fastest {
		text += fmt.Sprintf("rate: %s\nwarmup: 0s\nduration: %v\n", rateAt(plan, times), lengthAt(plan, times))
	}
	return a.setup.Catalogue().Parse("replay of "+file, []byte(text))
}
