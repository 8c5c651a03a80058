package command

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/docs"
	"github.com/zkbench/zkbench/internal/program"
)

// completeVerb is the command that the shell scripts call. It prints the completions of its last argument, one per line.
const completeVerb = "__complete"

var completions = map[string]string{
	"bash": `_zkbench() {
	local IFS=$'\n'
	COMPREPLY=($("${COMP_WORDS[0]}" ` + completeVerb + ` "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
	[[ ${COMPREPLY-} == *= ]] && compopt -o nospace
}
complete -o default -F _zkbench zkbench
`,
	"zsh": `#compdef zkbench
_zkbench() {
	local -a found
	found=(${(f)"$(${words[1]} ` + completeVerb + ` "${(@)words[2,CURRENT]}" 2>/dev/null)"})
	compadd -a found || _files
}
compdef _zkbench zkbench
`,
	"fish": `complete -c zkbench -a '(zkbench ` + completeVerb + ` (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`,
}

func (a *app) completion(_ context.Context, args []string) error {
	f := a.flags("completion bash|zsh|fish", `Prints a script that completes commands, flags, profiles, variants and keys of --set. For bash:
  source <(`+program.Name()+` completion bash)`)
	if err := parse(f, args); err != nil {
		return err
	}
	script, known := completions[f.Arg(0)]
	if f.NArg() != 1 || !known {
		return usagef("completion takes one of bash, zsh, fish")
	}
	_, err := io.WriteString(a.stdout, strings.ReplaceAll(script, program.Zkbench, program.Name()))
	return err
}

// complete prints the completions of the last word, one per line.
func (a *app) complete(ctx context.Context, words []string) {
	if len(words) == 0 {
		return
	}
	last := words[len(words)-1]
	before := func(n int) string { // the n-th word before the last
		if i := len(words) - 1 - n; i >= 0 {
			return words[i]
		}
		return ""
	}
	var all []string
	switch {
	case len(words) == 1:
		all = []string{"help"}
		for _, v := range verbs() {
			all = append(all, v.name)
		}
	case last == "=" && before(2) == "--set": // bash passes the equals sign as a word
		all, last = a.valuesOf(before(1), ""), ""
	case before(1) == "=" && before(3) == "--set":
		all = a.valuesOf(before(2), "")
	case before(1) == "--set" || strings.HasSuffix(before(1), "-set") && strings.HasPrefix(before(1), "--"):
		if key, _, given := strings.Cut(last, "="); given {
			all = a.valuesOf(key, key+"=")
		} else {
			all = a.keys()
		}
	case strings.HasPrefix(last, "-"):
		all = a.flagsOf(ctx, words[0])
	default:
		all = a.argumentsOf(words[0])
	}
	slices.Sort(all)
	for _, word := range slices.Compact(all) {
		if strings.HasPrefix(word, last) {
			fmt.Fprintln(a.stdout, word)
		}
	}
}

var longFlag = regexp.MustCompile(`(?m)^ +(?:-\w, )?(--[a-z][a-z-]*)`)

// flagsOf returns the flags of a command, as its help lists them.
func (a *app) flagsOf(ctx context.Context, name string) (all []string) {
	var help strings.Builder
	other := *a
	other.stdout, other.stderr = &help, io.Discard
	for _, v := range verbs() {
		if v.name == name {
			v.run(&other, ctx, []string{"--help"})
		}
	}
	for _, m := range longFlag.FindAllStringSubmatch(help.String(), -1) {
		all = append(all, m[1])
	}
	return append(all, "--help")
}

var referenceKey = regexp.MustCompile(`(?m)^([a-z_]+)$`)

// keys returns the keys that --set can change.
func (a *app) keys() (all []string) {
	var reference strings.Builder
	if err := a.setup.Catalogue().WriteReference(&reference); err != nil {
		return nil
	}
	for _, m := range referenceKey.FindAllStringSubmatch(reference.String(), -1) {
		all = append(all, m[1]+"=")
	}
	return all
}

// valuesOf returns the values of a key that are names, each after the prefix.
func (a *app) valuesOf(key, prefix string) (all []string) {
	for _, k := range a.setup.Workloads {
		if key == "workload" {
			all = append(all, prefix+k.Name)
		}
		for _, v := range k.Variants {
			if key == "variants" {
				all = append(all, prefix+v.Name)
			}
		}
	}
	return all
}

// argumentsOf returns the arguments of a command that are names.
func (a *app) argumentsOf(verb string) (all []string) {
	switch verb {
	case "completion":
		return []string{"bash", "zsh", "fish"}
	case "explain":
		for _, t := range docs.Terms() {
			all = append(all, t.Names...)
		}
		return all
	case "run", "validate", "ab", "capacity", "list", "fleet":
		found, err := a.setup.Catalogue().Builtin()
		if err != nil {
			return nil
		}
		for _, p := range found {
			all = append(all, p.Name)
		}
		if verb == "fleet" {
			all = append(all, "swarm", "kubernetes", "slurm")
		}
		if verb == "list" {
			all = append(all, "recipes", "workloads", "profiles", "fields")
			for _, k := range a.setup.Workloads {
				all = append(all, k.Name)
			}
		}
	}
	return all
}
