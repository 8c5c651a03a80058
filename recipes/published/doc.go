// Package published contains transcriptions of published recipes with their defects, to be measured and demonstrated, not to be used.
package published
