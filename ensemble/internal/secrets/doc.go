// Package secrets makes the keys, certificates and passwords of an ensemble that is started, and says what servers and clients need of them.
package secrets
