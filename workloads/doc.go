// Package workloads is what one session does with a recipe, and what must be true of the outcome.
package workloads
