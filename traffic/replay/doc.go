// Package replay plans the repetition of a trace: which client sends what, when, and which requests of others it has to wait for, so that the servers answer as
// they did when it was recorded. It is only arithmetic; the workload 'replay' carries the plan out.
package replay
