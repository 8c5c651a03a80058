//go:build !linux

package recipes_test

func (r *lossRounds) stopped() { r.Skip("processes are stopped on Linux alone") }
