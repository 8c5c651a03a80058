// Package host is what this machine tells: of its processes, their locks on files, and its limits.
package host
