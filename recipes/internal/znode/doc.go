// Package znode contains the building blocks of all recipes: how a znode is created and removed when replies are lost, which child is before which, how to
// wait for a change, and how long a grant lasts.
package znode
