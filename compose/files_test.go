package compose_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/zkbench/zkbench/compose"
)

// file is what the files here use of the Compose specification; a key that is not among it is a fault.
type file struct {
	Servers  string              `yaml:"x-servers"`
	Ours     labelled            `yaml:"x-ours"`
	Services map[string]service  `yaml:"services"`
	Volumes  map[string]labelled `yaml:"volumes"`
	Networks map[string]labelled `yaml:"networks"`
}

type labelled struct {
	Labels map[string]string `yaml:"labels"`
}

type service struct {
	labelled `yaml:",inline"`
	Extends  struct{ File, Service string } `yaml:"extends"`

	Image       string            `yaml:"image"`
	Hostname    string            `yaml:"hostname"`
	User        string            `yaml:"user"`
	Profiles    []string          `yaml:"profiles"`
	Command     []string          `yaml:"command"`
	Environment map[string]string `yaml:"environment"`
	Ports       []string          `yaml:"ports"`
	Volumes     []string          `yaml:"volumes"`
	Tmpfs       string            `yaml:"tmpfs"`
	DependsOn   any               `yaml:"depends_on"` // a list, or a map to conditions
	CapAdd      []string          `yaml:"cap_add"`

	MemLimit        string `yaml:"mem_limit"`
	CPUs            string `yaml:"cpus"`
	StopSignal      string `yaml:"stop_signal"`
	StopGracePeriod string `yaml:"stop_grace_period"`
	HealthCheck     struct {
		Test              []string
		Interval, Timeout string
		Retries           int
		StartPeriod       string `yaml:"start_period"`
	} `yaml:"healthcheck"`
}

// ensembles are the files of whole ensembles, with the numbers of their servers.
var ensembles = map[string]int{"ensemble-1.yml": 1, "ensemble-3.yml": 3, "ensemble-5.yml": 5, "observer.yml": 4}

func TestThereIsAFileForEverySize(t *testing.T) {
	for _, size := range compose.Sizes {
		if name := compose.Ensemble(size); ensembles[name] != size {
			t.Errorf("no file %s of %d servers", name, size)
		}
	}
}

func TestEveryServiceIsLookedAfter(t *testing.T) {
	for _, name := range names(t, "*.yml") {
		f := read(t, name)
		for which, s := range services(t, f) {
			if !strings.HasPrefix(s.Image, "${") {
				t.Errorf("%s: %s: image %q, want one that a variable replaces", name, which, s.Image)
			}
			if s.MemLimit == "" || s.CPUs == "" {
				t.Errorf("%s: %s has no limit of memory or of CPUs", name, which)
			}
			if s.Labels["zkbench"] == "" {
				t.Errorf("%s: %s has no label zkbench", name, which)
			}
			if h := s.HealthCheck; len(s.Profiles) == 0 && (len(h.Test) == 0 || h.Interval == "" || h.Timeout == "" || h.StartPeriod == "") {
				t.Errorf("%s: %s stays, and its health check is %+v", name, which, h)
			}
			for _, port := range s.Ports {
				if !strings.HasPrefix(port, "127.0.0.1:${") {
					t.Errorf("%s: %s: port %s is not for this machine alone, or no variable changes it", name, which, port)
				}
			}
			for _, volume := range s.Volumes {
				from, _, _ := strings.Cut(volume, ":")
				if _, declared := f.Volumes[from]; !declared && !strings.HasPrefix(from, "./") && !strings.HasPrefix(from, "${") {
					t.Errorf("%s: %s: volume %s is not declared", name, which, from)
				}
				if _, err := fs.Stat(compose.Files, path.Clean(from)); strings.HasPrefix(from, "./") && err != nil {
					t.Errorf("%s: %s mounts what is not among the files: %v", name, which, err)
				}
			}
		}
		for which, l := range maps.All(f.Volumes) {
			if l.Labels["zkbench"] == "" {
				t.Errorf("%s: volume %s has no label zkbench", name, which)
			}
		}
	}
}

func TestTheServersOfAFileAgree(t *testing.T) {
	for name, size := range ensembles {
		f := read(t, name)
		if len(f.Services) != size {
			t.Errorf("%s has %d services, want %d", name, len(f.Services), size)
		}
		var want []string
		for i := range size {
			want = append(want, fmt.Sprintf("server.%d=zk%[1]d:2888:3888;${ZK_PLAIN_ADDRESS:-}2181", i+1))
		}
		if name == "observer.yml" {
			want[3] = "server.4=zk4:2888:3888:observer;${ZK_PLAIN_ADDRESS:-}2181"
		}
		for i := range size {
			which := fmt.Sprint("zk", i+1)
			s := services(t, f)[which]
			if got := strings.Fields(s.Environment["ZOO_SERVERS"]); !slices.Equal(got, want) {
				t.Errorf("%s: %s: ZOO_SERVERS is %q, want %q", name, which, got, want)
			}
			if id := s.Environment["ZOO_MY_ID"]; id != fmt.Sprint(i+1) || s.Hostname != which {
				t.Errorf("%s: %s has the number %s and the name %s", name, which, id, s.Hostname)
			}
			if want := []string{fmt.Sprintf("127.0.0.1:${ZK_PORT_%d:-%d}:${ZK_CLIENT_PORT:-2181}", i+1, 2181+i)}; !slices.Equal(s.Ports, want) {
				t.Errorf("%s: %s: ports %q, want %q", name, which, s.Ports, want)
			}
			if got := fmt.Sprint(f.Services["zk1"].DependsOn); i > 0 && !strings.Contains(got, which) {
				t.Errorf("%s: zk1 depends on %s: whoever starts it, such as the load generator, does not start %s", name, got, which)
			}
			if want := []string{fmt.Sprintf("data%d:/data", i+1), fmt.Sprintf("log%d:/datalog", i+1)}; !slices.Equal(s.Volumes, want) {
				t.Errorf("%s: %s: volumes %q, want %q", name, which, s.Volumes, want)
			}
		}
		if label := f.Networks["default"].Labels["zkbench"]; label != "ensemble" {
			t.Errorf("%s: its network has the label zkbench=%q, want ensemble", name, label)
		}
	}
}

func TestWrite(t *testing.T) {
	dir := path.Join(t.TempDir(), "new")
	if err := compose.Write(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range names(t, "*") {
		want, err := compose.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := readFile(t, path.Join(dir, name)); got != string(want) {
			t.Errorf("%s differs from the file here", name)
		}
	}
	if err := compose.Write(path.Join(dir, "server.yml")); err == nil {
		t.Error("Write into a file = nil, want an error")
	}
}

var variable = regexp.MustCompile(`\$\{([A-Z0-9_]+):-([^}]*)\}`)

// What the files read from the environment, with the defaults, is what docs/containers.md says, and the other way round.
func TestTheVariablesAreDocumented(t *testing.T) {
	used := map[string]string{}
	for _, name := range names(t, "*.yml") {
		text, err := compose.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		found := variable.FindAllStringSubmatch(string(text), -1)
		if all := strings.Count(strings.ReplaceAll(string(text), "$$", ""), "$"); all != len(found) {
			t.Errorf("%s has %d variables, and %d of them with a default", name, all, len(found))
		}
		for _, v := range found {
			if other, ok := used[v[1]]; ok && other != v[2] {
				t.Errorf("%s has two defaults: %q and %q", v[1], other, v[2])
			}
			used[v[1]] = v[2]
		}
	}
	said := map[string]string{}
	code := regexp.MustCompile("`([^`]*)`")
	for line := range strings.Lines(readFile(t, "../docs/containers.md")) {
		if cells := strings.Split(line, "|"); len(cells) == 5 && strings.HasPrefix(line, "| `") {
			defaults := code.FindAllStringSubmatch(cells[2], -1)
			for i, v := range code.FindAllStringSubmatch(cells[1], -1) {
				said[v[1]] = ""
				if i < len(defaults) {
					said[v[1]] = defaults[i][1]
				}
			}
		}
	}
	if !maps.Equal(used, said) {
		t.Errorf("the files use\n%v\ndocs/containers.md has\n%v", used, said)
	}
}

// names are the files here that match; a pattern without a slash looks at the top alone, except * for all.
func names(t *testing.T, pattern string) []string {
	t.Helper()
	var found []string
	err := fs.WalkDir(compose.Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if match, _ := path.Match(pattern, name); err == nil && !entry.IsDir() && (match || pattern == "*") {
			found = append(found, name)
		}
		return err
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("files %s: %q, %v", pattern, found, err)
	}
	return found
}

// read parses a file; unknown and repeated keys are faults.
func read(t *testing.T, name string) file {
	t.Helper()
	var f file
	parse(t, name, &f)
	return f
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func parse(t *testing.T, name string, into any) {
	t.Helper()
	text, err := compose.Files.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	decoder := yaml.NewDecoder(text)
	decoder.KnownFields(true)
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// services are those of the file, each as what it extends makes it.
func services(t *testing.T, f file) map[string]service {
	t.Helper()
	whole := map[string]service{}
	for name, s := range f.Services {
		if from := s.Extends; from.File != "" {
			base := read(t, from.File).Services[from.Service]
			base.Hostname, base.Ports, base.Volumes = s.Hostname, s.Ports, s.Volumes
			maps.Copy(base.Environment, s.Environment)
			s = base
		}
		whole[name] = s
	}
	return whole
}
