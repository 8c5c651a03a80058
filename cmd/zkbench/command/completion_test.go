package command

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
)

// Bash itself completes with the script.
func TestBashCompletes(t *testing.T) {
	script := file(t, "zkbench.bash", zkbench(t, "completion", "bash").want(exitOK).stdout)
	for line, want := range map[string]string{
		"zkbench valida":                          "validate validate-result",
		"zkbench run quick":                       "quickstart",
		"zkbench run locks --metrics-l":           "--metrics-listen",
		"zkbench run locks --set vari":            "variants=",
		"zkbench run locks --set variants = pred": "predecessor",
		"zkbench completion f":                    "fish",
		"zkbench nonsense x":                      "",
	} {
		words := strings.Fields(line)
		quoted := make([]string, len(words))
		for i, w := range words {
			quoted[i] = "'" + w + "'"
		}
		quoted[0] = os.Args[0]
		cmd := exec.Command("bash", "--norc", "-c", fmt.Sprintf("compopt() { :; }; source %s; COMP_WORDS=(%s); COMP_CWORD=%d; _zkbench; echo \"${COMPREPLY[*]}\"; complete -p zkbench",
			script, strings.Join(quoted, " "), len(words)-1))
		cmd.Env = append(os.Environ(), childEnv+"=1")
		said, err := cmd.CombinedOutput()
		got, registered, _ := strings.Cut(string(said), "\n")
		if err != nil || got != want || !strings.Contains(registered, "-F _zkbench zkbench") {
			t.Errorf("%q completes to %q, want %q (%v, %s)", line, got, want, err, registered)
		}
	}
	zkbench(t, "completion", "tcsh").want(exitUsage, "bash, zsh, fish")
}

// The manual page has every command and its flags, and troff has no complaints about it.
func TestManualPage(t *testing.T) {
	ensembletest.Need(t, "groff-base:groff")
	page := zkbench(t, "man").want(exitOK).stdout
	groff := exec.Command("groff", "-man", "-Tascii", "-ww", "-P-c", "-rLL=200n")
	groff.Stdin = strings.NewReader(page)
	var text, said strings.Builder
	groff.Stdout, groff.Stderr = &text, &said
	if err := groff.Run(); err != nil {
		t.Fatal(err, said.String())
	}
	for _, v := range verbs() {
		if !strings.Contains(text.String(), "Usage: zkbench "+v.name) {
			t.Errorf("the page lacks %s", v.name)
		}
	}
	if !strings.Contains(text.String(), "--metrics-listen") || strings.Contains(said.String(), "error") {
		t.Errorf("groff says %s", said.String())
	}
}
