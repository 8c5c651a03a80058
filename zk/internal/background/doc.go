// Package background counts the functions that run in the background of a session, so that closing it can wait for them.
package background
