// Package membership is the groups.
package membership
