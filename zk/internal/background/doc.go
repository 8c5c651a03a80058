// Package background keeps account of what is carried out for a session beside its callers, so that closing it can wait for the end of
// that.
package background
