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
	f := a.flags("explain [TERM]", "Says what a word of a report means, how the figure is made and when it misleads; without one it lists them. docs/reading.md is the same.")
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
		return usagef("nothing to explain under %q%s ('%s explain' lists the terms)", name, hint, program.Name())
	}
	for _, t := range found {
		fmt.Fprintln(a.stdout, strings.Join(t.Names, ", "))
		indented(a.stdout, "  ", "  ", t.Text)
	}
	return nil
}
