package published

import (
	"slices"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/barrier"
	"github.com/zkbench/zkbench/recipes/commit"
	"github.com/zkbench/zkbench/recipes/election"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/recipes/published"
	"github.com/zkbench/zkbench/recipes/semaphore"
	"github.com/zkbench/zkbench/zk"
)

// The sound recipes that also play every scenario of a published one; they must pass all of them. ElectionControl is
// predecessor of recipes.Elections, under a name that no lock has.
const (
	Control          = "predecessor"
	SemaphoreControl = "lease"
	ElectionControl  = "predecessor-election"
	BarrierControl   = "double-barrier"
	CommitControl    = "flat"
)

type (
	newLock    = func(zk.Session, string, recipes.Options) recipes.Lock
	newBarrier = func(zk.Session, string, recipes.Options) recipes.DoubleBarrier
	newCommit  = func(zk.Session, string, recipes.Options) recipes.Commit
)

// subject is what a trial tests. Only the constructor of its kind is not nil; elections and semaphores are adapted to locks.
type subject struct {
	name, control string
	own           bool // a lock that is not zkbench's
	byDriver      bool // by a driver
	permits       int  // number of handles that may hold at once
	lock          newLock
	barrier       newBarrier
	commit        newCommit
}

// subjectOf returns the subject with a name; own are locks that are not zkbench's.
func subjectOf(name string, own []recipes.Variant[recipes.Lock]) (subject, bool) {
	var all []subject
	for _, v := range own {
		all = append(all, subject{name: v.Name, control: Control, own: true, lock: v.New})
	}
	for _, v := range slices.Concat(lock.Variants(), published.Locks()) {
		all = append(all, subject{name: v.Name, control: Control, lock: v.New})
	}
	for _, v := range slices.Concat(semaphore.Variants(), published.Semaphores()) {
		all = append(all, subject{name: v.Name, control: SemaphoreControl, permits: permits,
			lock: func(s zk.Session, path string, o recipes.Options) recipes.Lock {
				o.Permits = permits
				return permit{v.New(s, path, o)}
			}})
	}
	control, _ := recipes.Find(election.Variants(), Control)
	control.Name = ElectionControl
	for _, v := range slices.Concat(published.Elections(), []recipes.Variant[recipes.Election]{control}) {
		all = append(all, subject{name: v.Name, control: ElectionControl,
			lock: func(s zk.Session, path string, o recipes.Options) recipes.Lock { return office{v.New(s, path, o)} }})
	}
	for _, v := range slices.Concat(barrier.DoubleVariants(), published.DoubleBarriers()) {
		all = append(all, subject{name: v.Name, control: BarrierControl, barrier: v.New})
	}
	for _, v := range slices.Concat(commit.Variants(), commit.PublishedVariants()) {
		all = append(all, subject{name: v.Name, control: CommitControl, commit: v.New})
	}
	i := slices.IndexFunc(all, func(s subject) bool { return s.name == name })
	if i < 0 {
		return subject{}, false
	}
	all[i].permits = max(all[i].permits, 1)
	return all[i], true
}
