// Package zkbench_test asserts the layout of the project: which package may import which, and that each says what it is.
package zkbench_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/zkbench/zkbench/"

// allowed is the import DAG of docs/architecture.md: what the product code of each package may import of ours.
var allowed = map[string][]string{
	".": {"cmd/zkbench/command", "recipes"},

	"zk":      {"internal/sleep"},
	"metrics": {"metrics/spill"},

	"metrics/spill": {},

	"zk/internal/lease":      {},
	"zk/internal/background": {},
	"zk/internal/digestmd5":  {},

	"profiles": {},
	"compose":  {},

	"internal/phrase":  {},
	"internal/jute":    {},
	"internal/golden":  {},
	"internal/tier":    {},
	"internal/sleep":   {},
	"internal/sharing": {},
	"internal/program": {},

	"results/stats":   {},
	"results/compare": {"results/stats", "results", "metrics", "internal/phrase"},

	"capacity/bottleneck": {"results", "capacity", "internal/phrase"},
	"capacity":            {"internal/phrase"},
	"capacity/simulated":  {"capacity"},

	"zk/wire":   {"zk", "zk/internal/lease", "zk/internal/background", "zk/internal/digestmd5", "internal/jute", "internal/sleep"},
	"zk/gozk":   {"zk", "zk/wire", "zk/internal/lease", "zk/internal/background", "internal/jute", "internal/sleep"}, // to end a session it presents its password on a connection of its own
	"zk/zktest": {"zk", "zk/internal/lease", "zk/internal/background"},
	"recipes":   {"zk"},

	"recipes/internal/znode": {"recipes", "zk", "internal/sleep"},
	"recipes/internal/seam":  {"recipes", "zk"},
	"recipes/lock":           {"recipes", "recipes/internal/znode", "recipes/internal/seam", "zk"},
	"recipes/semaphore":      {"recipes", "recipes/internal/znode", "zk", "recipes/lock"}, // whoever takes a permit holds a lock meanwhile
	"recipes/queue":          {"recipes", "recipes/internal/znode", "recipes/internal/seam", "zk"},
	"recipes/barrier":        {"recipes", "recipes/internal/znode", "recipes/internal/seam", "zk"},
	"recipes/election":       {"recipes", "recipes/internal/znode", "zk"},
	"recipes/commit":         {"recipes", "recipes/internal/znode", "zk"},
	"recipes/membership":     {"recipes", "recipes/internal/znode", "zk"},
	"recipes/counter":        {"recipes", "recipes/internal/znode", "zk", "recipes/lock"}, // counter-promoted goes on under a lock
	"recipes/setting":        {"recipes", "recipes/internal/znode", "zk"},
	"recipes/published":      {"recipes", "recipes/internal/znode", "recipes/internal/seam", "zk", "recipes/barrier"}, // one taken at its word
	"recipes/broken": {"recipes", "recipes/internal/znode", "recipes/internal/seam", "zk", "recipes/lock", "recipes/semaphore", "recipes/queue",
		"recipes/barrier", "recipes/election", "recipes/commit", "recipes/membership", "recipes/counter", "recipes/setting"}, // it alters all of them
	"recipes/internal/bubble":  {"recipes", "zk", "zk/zktest"},
	"recipes/internal/trouble": {"recipes", "recipes/internal/bubble", "zk", "zk/zktest"},
	"recipes/recipestest":      {"recipes", "recipes/internal/bubble", "recipes/internal/trouble", "zk", "zk/zktest"}, // no implementation: it tests yours too

	"traffic/zklog":  {"internal/jute"},
	"traffic/trace":  {},
	"traffic/replay": {"traffic/trace"},
	"traffic/record": {"traffic/trace", "ensemble/proxy", "internal/jute"},
	"traffic":        {"traffic/zklog", "traffic/trace", "internal/phrase"},

	"check":                     {"metrics", "metrics/spill"},
	"ensemble":                  {"compose", "ensemble/internal/host", "internal/jute", "zk"},
	"ensemble/internal/host":    {},
	"ensemble/internal/secrets": {"ensemble"},
	"ensemble/internal/driver":  {"ensemble", "ensemble/internal/host", "internal/program"},
	"ensemble/versions":         {"ensemble", "internal/program"},
	"ensemble/local":            {"zk", "ensemble", "ensemble/versions", "ensemble/internal/driver", "ensemble/internal/host", "ensemble/internal/secrets"},
	"ensemble/compose":          {"ensemble", "ensemble/internal/driver", "ensemble/internal/host", "ensemble/internal/secrets", "compose"},
	"ensemble/backend":          {"ensemble", "ensemble/versions", "ensemble/internal/driver", "ensemble/local", "ensemble/compose", "internal/program"},
	"ensemble/proxy":            {"internal/jute"},

	"drivers":        {"recipes", "metrics", "zk"},
	"drivers/serve":  {"drivers"},
	"drivers/stores": {},

	"workloads":     {"recipes", "profiles", "check", "metrics", "zk", "internal/phrase", "metrics/spill", "traffic/replay", "traffic/trace"},
	"results":       {"capacity", "check", "metrics", "internal/phrase", "internal/sharing", "internal/program"},
	"results/gates": {"results", "metrics", "results/stats", "internal/phrase"},

	"scenarios": {"zk"},
	"scenarios/published": {"scenarios", "recipes", "recipes/lock", "recipes/semaphore", "recipes/election", "recipes/barrier", "recipes/commit", "recipes/published",
		"zk", "ensemble/proxy", "internal/jute", "drivers"},
	"scenarios/fencing": {"scenarios", "recipes", "recipes/lock", "zk"},
	"scenarios/stores":  {"scenarios", "recipes", "drivers", "drivers/stores"},
	"scenarios/secured": {"scenarios", "recipes", "recipes/lock", "zk", "internal/jute", "internal/sleep"},
	"bench/root":        {"zk", "internal/phrase", "internal/program", "internal/sleep"},
	"bench/faults":      {"profiles", "ensemble", "ensemble/proxy", "metrics", "zk", "internal/jute", "internal/sleep"},
	"bench/access":      {"ensemble", "profiles", "zk"},
	"bench/fleet":       {"recipes", "recipes/barrier", "zk", "internal/sleep"},
	"bench/plan":        {"profiles", "workloads", "internal/phrase", "internal/sharing"},
	"bench/outcome":     {"bench/plan", "bench/faults", "bench/fleet", "bench/access", "workloads", "profiles", "drivers", "ensemble", "results", "results/gates", "check", "metrics", "zk", "internal/phrase"},
	"bench/merge":       {"bench/plan", "bench/outcome", "bench/faults", "bench/fleet", "workloads", "profiles", "results", "check", "metrics", "metrics/spill"},
	"bench/target":      {"bench/access", "bench/root", "profiles", "ensemble", "ensemble/proxy", "zk", "internal/sleep"},
	"bench/load": {"bench/plan", "bench/outcome", "bench/target", "bench/faults", "bench/fleet", "bench/access", "workloads", "profiles", "drivers", "ensemble", "capacity", "results", "metrics", "metrics/spill", "zk",
		"internal/phrase", "internal/sleep"},
	"bench": {"bench/plan", "bench/load", "bench/outcome", "bench/merge", "bench/target", "bench/fleet", "bench/root", "bench/faults", "bench/access", "recipes", "drivers", "drivers/stores", "profiles", "workloads", "ensemble",
		"ensemble/proxy", "results", "results/gates", "check", "metrics", "metrics/spill", "zk", "internal/phrase", "internal/program", "internal/sleep"},
	"ensemble/limits":                {"ensemble", "results", "zk", "internal/phrase"},
	"cmd/zkbench/internal/calibrate": {"results", "metrics", "results/stats", "zk", "internal/phrase", "internal/program"},
	"docs":                           {},
	"cmd/zkbench/internal/exporter":  {"bench/load", "bench/outcome", "metrics"},
	"results/export":                 {"results", "metrics"},
	"report":                         {"traffic", "results", "results/compare", "check", "metrics", "internal/phrase", "results/stats"},
	"report/page":                    {"traffic", "report", "results", "metrics", "internal/phrase"},
}

// testOnly packages are imported by tests alone.
var testOnly = []string{"recipes/broken", "recipes/recipestest", "recipes/internal/bubble", "recipes/internal/trouble", "zk/zktest", "ensemble/ensembletest",
	"internal/golden", "internal/tier"}

// free packages are commands, which may import any package that is not for tests.
func free(pkg string) bool {
	return pkg == "cmd/zkbench/command" || pkg == "cmd/zkbench" || strings.HasPrefix(pkg, "tools/") || pkg == "drivers/null" || pkg == "drivers/go-zookeeper" || pkg == "drivers/recipes" || pkg == "drivers/redis" || pkg == "drivers/etcd" || pkg == "ensemble/ensembletest"
}

func TestImportsFollowTheDAG(t *testing.T) {
	for pkg, imports := range productImports(t) {
		may, known := allowed[pkg]
		if !known && !free(pkg) {
			t.Errorf("package %s is not in the DAG: say in arch_test.go and docs/architecture.md what it may import", pkg)
			continue
		}
		for _, imp := range imports {
			if slices.Contains(testOnly, imp) && !slices.Contains(testOnly, pkg) {
				t.Errorf("package %s imports %s, which is for tests only", pkg, imp)
			}
			if known && !slices.Contains(may, imp) {
				t.Errorf("package %s imports %s, allowed are %v", pkg, imp, may)
			}
		}
	}
}

// The wire protocol is written once. Package workloads has byte orders of its own, in the data that it puts into znodes; what metrics and
// check keep is theirs.
func TestOnlyOneCodecOfTheWire(t *testing.T) {
	for pkg, imports := range everyImport(t) {
		server := strings.HasPrefix(pkg, "zk") || strings.HasPrefix(pkg, "ensemble") || strings.HasPrefix(pkg, "tools/yardstick") ||
			strings.HasPrefix(pkg, "recipes") || strings.HasPrefix(pkg, "bench") || pkg == "cmd/zkbench/command"
		if server && slices.Contains(imports, "encoding/binary") {
			t.Errorf("package %s imports encoding/binary: what goes over the wire is encoded by internal/jute", pkg)
		}
	}
}

// A program that calls methods by a name computed at run time keeps every exported method of every type it uses: 3 MB of zkbench. Templates do so.
func TestProductUsesNoTemplates(t *testing.T) {
	for pkg, imports := range everyImport(t) {
		if !strings.HasPrefix(pkg, "tools/") && (slices.Contains(imports, "text/template") || slices.Contains(imports, "html/template")) {
			t.Errorf("package %s imports templates, which make the linker keep unused methods (see 'The binary' in docs/performance.md)", pkg)
		}
	}
}

// Closing a session waits for what Session.Go has begun; a goroutine of another kind in a recipe would be awaited by nobody.
func TestRecipesStartNoGoroutinesOfTheirOwn(t *testing.T) {
	for _, dir := range []string{"recipes", "workloads"} {
		eachProductFile(t, dir, 0, func(file string, parsed *ast.File) {
			if pkg := filepath.ToSlash(filepath.Dir(file)); slices.Contains(testOnly, pkg) && pkg != "recipes/broken" {
				return // the callers of recipes
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				if _, starts := n.(*ast.GoStmt); starts {
					t.Errorf("%s starts a goroutine: let Session.Go do it", file)
				}
				return true
			})
		})
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for pkg := range productImports(t) {
		if free(pkg) && pkg != "ensemble/ensembletest" {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(pkg, "doc.go"), nil, parser.ParseComments)
		if err != nil {
			t.Errorf("package %s has no readable doc.go: %v", pkg, err)
			continue
		}
		name := path.Base(pkg)
		if pkg == "." {
			name = path.Base(module)
		}
		if want := "Package " + name + " "; !strings.HasPrefix(file.Doc.Text(), want) {
			t.Errorf("%s/doc.go begins with %.40q, want %q", pkg, file.Doc.Text(), want)
		}
	}
}

// productImports maps each package to those of our own packages that its product code imports.
func productImports(t *testing.T) map[string][]string {
	t.Helper()
	ours := map[string][]string{}
	for pkg, imports := range everyImport(t) {
		ours[pkg] = nil
		for _, p := range imports {
			if name, ok := strings.CutPrefix(p, module); ok {
				ours[pkg] = append(ours[pkg], name)
			}
		}
	}
	return ours
}

// everyImport maps each package to all that its product code imports.
func everyImport(t *testing.T) map[string][]string {
	t.Helper()
	imports := map[string][]string{}
	eachProductFile(t, ".", parser.ImportsOnly, func(file string, parsed *ast.File) {
		pkg := filepath.ToSlash(filepath.Dir(file))
		imports[pkg] = imports[pkg][:len(imports[pkg]):len(imports[pkg])]
		for _, i := range parsed.Imports {
			p, _ := strconv.Unquote(i.Path.Value)
			imports[pkg] = append(imports[pkg], p)
		}
	})
	return imports
}

// eachProductFile parses the files below dir that are no tests.
func eachProductFile(t *testing.T, dir string, mode parser.Mode, do func(file string, parsed *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && file != ".") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, mode)
		if err == nil {
			do(file, parsed)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
