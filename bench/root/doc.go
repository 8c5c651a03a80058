// Package root creates, keeps, finds and removes the one znode under which everything of a run lives.
//
// It touches no znode that zkbench did not create. A root is known by its marker, which names its path and was created in the same transaction, so that
// a copy of it marks nothing. Below a root a znode is zkbench's by its name, and an ephemeral one by its session too; everything else stays, and so does
// everything above the root.
package root
