package command

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zkbench/zkbench/internal/program"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/scenarios/published"
)

func (a *app) list(_ context.Context, args []string) error {
	f := a.flags("list [recipes|workloads|profiles|fields|NAME]", `Lists recipes, workloads and profiles, or one of these kinds. For the name of a workload it lists its recipes, for a recipe its options,
for a profile what it runs and for how long. 'fields' lists the fields of profiles.`)
	if err := parse(f, args); err != nil {
		return err
	}
	kinds := []struct {
		name string
		list func(io.Writer) error
	}{{"recipes", a.listRecipes}, {"workloads", a.listWorkloads}, {"profiles", a.listProfiles}, {"fields", a.setup.Catalogue().WriteReference}}
	what := f.Args()
	if len(what) > 1 {
		return usagef("list takes at most one argument (recipes, workloads, profiles, fields, or a name)")
	}
	listed := false
	for _, k := range kinds {
		if len(what) == 1 && what[0] != k.name || len(what) == 0 && k.name == "fields" {
			continue
		}
		if len(what) == 0 {
			fmt.Fprintf(a.stdout, "%s\n", strings.ToUpper(k.name))
		}
		if err := k.list(a.stdout); err != nil {
			return err
		}
		listed = true
	}
	if listed {
		return nil
	}
	var one strings.Builder
	a.listNamed(&one, what[0])
	if err := a.listProfile(&one, what[0]); err != nil {
		return err
	}
	if one.Len() == 0 {
		if now, renamed := a.setup.Renamed(what[0]); renamed {
			return usagef("%s", now)
		}
		hint, names := "", append(a.setup.Catalogue().Names(), "recipes", "workloads", "profiles", "fields")
		if all, err := a.setup.Catalogue().Builtin(); err == nil {
			for _, p := range all {
				names = append(names, p.Name)
			}
		}
		if near := profiles.Nearest(what[0], names); near != "" {
			hint = ", did you mean " + near + "?"
		}
		return usagef("unknown name %q%s (expected recipes, workloads, profiles, fields, or the name of a workload, a recipe or a profile)", what[0], hint)
	}
	_, err := io.WriteString(a.stdout, one.String())
	return err
}

// listWidth is the width of every line of a list, except for commands to be copied.
const listWidth = 80

// indented writes text in lines of at most listWidth, each after indent. The first line starts with first instead.
func indented(w io.Writer, first, indent, text string) {
	line := first
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > listWidth:
			fmt.Fprintln(w, line)
			line = indent + word
		default:
			line += " " + word
		}
	}
	fmt.Fprintln(w, line)
}

// entry writes a name, with its doc beside it or below.
func entry(w io.Writer, name, doc string) {
	const column = 21
	first, indent := fmt.Sprintf("  %-*s", column-2, name), strings.Repeat(" ", column)
	if len(name) > column-4 {
		fmt.Fprintf(w, "  %s\n", name)
		first = indent
	}
	indented(w, first, indent, doc)
}

func (a *app) listRecipes(w io.Writer) error {
	a.listNamed(w, "")
	return nil
}

// listNamed lists the recipes of a workload, whose name may be in the plural, or the recipe WORKLOAD/VARIANT or VARIANT. An empty name lists all.
func (a *app) listNamed(w io.Writer, name string) {
	for _, k := range a.setup.Workloads {
		for _, v := range slices.Concat(k.Variants, k.Played) {
			if name != "" && name != v.Name && name != k.Name && name != k.Name+"s" && name != k.Name+"/"+v.Name {
				continue
			}
			fmt.Fprintf(w, "  %s/%s\n", k.Name, v.Name)
			const indent = "      "
			if v.Doc != "" {
				indented(w, indent, indent, v.Doc)
			}
			if v.Source != "" {
				indented(w, indent+"from: ", indent+"  ", v.Source)
			}
			if v.Unsafe && !v.Own {
				profile := "barrier-release" // no scenario can stage a server that lags behind, but load shows it
				if slices.Contains(published.Variants(), v.Name) {
					profile = "published"
				}
				fmt.Fprintf(w, "%sUNSAFE, kept as it was published; to see its defects:\n%s  %s run %s --set variants=[%s]\n", indent, indent, program.Name(), profile, v.Name)
			}
			var options []string
			for _, o := range v.Options {
				options = append(options, o.Name+"="+strings.Join(o.Values, "|"))
			}
			if len(options) > 0 {
				indented(w, indent+"options: ", indent+"  ", strings.Join(options, ", "))
			}
		}
	}
}

func (a *app) listWorkloads(w io.Writer) error {
	for _, k := range a.setup.Workloads {
		entry(w, k.Name, k.Doc)
	}
	for _, act := range a.setup.Acts {
		entry(w, act.Name, act.Doc)
	}
	return nil
}

func (a *app) listProfiles(w io.Writer) error {
	all, err := a.setup.Catalogue().Builtin()
	for _, p := range all {
		entry(w, p.Name, fmt.Sprintf("%s: %s", a.setup.Estimate(p), p.Description))
	}
	return err
}

// listProfile prints the source of a built-in profile, to be copied, and how long it takes. It prints nothing for an unknown name.
func (a *app) listProfile(w io.Writer, name string) error {
	all, err := a.setup.Catalogue().Builtin()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(p profiles.Profile) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	text, err := profiles.Source(name)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "# Profile %s: %s\n%s", name, a.setup.Estimate(all[i]), text)
	return err
}

func (a *app) schema(_ context.Context, args []string) error {
	f := a.flags("schema", "Prints the JSON Schema of profiles. Editors with a YAML language server use it to complete and check profiles.")
	if err := alone(f, args); err != nil {
		return err
	}
	text, err := a.setup.Catalogue().Schema()
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(text)
	return err
}

func (a *app) validate(_ context.Context, args []string) error {
	f := a.flags("validate PROFILE...", "Checks profiles (files or built-in ones), and reports all errors with their positions. Nothing is run.")
	sets := f.StringArray("set", nil, "change a field before the check, as `key=value`; may be repeated")
	if err := parse(f, args); err != nil {
		return err
	}
	if f.NArg() == 0 {
		return usagef("validate needs the profiles to check")
	}
	bad := false
	for _, name := range f.Args() {
		p, err := a.profile(name, *sets)
		if err != nil {
			fmt.Fprintln(a.stderr, err)
			bad = true
			continue
		}
		fmt.Fprintf(a.stdout, "%s: valid: %s\n", name, a.setup.Estimate(p))
		for _, warning := range a.setup.Warnings(p) {
			fmt.Fprintf(a.stderr, "%s: warning: %s\n", name, warning)
		}
	}
	if bad {
		return exitError(exitUsage)
	}
	return nil
}

// load loads a profile, or makes that of a trace.
func (a *app) load(name string) (profiles.Profile, error) {
	if file, isTrace := strings.CutPrefix(name, replayPrefix); isTrace {
		return a.replayOf(file)
	}
	return a.setup.Catalogue().Load(name)
}

// profile loads a profile, applies --set and --gate, and checks every name in it.
func (a *app) profile(name string, sets []string, gates ...string) (profiles.Profile, error) {
	p, err := a.load(name)
	if err != nil {
		return p, usageError{err}
	}
	if p, err = profiles.Set(p, sets...); err != nil {
		return p, usageError{err}
	}
	p = p.WithGates("--gate", gates...)
	if err := a.setup.Check(p); err != nil {
		return p, usageError{err}
	}
	return p, nil
}
