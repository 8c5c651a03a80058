// Package trouble repeats a call of a recipe and makes another of its requests fail each time, in every way. It is for tests only.
package trouble
