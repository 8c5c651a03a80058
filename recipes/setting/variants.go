package setting

import (
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// Variants returns the catalogue of caches of a setting.
func Variants() []recipes.Variant[recipes.Setting] {
	return []recipes.Variant[recipes.Setting]{
		{
			Name: "cache", Source: "ZooKeeper's recipe page, 'Configuration'; the order of versions is that of Apache Curator's SharedValue",
			Doc:   "a copy of a znode's data, read again with a watch after each event: versions in between may be missed, and none comes back",
			Watch: []string{"get", "exists"},
			New: func(s zk.Session, path string, o recipes.Options) recipes.Setting {
				return &cache{s: s, path: path, o: o}
			},
		},
	}
}
