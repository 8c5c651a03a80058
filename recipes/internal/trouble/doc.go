// Package trouble plays a call of a recipe again and again, and each time another of its requests goes wrong in another way. It is for tests alone.
package trouble
