// Package semaphore is the counting semaphores.
package semaphore
