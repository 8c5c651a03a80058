package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/internal/program"
	"github.com/zkbench/zkbench/internal/tier"
)

// yours writes the program of docs/your-own-recipe.md as a user has it: a separate module that depends on zkbench.
func yours(t *testing.T, change ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob("testdata/yours/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text := read(t, file)
		if filepath.Base(file) == "lock.go" && len(change) > 0 {
			changed := strings.NewReplacer(change...).Replace(text)
			if changed == text {
				t.Fatalf("%s has no %q", file, change[0])
			}
			text = changed
		}
		put(filepath.Base(file), text)
	}
	home, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	// The requirements are those of zkbench, so that nothing has to be downloaded.
	put("go.mod", strings.Replace(read(t, "../../../go.mod"), "module "+program.Module+"\n", "module example.com/yours\n", 1)+
		"\nrequire "+program.Module+" v0.0.0\n\nreplace "+program.Module+" => "+home+"\n")
	put("go.sum", read(t, "../../../go.sum"))
	return dir
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// goTool runs the go command in a directory.
func goTool(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOPROXY=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// The program of the document keeps the promises of a lock, and is zkbench with one more lock: the commands that list, check, measure, judge and show know it.
func TestAProgramWithALockOfYoursIsZkbench(t *testing.T) {
	tier.Long(t, "compiles zkbench once more and runs every command; TestAWrongLockOfYoursIsCaught compiles and runs one")
	t.Parallel()
	address, dir := servers.Get(t, 1).Addresses()[0], yours(t)
	goTool(t, dir, "test", ".")
	goTool(t, dir, "build", "-o", "yours", ".")
	run := func(args ...string) ending {
		t.Helper()
		return toTheEnd(t, exec.CommandContext(t.Context(), filepath.Join(dir, "yours"), args...))
	}

	run("version").want(exitOK, "zkbench devel in example.com/yours devel")
	for _, c := range []struct {
		args string
		code int
		says string
	}{ // its command lines start with its own name
		{"help", exitOK, "Usage: yours COMMAND"}, {"clean --help", exitOK, "Usage: yours clean "}, {"explain nothing-such", exitUsage, "yours: unknown term \"nothing-such\" ('yours explain' lists"},
		{"completion bash", exitOK, "complete -o default -F _yours yours"}, {"man", exitOK, ".TH YOURS 1"}, {"run", exitUsage, "'yours list profiles' lists"},
		{"fleet swarm locks --shares 2 --servers a:1", exitUsage, "--image is missing"}, {"fleet swarm locks --shares 2 --servers a:1 --image me/yours", exitOK, `image: "me/yours"`},
		{"fleet slurm locks --shares 2 --servers a:1 --meet zk://b:1/m", exitOK, `"$@"' yours run locks`},
	} {
		run(strings.Fields(c.args)...).want(c.code, c.says)
	}
	run("list", "yours").want(exitOK, "lock/yours", "each waits for the one before it")
	run("validate", "quickstart", "--set", "variants=[yours]").want(exitOK, "valid")
	run("validate", "quickstart", "--set", "variants=[your]").want(exitUsage, `did you mean "yours"?`)
	to := filepath.Join(dir, "result")
	run("run", small(t, "variants: [predecessor, yours]"), "--servers", address, "--out", to).wantEnd()
	if doc := result(t, to); len(doc.Command) < 2 || doc.Command[0] != "yours" {
		t.Errorf("made by %q", doc.Command)
	}
	for i, c := range result(t, to).Cells {
		if want := []string{"predecessor", "yours"}[i]; c.Variant != want || c.Done["acquire"] == 0 || len(c.Checks) < 3 {
			t.Errorf("cell %d is of %s, %v, checked for %v", i, c.Variant, c.Done, c.Checks)
		}
	}
	run("report", to).want(exitOK, "yours")
	run("run", small(t, "variants: yours", "options: {layout: kazoo}"), "--servers", address).want(exitUsage, "it has no options")
	run("run", "published", "--servers", address, "--set", "variants=[yours]", "--quiet", "--out", filepath.Join(dir, "published")).
		want(exitOK, "42 trials", "42 passed as expected")
	run("run", "fencing", "--servers", address, "--set", "variants=[yours]", "--set", "repetitions=1", "--quiet", "--out", filepath.Join(dir, "fencing")).
		want(exitOK, "without a fence 2 were accepted, with one 0 were accepted and 2 rejected")
}

// A lock that does not wait for the session before it is caught.
func TestAWrongLockOfYoursIsCaught(t *testing.T) {
	t.Parallel()
	address, dir := servers.Get(t, 1).Addresses()[0], yours(t, "before := predecessor(names, own)", `before := ""`)
	goTool(t, dir, "build", "-o", "yours", ".")
	toTheEnd(t, exec.CommandContext(t.Context(), filepath.Join(dir, "yours"), "run", small(t, "variants: yours"), "--servers", address,
		"--out", filepath.Join(dir, "result"))).want(exitViolated, "VIOLATED")
}
