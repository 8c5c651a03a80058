package jute

// Op is the type of a request, with its number on the wire (ZooDefs.OpCode of Apache ZooKeeper 3.8).
type Op int32

// The types of requests. OpConnect is the handshake that opens or resumes a session; its frame carries neither xid nor type. OpError is the
// type of a failed result of a multi.
const (
	OpClose           Op = -11
	OpConnect         Op = -10
	OpError           Op = -1
	OpCreate          Op = 1
	OpDelete          Op = 2
	OpExists          Op = 3
	OpGetData         Op = 4
	OpSetData         Op = 5
	OpGetACL          Op = 6
	OpSetACL          Op = 7
	OpGetChildren     Op = 8
	OpSync            Op = 9
	OpPing            Op = 11
	OpGetChildren2    Op = 12
	OpCheck           Op = 13
	OpMulti           Op = 14
	OpCreate2         Op = 15
	OpCheckWatches    Op = 17
	OpRemoveWatches   Op = 18
	OpCreateContainer Op = 19
	OpCreateTTL       Op = 21
	OpMultiRead       Op = 22
	OpAuth            Op = 100
	OpSetWatches      Op = 101
	OpSASL            Op = 102
	OpSetWatches2     Op = 105
	OpAddWatch        Op = 106
	OpWhoAmI          Op = 107
)

// Transaction ids that do not count requests.
const (
	XidNotification int32 = -1 // a watch event, which nobody asked for
	XidPing         int32 = -2
	XidAuth         int32 = -4
	XidSetWatches   int32 = -8
)

// Error codes with which a server says that a session is not its own.
const (
	CodeExpired int32 = -112
	CodeMoved   int32 = -118
)

// Error codes with which a server refuses credentials, or a request without them; it closes the connection then.
const (
	CodeAuthFailed   int32 = -115
	CodeAuthRequired int32 = -124
)
