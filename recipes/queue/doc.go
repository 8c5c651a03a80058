// Package queue is the queues: by arrival, with claims, by priority and by time.
package queue
