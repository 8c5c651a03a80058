package published

import (
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// walkThrough is the article that prints two of ZooKeeper's own recipes.
const walkThrough = "'Detailed explanation of distributed queue, distributed lock and election using ZooKeeper', a web article; no author named"

// Locks returns locks as published in a library and in articles: transcribed in behaviour, not in text, with their defects. None of them is safe; package
// scenarios/published shows each defect in the situation that brings it out. The comments of the types list the defects.
//
// The articles' clients and a zk.Session differ in two points, which the transcriptions cannot show. A Java client notifies every watcher of a
// disconnection and fails the reads made during it; a session waits for the connection. And a session that has expired stays expired, while ZkClient
// opens another one on its own.
func Locks() []recipes.Variant[recipes.Lock] {
	return []recipes.Variant[recipes.Lock]{
		{
			Name: "go-zookeeper", Source: "the algorithm of the Lock of github.com/go-zookeeper/zk v1.0.4, over any session",
			Doc:  "the library's predecessor lock unchanged: no contexts, keeps its znode after an error, treats its own missing znode as the lowest",
			FIFO: true, Unsafe: true,
			Wakes: recipes.WakesOne,
			New: func(s zk.Session, path string, o recipes.Options) recipes.Lock {
				return &goZookeeper{s: s, dir: path, o: o}
			},
		},
		{
			Name: "zookeeper-writelock", Formerly: "article-000-writelock",
			Source: "WriteLock of Apache ZooKeeper's own recipes (zookeeper-recipes-lock), as printed in " + walkThrough,
			Doc:    "a predecessor lock that checks its predecessor once, names its znodes after the session and adopts existing ones",
			FIFO:   true, Unsafe: true,
			Wakes:  recipes.WakesOne,
			Znodes: recipes.Znodes{Ephemeral: []string{`OBJECT/x-[0-9-]+SEQ`}},
			New: func(s zk.Session, path string, o recipes.Options) recipes.Lock {
				return &writeLock{s: s, dir: path, o: o}
			},
		},
		{
			Name: "exists-on-parent", Formerly: "article-001-exists-parent",
			Source: "'Understanding ZooKeeper, continued' (了解zookeeper-续), section 4, taken literally; no author named, published by 程序博客网 in 2024",
			Doc:    "a queue whose waiters watch the directory with exists(), which changes of its children never trigger",
			FIFO:   true, Unsafe: true,
			Wakes:  func(int) (float64, float64) { return 0, 0 },
			Znodes: recipes.Znodes{Ephemeral: []string{`OBJECT/lock-SEQ`}},
			New: func(s zk.Session, path string, o recipes.Options) recipes.Lock {
				return &existsParent{s: s, dir: path, o: o}
			},
		},
		{
			Name: "zkclient-lock", Formerly: "article-003-zklockimpl",
			Source: "ZkLockImpl over sgroschupf/zkclient, from 'Simple implementation of Redis and Zookeeper with distributed lock', a web article; no author named",
			Doc:    "a predecessor lock that takes a missing predecessor as its turn",
			FIFO:   true, Unsafe: true,
			Wakes:  recipes.WakesOne,
			Znodes: recipes.Znodes{Ephemeral: []string{`OBJECT/SEQ`}},
			New: func(s zk.Session, path string, o recipes.Options) recipes.Lock {
				return &zkLockImpl{s: s, dir: path, o: o}
			},
		},
		{
			Name: "dzone-lock", Formerly: "article-004-dzone",
			Source: "DistributedLock from 'Distributed Lock using Zookeeper' by Stephen Mouring, Jr., published by DZone",
			Doc:    "a naive queue shared by all locks of a base path; it compares whole names and leaves its znode behind after an error",
			FIFO:   true, Unsafe: true,
			Wakes:  func(n int) (float64, float64) { return float64(n - 1), float64(n - 1) },
			Znodes: recipes.Znodes{Ephemeral: []string{`OBJECT/lockSEQ`}},
			New:    func(s zk.Session, path string, o recipes.Options) recipes.Lock { return NewDZone(s, path, "lock", o) },
		},
	}
}
