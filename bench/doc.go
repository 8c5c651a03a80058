// Package bench carries out one profile: arrivals, phases, sessions -> one results.Run.
package bench
