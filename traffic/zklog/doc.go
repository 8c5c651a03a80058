// Package zklog reads the files that a ZooKeeper server leaves on its disk: transaction logs and snapshots of ZooKeeper 3.4 to 3.9.
//
// It reads each file once, front to back, in memory that does not grow with the file. Files are not trusted: a length, a count or a type is checked before
// anything is allocated for it, and whatever is wrong is a Problem with its file and offset, after which what can still be read is read. Data and
// credentials are skipped: of data only the size is kept, of an ACL nothing.
//
// The formats are those of FileTxnLog, FileSnap, SnapStream, SerializeUtils and zookeeper.jute in Apache ZooKeeper's sources.
package zklog
