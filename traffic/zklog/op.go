package zklog

import (
	"fmt"

	"github.com/zkbench/zkbench/internal/jute"
)

// Op is the type of a transaction, with its number in the log.
type Op int32

// The types of transactions. The servers alone delete containers.
const (
	OpCreateSession   = Op(jute.OpConnect)
	OpCloseSession    = Op(jute.OpClose)
	OpError           = Op(jute.OpError) // a write that failed; the log does not say which
	OpCreate          = Op(jute.OpCreate)
	OpCreate2         = Op(jute.OpCreate2)
	OpCreateContainer = Op(jute.OpCreateContainer)
	OpCreateTTL       = Op(jute.OpCreateTTL)
	OpDelete          = Op(jute.OpDelete)
	OpDeleteContainer = Op(20)
	OpSetData         = Op(jute.OpSetData)
	OpSetACL          = Op(jute.OpSetACL)
	OpCheck           = Op(jute.OpCheck) // only in a multi
	OpMulti           = Op(jute.OpMulti)
	OpReconfig        = Op(16)
)

var opNames = map[Op]string{OpCreateSession: "createSession", OpCloseSession: "closeSession", OpError: "error", OpCreate: "create", OpCreate2: "create",
	OpCreateContainer: "createContainer", OpCreateTTL: "createTTL", OpDelete: "delete", OpDeleteContainer: "deleteContainer", OpSetData: "setData",
	OpSetACL: "setACL", OpCheck: "check", OpMulti: "multi", OpReconfig: "reconfig"}

// String returns the name that ZooKeeper's sources use; create2 is a create with another reply.
func (o Op) String() string {
	if name := opNames[o]; name != "" {
		return name
	}
	return fmt.Sprintf("type %d", int32(o))
}

// Creates says whether the operation creates a znode.
func (o Op) Creates() bool {
	return o == OpCreate || o == OpCreate2 || o == OpCreateContainer || o == OpCreateTTL
}

// Deletes says whether the operation deletes a znode.
func (o Op) Deletes() bool { return o == OpDelete || o == OpDeleteContainer }
