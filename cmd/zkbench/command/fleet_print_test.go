package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestFleetPrintsAStackForSwarm(t *testing.T) {
	text := zkbench(t, "fleet", "swarm", "locks", "--shares", "3", "--servers", "zk1:2181,zk2:2181", "--set", "sessions=[12]", "--set", "description=costs $5").want(exitOK).stdout
	var stack struct {
		Services map[string]struct {
			Image       string
			Command     []string
			Environment map[string]string
			Volumes     []string
			Deploy      struct {
				Mode          string
				Replicas      int
				EndpointMode  string                     `yaml:"endpoint_mode"`
				RestartPolicy struct{ Condition string } `yaml:"restart_policy"`
			}
		}
	}
	if err := yaml.Unmarshal([]byte(text), &stack); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	share := stack.Services["share"]
	if want := []string{"run", "locks", "--servers", "zk1:2181,zk2:2181", "--quiet", "--set", "sessions=[12]", "--set", "description=costs $$5"}; !slices.Equal(share.Command, want) {
		t.Errorf("the shares run %q, want %q", share.Command, want)
	}
	if d := share.Deploy; d.Replicas != 3 || d.Mode != "replicated" || d.RestartPolicy.Condition != "none" || d.EndpointMode != "dnsrr" {
		t.Errorf("the shares are deployed as %+v", d)
	}
	if got := share.Environment["ZKBENCH_SHARE"]; got != "{{.Task.Slot}}/3" {
		t.Errorf("ZKBENCH_SHARE is %q", got)
	}
	if got := share.Environment["ZKBENCH_MEET"]; !strings.HasPrefix(got, "zk://coordinator:2181/locks-") || stack.Services["coordinator"].Deploy.Replicas != 1 {
		t.Errorf("the shares meet at %q, which is %+v", got, stack.Services["coordinator"])
	}
	given := zkbench(t, "fleet", "swarm", "locks", "--shares", "3", "--servers", "zk1", "--meet", "zk://other/x").want(exitOK).stdout
	if strings.Contains(given, "coordinator:") || !strings.Contains(given, `ZKBENCH_MEET: "zk://other/x"`) {
		t.Errorf("with a place to meet that is there:\n%s", given)
	}
	docker, err := exec.LookPath("docker")
	if err != nil || exec.Command(docker, "stack", "config", "--help").Run() != nil {
		return // Docker's own reader checks the file if it is installed
	}
	read := exec.Command(docker, "stack", "config", "-c", "-")
	read.Stdin = strings.NewReader(text)
	if out, err := read.CombinedOutput(); err != nil {
		t.Errorf("docker stack config: %v\n%s", err, out)
	}
}

// The script is run, with a stand-in for srun that starts the tasks one by one, and one for zkbench that prints its arguments.
func TestFleetPrintsAScriptForSlurm(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"job":     zkbench(t, "fleet", "slurm", "locks", "--shares", "2", "--servers", "zk1:2181", "--meet", "zk://coord:2181/bench", "--set", "hold={exponential: 5ms}").want(exitOK).stdout,
		"srun":    "#!/bin/bash\nwhile [[ $1 == --* ]]; do shift; done\nfor i in 0 1; do SLURM_PROCID=$i SLURM_NTASKS=2 \"$@\"; done\n",
		"zkbench": "#!/bin/bash\necho \"$ZKBENCH_SHARE $ZKBENCH_MEET\"\nprintf '%s\\n' \"$@\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	job := exec.Command("bash", filepath.Join(dir, "job"))
	job.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "SLURM_JOB_ID=77")
	out, err := job.CombinedOutput()
	rest := " zk://coord:2181/bench-77\nrun\nlocks\n--servers\nzk1:2181\n--quiet\n--set\nhold={exponential: 5ms}\n"
	if want := "index:0/2" + rest + "index:1/2" + rest; err != nil || string(out) != want {
		t.Errorf("%v, the tasks were started as\n%s\nwant\n%s", err, out, want)
	}
}

// A search or a comparison is started in the same way, each share with the same command.
func TestFleetPrintsSearchesAndComparisons(t *testing.T) {
	search := []string{"--", "capacity", "locks-open", "--goal", "p99<50ms"}
	compare := []string{"--", "ab", "--a", "locks", "--b", "locks", "--a-set", "variants=[predecessor]", "--b-set", "variants=[naive]"}
	load := []string{"--shares", "3", "--servers", "zk1:2181"}
	for _, test := range []struct {
		args []string
		want string
	}{
		{slices.Concat([]string{"swarm"}, load, search), `command: ["capacity","locks-open","--goal","p99<50ms","--servers","zk1:2181","--quiet"]`},
		{slices.Concat([]string{"swarm"}, load, compare), `command: ["ab","--a","locks","--b","locks","--a-set","variants=[predecessor]","--b-set","variants=[naive]","--servers","zk1:2181","--quiet"]`},
		{slices.Concat([]string{"slurm", "--meet", "zk://c:1/x"}, load, search), `exec "$0" "$@"' zkbench capacity locks-open --goal 'p99<50ms' --servers zk1:2181 --quiet`},
	} {
		if got := zkbench(t, append([]string{"fleet"}, test.args...)...).want(exitOK).stdout; !strings.Contains(got, test.want) {
			t.Errorf("%v:\n%s\nwant %s in it", test.args, got, test.want)
		}
	}
	for _, test := range []struct {
		want string
		args []string
	}{
		{"capacity needs a --goal", slices.Concat([]string{"swarm"}, load, search[:3])},
		{"expected capacity or ab", slices.Concat([]string{"swarm"}, load, []string{"--", "run", "locks"})},
		{"--set: not valid before a command", slices.Concat([]string{"swarm", "--set", "hold=1ms"}, load, search)},
		{"cannot be shared between processes", slices.Concat([]string{"swarm"}, load, []string{"--", "capacity", "delay-queue", "--goal", "p99<1s"})},
		{"the image has only the built-in profiles", slices.Concat([]string{"swarm"}, load, []string{"--", "capacity", small(t, "rate: 10"), "--goal", "p99<1s"})},
		{"a search or a comparison after --", slices.Concat([]string{"swarm", "locks"}, load, search)},
	} {
		zkbench(t, append([]string{"fleet"}, test.args...)...).want(exitUsage, test.want)
	}
}

func TestFleetRefusesWhatTheSharesWould(t *testing.T) {
	for _, test := range []struct {
		want string
		args []string
	}{
		{"fleet takes swarm, kubernetes or slurm, and a profile", []string{"swarm", "--shares", "2"}},
		{"fleet nomad: expected swarm, kubernetes or slurm", []string{"nomad", "locks", "--shares", "2"}},
		{"--shares 1: must be 2 to 1000", []string{"swarm", "locks", "--shares", "1"}},
		{"--meet is missing", []string{"slurm", "locks", "--shares", "2", "--servers", "a:1"}},
		{"--image: only valid with swarm and kubernetes (remove it for slurm)", []string{"slurm", "locks", "--shares", "2", "--servers", "a:1", "--meet", "zk://c/x", "--image", "i"}},
		{"--servers \"\": must be", []string{"swarm", "locks", "--shares", "2"}},
		{"lockz", []string{"swarm", "lockz", "--shares", "2", "--servers", "a:1"}},
		{"must be zk://host:port/path", []string{"swarm", "locks", "--shares", "2", "--servers", "a:1", "--meet", "c:2181"}},
		{"10 sessions cannot be shared by 11 processes", []string{"swarm", "locks", "--shares", "11", "--servers", "a:1"}},
		{"cannot be shared between processes", []string{"swarm", "delay-queue", "--shares", "2", "--servers", "a:1"}},
		{"--claim or --ship is missing", []string{"kubernetes", "locks", "--shares", "2", "--servers", "a:1"}},
		{"--cpus \"two\": must be", []string{"kubernetes", "locks", "--shares", "2", "--servers", "a:1", "--claim", "c", "--cpus", "two"}},
		{"--memory \"2GB\": must be", []string{"kubernetes", "locks", "--shares", "2", "--servers", "a:1", "--claim", "c", "--memory", "2GB"}},
		{"--claim \"A\": must be", []string{"kubernetes", "locks", "--shares", "2", "--servers", "a:1", "--claim", "A"}},
		{"--claim: only valid with kubernetes (remove it for swarm)", []string{"swarm", "locks", "--shares", "2", "--servers", "a:1", "--claim", "c"}},
		{"--ship: must be http", []string{"kubernetes", "locks", "--shares", "2", "--servers", "a:1", "--ship", "store"}},
		{"reads secrets or certificates of this machine", []string{"kubernetes", "locks", "--shares", "2", "--servers", "a:1", "--claim", "c", "--set", "auth=[{scheme: digest, user: u, password: {env: SECRET}}]"}},
		{"the image has only the built-in profiles", []string{"swarm", small(t), "--shares", "2", "--servers", "a:1"}},
	} {
		zkbench(t, append([]string{"fleet"}, test.args...)...).want(exitUsage, test.want)
	}
}
