// Package simulated has queues of known capacity that carry out the probes of a search instantly.
package simulated
