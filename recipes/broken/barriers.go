package broken

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

const enterSafety, leaveSafety, nothingLeft, barredCheck = "enter-safety", "leave-safety", "nothing-left", "barred"

// hall is the double barrier in its shortest right form, cut into steps: a defect is one step replaced.
type hall struct {
	s    zk.Session
	dir  string
	size int
	next int64
	made int
	own  string
	hallSteps
}

type hallSteps struct {
	// room is the directory of a generation.
	room func(generation int64) string
	// trusts says that a marker that is there already lets in.
	trusts bool
	// counts says whether a child is counted as a member by who enters.
	counts func(name string) bool
	// open says whether a member that was woken is in.
	open func(marker bool, members, size int) bool
	// withdraw takes the znode of an attempt that failed.
	withdraw func(ctx context.Context, h *hall)
	// out says whether who leaves is out, among the members that are still there; gone says that its own znode is not.
	out func(members []string, self string, gone bool) bool
	// clear removes what a generation leaves.
	clear func(ctx context.Context, h *hall)
}

const readyZnode = "ready"

func rightHall() hallSteps {
	return hallSteps{
		room:     func(generation int64) string { return fmt.Sprintf("/%010d", generation) },
		trusts:   true,
		counts:   isMember,
		open:     func(marker bool, members, size int) bool { return marker || members >= size },
		withdraw: func(ctx context.Context, h *hall) { h.s.Delete(context.WithoutCancel(ctx), h.own, zk.AnyVersion) },
		out: func(members []string, self string, gone bool) bool {
			return len(members) == 0 || !gone && len(members) == 1 && members[0] == self
		},
		clear: func(ctx context.Context, h *hall) {
			h.s.Delete(ctx, h.path()+"/"+readyZnode, zk.AnyVersion)
			h.s.Delete(ctx, h.path(), zk.AnyVersion)
		},
	}
}

func isMember(name string) bool { return name != readyZnode }

func (h *hall) path() string { return h.dir + h.room(h.next) }

// Generation is described at recipes.DoubleBarrier.
func (h *hall) Generation() int64 { return h.next }

// Enter is described at recipes.DoubleBarrier, less the defect.
func (h *hall) Enter(ctx context.Context) error {
	err := h.enter(ctx)
	if err != nil && ctx.Err() != nil {
		h.withdraw(ctx, h)
	}
	return err
}

func (h *hall) enter(ctx context.Context) error {
	if _, err := h.s.Create(ctx, h.path(), nil, zk.Persistent); err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return err
	}
	h.made++
	h.own = h.path() + "/" + strconv.FormatInt(h.s.ID(), 16) + "-" + strconv.Itoa(h.made)
	_, there, w, err := h.s.ExistsW(ctx, h.path()+"/"+readyZnode)
	if err != nil {
		return err
	}
	defer func() { w.Stop() }()
	if _, err := h.s.Create(ctx, h.own, nil, zk.Ephemeral); err != nil {
		return err
	}
	there = there && h.trusts
	for {
		members, err := h.members(ctx, h.counts)
		if err != nil {
			return err
		}
		if h.open(there, len(members), h.size) {
			_, err := h.s.Create(ctx, h.path()+"/"+readyZnode, nil, zk.Persistent)
			if errors.Is(err, zk.ErrNodeExists) {
				err = nil
			}
			return err
		}
		select {
		case e := <-w.C():
			if e.Err != nil {
				return e.Err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		var again *zk.Watch
		if _, there, again, err = h.s.ExistsW(ctx, h.path()+"/"+readyZnode); err != nil {
			return err
		}
		w = again
	}
}

// members is the sorted names of the children that are taken for members; of a directory that is gone there are none.
func (h *hall) members(ctx context.Context, takes func(name string) bool) ([]string, error) {
	children, _, err := h.s.Children(ctx, h.path())
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	children = slices.DeleteFunc(children, func(name string) bool { return !takes(name) })
	slices.Sort(children)
	return children, err
}

// Leave is described at recipes.DoubleBarrier, less the defect.
func (h *hall) Leave(ctx context.Context) error {
	defer func() { h.next++ }()
	gone := false
	for {
		members, err := h.members(ctx, isMember)
		if err != nil {
			return err
		}
		if h.out(members, base(h.own), gone) {
			h.s.Delete(ctx, h.own, zk.AnyVersion)
			h.clear(ctx, h)
			return h.s.Err()
		}
		if len(members) == 0 {
			return recipes.ErrMemberLost
		}
		other := members[0]
		if other == base(h.own) {
			other = members[len(members)-1]
		} else if !gone {
			h.s.Delete(ctx, h.own, zk.AnyVersion)
			gone = true
		}
		_, _, w, err := h.s.GetW(ctx, h.path()+"/"+other)
		if errors.Is(err, zk.ErrNoNode) {
			continue
		}
		if err != nil {
			return err
		}
		select {
		case e := <-w.C():
			if e.Err != nil {
				return e.Err
			}
		case <-ctx.Done():
			w.Stop()
			h.s.Delete(context.WithoutCancel(ctx), h.own, zk.AnyVersion)
			return ctx.Err()
		}
	}
}

// Meet makes a hall a rendezvous: who is in takes its znode away and goes on.
func (h *hall) Meet(ctx context.Context) error {
	if err := h.Enter(ctx); err != nil {
		return err
	}
	h.s.Delete(ctx, h.own, zk.AnyVersion)
	h.next++
	return nil
}

func newHall(s zk.Session, path string, o recipes.Options, fault func(*hallSteps)) *hall {
	h := &hall{s: s, dir: path, size: max(o.Members, 1), next: o.Generation, hallSteps: rightHall()}
	fault(&h.hallSteps)
	return h
}

func brokenHall(caught, name, doc string, fault func(*hallSteps)) Defect[recipes.DoubleBarrier] {
	return Defect[recipes.DoubleBarrier]{Caught: caught, Variant: recipes.Variant[recipes.DoubleBarrier]{
		Name: "broken-" + name, Source: "a test", Doc: doc, Unsafe: true, Wakes: func(int) (float64, float64) { return 0, 0 },
		New: func(s zk.Session, path string, o recipes.Options) recipes.DoubleBarrier {
			return newHall(s, path, o, fault)
		}}}
}

// RightDoubleBarrier is what the defects are made from: without one, it is right.
var RightDoubleBarrier = brokenHall("", "not", "no defect", func(*hallSteps) {}).Variant

// DoubleBarriers is the double barriers with a defect.
var DoubleBarriers = []Defect[recipes.DoubleBarrier]{
	brokenHall(enterSafety, "one-short", "opens when one member is still missing", func(s *hallSteps) {
		s.open = func(marker bool, members, size int) bool { return marker || members+1 >= size }
	}),
	brokenHall(liveness, "no-generations", "uses one directory for all rounds: who is still leaving one waits for those who enter the next",
		func(s *hallSteps) {
			s.room = func(int64) string { return "/all" }
			s.clear = func(ctx context.Context, h *hall) { h.s.Delete(ctx, h.path()+"/"+readyZnode, zk.AnyVersion) }
		}),
	brokenHall(enterSafety, "stale-marker", "takes turns in two directories, and never removes the markers", func(s *hallSteps) {
		s.room = func(generation int64) string { return fmt.Sprintf("/%d", generation%2) }
		s.clear = func(context.Context, *hall) {}
	}),
	brokenHall(enterSafety, "counts-marker", "keeps its markers, does not trust them, and counts them as members", func(s *hallSteps) {
		s.room = func(generation int64) string { return fmt.Sprintf("/%d", generation%2) }
		s.trusts = false
		s.counts = func(string) bool { return true }
		s.clear = func(context.Context, *hall) {}
	}),
	brokenHall(liveness, "count-only", "looks for the members alone when it is woken: those that have left again are missed",
		func(s *hallSteps) {
			s.open = func(_ bool, members, size int) bool { return members >= size }
		}),
	brokenHall(leaveSafety, "last-but-one", "is out when a single member is left, whoever that is", func(s *hallSteps) {
		s.out = func(members []string, _ string, _ bool) bool { return len(members) <= 1 }
	}),
	brokenHall(leaveSafety, "second-pass", "is out when it is woken for the first time: its own znode is gone, and that is all it looks for",
		func(s *hallSteps) {
			s.out = func(members []string, self string, gone bool) bool {
				return gone || rightHall().out(members, self, gone)
			}
		}),
	brokenHall(nothingLeft, "never-clears", "leaves the marker of each round behind", func(s *hallSteps) {
		s.clear = func(context.Context, *hall) {}
	}),
}

// Rendezvouses is the rendezvous with a defect.
var Rendezvouses = []Defect[recipes.Rendezvous]{{Caught: enterSafety, Variant: recipes.Variant[recipes.Rendezvous]{
	Name: "broken-keeps-member", Source: "a test", Doc: "leaves its znode behind when it gives up: others count it", Unsafe: true,
	Wakes: func(int) (float64, float64) { return 0, 0 },
	New: func(s zk.Session, path string, o recipes.Options) recipes.Rendezvous {
		return newHall(s, path, o, func(s *hallSteps) { s.withdraw = func(context.Context, *hall) {} })
	}}}}

// wall is a single barrier in its shortest form; then says what becomes of a waiter that an event has woken.
type wall struct {
	s    zk.Session
	path string
	then func(e zk.Event) (passes, waitsOn bool)
}

// Set is described at recipes.Barrier.
func (b *wall) Set(ctx context.Context) error {
	_, err := b.s.Create(ctx, b.path, nil, zk.Persistent)
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

// Wait is described at recipes.Barrier, less the defect.
func (b *wall) Wait(ctx context.Context) error {
	for {
		_, _, w, err := b.s.GetW(ctx, b.path)
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		if err != nil {
			return err
		}
		for waiting := true; waiting; {
			select {
			case e := <-w.C():
				if e.Err != nil {
					return e.Err
				}
				passes, waitsOn := b.then(e)
				if passes {
					return nil
				}
				if waiting = waitsOn; waiting { // for an event that never comes
					<-ctx.Done()
					return ctx.Err()
				}
			case <-ctx.Done():
				w.Stop()
				return ctx.Err()
			}
		}
	}
}

// Remove is described at recipes.Barrier.
func (b *wall) Remove(ctx context.Context) error { return b.s.Delete(ctx, b.path, zk.AnyVersion) }

func brokenWall(caught, name, doc string, then func(zk.Event) (passes, waitsOn bool)) Defect[recipes.Barrier] {
	return Defect[recipes.Barrier]{Caught: caught, Variant: recipes.Variant[recipes.Barrier]{
		Name: "broken-" + name, Source: "a test", Doc: doc, Unsafe: true,
		New: func(s zk.Session, path string, _ recipes.Options) recipes.Barrier {
			return &wall{s: s, path: path, then: then}
		}}}
}

// Barriers is the single barriers with a defect.
var Barriers = []Defect[recipes.Barrier]{
	brokenWall(liveness, "deleted-only", "reacts to the deletion alone and does not arm its watch again after another event",
		func(e zk.Event) (bool, bool) {
			return e.Type == zk.EventDeleted, e.Type != zk.EventDeleted
		}),
	brokenWall(barredCheck, "any-event", "passes at any event", func(zk.Event) (bool, bool) { return true, false }),
}
