// Package published is transcriptions of published recipes with their faults, to be measured and shown, not to be used.
package published
