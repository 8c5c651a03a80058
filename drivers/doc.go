// Package drivers starts programs, in any language, that hold sessions and work with locks and queues of any kind, and sends them requests as lines of
// JSON. docs/drivers.md specifies the protocol.
package drivers
