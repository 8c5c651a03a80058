// Package bench carries out one profile, with its arrivals, phases and sessions, and produces one results.Run.
package bench
