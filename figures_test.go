package zkbench_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"
)

// Sentences of documents with figures of a published result. Each is a template: what is in braces is looked up in the tables of the result's
// report, with the digits that it shows there, and what only says how figures compare is checked by is, which adds to the sentence if they do not.
// A cell is named by its column and by what else is in its row.
var sentences = []struct{ file, result, text string }{
	{"README.md", "quickstart", `A release of a predecessor lock wakes one waiter.{{is (num "events per release" "predecessor" "300") 0.99 1.01}}`},

	{"docs/libraries.md", "libraries", `With twenty sessions, one grant takes about five requests (create, list, watch, list again, delete) and one watch event in all four` +
		`{{range libraries}}{{is (num "requests per grant" . "20") 5 6.5}}{{is (num "watch events per grant" . "20") 0.95 1.05}}{{end}}:`},
	{"docs/libraries.md", "libraries", `kazoo sends one request more{{is (minus (num "requests per grant" "driver:kazoo" "20") (num "requests per grant" "driver:curator" "20")) 0.8 1.3}}:`},
	{"docs/libraries.md", "libraries", `none got more than its share.{{range libraries}}{{is (num "fairness" . "20") 0.97 1}}{{end}}`},
	{"docs/libraries.md", "libraries", `A grant takes kazoo {{ms "driver:kazoo" "1"}} to {{ms "driver:kazoo" "20"}} ms of CPU time in Python, ` +
		`Curator {{ms "driver:curator" "20"}} ms, go-zookeeper {{ms "driver:go-zookeeper" "20"}} ms, and ` +
		`zkbench's own recipe {{ms "predecessor" "1"}} to {{ms "predecessor" "20"}} ms.`},
	{"docs/libraries.md", "libraries", `**Clients differ by a factor of about four in CPU.**` +
		`{{range sizes}}{{is (ratio (num "client CPU, us per grant" "driver:kazoo" .) (num "client CPU, us per grant" "predecessor" .)) 3.5 4.5}}{{end}}`},

	{"docs/libraries.md", "libraries-read-write", `{{fig "watch events per grant" "driver:curator" "90"}} events and {{fig "requests per grant" "driver:curator" "90"}} requests per grant, ` +
		`against {{one "watch events per grant" "read-write" "90"}} and {{fig "requests per grant" "read-write" "90"}}, and it grants {{fig "grants/s" "driver:curator" "90"}} per second where ` +
		"`read-write` grants {{fig \"grants/s\" \"read-write\" \"90\"}}."},

	{"docs/libraries.md", "libraries-semaphores", `{{least "requests per grant"}} to {{most "requests per grant"}} against about five`},
	{"docs/libraries.md", "libraries-semaphores", `**kazoo sends a quarter more requests**` +
		`{{is (ratio (num "requests per grant" "driver:kazoo") (num "requests per grant" "lease")) 1.15 1.35}}{{is (ratio (num "requests per grant" "driver:kazoo") (num "requests per grant" "driver:curator")) 1.15 1.35}}`},

	{"docs/libraries.md", "libraries-queues", `{{fig "watch events per operation" "driver:curator"}} and {{fig "watch events per operation" "driver:kazoo"}} events per operation with four consumers, ` +
		"against {{fig \"watch events per operation\" \"fifo\"}} for `fifo`."},

	{"docs/traffic.md", "replay", `trace {{fig "speed" "trace"}} {{fig "requests" "trace"}} {{fig "divergent, %" "trace"}} {{fig "not sent" "trace"}} {{fig "late" "trace"}} ` +
		`{{fig "answered differently" "trace"}} {{fig "of znodes not created" "trace"}} {{fig "waits" "trace"}} {{fig "lag p99, ms" "trace"}} {{fig "sessions left to expire" "trace"}} ` +
		`{{sentence "5 of 5 replays"}}`},

	{"docs/security.md", "storm-tls", `| none | - | {{fig "took p50, ms" "predecessor secure=none" "session"}} | ` + backAgain("none")},
	{"docs/security.md", "storm-tls", `| TLS | {{fig "took p50, ms" "predecessor secure=tls" "TLS, full handshake"}} | {{fig "took p50, ms" "predecessor secure=tls" "session"}} | ` +
		backAgain("tls") + ` | {{fig "connections" "predecessor secure=tls" "TLS, full handshake"}}, all full |`},
	{"docs/security.md", "storm-tls", `| TLS, resumed | {{fig "took p50, ms" "predecessor secure=tls-resumed" "TLS, resumed"}} | {{fig "took p50, ms" "predecessor secure=tls-resumed" "session"}} | ` +
		backAgain("tls-resumed") + ` | {{fig "connections" "predecessor secure=tls-resumed" "TLS, resumed"}}, all resumed |`},

	{"docs/security.md", "storm-tls", `Coming back from a reset took about six times as long with TLS as without{{is (ratio (middle "all back after, ms" "predecessor secure=tls" "reset" | number) (middle "all back after, ms" "predecessor secure=none" "reset" | number)) 5.5 6.5}}, and about four times where sessions resume{{is (ratio (middle "all back after, ms" "predecessor secure=tls-resumed" "reset" | number) (middle "all back after, ms" "predecessor secure=none" "reset" | number)) 3.5 4.5}} (medians)`},
	{"docs/security.md", "storm-tls", `no run with TLS was as fast as one without` +
		`{{is (ratio (least "all back after, ms" "predecessor secure=tls-resumed" "reset" | number) (most "all back after, ms" "predecessor secure=none" "reset" | number)) 1.01 99}}` +
		`{{is (ratio (least "all back after, ms" "predecessor secure=tls" "reset" | number) (most "all back after, ms" "predecessor secure=none" "reset" | number)) 1.01 99}}.`},
	{"docs/security.md", "storm-tls", `the ranges of the five runs overlap` +
		`{{is (ratio (most "all back after, ms" "predecessor secure=none" "restart, leader" | number) (least "all back after, ms" "predecessor secure=tls" "restart, leader" | number)) 1.01 99}}` +
		`{{is (ratio (most "all back after, ms" "predecessor secure=none" "restart, leader" | number) (least "all back after, ms" "predecessor secure=tls-resumed" "restart, leader" | number)) 1.01 99}}.`},

	{"docs/versions.md", "upgrade", `The longest time without a grant of one object was {{least "pause, ms" "predecessor" | seconds}} to {{most "pause, ms" "predecessor" | seconds}} s. ` +
		`It was up to {{most "pause before, ms" "predecessor" | seconds}} s in the five seconds before`},
	{"docs/versions.md", "upgrade", `Every session lost its connection at least once in each upgrade{{is (least "clients cut off" "predecessor" | number) 60 60}}, ` +
		`and all were back {{least "all back after, ms" "predecessor" | seconds}} to {{most "all back after, ms" "predecessor" | seconds}} s after its beginning: ` +
		`{{least "moved" "rolling-upgrade, to 3.9.3"}} to {{most "moved" "rolling-upgrade, to 3.9.3"}} of the 60 on another server after the way to 3.9.3, ` +
		`{{least "moved" "rolling-upgrade, to 3.8.0"}} to {{most "moved" "rolling-upgrade, to 3.8.0"}} after the way back. ` +
		`No session expired{{is (most "expired" "predecessor" | number) 0 0}}, no znode was left{{is (most "orphans" "predecessor" | number) 0 0}}, ` +
		`no operation was abandoned{{is (num "not served, %" "predecessor") 0 0}}, and every check {{fig "verdict" "predecessor"}}.`},

	{"docs/capacity.md", "capacity-ladder/servers-3", `{{fig "load" "climb" "5" "pass"}}/s passed in the climb and {{fig "load" "climb" "6" "fail"}}/s failed, also when the servers were warm` +
		`{{is (num "load" "climb" "8" "fail") 3200 3200}}.`},
	{"docs/capacity.md", "capacity-ladder/servers-3", `so {{fig "load" "narrow" "9" "undecided"}}/s was undecided, and fresh samples of it too{{is (num "load" "confirm" "11" "undecided") 2263 2263}}. ` +
		`So the bracket widened until its low end, {{fig "load" "confirm" "15" "pass"}}/s, passed and its high end, {{fig "load" "confirm" "16" "fail"}}/s, failed.`},
	{"docs/capacity.md", "capacity-ladder/servers-3", `The remaining visits, to {{least "load" "return"}}/s and {{most "load" "return"}}/s,`},
	{"docs/capacity.md", "capacity-operations", `All five intervals contain every load from {{most "from"}} to {{least "to"}}.{{is (ratio (least "to" | number) (most "from" | number)) 1 9}} ` +
		`The five figures differ by 11 % of their mean{{is (ratio (most "operations/s" | number) (least "operations/s" | number)) 1.105 1.115}},`},

	{"docs/redis.md", "redis-and-zookeeper", `The median response of the polling stages is {{low "acquire response p50, ms" polling}} to {{high "acquire response p50, ms" polling}} ms, ` +
		`and their p99 {{low "p99, ms" polling}} to {{high "p99, ms" polling}} ms:`},
	{"docs/redis.md", "redis-and-zookeeper", `(fairness {{low "fairness" polling}} to {{high "fairness" polling}}); redsync, which sleeps 50 to 250 ms, and pub/sub are the least even ` +
		`({{low "fairness" uneven}} to {{high "fairness" uneven}}{{is (ratio (high "fairness" uneven | number) (low "fairness" polling | number)) 0 0.99}}).`},
	{"docs/redis.md", "redis-and-zookeeper", `Locks in ZooKeeper and etcd queue: their p99 is less than twice the median` +
		`{{range queued}}{{is (ratio (num "p99, ms" .) (num "acquire response p50, ms" .)) 1 1.99}}{{end}}.`},
	{"docs/redis.md", "redis-and-zookeeper", "`-wait pubsub` uses twice{{is (ratio (num \"client CPU, us per grant\" \"driver:redis -stage lua -wait pubsub\") (num \"client CPU, us per grant\" \"driver:redis -stage lua\")) 1.8 2.2}} the client CPU per grant of polling, " +
		"and nearly three times{{is (ratio (num \"server CPU, us per grant\" \"driver:redis -stage lua -wait pubsub\") (num \"server CPU, us per grant\" \"driver:redis -stage lua\")) 2.5 3}} the server CPU:"},
	{"docs/redis.md", "redis-and-zookeeper", `The polling stages grant 1.4 times as often as the two locks in ZooKeeper` +
		`{{is (ratio (low "grants/s" polling | number) (num "grants/s" "driver:recipes predecessor")) 1.35 1.45}}{{is (ratio (high "grants/s" polling | number) (num "grants/s" "driver:go-zookeeper")) 1.35 1.45}}` +
		`, and 1.8 times as often as etcd's{{is (ratio (low "grants/s" polling | number) (num "grants/s" "driver:etcd")) 1.75 1.85}};`},
	{"docs/redis.md", "redis-and-zookeeper", `Redis frees it at that instant, in every run.` +
		`{{range redis}}{{is (least "lock free, ms" . | number) 3950 4050}}{{is (most "lock free, ms" . | number) 3950 4050}}{{end}}`},
	{"docs/redis.md", "redis-and-zookeeper", `etcd's were free after {{least "lock free, ms" "driver:etcd" | seconds}} to {{most "lock free, ms" "driver:etcd" | seconds}} s, and ZooKeeper's, ` +
		`whose servers check for expired sessions every tick of 2 s, after {{least "lock free, ms" "driver:recipes predecessor" | seconds}} to {{most "lock free, ms" "driver:recipes predecessor" | seconds}} s` +
		`{{is (least "lock free, ms" "driver:go-zookeeper" | number) 4450 6350}}{{is (most "lock free, ms" "driver:go-zookeeper" | number) 4450 6350}}.`},
	{"docs/redis.md", "redis-and-zookeeper", `one stale write in each run` +
		`{{range queued}}{{is (num "stale writes taken without a fence" .) 1 1}}{{end}}{{range redis}}{{is (num "stale writes taken without a fence" .) 1 1}}{{end}}`},
}

// backAgain is the part of a line about a storm that says when all clients were back, and how long the longest response took.
func backAgain(secure string) string {
	row := `"predecessor secure=` + secure + `"`
	back := func(fault string) string {
		return `{{least "all back after, ms" ` + row + ` "` + fault + `" | seconds}} to {{most "all back after, ms" ` + row + ` "` + fault + `" | seconds}} | `
	}
	return back("reset") + back("restart, leader") + `{{fig "max, ms" ` + row + ` "300" | seconds}}`
}

func TestSentencesWithFigures(t *testing.T) {
	for _, s := range sentences {
		var said strings.Builder
		report := reported(t, s.result)
		functions := tablesOf(report).functions()
		functions["sentence"] = func(start string) (string, error) { // the line of the report that starts so
			_, rest, found := strings.Cut(report, "\n"+start)
			line, _, _ := strings.Cut(rest, "\n")
			if !found {
				return "", fmt.Errorf("no line of the report starts with %q", start)
			}
			return start + line, nil
		}
		if err := template.Must(template.New(s.file).Funcs(functions).Parse(s.text)).Execute(&said, nil); err != nil {
			t.Errorf("%s, %q: %v", s.file, s.text, err)
			continue
		}
		page, err := os.ReadFile(s.file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(unwrapped(string(page)), said.String()) {
			t.Errorf("%s does not say what %s measured:\n%s", s.file, s.result, said.String())
		}
	}
}

func TestAFalseSentenceIsFound(t *testing.T) {
	tables := tablesOf("| a | b/s ±|\n|:--|--:|\n| x | 1200 ±3% |\n| y | 0.60 |\n| 20 | 7 |\n| 1 | 9 |\n\n| a | c |\n|:--|--:|\n| x, repetition 1 | - |\n\n| a | d |\n|:--|--:|\n| x, repetition 1 | 3 |\n| x, repetition 2 | 2 |\n")
	for text, want := range map[string]string{
		`{{fig "b/s ±" "x"}}`:          "1200",
		`{{one "b/s ±" "y"}}`:          "0.6",
		`{{is (num "b/s ±" "x") 1 2}}`: " [1200 is not 1 to 2]",
		`{{is (ratio (num "b/s ±" "x") (num "b/s ±" "y")) 1999 2001}}`: "",
		`{{least "b/s ±"}} {{most "b/s ±"}}`:                           "0.60 1200",
		`{{least "d" "x"}} {{most "d" "x"}}`:                           "2 3",
		`{{middle "d" "x"}} {{middle "b/s ±"}}`:                        "3 9",
		`{{low "b/s ±" sizes}} {{high "b/s ±" sizes}}`:                 "7 9",
	} {
		var said strings.Builder
		if err := template.Must(template.New("").Funcs(tables.functions()).Parse(text)).Execute(&said, nil); err != nil || said.String() != want {
			t.Errorf("%s: %q, %v, want %q", text, said.String(), err, want)
		}
	}
	for _, text := range []string{`{{fig "b/s ±" "z"}}`, `{{fig "e" "x"}}`, `{{fig "d" "x"}}`, `{{num "c" "x"}}`, `{{low "b/s ±" polling}}`, `{{high "d" sizes}}`} {
		if err := template.Must(template.New("").Funcs(tables.functions()).Parse(text)).Execute(&strings.Builder{}, nil); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

// unwrapped is a page with each paragraph on one line.
func unwrapped(page string) string { return strings.Join(strings.Fields(page), " ") }

// tables are the tables of a page of Markdown: of each the rows, of each the cells. The first row has the names of the columns.
type tables [][][]string

func tablesOf(page string) (all tables) {
	var rows [][]string
	for line := range strings.SplitSeq(page+"\n", "\n") {
		switch {
		case strings.HasPrefix(line, "|:"), strings.HasPrefix(line, "|-"): // the line below the names
		case strings.HasPrefix(line, "|"):
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i, c := range cells {
				cells[i] = strings.TrimSpace(c)
			}
			rows = append(rows, cells)
		case rows != nil:
			all, rows = append(all, rows), nil
		}
	}
	return all
}

// is returns what tells whether a cell is the one that a sentence means, in one of several repetitions or at one of several servers.
func is(key string) func(cell string) bool {
	return func(cell string) bool {
		rest, same := strings.CutPrefix(cell, key)
		return same && (rest == "" || strings.HasPrefix(rest, ", repetition ") || strings.HasPrefix(rest, " (server "))
	}
}

// of returns the figures of a column in all rows with the given cells, in the first table that has one.
func (t tables) of(column string, row ...string) (figures []string, err error) {
	for _, rows := range t {
		at := slices.Index(rows[0], column)
		if at < 0 {
			continue
		}
		for _, cells := range rows[1:] {
			if !slices.ContainsFunc(row, func(key string) bool { return !slices.ContainsFunc(cells, is(key)) }) {
				figure, _, _ := strings.Cut(cells[at], " ±")
				figures = append(figures, figure)
			}
		}
		if figures != nil {
			return figures, nil
		}
	}
	return nil, fmt.Errorf("no row %q with %q", row, column)
}

func (t tables) functions() template.FuncMap {
	fig := func(column string, row ...string) (string, error) {
		all, err := t.of(column, row...)
		if err == nil && len(all) > 1 {
			err = fmt.Errorf("%d rows %q with %q", len(all), row, column)
		}
		if err != nil {
			return "", err
		}
		return all[0], nil
	}
	num := func(column string, row ...string) (float64, error) {
		text, err := fig(column, row...)
		if err != nil {
			return 0, err
		}
		return strconv.ParseFloat(text, 64)
	}
	in := func(unit float64, digits int) func(string, ...string) (string, error) {
		return func(column string, row ...string) (string, error) {
			v, err := num(column, row...)
			return strconv.FormatFloat(v/unit, 'f', digits, 64), err
		}
	}
	best := func(of func([]float64) float64, all []string) (string, error) {
		values := make([]float64, len(all))
		for i, text := range all {
			var err error
			if values[i], err = strconv.ParseFloat(text, 64); err != nil {
				return "", err
			}
		}
		return all[slices.Index(values, of(values))], nil
	}
	among := func(of func([]float64) float64) func(string, []string) (string, error) {
		return func(column string, rows []string) (string, error) {
			var all []string
			for _, row := range rows {
				text, err := fig(column, row)
				if err != nil {
					return "", err
				}
				all = append(all, text)
			}
			return best(of, all)
		}
	}
	extreme := func(of func([]float64) float64) func(string, ...string) (string, error) {
		return func(column string, row ...string) (string, error) {
			all, err := t.of(column, row...)
			if err != nil {
				return "", err
			}
			return best(of, all)
		}
	}
	polling := []string{"driver:redis -stage fenced", "driver:redis -stage lua", "driver:redis -stage renew"}
	uneven := []string{"driver:redis -stage lua -wait pubsub", "driver:redis -stage redsync", "driver:redis -stage redsync -servers 5"}
	list := func(all ...string) func() []string { return func() []string { return all } }
	return template.FuncMap{
		"fig": fig, "num": num,
		"one":   in(1, 1),
		"ms":    func(row ...string) (string, error) { return in(1000, 1)("client CPU, us per grant", row...) },
		"least": extreme(slices.Min[[]float64]), "most": extreme(slices.Max[[]float64]),
		"middle": extreme(func(of []float64) float64 { return slices.Sorted(slices.Values(of))[len(of)/2] }),
		"low":    among(slices.Min[[]float64]), "high": among(slices.Max[[]float64]),
		"seconds": func(ms string) (string, error) {
			v, err := strconv.ParseFloat(ms, 64)
			if v < 1000 {
				return strconv.FormatFloat(v/1000, 'f', 2, 64), err
			}
			return strconv.FormatFloat(v/1000, 'f', 1, 64), err
		},
		"number": func(text string) (float64, error) { return strconv.ParseFloat(text, 64) },
		"ratio":  func(a, b float64) float64 { return a / b },
		"minus":  func(a, b float64) float64 { return a - b },
		"is": func(v, low, high float64) string {
			if v >= low && v <= high {
				return ""
			}
			return fmt.Sprintf(" [%.4g is not %v to %v]", v, low, high)
		},
		"libraries": list("driver:curator", "driver:go-zookeeper", "driver:kazoo", "predecessor"),
		"sizes":     list("1", "20"),
		"polling":   list(polling...),
		"uneven":    list(uneven...),
		"redis":     list(slices.Concat(polling, uneven)...),
		"queued":    list("driver:etcd", "driver:go-zookeeper", "driver:recipes predecessor"),
	}
}
