// Package recipes is the published coordination recipes: one file per primitive, one type per variant.
package recipes
