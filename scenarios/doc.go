// Package scenarios plays trials, each of a variant in a scenario, several at a time, for the packages below it.
package scenarios
