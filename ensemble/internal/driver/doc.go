// Package driver has what the drivers of ensembles have in common: it starts, watches, stops and restarts single servers, finds free ports for them, and
// keeps the state file of an ensemble that stays.
package driver
