// Package golden compares what a test makes with the file of it in testdata. It is for tests only.
package golden
