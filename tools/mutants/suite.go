package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A suite is the test program of one package, with all mutants in it.
type suite struct {
	pkg, dir, program string
	short             bool // its long tests are skipped
	tests             []testCase
}

// A testCase is one test and the mutants that it reaches.
type testCase struct {
	name    string
	took    time.Duration
	reaches []byte
}

// build compiles the test programs. A change that does not compile, such as a comparison whose result has a defined type, is left out.
func (b *builder) build(ctx context.Context, packages []string) ([]suite, error) {
	var suites []suite
	for _, pkg := range packages {
		dir, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", pkg).Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", pkg, err)
		}
		suites = append(suites, suite{pkg: pkg, dir: strings.TrimSpace(string(dir)),
			program: filepath.Join(b.dir, strings.ReplaceAll(strings.Trim(pkg, "./"), "/", "_")+".test")})
	}
	overlay := filepath.Join(b.dir, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": b.overlay})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(overlay, text, 0o644); err != nil {
		return nil, err
	}
	for i, s := range suites {
		if out, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-gcflags=-e", "-overlay", overlay, "-o", s.program, s.pkg).CombinedOutput(); err != nil {
			return nil, refusal{out}
		}
		if _, err := os.Stat(s.program); errors.Is(err, fs.ErrNotExist) {
			suites[i].program = "" // it has no tests
		}
	}
	return slices.DeleteFunc(suites, func(s suite) bool { return s.program == "" }), nil
}

// refusal is the compiler's output about changed code.
type refusal struct{ out []byte }

func (r refusal) Error() string { return "the changed code does not compile:\n" + string(r.out) }

var place = regexp.MustCompile(`(?m)^(\S+\.go:\d+)(:\d+)?: `)

// lines returns the places that the compiler names.
func (r refusal) lines() (all []string) {
	for _, m := range place.FindAllSubmatch(r.out, -1) {
		all = append(all, filepath.Clean(string(m[1])))
	}
	return all
}

// compile changes and builds, without the changes that were refused, until everything compiles.
func (b *builder) compile(ctx context.Context, packages, tests []string) ([]suite, error) {
	b.refused = map[string]bool{}
	for {
		if err := b.change(packages); err != nil {
			return nil, err
		}
		suites, err := b.build(ctx, tests)
		var r refusal
		if !errors.As(err, &r) {
			return suites, err
		}
		before := len(b.refused)
		for _, line := range r.lines() {
			b.refused[line] = true
		}
		if len(b.refused) == before {
			return nil, err
		}
	}
}

// cover runs each test alone, unchanged, and notes how long it takes and which mutants it reaches. Tests that take longer than slowest, are
// skipped or fail do not judge.
func (s *suite) cover(ctx context.Context, mutants int, slowest time.Duration) error {
	list := exec.CommandContext(ctx, s.program, "-test.list", "^Test")
	list.Dir = s.dir
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", s.pkg, err)
	}
	reached := s.program + ".reached"
	for name := range strings.FieldsSeq(string(out)) {
		if !strings.HasPrefix(name, "Test") {
			continue
		}
		if err := os.WriteFile(reached, make([]byte, mutants), 0o644); err != nil {
			return err
		}
		start := time.Now()
		out, err := s.run(ctx, []string{name}, slowest, "ZKBENCH_MUTANTS_REACHED="+reached)
		took := time.Since(start)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "left out: %s %s: %v\n", s.pkg, name, firstFailure(out, err))
			continue
		}
		t := testCase{name: name, took: took}
		if t.reaches, err = os.ReadFile(reached); err != nil {
			return err
		}
		s.tests = append(s.tests, t)
	}
	slices.SortFunc(s.tests, func(a, b testCase) int { return int(a.took - b.took) })
	return nil
}

func firstFailure(out []byte, err error) string {
	for line := range bytes.Lines(out) {
		if line = bytes.TrimSpace(line); bytes.HasPrefix(line, []byte("--- FAIL")) || bytes.HasPrefix(line, []byte("panic")) {
			return string(line)
		}
	}
	return err.Error()
}

// run runs tests until one fails.
func (s *suite) run(ctx context.Context, names []string, limit time.Duration, env ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit+5*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, s.program, "-test.run", "^("+strings.Join(names, "|")+")$", "-test.failfast", "-test.timeout", limit.String(),
		"-test.short="+strconv.FormatBool(s.short))
	c.Dir = s.dir
	c.Env = append(os.Environ(), env...)
	c.WaitDelay = time.Second
	return c.CombinedOutput()
}

func chosen(mutant int) string { return "ZKBENCH_MUTANT=" + strconv.Itoa(mutant) }
