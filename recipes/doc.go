// Package recipes is the promises of the coordination recipes: what a lock, a queue or an election does for its caller, whoever keeps it.
// The packages below keep them, each with the variants of one primitive.
package recipes
