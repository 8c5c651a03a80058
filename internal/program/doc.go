// Package program finds the name by which a person calls this program, with which the commands in its messages begin.
package program
