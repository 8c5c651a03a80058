// Package seam is the steps of recipes that can be replaced. Constructors that take one are for recipes that are wrong on purpose: those of
// package broken, whose defects the checks must find. Nobody outside of recipes can import this package.
package seam
