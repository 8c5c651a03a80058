// Package scenarios runs trials of variants, each in a scenario, several at a time, for the packages below it.
package scenarios
