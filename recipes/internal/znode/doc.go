// Package znode is the ground rules that all recipes stand on: how a znode is made and removed when replies are lost, who is before whom, how
// to wait for a change, and how long a grant lasts.
package znode
