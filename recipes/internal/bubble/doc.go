// Package bubble is what tests of recipes share: ensembles in memory in synctest bubbles, calls that may have to wait, staged faults, and looks at
// what was left. It is for tests alone.
package bubble
