// Package calibrate measures what this machine adds to every figure, and concludes which loads and which differences can be trusted here. The result is
// kept in the user's cache directory, for this boot of this machine.
package calibrate
