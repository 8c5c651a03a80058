// Package bubble contains what tests of recipes share: ensembles in memory in synctest bubbles, calls that may block, staged faults, and checks of
// what was left behind. It is for tests only.
package bubble
