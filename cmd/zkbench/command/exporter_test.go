package command

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zkbench/zkbench/compose"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/internal/tier"
)

// A real Prometheus scrapes an active run, and the queries of the dashboard have answers. promtool has no
// complaints about the metrics.
func TestPrometheusScrapesARun(t *testing.T) {
	t.Parallel()
	ensembletest.Need(t, "prometheus:prometheus", "prometheus:promtool")
	address := servers.Get(t, 1).Addresses()[0]
	listen := freeAddress(t)
	web := scrape(t, listen)
	m := newTerminal(t)
	ended := make(chan ending, 1)
	go func() {
		ended <- m.run("run", small(t, "sessions: 10", "duration: 600s"), "--servers", address, "--out", out(t), "--metrics-listen", listen)
	}()
	text := get(t, "http://"+listen+"/metrics", func(text string) bool {
		return strings.Contains(text, `zkbench_operation_duration_seconds_bucket{clock="response",op="acquire",variant="predecessor",le="+Inf"}`) &&
			strings.Contains(text, `zkbench_phase{phase="steady"} 1`)
	})
	promtool(t, text)
	for _, want := range []string{`zkbench_run_info{engine="native",name="small-`, `zkbench_phase{phase="steady"} 1`, `zkbench_sessions{state="connected"} 10`,
		`zkbench_operations_total{op="acquire",outcome="ok",variant="predecessor"}`, "zkbench_generator_cpu_ratio", "zkbench_timer_lag_seconds_count",
		`zkbench_connect_duration_seconds_count{phase="session"} 10`, "zkbench_offered_total", "zkbench_waiting", `zkbench_watch_events_total{useful="true"}`} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %s\n%s", want, text)
		}
	}
	asked := 0
	for _, expr := range queries(t) {
		if strings.Contains(expr, "violations") || strings.Contains(expr, "fault_active") { // there are none
			continue
		}
		asked++
		answer := get(t, "http://"+web+"/api/v1/query?query="+url.QueryEscape(expr), func(answer string) bool { return strings.Contains(answer, `"value":[`) })
		if answer == "" {
			t.Errorf("no answer to %s", expr)
		}
	}
	if asked < 5 {
		t.Errorf("the dashboard has %d queries that a run answers", asked)
	}
	m.interrupt(1)
	if o := <-ended; o.code != exitInterrupted {
		t.Errorf("exit %d: %s", o.code, o.stderr)
	}
}

// A comparison and a search are scraped as a run is, across all of their runs.
func TestPrometheusScrapesComparisonsAndSearches(t *testing.T) {
	tier.Long(t, "a comparison and a search; TestPrometheusScrapesARun scrapes a run")
	t.Parallel()
	ensembletest.Need(t, "prometheus:prometheus", "prometheus:promtool")
	address := servers.Get(t, 1).Addresses()[0]
	comparison, search := freeAddress(t), freeAddress(t)
	web := scrape(t, comparison, search)
	profile := small(t, "sessions: 10")
	searched := small(t, "sessions: 10", "rate: 50/s", "duration: 600s")
	for listen, args := range map[string][]string{
		comparison: {"ab", "--a", profile, "--b", profile, "--pairs", "500"},
		search:     {"capacity", searched, "--goal", "p99<10s"},
	} {
		t.Run(args[0], func(t *testing.T) {
			m := newTerminal(t)
			ended := make(chan ending, 1)
			go func() {
				ended <- m.run(append(args, "--servers", address, "--out", out(t), "--metrics-listen", listen, "--progress", "json")...)
			}()
			promtool(t, get(t, "http://"+listen+"/metrics", func(text string) bool {
				return strings.Contains(text, `zkbench_operations_total{op="acquire",outcome="ok",variant="predecessor"}`)
			}))
			query := fmt.Sprintf(`sum(zkbench_operations_total{op="acquire",instance=%q}) > 20`, listen)
			get(t, "http://"+web+"/api/v1/query?query="+url.QueryEscape(query), func(answer string) bool { return strings.Contains(answer, `"value":[`) })
			m.interrupt(1)
			if o := <-ended; o.code != exitInterrupted {
				t.Errorf("exit %d: %s", o.code, o.stderr)
			}
		})
	}
}

// scrape starts a Prometheus that scrapes addresses, and returns its own address.
func scrape(t *testing.T, targets ...string) (web string) {
	t.Helper()
	dir, web := t.TempDir(), freeAddress(t)
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "scrape_configs:\n- job_name: zkbench\n  scrape_interval: 2s\n  scrape_timeout: 2s\n  static_configs: [{targets: [%s]}]\n",
		strings.Join(targets, ", ")), 0o644); err != nil {
		t.Fatal(err)
	}
	prometheus := exec.Command("prometheus", "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+web,
		"--log.level=error")
	if err := prometheus.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { prometheus.Process.Signal(syscall.SIGTERM); prometheus.Wait() })
	return web
}

// promtool asserts that promtool has no complaints about metrics.
func promtool(t *testing.T, text string) {
	t.Helper()
	c := exec.Command("promtool", "check", "metrics")
	c.Stdin = strings.NewReader(text)
	if said, err := c.CombinedOutput(); err != nil || len(said) > 0 {
		t.Errorf("promtool: %v: %s", err, said)
	}
}

// queries returns the queries of the dashboard's panels for zkbench's own metrics.
func queries(t *testing.T) (all []string) {
	t.Helper()
	text, err := compose.Files.ReadFile("monitoring/grafana/zkbench.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			if strings.Contains(target.Expr, "zkbench_") {
				all = append(all, strings.ReplaceAll(target.Expr, "$__rate_interval", "1m"))
			}
		}
	}
	return all
}

// get asks until the answer is enough.
func get(t *testing.T, address string, enough func(string) bool) string {
	t.Helper()
	var last string
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		r, err := http.Get(address)
		if err != nil {
			last = err.Error()
			continue
		}
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		if last = string(body); err == nil && enough(last) {
			return last
		}
	}
	t.Errorf("after a minute %s says %s", address, last)
	return ""
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// If zkbench cannot listen at the address, the run does not start.
func TestMetricsThatNobodyCanServe(t *testing.T) {
	t.Chdir(t.TempDir())
	zkbench(t, "run", small(t), "--servers", "127.0.0.1:1", "--metrics-listen", "127.0.0.1:99999").want(exitFailed, "listen for scrapers of metrics")
	wantMissing(t, "results")
}
