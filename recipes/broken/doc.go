// Package broken is deliberately wrong recipes that the checks must catch; for tests only.
//
// Each entry of a catalogue is right but for one defect, names it in its Doc, and names the check that must find it. A check that
// no recipe can violate proves nothing, and neither does a run that is judged by it.
package broken
