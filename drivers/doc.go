// Package drivers starts programs that hold sessions and work with locks and queues of any kind, in any language, and sends them requests as lines of
// JSON. docs/drivers.md specifies the protocol.
package drivers
