// Package root makes, keeps, finds and removes the one znode that everything of a run lives under.
//
// It touches no znode that zkbench did not make. A root is known by its marker, which names its path and was made in the same
// transaction as the root, so that a copy of it marks nothing. Below a root a znode is zkbench's by its name, and an ephemeral one by
// its session too; everything else stays, and what is above it.
package root
