// Package recipes declares the promises of the coordination recipes: what a lock, a queue or an election does for its caller, in any implementation.
// The packages below keep them, each with the variants of one primitive.
package recipes
