// Package tier says which tests 'make test' leaves to 'make test-all'. It is for tests only.
package tier
