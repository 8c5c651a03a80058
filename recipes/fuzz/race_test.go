//go:build race

package fuzz_test

// raced says that the race detector is on, which has goroutines take turns at random.
const raced = true
