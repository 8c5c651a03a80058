// Package fencing tests locks whose holder is paused before it writes, with and without a fence.
//
// A trial has two clients. The first, in its own process, acquires the lock, checks that its grant is in order, and is stopped
// before its next instruction, which writes. Its lock session expires; the lock is granted to the second client, which writes; the
// first resumes and writes too. It writes over another session, or to another store, which the pause does not end: that is how
// applications use locks. No step waits for time to pass: each starts with the event that it needs.
//
// Without a fence the late write is accepted, whatever the lock. With one it must be rejected, whatever the lock.
package fencing
