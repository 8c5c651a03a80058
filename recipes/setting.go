package recipes

import "context"

// SettingValue is a version of a znode's data. The zero value is that of a session that has not seen any yet.
type SettingValue struct {
	Data    []byte
	Exists  bool  // false if the znode is missing
	Token   int64 // the transaction that wrote it (mzxid), by which versions are ordered; for a deleted znode, that of its last version
	Version int32 // of the znode, which starts at 0 again when it is recreated
	Czxid   int64 // of the znode
	// Missed is the number of versions between the last setting and this one. For a recreated znode, which has a larger Czxid, it counts those since
	// then: how many more the old one had is unknown.
	Missed int64
}

// Setting is one client's handle on a setting: as a writer, as a reader, or as both. A handle must not be used concurrently.
type Setting interface {
	// Set replaces the setting unconditionally, creating it if it is missing, and returns the token of the new version, 0 for the first one with an
	// engine whose create does not return it. The error is ErrInDoubt if it cannot be determined whether the setting was written; after every other
	// error it was not.
	Set(ctx context.Context, data []byte) (token int64, err error)
	// Watch waits for a setting later than last, the zero value for any that exists, or for the deletion of its znode. It never returns an earlier
	// one, even if last was seen in another session. Of several versions written while nobody waits it returns only the latest. ErrTokenUnknown: the
	// servers know no transaction as late as last.
	Watch(ctx context.Context, last SettingValue) (SettingValue, error)
	// Stop takes the watch of a Watch that has returned off the servers. The handle remains usable.
	Stop()
}
