// Package fencing plays locks whose holder is paused before it writes, with and without a fence.
//
// A trial has two clients. The first, a process of its own, acquires the lock, looks at its grant, finds it in order, and is stopped
// before its next instruction, which writes. Its lock session expires; the lock is granted to the second client, which writes; the
// first goes on and writes too. Its data travel over another session, or to another store, which the pause does not end: that is how
// applications use locks. No step of this waits for time to pass: each begins with the event that it needs.
//
// Without a fence the late write is accepted, whatever the lock. With one it must be rejected, whatever the lock.
package fencing
