//go:build !linux

package recipes_test

func (r *lossRounds) stopped() { r.Skip("stops processes only on Linux") }
