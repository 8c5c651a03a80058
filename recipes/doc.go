// Package recipes declares what the coordination recipes promise: what a lock, a queue or an election does for its caller, in any implementation. The
// packages below implement them, one package per primitive, with its variants.
package recipes
