// Package seam declares the steps of recipes that can be replaced. Constructors that take one are for recipes that are wrong on purpose: those of
// package broken, whose defects the checks must find. Only package recipes and its subpackages can import it.
package seam
