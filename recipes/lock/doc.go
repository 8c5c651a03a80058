// Package lock implements locks: exclusive, read/write, revocable, and several acquired together.
package lock
