package page

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/traffic"
)

const published = "../../results/published/quickstart"

// read reads a document with the files next to it.
func read(path string) (Source, error) {
	d, err := results.ReadDocument(path)
	if err != nil {
		return Source{}, err
	}
	return Beside(d)
}

// sources returns documents of each kind: a real run, and a comparison and a trend with every verdict.
func sources(t testing.TB) map[string]Source {
	t.Helper()
	run, err := read(published)
	if err != nil {
		t.Fatal(err)
	}
	half, one, more := 0.5, 1.0, 1.3
	metric := func(name, verdict string, effect *float64) results.MetricComparison {
		return results.MetricComparison{Metric: name, Verdict: verdict, Scale: results.ScaleRatio, Effect: effect, Low: &half, High: &more}
	}
	comparison := &results.Comparison{Schema: results.ComparisonSchema, Design: results.DesignPairs, Alpha: 0.05, MinEffect: 0.05, Baseline: results.Side{Name: "<one>"},
		Candidate: results.Side{Name: "two & three"}, Cells: []results.CellComparison{{Workload: "lock", Variant: "naive", Metrics: []results.MetricComparison{
			metric("throughput", "REGRESSION", &half), metric("p50(acquire.response)", "EQUIVALENT", &one), metric("p99(acquire.response)", "IMPROVEMENT", &half),
			metric("p50(hand-off.service)", "INCONCLUSIVE", &more)}}}}
	trend := &results.Trend{Schema: results.TrendSchema, Runs: make([]results.TrendRun, 4), Series: []results.Series{{Metric: "throughput", Workload: "lock", Variant: "naive",
		Values: []*float64{&one, &one, nil, &half}, Changes: []results.TrendChange{{Before: 1, After: 2, Verdict: "REGRESSION"}}}}}
	capacity := &results.Capacity{Schema: results.CapacitySchema, Profile: "a", Unit: "grants/s", Outcome: "found", Goals: []string{"p99<50ms"}, Load: &one, Low: &half, High: &more,
		Limit: "unknown", Probes: []results.CapacityProbe{{Load: 0.5, P99: &half, Decision: "pass"}, {Load: 2, P99: &more, Decision: "fail"}, {Load: 1, P99: &one, Decision: "undecided"},
			{Load: 1, Decision: "invalid"}}}
	return map[string]Source{"traffic": {Traffic: madeTraffic()}, "capacity": {Document: results.Document{Capacity: capacity}}, "run": run, "comparison": {Document: results.Document{Comparison: comparison}}, "trend": {Document: results.Document{Trend: trend}}}
}

// madeTraffic returns a report with some of everything, and names that a page must escape.
func madeTraffic() *report.Traffic {
	spread := func(n int64) traffic.Values {
		return traffic.Values{Count: 100, Mean: float64(n), P50: n, P90: 2 * n, P99: 4 * n, Max: 5 * n, Quantiles: [10]int64{0, 1, n / 4, n / 2, n, n, 2 * n, 2 * n, 2 * n, 3 * n}}
	}
	doc := &report.Traffic{Schema: traffic.Schema, Dirs: []string{"copy/<data>"}, From: time.UnixMilli(1_700_000_000_000).UTC(), To: time.UnixMilli(1_700_000_900_000).UTC(), Seconds: 900,
		Coverage: traffic.Coverage{Logs: 2, Transactions: 2000, Problems: []string{"log.1: torn at 17"}}, Mix: []traffic.Share{{Kind: "setData", Count: 900, Data: spread(100)}, {Kind: "delete", Count: 100}},
		Recipes: []traffic.Recipe{{Kind: traffic.Lock, Pattern: "/a&b", Grants: 100, HoldMS: spread(40)}, {Kind: traffic.Queue, Pattern: "/q", Takes: 100, AgeMS: spread(7), HoldMS: spread(3)},
			{Kind: traffic.Lock, Pattern: "/c", Grants: 100, HoldMS: spread(4000)}, {Kind: traffic.Group, Pattern: "/g", Most: 9}}}
	doc.Writes = traffic.Writes{Count: 1000, PerSecond: 1.1, IntervalS: 2, Started: doc.From, Windows: []traffic.Window{{Seconds: 1, Intervals: 899, Peak: 9, PeakRate: 9, Dispersion: 2}}}
	for i := range int64(450) {
		doc.Writes.Timeline = append(doc.Writes.Timeline, i*i%19)
	}
	return doc
}

// The page of traffic says what is wrong with the files, numbers its recipes and draws those that have times.
func TestThePageOfTraffic(t *testing.T) {
	text := write(t, sources(t)["traffic"])
	for _, want := range []string{"1 problem with the files", "log.1: torn at 17", "copy/&lt;data&gt;", "lock /a&amp;b", ">lock 2<", "0 is not on the axis", "In /q consumers claim items: 100 claims, for 3 ms", "min since the first write"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	_, holds, _ := strings.Cut(text, `<figure id="holds`)
	if got := rows(holds); len(got) != 3 || got[2][0] != "lock /c" || got[2][4] != "4000" {
		t.Errorf("behind the plot of the holds %q, want two locks and a queue", got)
	}
	_, rates, _ := strings.Cut(text, `<figure id="writes`)
	sum := 0
	for _, r := range rows(rates) {
		n, err := strconv.Atoi(r[2])
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	want := 0
	for _, n := range madeTraffic().Writes.Timeline {
		want += int(n)
	}
	if sum != want {
		t.Errorf("%d writes behind the plot, want %d", sum, want)
	}
	if text := write(t, Source{Traffic: &report.Traffic{}}); strings.Contains(text, "<figure") || !strings.Contains(text, ">complete<") || !strings.Contains(text, "No recipe was recognized") {
		t.Errorf("the page of nothing: %s", text)
	}
}

func write(t testing.TB, all ...Source) string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, false, all...); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The page of a search names the calibration of the machine, if one was stored.
func TestACapacityPageNamesTheCalibration(t *testing.T) {
	s := sources(t)["capacity"]
	const want = "can be trusted, counted in requests"
	if text := write(t, s); strings.Contains(text, want) {
		t.Error("a page without a calibration names one")
	}
	s.Capacity.Environment = &results.Environment{Servers: 3, Cores: 2, Ensemble: "local", Calibration: &results.Calibrated{Ensemble: "local:3", Servers: 3, Same: true}}
	if text := write(t, s); !strings.Contains(text, want) {
		t.Error("the page does not name the calibration")
	}
}

// A page is XML, requests nothing that a strict policy forbids, and has a title, a description and a table for each plot.
func TestPagesArePlain(t *testing.T) {
	for name, s := range sources(t) {
		text := write(t, s)
		d := xml.NewDecoder(strings.NewReader(text))
		ids := map[string]bool{}
		for {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s is not well-formed: %v", name, err)
			}
			start, _ := token.(xml.StartElement)
			if slices.Contains([]string{"script", "style", "iframe", "object", "img"}, start.Name.Local) {
				t.Errorf("%s has an element %s", name, start.Name.Local)
			}
			for _, a := range start.Attr {
				if a.Name.Local == "style" || strings.HasPrefix(a.Name.Local, "on") || strings.Contains(a.Value, "://") && a.Name.Local != "xmlns" {
					t.Errorf("%s: <%s %s=%q>", name, start.Name.Local, a.Name.Local, a.Value)
				}
				if a.Name.Local == "id" {
					if ids[a.Value] {
						t.Errorf("%s: two elements are %q", name, a.Value)
					}
					ids[a.Value] = true
				}
			}
		}
		figures := strings.Split(text, "<figure ")[1:]
		if len(figures) == 0 {
			t.Errorf("%s has no plot", name)
		}
		for _, f := range figures {
			f, _, _ := strings.Cut(f, "</figure>")
			for _, part := range []string{"<title ", "<desc ", "<figcaption>", "<td", `class="tick"`} {
				if !strings.Contains(f, part) {
					t.Errorf("%s: a plot without %s: %.200s", name, part, f)
				}
			}
			if strings.Contains(f, "NaN") {
				t.Errorf("%s: a coordinate that is no number: %.200s", name, f)
			}
		}
	}
}

var tags = regexp.MustCompile(`<[^>]*>`)

// rows returns the rows of the first table in a piece of a page, as text.
func rows(piece string) (all [][]string) {
	piece, _, _ = strings.Cut(piece, "</table>")
	for _, r := range strings.Split(piece, "<tr>")[2:] {
		var row []string
		for _, c := range strings.Split(r, "<td")[1:] {
			row = append(row, strings.TrimSpace(tags.ReplaceAllString("<td"+c, "")))
		}
		all = append(all, row)
	}
	return all
}

// The numbers behind the plots match the tables, which show as many digits as their spread allows.
func TestNumbersOfPlotsAreThoseOfTables(t *testing.T) {
	text := write(t, sources(t)["run"])
	plots, tables, found := strings.Cut(text, ">Tables</h2>")
	if !found {
		t.Fatal("no tables below the plots")
	}
	_, figure, _ := strings.Cut(plots, `<figure id="throughput`)
	inPlot, inTable := rows(figure), rows(tables)
	if len(inPlot) != 6 || len(inTable) != 6 {
		t.Fatalf("%d rows behind the plot and %d in the table, want one for each of 6 cells", len(inPlot), len(inTable))
	}
	for i, p := range inPlot { // variant, sessions, grants/s
		in := inTable[i]
		a, errA := strconv.ParseFloat(p[2], 64)
		b, errB := strconv.ParseFloat(strings.Fields(in[2])[0], 64)
		digit := 0.5 // half of the last digit in the table
		if math.Mod(b, 10) == 0 {
			digit *= 10
		}
		if p[0] != in[0] || p[1] != in[1] || errors.Join(errA, errB) != nil || math.Abs(a-b) > digit {
			t.Errorf("behind the plot %q, in the table %q", p, in)
		}
	}
}

// Missing files only cost plots; a document that was sent alone still gives a page.
func TestADocumentAlone(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join(published, results.RunFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, results.RunFile), text, 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if text := write(t, s); !strings.Contains(text, `<figure id="throughput`) || strings.Contains(text, `<figure id="heat`) {
		t.Error("want the plots of the document, and none of the files beside it")
	}
}

// WriteFile writes the style sheet next to the page, or into it.
func TestWriteFile(t *testing.T) {
	for _, single := range []bool{false, true} {
		file := filepath.Join(t.TempDir(), File)
		if err := WriteFile(file, single, sources(t)["comparison"]); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, err = os.Stat(filepath.Join(filepath.Dir(file), StyleFile))
		if inside := strings.Contains(string(text), "<style>"); inside != single || (err == nil) == single {
			t.Errorf("single %v: style sheet inside %v, beside it: %v", single, inside, err)
		}
	}
}

// BenchmarkHour reads and draws a one-hour run of twenty cells, which must take less than a second and 1.5 MiB.
func BenchmarkHour(b *testing.B) {
	var cells []made
	for _, variant := range []string{"naive", "predecessor", "single", "table", "spin"} {
		for _, sessions := range []int{10, 100, 300, 1000} {
			cells = append(cells, made{"lock", variant, sessions, 0, 180, 120})
		}
	}
	dir, size := makeUp(b, cells...), 0
	for b.Loop() {
		s, err := read(dir)
		if err != nil {
			b.Fatal(err)
		}
		if size = len(write(b, s)); size > 3<<19 {
			b.Fatalf("%d bytes", size)
		}
	}
	b.ReportMetric(float64(size)/(1<<20), "MiB")
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/page")
}
