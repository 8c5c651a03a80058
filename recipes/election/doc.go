// Package election is the leader elections.
package election
