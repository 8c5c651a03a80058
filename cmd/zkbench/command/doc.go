// Package command is zkbench's command line: its commands, flags and exit codes, and the catalogue of everything that profiles may name.
package command
