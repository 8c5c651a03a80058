package program

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
)

// Module is zkbench's, as go.mod has it.
const Module = "github.com/zkbench/zkbench"

// Zkbench is the name of the command of this module.
const Zkbench = "zkbench"

// Name is Zkbench, or the name of the file of a program that has zkbench as a module that it depends on.
var Name = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	return nameOf(info, ok, os.Args)
})

func nameOf(info *debug.BuildInfo, known bool, args []string) string {
	if !known || info.Main.Path == Module || info.Main.Path == "" || len(args) == 0 {
		return Zkbench
	}
	return strings.TrimSuffix(filepath.Base(args[0]), ".exe")
}
