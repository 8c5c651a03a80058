// Package broken contains deliberately wrong recipes that the checks must catch; for tests only.
//
// Each entry of a catalogue is the product's own recipe with one step replaced: a decision that its package lets recipes replace
// (recipes/internal/seam, znode.Turn), an option, a request that its session carries out differently, or what is returned to its caller. Its Doc
// names the defect, and Caught the check that must find it. A check that no recipe can violate proves nothing, and neither does a run that it judges.
package broken
