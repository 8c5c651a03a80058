// Package serve is the driver's side of the protocol, for drivers in Go: it reads requests from standard input and answers them on standard output.
package serve
