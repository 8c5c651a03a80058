// Command zkbench load-tests the coordination recipes that people build on Apache ZooKeeper, and judges in the same run whether
// they kept their promise.
package main

import (
	"os"

	"github.com/zkbench/zkbench/cmd/zkbench/command"
	"github.com/zkbench/zkbench/recipes"
)

func main() { os.Exit(command.Main(recipes.Variants{})) }
