//go:build race

package fuzz_test

// raced reports that the race detector is on, which schedules goroutines at random.
const raced = true
