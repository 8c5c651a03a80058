// Package membership implements groups.
package membership
