// Package host reads what this machine reports about its processes, their file locks, and its limits.
package host
