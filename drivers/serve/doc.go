// Package serve is the driver's side of the protocol, for drivers in Go: it reads requests from standard input and writes replies to standard output.
package serve
