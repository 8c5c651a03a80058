// Package queue implements queues: by arrival, with claims, by priority and by time.
package queue
