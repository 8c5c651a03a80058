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

// automation reports a result to CI services and to tools that read JUnit files.
type automation struct {
	junit   string // the file of test results; empty for none
	service string // github, or empty
	name    string // name of what is reported, in the test results
	profile profiles.Profile
	aside   bool // standard output has only a document, so annotations go to standard error, which services read too
}

// services are the values of --ci.
var services = []string{"github"}

// flags adds --junit and --ci to a command; cases says what has a test case.
func (m *automation) flags(f *pflag.FlagSet, cases string) {
	f.StringVar(&m.junit, "junit", "", "write a test case for "+cases+" to this `file`, in JUnit's XML")
	f.StringVar(&m.service, "ci", "", "annotate failures and write a step summary for a `service`: github")
}

// begin validates the flags and writes test results that say that the run did not finish, so that a run that is killed leaves no earlier results behind.
func (m automation) begin() error {
	if m.service != "" && !slices.Contains(services, m.service) {
		return usagef("--ci: unknown service %q (expected %s; Jenkins and GitLab read --junit)", m.service, strings.Join(services, ", "))
	}
	if err := m.write(m.cutShort(exitFailed, "the run did not finish")); err != nil {
		return usageError{err}
	}
	return nil
}

// cutShort returns the test results of a run that left no document.
func (m automation) cutShort(code int, reason string) report.Tests {
	now := time.Now()
	return report.Run{Profile: m.name, Started: now, Finished: now, Partial: true, Exit: results.Exit{Code: code, Reason: reason}}.Tests("")
}

// failed reports a run that left no document. It returns err, joined with the error of reporting it.
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

// place returns the position in the profile that a test case is about: its gate, its variant, or the first line. It is empty if the profile is not a file.
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

// fromWorkspace returns a path as annotations need it: relative to the root of the repository, if that is known.
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
