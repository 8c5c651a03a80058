// Package barrier is the barriers: single and double ones, and the rendezvous.
package barrier
