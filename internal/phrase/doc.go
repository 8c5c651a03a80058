// Package phrase writes counts and times for sentences.
package phrase
