// Package election implements leader elections.
package election
