package compose_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/compose"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
)

var servers ensembletest.Shared

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

// The metrics that the dashboard and the rules may use. ZooKeeper's PrometheusMetricsProvider serves counters and gauges under their own
// names; a summary is NAME_count, NAME_sum and NAME with a quantile, of which every summary has 0.5 and the detailed ones 0.9 and 0.99.
var (
	counters = strings.Fields(`bytes_received_count commit_count connection_request_count learner_commit_received_count looking_count
		proposal_count stale_sessions_expired`)
	gauges = strings.Fields(`approximate_data_size ephemerals_count global_sessions leader_uptime max_file_descriptor_count
		num_alive_connections open_file_descriptor_count outstanding_requests quorum_size synced_followers uptime watch_count znode_count`)
	summaries = strings.Fields(`fsynctime jvm_pause_time_ms node_changed_watch_count node_children_watch_count node_created_watch_count
		node_deleted_watch_count`)
	detailed = strings.Fields(`quorum_ack_latency readlatency updatelatency`)
	// Of the Java client for Prometheus 0.9, which the provider has; and Prometheus's own.
	javas = map[string]string{"jvm_gc_collection_seconds_sum": "counter", "jvm_memory_bytes_max": "gauge", "jvm_memory_bytes_used": "gauge",
		"process_cpu_seconds_total": "counter", "up": "gauge"}
)

// kinds maps the names of time series to counter, gauge, half (a summary's 0.5) or quantile.
func kinds() map[string]string {
	all := maps.Clone(javas)
	for _, name := range counters {
		all[name] = "counter"
	}
	for _, name := range gauges {
		all[name] = "gauge"
	}
	for _, name := range slices.Concat(summaries, detailed) {
		all[name], all[name+"_sum"], all[name+"_count"] = "half", "counter", "counter"
	}
	for _, name := range detailed {
		all[name] = "quantile"
	}
	return all
}

// Real servers have every metric of ZooKeeper's own in the list, under the names that mntr gives them.
func TestServersHaveTheMetrics(t *testing.T) {
	had := map[string]bool{}
	for _, address := range servers.Get(t, 3).Addresses() {
		for line := range strings.Lines(ask(t, address, "mntr")) {
			name, _, _ := strings.Cut(line, "\t")
			had[name] = true
		}
	}
	for name, kind := range kinds() {
		if javas[name] != "" {
			continue
		}
		mntr := "zk_" + name
		if base, ok := strings.CutSuffix(name, "_sum"); ok {
			mntr = "zk_sum_" + base
		} else if base, ok := strings.CutSuffix(name, "_count"); ok && kinds()[base] != "" {
			mntr = "zk_cnt_" + base
		} else if kind == "half" {
			mntr = "zk_avg_" + name
		} else if kind == "quantile" {
			mntr = "zk_p99_" + name
		}
		if !had[mntr] {
			t.Errorf("%s: no server says %s", name, mntr)
		}
	}
}

// ask sends a four-letter word.
func ask(t *testing.T, address, word string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, word); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

// A selector of PromQL, with what is called on it, if anything is, and its range.
var selector = regexp.MustCompile(`(?:(\w+)\()?\b([a-z][a-z0-9_]*)\{([^}]*)\}(\[)?`)

func judgeQuery(expr string) error {
	found := selector.FindAllStringSubmatch(expr, -1)
	if len(found) == 0 {
		return fmt.Errorf("%q asks for no metric", expr)
	}
	for _, m := range found {
		call, name, matchers, ranged := m[1], m[2], m[3], m[4] != ""
		_, quantile, asked := strings.Cut(matchers, `quantile="`)
		quantile, _, _ = strings.Cut(quantile, `"`)
		rising := call == "rate" || call == "increase"
		switch kind := kinds()[name]; {
		case kind == "":
			return fmt.Errorf("%q: no server has %s", expr, name)
		case (kind == "counter") != rising || rising != ranged:
			return fmt.Errorf("%q: %s is a %s", expr, name, kind)
		case (kind == "half" || kind == "quantile") != asked:
			return fmt.Errorf("%q: %s is a %s, and is asked for quantile %q", expr, name, kind, quantile)
		case kind == "half" && quantile != "0.5", kind == "quantile" && !slices.Contains([]string{"0.5", "0.9", "0.99"}, quantile):
			return fmt.Errorf("%q: %s has no quantile %s", expr, name, quantile)
		}
	}
	return nil
}

func TestJudgeQuery(t *testing.T) {
	for expr, fault := range map[string]string{
		`rate(commit_count{a="b"}[1m]) / rate(fsynctime_sum{}[1m])`: "",
		`sum(max(znode_count{}))`:                                   "",
		`readlatency{quantile="0.99"}`:                              "",
		`fsynctime{quantile="0.5"}`:                                 "",
		`1 + 1`:                                                     "no metric",
		`zk_znode_count{}`:                                          "no server has zk_znode_count",
		`commit_count{}`:                                            "is a counter",
		`rate(znode_count{}[1m])`:                                   "is a gauge",
		`rate(commit_count{})`:                                      "is a counter",
		`readlatency{}`:                                             "is a quantile",
		`readlatency{quantile="0.95"}`:                              "has no quantile 0.95",
		`fsynctime{quantile="0.99"}`:                                "has no quantile 0.99",
		`znode_count{quantile="0.5"}`:                               "is a gauge",
		`sum(znode_count{}) + no_such_thing{}`:                      "no server has no_such_thing",
	} {
		if err := judgeQuery(expr); fault == "" && err != nil || fault != "" && (err == nil || !strings.Contains(err.Error(), fault)) {
			t.Errorf("judgeQuery(%s) = %v, want %q", expr, err, fault)
		}
	}
}

func TestTheDashboardAsksForMetricsThatThereAre(t *testing.T) {
	type place struct{ X, Y, W, H int }
	var dashboard struct {
		UID    string
		Panels []struct {
			ID                 int
			Title, Description string
			Datasource         struct{ Type, UID string }
			GridPos            place
			Targets            []struct{ Expr, RefID string }
		}
	}
	text, err := compose.Files.ReadFile("monitoring/grafana/zookeeper.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	var source struct {
		APIVersion  int `yaml:"apiVersion"`
		Datasources []struct {
			Name, UID, Type, URL string
			IsDefault            bool           `yaml:"isDefault"`
			JSONData             map[string]any `yaml:"jsonData"`
		}
	}
	parse(t, "monitoring/grafana/datasource.yml", &source)
	taken, ids := map[[2]int]string{}, map[int]bool{}
	for _, p := range dashboard.Panels {
		if p.Title == "" || p.Description == "" || ids[p.ID] || len(p.Targets) == 0 {
			t.Errorf("panel %d %q has no title, no description, no query, or another one's number", p.ID, p.Title)
		}
		ids[p.ID] = true
		if p.Datasource.UID != source.Datasources[0].UID || p.Datasource.Type != source.Datasources[0].Type {
			t.Errorf("%s asks %v, which is not provisioned", p.Title, p.Datasource)
		}
		for _, target := range p.Targets {
			if err := judgeQuery(target.Expr); err != nil {
				t.Errorf("%s: %v", p.Title, err)
			}
		}
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s lies on %q, or beyond the grid of 24", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
	if len(dashboard.Panels) == 0 {
		t.Error("the dashboard has no panels")
	}
}

func TestTheRulesAskForMetricsThatThereAre(t *testing.T) {
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	parse(t, "monitoring/rules.yml", &rules)
	for _, rule := range rules.Groups[0].Rules {
		if err := judgeQuery(rule.Expr); err != nil {
			t.Errorf("%s: %v", rule.Alert, err)
		}
		if rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" {
			t.Errorf("%s has no severity or no summary", rule.Alert)
		}
	}
}

func TestPrometheusScrapesEveryServer(t *testing.T) {
	type discovery struct {
		Names   []string
		Type    string
		Port    int
		Refresh string `yaml:"refresh_interval"`
	}
	var config struct {
		Global    map[string]string
		RuleFiles []string `yaml:"rule_files"`
		Scrape    []struct {
			Job     string           `yaml:"job_name"`
			DNS     []discovery      `yaml:"dns_sd_configs"`
			Relabel []map[string]any `yaml:"relabel_configs"`
		} `yaml:"scrape_configs"`
	}
	parse(t, "monitoring/prometheus.yml", &config)
	all := map[string]bool{}
	for name := range ensembles {
		for server := range read(t, name).Services {
			all[server+"."] = true
		}
	}
	scraped := config.Scrape[0].DNS[0]
	if want := slices.Sorted(maps.Keys(all)); !slices.Equal(scraped.Names, want) {
		t.Errorf("Prometheus scrapes %q, the files have %q", scraped.Names, want)
	}
	extra := read(t, "server.yml").Services["server"].Environment["ZOO_CFG_EXTRA"]
	if want := fmt.Sprintf("metricsProvider.httpPort=%d", scraped.Port); !slices.Contains(strings.Fields(extra), want) {
		t.Errorf("servers have %q, want %s", extra, want)
	}
	for _, file := range config.RuleFiles {
		mount := fmt.Sprintf("./monitoring/%s:/etc/prometheus/%[1]s:ro", file)
		if got := read(t, "monitoring.yml").Services["prometheus"].Volumes; !slices.Contains(got, mount) {
			t.Errorf("Prometheus has %q, want %s", got, mount)
		}
	}
}
