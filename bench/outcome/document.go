package outcome

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/gates"
	"github.com/zkbench/zkbench/workloads"
)

// Document collects the results of the cells of a run.
type Document struct {
	*results.Run
	Out     *results.Dir
	Profile profiles.Profile
	Planned int  // planned cells
	Shared  bool // a share of a run; its gates are judged when the shares are merged

	remedies map[int]string   // for the cells without an operation in their steady phase, by index in Cells
	pools    map[string]*pool // for repeated cells, by name without the repetition
	pooled   []string         // the keys of pools, in the order of their first repetitions
}

// Add adds the result of a cell to the document, and writes what plots need of it into the directory of the run.
func (d *Document) Add(c *Cell, result results.Cell, f Findings) error {
	if result.Operations == 0 {
		if d.remedies == nil {
			d.remedies = map[int]string{}
		}
		d.remedies[len(d.Cells)] = f.Remedy
	}
	d.Cells = append(d.Cells, result)
	if c.History.Err() == nil {
		if details := c.Details(f); !details.Empty() {
			if err := d.Out.Details(details); err != nil {
				return err
			}
		}
	}
	return d.repeated(c)
}

// Problem is why a run was cut short, or why something of it is still on the servers.
type Problem struct {
	Code int // the exit code that it causes
	Err  error
}

// Conclude sets the exit of the run: the worst of what could not be done, what was violated and what is unknown. If the root of the run was lost, which is
// one of the problems, no check has evidence.
func (d *Document) Conclude(problems []Problem, rootLost bool) {
	d.Finished = time.Now().UTC()
	codes, reasons := []int{0}, []string(nil)
	add := func(code int, format string, args ...any) {
		codes = append(codes, code)
		if reason := fmt.Sprintf(format, args...); !slices.Contains(reasons, reason) { // repetitions of a cell have the same
			reasons = append(reasons, reason)
		}
	}
	for _, p := range problems {
		why, _, _ := strings.Cut(p.Err.Error(), "\n") // the rest is a server's log
		add(p.Code, "%s", strings.TrimSuffix(why, " ends:"))
	}
	remedy := " (saturation: allowed in the profile accepts that)"
	for i, c := range d.Cells {
		where := fmt.Sprintf("%s with %s", c.Variant, phrase.Count(c.Sessions, "session"))
		for _, k := range c.Checks {
			switch {
			case k.Verdict == check.Violated.String():
				add(4, "violated: %s of %s", k.Name, where)
			case c.Fidelity != nil && k.Name == results.Faithful && !c.Fidelity.Faithful() && !rootLost:
				add(5, "%s: %s", where, c.Fidelity)
			case k.Verdict == check.Unknown.String() && !k.Uncontended && !rootLost:
				add(5, "no evidence: %s of %s", k.Name, where)
			}
		}
		for _, f := range c.Faults {
			if f.Error != "" {
				add(1, "fault %s of %s: %s", f.Kind, where, f.Error)
			}
		}
		if c.Saturated && d.Profile.Saturation != profiles.SaturationAllowed {
			add(5, "the offered load was not sustained: %s at %v/s: %s%s", where, c.RatePerS, strings.TrimPrefix(saturatedNote(c), "saturated: "), remedy)
			remedy = ""
		}
		if n := c.Errors["failed"]; n > 0 && c.Operations == 0 {
			add(1, "nothing but errors: %s", where)
		} else if c.Operations == 0 && c.Throughput == 0 && !c.Partial { // in an open loop, work due before it may have been done in it
			add(5, "no evidence: no operation of %s in the steady phase: %s", where, d.remedies[i])
		}
	}
	for _, f := range d.Findings {
		if code, reason := f.Fault(); code != 0 {
			add(code, "%s", reason)
		}
	}
	missed, why := d.judgeGates()
	codes, reasons = append(codes, missed...), append(reasons, why...)
	d.Exit = results.Exit{Code: results.Worst(codes...), Reason: strings.Join(reasons, "; ")}
}

// Measures returns the measures of a workload for the document.
func Measures(w workloads.Workload) (all []results.Measure) {
	for _, m := range w.Measures() {
		all = append(all, results.Measure{Op: m.Op.String(), Role: string(m.Role), Unit: m.Unit, Timed: m.Timed, Idles: m.Idles, Caption: m.Caption,
			Question: m.Question, Opens: m.Opens, Side: m.Side, Owner: m.Owner})
		if m.EndedBy != metrics.OpNone {
			all[len(all)-1].EndedBy = m.EndedBy.String()
		}
	}
	return all
}

// judgeGates judges the gates of the profile, and returns the exit codes and reasons that follow.
func (d *Document) judgeGates() (codes []int, reasons []string) {
	d.Gates = nil
	if d.Shared {
		return nil, nil
	}
	for i, text := range d.Profile.Gates {
		gate, err := gates.Parse(text)
		if err != nil { // the profile was not checked
			codes, reasons = append(codes, 1), append(reasons, err.Error())
			continue
		}
		answer := gate.Judge(d.Run, d.Planned)
		answer.At = d.Profile.AtGate(i).String()
		d.Gates = append(d.Gates, answer)
		switch answer.Verdict {
		case results.GateMissed:
			codes, reasons = append(codes, 3), append(reasons, "gate missed: "+gateReason(answer))
		case results.GateUnknown:
			codes, reasons = append(codes, 5), append(reasons, "not enough evidence for the gate "+gateReason(answer))
		}
	}
	return codes, reasons
}

// gateReason names a gate and the first cell that has its verdict.
func gateReason(g results.Gate) string {
	for _, c := range g.Cells {
		if c.Verdict != g.Verdict {
			continue
		}
		why := c.Why
		if c.Value != nil {
			bound := ""
			if c.AtLeast {
				bound = "at least "
			}
			if why = bound + c.Text; c.Why != "" {
				why += ", " + c.Why
			}
		}
		return fmt.Sprintf("%s: %s with %s: %s", g.Gate, c.Variant, phrase.Count(c.Sessions, "session"), why)
	}
	return g.Gate + ": " + g.Why
}

// Unaccounted makes a cell partial, and turns its checks that hold into unknown ones.
func Unaccounted(c *results.Cell, why string) {
	c.Partial = true
	for i, k := range c.Checks {
		if k.Verdict == check.Holds.String() {
			c.Checks[i] = results.Check{Name: k.Name, Verdict: check.Unknown.String(), Detail: "not judged: " + why}
		}
	}
}
