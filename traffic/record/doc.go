// Package record writes a trace of what clients send through a proxy and what servers answer: all requests with their sizes, codes and times, watch events, and the
// beginnings and ends of sessions. It keeps neither data nor credentials, and hashes names unless told otherwise.
package record
