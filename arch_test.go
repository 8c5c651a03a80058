// Package zkbench_test asserts the layout of the project: which package may import which, and that each says what it is.
package zkbench_test

import (
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
	"zk":       {},
	"metrics":  {},
	"profiles": {},
	"compose":  {},

	"zk/gozk":        {"zk"},
	"zk/zktest":      {"zk"},
	"recipes":        {"zk"},
	"recipes/broken": {"recipes", "zk"},
	"check":          {"metrics"},
	"ensemble":       {"compose"},
	"ensemble/proxy": {},

	"workloads": {"recipes", "check", "metrics", "zk"},
	"results":   {"check", "metrics"},

	"scenarios": {"recipes", "zk", "ensemble/proxy"},
	"fencing":   {"recipes", "zk"},
	"bench":     {"profiles", "workloads", "ensemble", "ensemble/proxy", "results", "check", "metrics", "zk"},
	"report":    {"results", "check", "metrics"},
}

// testOnly packages are imported by tests alone.
var testOnly = []string{"recipes/broken", "zk/zktest", "ensemble/ensembletest"}

// free packages are commands, which may import any package that is not for tests.
func free(pkg string) bool {
	return strings.HasPrefix(pkg, "cmd/") || strings.HasPrefix(pkg, "internal/yardstick") || pkg == "ensemble/ensembletest"
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

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for pkg := range productImports(t) {
		if strings.HasPrefix(pkg, "cmd/") || strings.HasPrefix(pkg, "internal/yardstick") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(pkg, "doc.go"), nil, parser.ParseComments)
		if err != nil {
			t.Errorf("package %s has no readable doc.go: %v", pkg, err)
			continue
		}
		if want := "Package " + path.Base(pkg) + " "; !strings.HasPrefix(file.Doc.Text(), want) {
			t.Errorf("%s/doc.go begins with %.40q, want %q", pkg, file.Doc.Text(), want)
		}
	}
}

// productImports maps each package to those of our own packages that its product code imports.
func productImports(t *testing.T) map[string][]string {
	t.Helper()
	imports := map[string][]string{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && file != ".") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(filepath.Dir(file))
		imports[pkg] = imports[pkg][:len(imports[pkg]):len(imports[pkg])]
		for _, i := range parsed.Imports {
			p, _ := strconv.Unquote(i.Path.Value)
			if ours, ok := strings.CutPrefix(p, module); ok {
				imports[pkg] = append(imports[pkg], ours)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return imports
}
