// Package root creates, keeps, finds and removes the one znode under which everything of a run lives.
//
// It touches no znode that zkbench did not create. A root is identified by its marker, which names its path and was created in the same transaction, so a
// copy of the marker marks nothing. Below a root, zkbench's znodes are identified by name, and ephemeral ones by session too; everything else stays, and so
// does everything above the root.
package root
