package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/zkbench/zkbench/internal/program"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/results"
)

// automation is what a result tells to the programs that asked for it.
type automation struct {
	junit   string // the file of test results; empty: none
	service string // github, or none
	name    string // of what is told of, in the test results
	profile profiles.Profile
	aside   bool // standard output has a document alone: annotations go to standard error, which services read as well
}

// services are what --ci takes.
var services = []string{"github"}

// flags adds --junit and --ci to a command; cases is what each test case is.
func (m *automation) flags(f *pflag.FlagSet, cases string) {
	f.StringVar(&m.junit, "junit", "", "write a test case for "+cases+" to this `file`, in JUnit's XML")
	f.StringVar(&m.service, "ci", "", "annotate failures and write a step summary for a `service`: github")
}

// begin checks what was asked for, and writes test results that say that it did not end, so that a run that is killed leaves no earlier ones.
func (m automation) begin() error {
	if m.service != "" && !slices.Contains(services, m.service) {
		return usagef("--ci: unknown service %q (expected %s; Jenkins and GitLab read --junit)", m.service, strings.Join(services, ", "))
	}
	if err := m.write(m.cutShort(exitFailed, "the run did not finish")); err != nil {
		return usageError{err}
	}
	return nil
}

// cutShort is a result that left no document.
func (m automation) cutShort(code int, reason string) report.Tests {
	now := time.Now()
	return report.RunTests(results.Run{Profile: m.name, Started: now, Finished: now, Partial: true, Exit: results.Exit{Code: code, Reason: reason}})
}

// failed tells of a result that left no document; it returns the error, and why it could not be told.
func (m automation) failed(a *app, err error) error {
	code := exitFailed
	if usage := (usageError{}); errors.As(err, &usage) {
		code = exitUsage
	} else if exit := exitError(0); errors.As(err, &exit) {
		code = int(exit)
	}
	summary := func(w io.Writer) error {
		_, failed := fmt.Fprintf(w, "%s %s: %v\n", program.Name(), m.name, err)
		return failed
	}
	return errors.Join(err, m.end(a, m.cutShort(code, err.Error()), summary))
}

// end writes the test results, the annotations and the summary.
func (m automation) end(a *app, tests report.Tests, summary report.Report) error {
	err := m.write(tests)
	if m.service == "" {
		return err
	}
	to := a.stdout
	if m.aside {
		to = a.standardError()
	}
	err = errors.Join(err, report.Annotations(tests, m.place)(to))
	path := os.Getenv("GITHUB_STEP_SUMMARY")
	if path == "" {
		fmt.Fprintln(a.stderr, "--ci github: GITHUB_STEP_SUMMARY is not set: no step summary")
		return err
	}
	f, failed := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if failed != nil {
		return errors.Join(err, fmt.Errorf("write the step summary: %w", failed))
	}
	return errors.Join(err, summary(f), f.Close())
}

func (m automation) write(tests report.Tests) error {
	if m.junit == "" {
		return nil
	}
	var text strings.Builder
	if err := report.JUnit(tests)(&text); err != nil {
		return err
	}
	if err := os.WriteFile(m.junit, []byte(text.String()), 0o644); err != nil {
		return fmt.Errorf("--junit: %w (give the path of a file that can be written)", err)
	}
	return nil
}

// place is the line of the profile that a case is about: its gate, its variant, or the first. A profile that is no file has none.
func (m automation) place(c report.Case) (file string, line, column int) {
	at := m.profile.PlaceOf("", 0)
	switch {
	case c.Gate >= 0:
		at = m.profile.AtGate(c.Gate)
	case c.Variant != "":
		at = m.profile.PlaceOf("variants", slices.Index(m.profile.Variants, c.Variant))
	}
	if at.Line == 0 || strings.HasPrefix(at.Source, profiles.BuiltinSource) || at.Source == profiles.StdinSource {
		return "", 0, 0
	}
	return fromWorkspace(at.Source), at.Line, at.Column
}

// fromWorkspace is a path as annotations have it, from the root of the repository, where that is known.
func fromWorkspace(path string) string {
	root := os.Getenv("GITHUB_WORKSPACE")
	whole, err := filepath.Abs(path)
	if root == "" || err != nil {
		return path
	}
	inside, err := filepath.Rel(root, whole)
	if err != nil || inside == ".." || strings.HasPrefix(inside, ".."+string(filepath.Separator)) {
		return path
	}
	return filepath.ToSlash(inside)
}
