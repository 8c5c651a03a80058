// Package barrier implements barriers, double barriers and the rendezvous.
package barrier
