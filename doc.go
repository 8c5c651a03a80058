// Package zkbench is the command zkbench for programs with recipes of their own.
//
// A program whose main calls Main is zkbench: it has all its commands, profiles, faults and reports, and the program's own variants are in the
// catalogue beside those of zkbench.
//
//	package main
//
//	import (
//		"github.com/zkbench/zkbench"
//		"github.com/zkbench/zkbench/recipes"
//	)
//
//	func main() {
//		zkbench.Main(zkbench.Setup{Locks: []recipes.Variant[recipes.Lock]{{Name: "mine", New: newMine}}})
//	}
//
// 'go run . run locks --set variants=[predecessor,mine]' compares it with one of zkbench's. A recipe that is not written in Go, or not on a zk.Session,
// needs no program of this kind: it is a driver.
package zkbench
