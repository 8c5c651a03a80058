// Package simulated is queues with a known capacity, which carry out the probes of a search in no time.
package simulated
