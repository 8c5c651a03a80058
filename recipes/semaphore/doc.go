// Package semaphore implements counting semaphores.
package semaphore
