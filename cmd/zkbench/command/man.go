package command

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/zkbench/zkbench/internal/program"
)

// man prints a manual page, made from the help of the commands.
func (a *app) man(ctx context.Context, args []string) error {
	if err := alone(a.flags("man", "Prints a manual page: "+program.Name()+" man > "+program.Name()+".1; man ./"+program.Name()+".1"), args); err != nil {
		return err
	}
	var text strings.Builder
	a.help(&text)
	fmt.Fprintf(a.stdout, ".TH %s 1 \"\" \"zkbench %s\"\n.SH NAME\n%s \\- load-test coordination recipes on Apache ZooKeeper\n.SH DESCRIPTION\n", strings.ToUpper(program.Name()), versionText(), program.Name())
	verbatim(a.stdout, text.String())
	fmt.Fprintln(a.stdout, ".SH COMMANDS")
	for _, v := range verbs() {
		text.Reset()
		other := *a
		other.stdout, other.stderr = &text, io.Discard
		v.run(&other, ctx, []string{"--help"})
		fmt.Fprintf(a.stdout, ".SS %s\n", v.name)
		verbatim(a.stdout, text.String())
	}
	return nil
}

// verbatim writes text so that troff shows it unchanged.
func verbatim(w io.Writer, text string) {
	fmt.Fprintln(w, ".nf")
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		line = strings.ReplaceAll(line, `\`, `\e`)
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			line = `\&` + line
		}
		fmt.Fprintln(w, strings.ReplaceAll(line, "-", `\-`))
	}
	fmt.Fprintln(w, ".fi")
}
