package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/docs"
	"github.com/zkbench/zkbench/internal/program"
	"github.com/zkbench/zkbench/profiles"
)

func (a *app) explain(_ context.Context, args []string) error {
	f := a.flags("explain [TERM]", "Explains a term of a report: what it means, how the figure is computed and when it misleads. Without a term it lists them all.\ndocs/reading.md has the same text.")
	if err := parse(f, args); err != nil {
		return err
	}
	name := strings.Join(f.Args(), " ")
	var names []string
	for _, t := range docs.Terms() {
		names = append(names, t.Names...)
	}
	if name == "" {
		indented(a.stdout, "", "", strings.Join(names, " | "))
		return nil
	}
	found := docs.Explain(name)
	if len(found) == 0 {
		hint := ""
		if near := profiles.Nearest(name, names); near != "" {
			hint = ", did you mean " + near + "?"
		}
		return usagef("unknown term %q%s ('%s explain' lists the terms)", name, hint, program.Name())
	}
	for _, t := range found {
		fmt.Fprintln(a.stdout, strings.Join(t.Names, ", "))
		indented(a.stdout, "  ", "  ", t.Text)
	}
	return nil
}
