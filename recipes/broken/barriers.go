package broken

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/barrier"
	"github.com/zkbench/zkbench/recipes/internal/seam"
	"github.com/zkbench/zkbench/zk"
)

// hall contains the parts of the double barrier, and of the rendezvous, that can be replaced.
type hall struct {
	*altered
	recipes.DoubleBarrier // the real one
	o                     recipes.Options
	room                  seam.Room
	own                   string // the znode of the member
}

// Enter calls the barrier's Enter.
func (h *hall) Enter(ctx context.Context) error {
	defer h.during(acquiring)()
	return h.DoubleBarrier.Enter(ctx)
}

// Leave calls the barrier's Leave.
func (h *hall) Leave(ctx context.Context) error {
	defer h.during(releasing)()
	return h.DoubleBarrier.Leave(ctx)
}

const readyZnode = "ready"

// isMarker reports whether a znode is the marker of an opened barrier.
func isMarker(path string) bool { return base(path) == readyZnode }

func brokenHall(caught, name, doc string, fault func(*hall)) Defect[recipes.DoubleBarrier] {
	d := defective[recipes.DoubleBarrier](caught, name, doc)
	d.Wakes, d.LeaveByAll = wakesNobody, true
	d.New = func(s zk.Session, path string, o recipes.Options) recipes.DoubleBarrier {
		h := &hall{altered: over(s), o: o, room: generations}
		h.create = func(ctx context.Context, path string, data []byte, mode zk.Mode) (zk.Created, error) {
			if mode == zk.Ephemeral {
				h.own = path
			}
			return h.Session.Create(ctx, path, data, mode)
		}
		fault(h)
		h.DoubleBarrier = barrier.NewDoubleWith(h.altered, path, h.o, h.room)
		return h
	}
	return d
}

func generations(generation int64) string { return fmt.Sprintf("/%010d", generation) }

func byTurns(generation int64) string { return generations(generation % 2) }

// clearing reports whether a transaction ends a generation.
func clearing(ops []zk.Op) bool {
	return ops[len(ops)-1].Kind == zk.KindSet && slices.ContainsFunc(ops, func(op zk.Op) bool { return op.Kind == zk.KindDelete && isMarker(op.Path) })
}

// litters ends generations without removing the marker and the directory.
func (h *hall) litters() {
	h.multi = func(ctx context.Context, ops ...zk.Op) ([]zk.OpResult, error) {
		if clearing(ops) {
			ops = slices.DeleteFunc(slices.Clone(ops), func(op zk.Op) bool { return op.Kind == zk.KindDelete && op.Path != h.own })
		}
		return h.Session.Multi(ctx, ops...)
	}
}

// unmarked makes the barrier find no marker.
func (h *hall) unmarked() {
	h.existsW = func(ctx context.Context, path string) (zk.Stat, bool, *zk.Watch, error) {
		st, there, w, err := h.Session.ExistsW(ctx, path)
		return st, there && !isMarker(path), w, err
	}
}

// listing makes the barrier see other members than there are.
func (h *hall) listing(see func(members []string) []string) {
	h.children = func(ctx context.Context, path string) ([]string, zk.Stat, error) {
		names, st, err := h.Session.Children(ctx, path)
		slices.Sort(names)
		return see(names), st, err
	}
}

// DoubleBarriers are the double barriers with a defect.
var DoubleBarriers = []Defect[recipes.DoubleBarrier]{
	brokenHall(enterSafety, "one-short", "opens when one member is still missing", func(h *hall) { h.o.Members = max(h.o.Members-1, 1) }),
	brokenHall(liveness, "no-generations", "uses one directory for all rounds: who is still leaving one waits for those who enter the next",
		func(h *hall) { h.room = func(int64) string { return generations(0) } }),
	brokenHall(enterSafety, "stale-marker", "takes turns in two directories, and never removes the markers", func(h *hall) {
		h.room = byTurns
		h.litters()
	}),
	brokenHall(enterSafety, "counts-marker", "keeps its markers, does not trust them, and counts them as members", func(h *hall) {
		h.room = byTurns
		h.litters()
		h.unmarked()
		h.listing(func(names []string) []string {
			if i := slices.Index(names, readyZnode); i >= 0 && h.in(acquiring) {
				names[i] = strings.Repeat("0", 32)
			}
			return names
		})
	}),
	brokenHall(liveness, "count-only", "looks for the members alone when it is woken: those that have left again are missed", func(h *hall) {
		h.unmarked()
	}),
	brokenHall(liveness, "all-but-one", "does not let one of its members into one round of fifty", func(h *hall) {
		shut := func(names []string) bool { // for the highest present member, which may be any of them
			members := slices.DeleteFunc(slices.Clone(names), isMarker)
			return h.in(acquiring) && h.Generation()%50 == 7 && len(members) > 1 && slices.Max(members) == base(h.own)
		}
		h.listing(func(names []string) []string {
			if shut(names) {
				return []string{base(h.own)}
			}
			return names
		})
		h.existsW = func(ctx context.Context, path string) (zk.Stat, bool, *zk.Watch, error) {
			st, there, w, err := h.Session.ExistsW(ctx, path)
			if there && isMarker(path) {
				names, _, unlisted := h.Session.Children(ctx, strings.TrimSuffix(path, "/"+base(path)))
				there = unlisted != nil || !shut(names)
			}
			return st, there, w, err
		}
	}),
	brokenHall(leaveSafety, "last-but-one", "is out when one other member is left, though that one may still compute", func(h *hall) {
		h.listing(func(names []string) []string {
			own := base(h.own)
			others := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return isMarker(name) || name == own })
			if !h.in(releasing) || len(others) > 1 {
				return names
			}
			return slices.DeleteFunc(names, func(name string) bool { return name != own })
		})
		h.pretends()
	}),
	brokenHall(leaveSafety, "second-pass", "is out when it is woken for the first time: its own znode is gone, and that is all it looks for",
		func(h *hall) {
			watched := false
			h.getW = func(ctx context.Context, path string) ([]byte, zk.Stat, *zk.Watch, error) {
				data, st, w, err := h.Session.GetW(ctx, path)
				watched = err == nil
				return data, st, w, err
			}
			h.children = func(ctx context.Context, path string) ([]string, zk.Stat, error) {
				names, st, err := h.Session.Children(ctx, path)
				if h.in(releasing) && watched && !slices.Contains(names, base(h.own)) {
					names = nil
				}
				watched = false
				return names, st, err
			}
			h.pretends()
		}),
	brokenHall(nothingLeft, "never-clears", "leaves the marker of each round behind", func(h *hall) { h.litters() }),
}

// pretends treats a generation that cannot be ended yet as over.
func (h *hall) pretends() {
	h.multi = func(ctx context.Context, ops ...zk.Op) ([]zk.OpResult, error) {
		results, err := h.Session.Multi(ctx, ops...)
		if clearing(ops) && errors.Is(err, zk.ErrNotEmpty) {
			err = nil
			if ops[0].Path == h.own {
				err = h.Session.Delete(ctx, h.own, zk.AnyVersion)
			}
		}
		return results, err
	}
}

// Rendezvouses is the rendezvous with a defect.
var Rendezvouses = []Defect[recipes.Rendezvous]{func() Defect[recipes.Rendezvous] {
	d := defective[recipes.Rendezvous](enterSafety, "keeps-member", "leaves its znode behind when it gives up: others count it")
	d.Wakes = wakesNobody
	d.New = func(s zk.Session, path string, o recipes.Options) recipes.Rendezvous {
		a := over(s)
		a.multi = func(ctx context.Context, ops ...zk.Op) ([]zk.OpResult, error) {
			if len(ops) == 2 && ops[0].Kind == zk.KindDelete && ops[1].Kind == zk.KindSet { // withdraws
				return make([]zk.OpResult, len(ops)), nil
			}
			return a.Session.Multi(ctx, ops...)
		}
		return barrier.RendezvousVariants()[0].New(a, path, o)
	}
	return d
}()}

// wall contains the part of the single barrier that can be replaced: how it handles an event.
type wall struct {
	recipes.Barrier // the real one
	waits           int
	events          int // of this wait
}

// Wait calls the barrier's Wait.
func (b *wall) Wait(ctx context.Context) error {
	b.waits++
	b.events = 0
	return b.Barrier.Wait(ctx)
}

func brokenWall(caught, name, doc string, heeds func(b *wall, e zk.Event) bool) Defect[recipes.Barrier] {
	d := defective[recipes.Barrier](caught, name, doc)
	d.New = func(s zk.Session, path string, o recipes.Options) recipes.Barrier {
		b, a := &wall{}, over(s)
		a.getW = func(ctx context.Context, path string) ([]byte, zk.Stat, *zk.Watch, error) {
			if b.events++; b.events > 1 && heeds == nil {
				return nil, zk.Stat{}, nil, zk.ErrNoNode // how an event is misinterpreted
			}
			data, st, w, err := s.GetW(ctx, path)
			if err == nil && heeds != nil {
				w = a.only(w, func(e zk.Event) bool { return heeds(b, e) })
			}
			return data, st, w, err
		}
		b.Barrier = barrier.Variants()[0].New(a, path, o)
		return b
	}
	return d
}

// Barriers are the single barriers with a defect.
var Barriers = []Defect[recipes.Barrier]{
	brokenWall(liveness, "deleted-only", "reacts to the deletion alone and does not arm its watch again after another event",
		func(_ *wall, e zk.Event) bool { return deletion(e) }),
	brokenWall(liveness, "misses-one", "sleeps through the removal at its twentieth wait", func(b *wall, e zk.Event) bool { return b.waits != 20 || !deletion(e) }),
	brokenWall(barred, "any-event", "passes at any event", nil),
}
