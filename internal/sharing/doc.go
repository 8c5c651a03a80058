// Package sharing computes which of several processes carries out which session of a cell.
package sharing
