// Package drivers starts programs that hold sessions and work with locks and queues of any kind, in any language, and asks them over lines of JSON. docs/drivers.md
// specifies what is said.
package drivers
