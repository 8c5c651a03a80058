// Package driver is what the drivers of ensembles have in common: servers that are started, watched, taken down and brought back one at a
// time, free ports for them, and the state file of an ensemble that stays.
package driver
