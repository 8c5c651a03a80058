// Package serve is the driver's side of the seam, for drivers in Go: it takes requests from standard input and answers them.
package serve
