// Package simulated provides queues of known capacity that execute the probes of a search instantly.
package simulated
