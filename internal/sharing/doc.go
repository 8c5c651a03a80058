// Package sharing says which of several processes carries out which session of a cell: arithmetic alone.
package sharing
