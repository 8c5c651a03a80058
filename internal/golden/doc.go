// Package golden compares the output of a test with a file in testdata. It is for tests only.
package golden
