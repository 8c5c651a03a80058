// Package program knows by which name a person calls this program: what the commands in its messages begin with.
package program
