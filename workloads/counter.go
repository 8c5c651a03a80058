package workloads

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// drawer draws numbers: it is a counter or an id generator, as the workload sees it.
type drawer interface {
	draw(ctx context.Context) (recipes.Count, error)
}

type counting struct{ recipes.Counter }

func (c counting) draw(ctx context.Context) (recipes.Count, error) { return c.Add(ctx, 1) }

type generating struct{ recipes.IDs }

func (g generating) draw(ctx context.Context) (recipes.Count, error) {
	id, err := g.Next(ctx)
	return recipes.Count{Value: id}, err
}

// drawers converts a catalogue of counters or id generators to one of drawers.
func drawers[T any](all []recipes.Variant[T], of func(T) drawer) []recipes.Variant[drawer] {
	var out []recipes.Variant[drawer]
	for _, v := range all {
		out = append(out, recipes.Variant[drawer]{Name: v.Name, Source: v.Source, Doc: v.Doc, Tokens: v.Tokens, Counts: v.Counts, Requests: v.Requests,
			Unsafe: v.Unsafe, Watch: v.Watch,
			New: func(s zk.Session, path string, o recipes.Options) drawer { return of(v.New(s, path, o)) }})
	}
	return out
}

// Counters returns the workload 'counter' for a catalogue of counters and one of id generators.
func Counters(counters []recipes.Variant[recipes.Counter], ids []recipes.Variant[recipes.IDs]) Kind {
	all := append(drawers(counters, func(c recipes.Counter) drawer { return counting{c} }),
		drawers(ids, func(g recipes.IDs) drawer { return generating{g} })...)
	return Kind{
		Doc: "draw numbers: add one to a counter, or take an id",
		Workload: profiles.Workload{Name: "counter", Alias: map[string]string{"counters": objects.Key},
			Fields: []profiles.Field{described(objects, "Counters or generators of ids; the sessions are spread over them evenly.")},
			Check:  func(p profiles.Profile) []profiles.Problem { return crowded(p, 1, "counter") }},
		Objects: "counter",
		Znodes: recipes.Znodes{
			Persistent: []string{`OBJECT/numbers(-lock)?`}, // the lock of a counter that acquires one when it fails too often
			Ephemeral:  []string{`numbers/(GUID-)?id-SEQ`, `numbers-lock/PROTECTED`},
		},
		Variants: variantsOf(all, func(v recipes.Variant[drawer]) []Option {
			if len(v.Watch) == 0 {
				return nil
			}
			return append(watch(v.Watch), positive("promote-after", "number of refusals", func(o *recipes.Options, n int) { o.PromoteAfter = n }))
		}, func(v recipes.Variant[drawer], o recipes.Options, l Load) Workload {
			return &counter{driving: drive(v, o, l), places: places{l.Dir, "counter", l.Objects()}}
		}),
	}
}

// counter implements the workload.
type counter struct {
	driving[drawer]
	places
}

// counts reports whether the variant is a counter, whose final value tells how many numbers were drawn from it.
func (w *counter) counts() bool { return w.variant.Counts }

// node returns the path that numbers are drawn from.
func (w *counter) node(object uint32) string { return w.path(object) + "/numbers" }

// Setup creates the directories, and what the first draws would create, so that all draws cost the same.
func (w *counter) Setup(ctx context.Context, s zk.Session) error {
	if err := w.make(ctx, s); err != nil {
		return err
	}
	for object := range uint32(w.n) {
		if _, err := s.Create(ctx, w.node(object), nil, zk.Persistent); err != nil {
			return err
		}
	}
	return nil
}

// Join gives the session its own handle.
func (w *counter) Join(seat Seat) Step {
	object := seat.ID % uint32(w.n)
	handle := w.variant.New(seat.observed(), w.node(object), w.options)
	return StepFunc(func(ctx context.Context, due time.Duration) error {
		s := metrics.Sample{Op: metrics.Draw, Session: seat.ID, Object: object, Due: due, Start: seat.Origin.Now()}
		actx, cancel := within(ctx, w.Deadline)
		defer cancel()
		n, err := handle.draw(actx)
		s.End = seat.Origin.Now()
		s.Outcome, s.Value, s.Token = outcome(ctx, err), n.Value, n.Token
		seat.Recorder.Record(s)
		return seat.Session.Err()
	})
}

// InspectOpen records for each counter whether its lock left a znode. The znode of an id whose reply was lost is removed with its session.
func (w *counter) InspectOpen(ctx context.Context, s zk.Session, r metrics.Recorder) error {
	if !w.counts() {
		return nil
	}
	if err := zk.CatchUp(ctx, s, w.dir); err != nil {
		return err
	}
	for object := range uint32(w.n) {
		if err := w.left(ctx, s, r, object, w.node(object)+"-lock"); err != nil {
			return err
		}
	}
	return nil
}

// Inspect reads the counters, and looks for leftover znodes of locks and ids.
func (w *counter) Inspect(ctx context.Context, s zk.Session, r metrics.Recorder) error {
	if err := zk.CatchUp(ctx, s, w.dir); err != nil {
		return err
	}
	for object := range uint32(w.n) {
		if w.counts() {
			n, err := w.variant.New(s, w.node(object), w.options).(counting).Value(ctx)
			if err != nil {
				return err
			}
			r.Record(metrics.Sample{Op: metrics.Tally, Object: object, Value: n, Due: end, Start: end, End: end})
		}
		if err := w.left(ctx, s, r, object, w.node(object), w.node(object)+"-lock"); err != nil {
			return err
		}
	}
	return nil
}

// left records whether a counter has znodes in any of the directories.
func (w *counter) left(ctx context.Context, s zk.Session, r metrics.Recorder, object uint32, dirs ...string) error {
	left := metrics.Sample{Op: metrics.Left, Object: object}
	for _, dir := range dirs {
		names, st, err := s.Children(ctx, dir)
		if errors.Is(err, zk.ErrNoNode) {
			continue // never needed, so never created
		}
		if err != nil {
			return err
		}
		if left.Token = max(left.Token, st.Pzxid); len(names) > 0 {
			left.Outcome = metrics.Failed
		}
	}
	r.Record(left)
	return nil
}

// Checks returns the checks of the variant's promises.
func (w *counter) Checks() []check.Check {
	checks := []check.Check{check.UniqueNumbers(), check.NumberOrder()}
	if w.counts() {
		checks = append(checks, check.Total())
	}
	return append(checks, check.NothingLeft())
}

// Measures returns the measure of the draws.
func (w *counter) Measures() []Measure { return []Measure{operation(metrics.Draw, "numbers")} }

// Cost returns the cost of a draw without contention.
func (w *counter) Cost() Cost {
	if w.variant.Requests == nil {
		return Cost{}
	}
	r := w.variant.Requests(1)
	c := Cost{Writes: r.Writes}
	if r.Reads > 0 {
		c[Reads] = r.Reads
	}
	return c
}

// Least returns the minimum cost of a number: one read for a counter, none for an id.
func (w *counter) Least() Cost {
	if !w.counts() {
		return Cost{}
	}
	return Cost{Reads: 1}
}

// Notes reports how many draws are in doubt: the total may or may not contain them.
func (w *counter) Notes(history iter.Seq[metrics.Sample], _ *spill.Room) []string {
	n := 0
	for s := range history {
		if s.Op == metrics.Draw && s.Outcome == metrics.InDoubt {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d draws are in doubt: their replies were lost, and too many others followed to decide", n)}
}
