package membership

import (
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// Variants returns the catalogue of groups.
func Variants() []recipes.Variant[recipes.Group] {
	return []recipes.Variant[recipes.Group]{
		{
			Name: "named", Source: "ZooKeeper's recipe page, 'Group Membership'; the Party of kazoo, without its assumption about ids",
			Doc:    "an ephemeral znode per member, named by its id, with data: a view is one list and one read for each member",
			Tokens: true, Data: true,
			New: func(s zk.Session, path string, o recipes.Options) recipes.Group {
				return &group{Place: znode.Place{Session: s, Dir: path, Options: o}, read: true}
			},
		},
		{
			Name: "shallow", Source: "ZooKeeper's recipe page, 'Group Membership'; the ShallowParty of kazoo",
			Doc: "an ephemeral znode per member, named by its id, without data: a view is one list",
			New: func(s zk.Session, path string, o recipes.Options) recipes.Group {
				return &group{Place: znode.Place{Session: s, Dir: path, Options: o}}
			},
		},
	}
}
