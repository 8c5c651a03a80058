// Package driver holds what the kinds of ensembles have in common: it starts, watches, stops and restarts single servers, finds free ports for them, and
// keeps the state file of a detached ensemble.
package driver
