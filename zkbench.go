package zkbench

import (
	"os"

	"github.com/zkbench/zkbench/cmd/zkbench/command"
	"github.com/zkbench/zkbench/recipes"
)

// Setup is the variants that a program adds to the catalogue. Each needs a Name and New. The name is what profiles and --set variants=[...] call it: at
// most 64 letters, digits and . _ + -, beginning with a letter or a digit, and no other variant of zkbench or of the same field has it. The other
// fields of a recipes.Variant say what it promises, which is then tested (FIFO, Tokens), what reports say about it (Doc, Source, Wakes), and which znodes it
// makes: the removal of a run leaves znodes that neither the workload nor Znodes names, because they may belong to others.
//
// New is called for each session and object of a load, from many goroutines at a time. A handle that it returns is used by one goroutine at a time.
type Setup = recipes.Variants

// Main carries out the command line of this process as zkbench does, and ends the process with its exit code; it does not return. It is called once, first
// thing in main: zkbench starts the program itself again, with other arguments, for clients in processes of their own. If the Setup cannot be used, Main
// prints all its problems to standard error before anything is started, with exit code 2.
func Main(s Setup) { os.Exit(command.Main(s)) }
