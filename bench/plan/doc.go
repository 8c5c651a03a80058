// Package plan says which cells a profile has, in which order they are carried out, and how long they take. It is pure arithmetic and opens no connections.
package plan
