// Package scenarios is what the packages below it have in common: trials of variants, each in a scenario, of which some go on at once.
package scenarios
