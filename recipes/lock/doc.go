// Package lock is the locks: exclusive, read/write, revocable and several together.
package lock
