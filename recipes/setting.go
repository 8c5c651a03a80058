package recipes

import "context"

// SettingValue is a version of a znode's data. The zero value is that of a session that has seen nothing yet.
type SettingValue struct {
	Data    []byte
	Exists  bool  // false: the znode is missing
	Token   int64 // the transaction that wrote it (mzxid), by which versions are ordered; of a znode that went, of its last version
	Version int32 // of the znode, which counts from 0 again when it is recreated
	Czxid   int64 // of the znode
	// Missed is how many versions lie between the last setting and this one. Of a znode that was recreated, which a larger Czxid tells,
	// it is those since then: how many the old one still had, nothing tells.
	Missed int64
}

// Setting is one client's handle on a setting: as a writer, as a reader, or as both. A handle is used by one goroutine at a time.
type Setting interface {
	// Set replaces the setting, which is made when it is missing, whatever others have written, and returns the token of the new version,
	// 0 of the first one with an engine whose create does not tell it. The error is ErrInDoubt when nothing tells whether it was
	// written; after every other error it was not.
	Set(ctx context.Context, data []byte) (token int64, err error)
	// Watch waits for a setting that is later than last, the zero Setting for any that exists, or for the end of its znode. It never
	// gives an earlier one, also when last was seen in another session. Of what is written while nobody waits it gives the latest
	// version alone. ErrTokenUnknown: the servers know no transaction as late as last.
	Watch(ctx context.Context, last SettingValue) (SettingValue, error)
	// Stop takes the watch of a Watch that has returned off the servers. The handle can be used on.
	Stop()
}
