//go:build !race

package fuzz_test

const raced = false
