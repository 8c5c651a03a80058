// Package workloads defines what one session does with a recipe, and what must hold of the outcome.
package workloads
