// Package secrets generates the keys, certificates and passwords of an ensemble that zkbench starts, and the settings of servers and clients that use them.
package secrets
