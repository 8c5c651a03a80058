// Package calibrate measures what this machine adds to every figure, and says from it which loads and which differences can be trusted here. What it
// found is kept in the user's cache directory, for this boot of this machine.
package calibrate
