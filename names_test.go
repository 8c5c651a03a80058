package zkbench_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/barrier"
	"github.com/zkbench/zkbench/recipes/commit"
	"github.com/zkbench/zkbench/recipes/counter"
	"github.com/zkbench/zkbench/recipes/election"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/recipes/membership"
	"github.com/zkbench/zkbench/recipes/published"
	"github.com/zkbench/zkbench/recipes/queue"
	"github.com/zkbench/zkbench/recipes/semaphore"
	"github.com/zkbench/zkbench/recipes/setting"
)

// mayName is who may mention a variant by its name beside the package that makes it and cmd/zkbench/command, which wires them; it should only shrink.
var mayName = map[string]string{
	"scenarios/published":    "its table tells which published recipe fails in which situation, and which sound one is the control",
	"scenarios/secured":      "its table tells which lock waits forever, and under which rules of the servers",
	"tools/yardstick/native": "the figures of the own client are those of one lock",
}

// homonyms are names of variants that are words of their own: a workload, a check, a request, an engine.
var homonyms = []string{"barrier", "double-barrier", "rendezvous", "counter", "fifo", "priority", "delay", "claim", "lease", "go-zookeeper",
	"multi", "index", "persistent", "read-write"}

// What a recipe does is reported by the fields of its variant. Code that asks for the name of one knows what a catalogue may change.
func TestNobodyAsksForTheNameOfAVariant(t *testing.T) {
	names := variantNames()
	found := map[string]bool{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		pkg := filepath.ToSlash(filepath.Dir(file))
		if strings.HasPrefix(pkg, "recipes/") || pkg == "cmd/zkbench/command" {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, _ := strconv.Unquote(lit.Value)
			if !slices.Contains(names, text) || slices.Contains(homonyms, text) {
				return true
			}
			found[pkg] = true
			if mayName[pkg] == "" {
				t.Errorf("%s mentions the variant %q: ask for a field of the variant instead; or, if the text means something else, name the variant differently or add it to homonyms", file, text)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range mayName {
		if !found[pkg] {
			t.Errorf("package %s names no variant any more: take it off the list", pkg)
		}
	}
}

// abandoned are words of the project's early days that a stranger has to guess: what says the same now is beside each. No identifier has one in it.
var abandoned = map[string]string{
	"told": "reported, notified, known", "tells": "reports", "apart": "differing, spread", "mute": "silent", "touched": "changed",
	"crew": "shared plan", "obey": "follow, carry out", "rung": "load", "climb": "ramp", "nursery": "launcher", "habitat": "namespace",
	"hurry": "timeout", "hasty": "early", "grace": "timeout", "patience": "timeout", "driven": "driver, paced", "strike": "inject", "heal": "recover",
	"crowd": "sessions", "mortal": "killer", "befall": "fault",
}

// Names of tests are sentences, and may have any word in them.
func TestAbandonedWordsDoNotComeBack(t *testing.T) {
	words := regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") {
			return err
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok || strings.HasPrefix(id.Name, "Test") || strings.HasPrefix(id.Name, "StopGrace") { // Docker's own name
				return true
			}
			for _, w := range words.FindAllString(id.Name, -1) {
				if say := abandoned[strings.ToLower(w)]; say != "" {
					t.Errorf("%s: %s (say %s)", set.Position(id.Pos()), id.Name, say)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func variantNames() []string {
	return slices.Concat(
		namesOf(lock.Variants()), namesOf(lock.RWVariants()), namesOf(lock.RevocableVariants()), namesOf(lock.MultiVariants()),
		namesOf(semaphore.Variants()), namesOf(queue.Variants()), namesOf(queue.PriorityVariants()), namesOf(queue.DelayVariants()),
		namesOf(election.Variants()), namesOf(barrier.Variants()), namesOf(barrier.DoubleVariants()), namesOf(barrier.RendezvousVariants()),
		namesOf(counter.Variants()), namesOf(counter.IDVariants()), namesOf(membership.Variants()), namesOf(setting.Variants()),
		namesOf(commit.Variants()), namesOf(commit.PublishedVariants()), namesOf(published.Barriers()),
		namesOf(published.Locks()), namesOf(published.Semaphores()), namesOf(published.Elections()), namesOf(published.DoubleBarriers()))
}

func namesOf[T any](all []recipes.Variant[T]) (names []string) {
	for _, v := range all {
		names = append(names, v.Name)
	}
	return names
}

// A variant claims what its handles can do, and nothing else.
func TestVariantsOfQueuesTellWhoClaims(t *testing.T) {
	for _, v := range slices.Concat(queue.Variants(), queue.PriorityVariants(), queue.DelayVariants()) {
		if _, claims := v.New(nil, "/queue", recipes.Options{}).(recipes.Claimer); claims != v.Claims {
			t.Errorf("%s says Claims: %v, and its handles are Claimers: %v", v.Name, v.Claims, claims)
		}
	}
}
