package plan

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/internal/sharing"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/workloads"
)

// Cell is one point of the matrix of a profile, not yet carried out.
type Cell struct {
	Variant             string
	Sessions            int
	Environment         int                // index in the Environments of the profile
	Rate                float64            // offered per second over all sessions; 0: closed loop
	Repetition          int                // from 1
	Profile             profiles.Profile   // with the ensemble of this cell only
	Point               profiles.Profile   // Profile with one value on each of its axes
	EnvironmentSettings []profiles.Setting // settings of this cell's ensemble that differ from others of the profile
}

// Cells returns all cells of a profile, in an order shuffled by its seed, so that a drift of the machine affects all variants alike. A profile that plays
// scenarios has none.
func Cells(p profiles.Profile) []Cell {
	var cells []Cell
	if len(p.Sessions) == 0 {
		return nil
	}
	for rep := range max(p.Repetitions, 1) {
		for environment, there := range p.Environments() {
			for _, point := range there.Points() {
				c := Cell{Variant: point.Variants[0], Sessions: point.Sessions[0], Environment: environment, Repetition: rep + 1, Profile: there, Point: point, EnvironmentSettings: p.Differences(there)}
				if len(point.Rate) > 0 {
					c.Rate = point.Rate[0]
				}
				cells = append(cells, c)
			}
		}
	}
	r := rand.New(rand.NewPCG(p.Seed, 0))
	r.Shuffle(len(cells), func(i, j int) { cells[i], cells[j] = cells[j], cells[i] })
	slices.SortStableFunc(cells, func(a, b Cell) int { // so that each ensemble is started once, and each prefill is made once on it
		return cmp.Or(cmp.Compare(a.Environment, b.Environment), cmp.Compare(a.Prefill(), b.Prefill()))
	})
	return cells
}

// Open reports whether the cell is an open loop: work is due by a schedule.
func (c Cell) Open() bool { return c.Rate > 0 }

// Loop returns 'open' or 'closed'.
func (c Cell) Loop() string {
	if c.Open() {
		return "open"
	}
	return "closed"
}

// Prefill returns how many znodes exist in addition to those of the cell.
func (c Cell) Prefill() int {
	if len(c.Point.Prefill) == 0 {
		return 0
	}
	return c.Point.Prefill[0]
}

// Load returns what the cell asks of its workload, whose znodes are in dir.
func (c Cell) Load(dir string) workloads.Load {
	p := c.Point
	return workloads.Load{Dir: dir, Sessions: c.Sessions, Open: c.Open(), Rate: c.Rate, Span: p.Warmup + p.Duration, Deadline: p.Deadline, Stall: 2 * p.SessionTimeout, Values: p.Values()}
}

// Pause returns the mean time that a session of a closed loop spends between its requests: holding or thinking.
func (c Cell) Pause() time.Duration { return Mean(c.Load("").Hold()) + Mean(c.Point.Think) }

// Mean returns the mean of a distribution.
func Mean(d profiles.Distribution) time.Duration {
	if d.Kind == profiles.Uniform {
		return (d.Min + d.Max) / 2
	}
	return d.Mean
}

// Name returns the name of the cell in the document and in the files next to it.
func (c Cell) Name() string {
	name := plain.Replace(c.Variant) + "-" + strconv.Itoa(c.Sessions)
	if c.Open() {
		name += "-" + strconv.FormatFloat(c.Rate, 'f', -1, 64) + "ps"
	}
	for _, there := range c.EnvironmentSettings {
		name += plain.Replace(fmt.Sprintf("-%v", there.Value))
	}
	for _, own := range c.Point.Own() {
		if _, number := own.Value.(int); own.Axis && number || c.Profile.Varied(own.Key) {
			name += plain.Replace(fmt.Sprintf("-%v%s", own.Value, own.Key))
		}
	}
	if len(c.Profile.Prefill) > 1 {
		name += fmt.Sprintf("-%dprefill", c.Prefill())
	}
	return name + "-r" + strconv.Itoa(c.Repetition)
}

// Group returns the common name of the cell and its repetitions.
func (c Cell) Group() string { return strings.TrimSuffix(c.Name(), "-r"+strconv.Itoa(c.Repetition)) }

// plain replaces characters that a tag of a histogram log may not contain.
var plain = strings.NewReplacer(":", "", ", ", "+", ",", "+", " ", "", "/", "_")

// Text describes the cell's load, apart from its variant and sessions: 'rate 200/s, readers 90'.
func (c Cell) Text() string {
	var words []string
	if c.Open() {
		words = append(words, fmt.Sprintf("rate %s/s", strconv.FormatFloat(c.Rate, 'f', -1, 64)))
	}
	for _, own := range append(slices.Clip(c.EnvironmentSettings), c.Point.Own()...) {
		if own.Axis || c.Profile.Varied(own.Key) {
			words = append(words, fmt.Sprintf("%s %v", own.Key, own.Value))
		}
	}
	return strings.Join(words, ", ")
}

// Finite reports whether a workload ends when its work is done, rather than at a set time.
func Finite(w workloads.Workload) bool {
	_, finite := w.(workloads.Finite)
	return finite
}

// Overtime returns how long the load continues after the steady phase: 0 in an open loop or for a finite workload.
func (c Cell) Overtime(w workloads.Workload) time.Duration {
	if Finite(w) || c.Open() {
		return 0
	}
	return c.Profile.Overtime
}

// Session returns the number of the session at a place of a share, both counted from 0.
func (c Cell) Session(place, share, shares int) int {
	return sharing.Deal{Sessions: c.Sessions, Objects: c.Load("").Objects(), Shares: max(shares, 1)}.Session(place, share)
}
