package main

import (
	"github.com/zkbench/zkbench"
	"github.com/zkbench/zkbench/recipes"
)

func main() {
	zkbench.Main(zkbench.Setup{Locks: []recipes.Variant[recipes.Lock]{variant}})
}
