package bench

import (
	"context"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/page"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// choir is a workload that only this file knows: its sessions sing, and every song has an echo. It has its own fields, check and measures.
var choir = workloads.Kind{
	Doc: "sing",
	Workload: profiles.Workload{Name: "choir", Fields: []profiles.Field{
		{Key: "basses", Type: profiles.WholeNumber, Axis: true, Example: "[0, 50]", Default: "0", Max: 100, Role: profiles.Share, Unit: "bass singer", Doc: "Percent of the singers."},
		{Key: "key", Type: profiles.OneOf, Axis: true, Words: []string{"minor", "major"}, Example: "minor", Default: "major", Role: profiles.Option, Doc: "What is sung."},
		{Key: "rehearsals", Type: profiles.WholeNumber, Axis: true, Example: "3", Default: "0", Zero: "unrehearsed", Doc: "Rehearsals before the concert."},
	}},
	Variants: []workloads.Variant{{Name: "a-cappella", New: func(workloads.Load, map[string]string) (workloads.Workload, error) { return singing{}, nil }}},
}

type singing struct{}

func (singing) Setup(context.Context, zk.Session) error                     { return nil }
func (singing) Inspect(context.Context, zk.Session, metrics.Recorder) error { return nil }

func (singing) Join(seat workloads.Seat) workloads.Step {
	return workloads.StepFunc(func(ctx context.Context, due time.Duration) error {
		start := seat.Origin.Now()
		time.Sleep(5 * time.Millisecond)
		now := seat.Origin.Now()
		for _, op := range []metrics.Op{metrics.Meet, metrics.Deliver} {
			seat.Recorder.Record(metrics.Sample{Op: op, Session: seat.ID, Due: due, Start: start, End: now})
		}
		return ctx.Err()
	})
}

func (singing) Checks() []check.Check {
	wrong := func(answer check.Answer) func(iter.Seq[metrics.Sample], *spill.Room) check.Verdict {
		return func(iter.Seq[metrics.Sample], *spill.Room) check.Verdict {
			return check.Verdict{Answer: answer, Evidence: 7, Count: 1, Detail: "somebody was flat"}
		}
	}
	return []check.Check{{Name: "applause", Severity: check.Late, Judge: wrong(check.Violated)}, {Name: "in-tune", Judge: wrong(check.Violated)}}
}

func (singing) Measures() []workloads.Measure {
	return []workloads.Measure{{Op: metrics.Meet, Role: workloads.Operation, Unit: "songs", Timed: true, Offered: true},
		{Op: metrics.Deliver, Role: workloads.Part, Unit: "echoes", Caption: "An echo comes back from the far wall.", Question: "How far is the far wall?"}}
}

// The fields, checks and measures that a workload declares are in each kind of report, and nothing else has to know them.
func TestReportsShowWhatAWorkloadDeclares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, zktest.Config{OpLatency: time.Millisecond})
		r.config.Setup.Workloads = []workloads.Kind{choir}
		p, err := profiles.Catalogue{&choir.Workload}.Parse("choir.yaml", []byte("name: test\nseed: 7\nengine: memory\nworkload: choir\nvariants: [a-cappella]\nsessions: 3\n"+
			"warmup: 1s\nduration: 4s\nbasses: [0, 50]\nkey: [major, minor]\nrehearsals: 0\n"))
		if err != nil {
			t.Fatal(err)
		}
		r.config.Profile = p
		doc, err := r.run()
		if err != nil {
			t.Fatal(err)
		}
		var text, markdown, document, whole strings.Builder
		for to, shown := range map[*strings.Builder]report.Report{&text: report.Text(report.Run(*doc), report.Look{}), &markdown: report.Markdown(report.Run(*doc)), &document: report.JSON(doc)} {
			if err := shown(to); err != nil {
				t.Fatal(err)
			}
		}
		source, err := page.Beside(results.Document{Run: doc, Dir: r.config.Out.Path()})
		if err == nil {
			err = page.Write(&whole, true, source)
		}
		if err != nil {
			t.Fatal(err)
		}
		said := []string{"a-cappella key=minor", "unrehearsed", "An echo comes back from the far wall.", "VIOLATED in-tune", "VIOLATED applause", "50 % bass singers", "somebody was flat"}
		for _, out := range []struct {
			name, text string
			want       []string
		}{
			{"text", strings.Join(strings.Fields(text.String()), " "), append(said, "With 50 % bass singers:", "deliver")},
			{"Markdown", markdown.String(), append(said, "bass singers, %", "VIOLATED in-tune +1", "| deliver")},
			{"the page", whole.String(), append(said, "bass singers, %", "How far is the far wall?", "VIOLATED in-tune +1")},
			{"JSON", document.String(), []string{`"severity": "late"`, `"role": "share"`, `"unit": "bass singer"`, `"text": "unrehearsed"`, `"role": "option"`, `"question": "How far is the far wall?"`}},
		} {
			for _, want := range out.want {
				if at := strings.Index(out.text, want); at < 0 || want == "VIOLATED in-tune" && at > strings.Index(out.text, "VIOLATED applause") {
					t.Errorf("%s does not say %q, or what is graver not first:\n%.6000s", out.name, want, out.text)
				}
			}
		}
		r.clean()
	})
}
