package barrier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/seam"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// gathering is what a double barrier and a rendezvous have in common: members wait until a given number of them have arrived. Each generation has its
// own directory, in which every member has an ephemeral znode and a marker shows that the barrier has opened; the data of the parent directory are
// the number of the first generation that is not over. So an old marker cannot open a later generation, nobody can remove the marker of a current
// one, and a member that comes too late finds out.
//
// The marker is created only if nobody has withdrawn since the members were counted: a withdrawal writes to the directory, and the creation of the
// marker is conditional on the directory's version. So after a withdrawal the marker reliably shows how it ended for the others.
type gathering struct {
	s      zk.Session
	dir    string
	o      recipes.Options
	marker string
	plain  bool  // the layout of Curator: no generations, no versions
	next   int64 // the generation that is entered next, or has been entered
	named  seam.Room
}

func newGathering(s zk.Session, dir, marker string, o recipes.Options) gathering {
	return gathering{s: s, dir: dir, o: o, marker: marker, plain: o.Layout == recipes.LayoutCurator, next: o.Generation,
		named: func(generation int64) string { return fmt.Sprintf("/%010d", generation) }}
}

// Generation returns the number of the generation that the handle is in or, if it is outside, enters next.
func (g *gathering) Generation() int64 { return g.next }

// room returns the directory of a generation.
func (g *gathering) room(generation int64) string {
	if g.plain {
		return g.dir
	}
	return g.dir + g.named(generation)
}

func (g *gathering) opened() string { return g.room(g.next) + "/" + g.marker }

// memberName returns the name of a new member: a guid, so that a repeated create after a lost reply is recognized as this member's own.
func (g *gathering) memberName() string {
	if g.plain {
		return znode.Dashed(znode.NewGUID())
	}
	return znode.NewGUID()
}

// isMember reports whether a child is a member: a guid, with or without dashes. The marker and foreign znodes are not.
func isMember(name string) bool {
	name = strings.ReplaceAll(name, "-", "")
	return len(name) == 2*znode.GuidBytes && strings.Trim(name, "0123456789abcdefABCDEF") == ""
}

// present returns the members among children in the order of their names, whether self is one of them, and whether there are foreign children.
func (g *gathering) present(children []string, self string) (members []string, listed, foreign bool) {
	for _, c := range children {
		switch {
		case isMember(c):
			members = append(members, c)
			listed = listed || c == self
		case c == g.marker:
		default:
			foreign = true
			g.o.Foreign(c)
		}
	}
	slices.Sort(members)
	return members, listed, foreign
}

// enter creates this member's znode and waits until the generation opens. The steps are those of ZooKeeper's recipe page, 'Double Barriers', where
// step 1 is the name. first reports whether it was this client that found all members present. After an error nothing of this call is left.
func (g *gathering) enter(ctx context.Context) (own string, first bool, err error) {
	own = g.room(g.next) + "/" + g.memberName()
	_, open, w, err := g.s.ExistsW(ctx, g.opened()) // step 2
	if err != nil {
		return "", false, err
	}
	defer func() { w.Stop() }()
	if err := g.join(ctx, own); err != nil { // step 3
		return "", false, g.withdraw(ctx, own, err)
	}
	g.o.Pause(recipes.PauseCreated)
	for !open {
		first, err = g.openIfAll(ctx, znode.Base(own)) // steps 4 and 6
		if first || err != nil {
			break
		}
		g.o.Pause(recipes.PauseListed)
		if err = znode.Await(ctx, w); err != nil { // step 5
			break
		}
		g.o.Pause(recipes.PauseWoken)
		// Never the number of members alone: some may have left again. The marker stays until all have.
		var again *zk.Watch
		if _, open, again, err = g.s.ExistsW(ctx, g.opened()); err != nil {
			break
		}
		w = again
	}
	if err != nil {
		return "", false, g.withdraw(ctx, own, err)
	}
	return own, first, nil
}

// join creates this member's znode, and the directory if it is missing.
func (g *gathering) join(ctx context.Context, own string) error {
	doubt := false
	var passes znode.Passes
	for try := 1; ; try++ {
		_, err := g.s.Create(ctx, own, nil, zk.Ephemeral)
		switch class := zk.Classify(err); {
		case err == nil, doubt && errors.Is(err, zk.ErrNodeExists):
			return nil
		case ctx.Err() != nil:
			return err
		case errors.Is(err, zk.ErrNoNode):
			version, err := g.prepare(ctx)
			if err == nil {
				err = passes.Next(ctx, version)
			}
			if err != nil {
				return err
			}
		case class == zk.ClassMaybeApplied, class == zk.ClassThrottled, class == zk.ClassNotSent:
			doubt = doubt || class == zk.ClassMaybeApplied
			if err := znode.Sleep(ctx, znode.Backoff(try)); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// prepare creates the directory of the generation, unless the generation is over: ErrPassed. The version is conditional proof that it is not; it is
// AnyVersion if the gathering's own directory was missing, which prepare then creates.
func (g *gathering) prepare(ctx context.Context) (version int32, err error) {
	if g.plain {
		return 0, znode.MakeDirs(ctx, g.s, g.dir)
	}
	current, version, err := g.current(ctx)
	if errors.Is(err, zk.ErrNoNode) {
		return zk.AnyVersion, znode.MakeParents(ctx, g.s, g.dir)
	}
	if err != nil {
		return version, err
	}
	if current > g.next {
		return version, recipes.ErrPassed
	}
	if current < g.next { // of a generation whose members all died inside
		if err := g.clear(ctx, current, "", false); znode.SessionOver(err) {
			return version, err
		}
		if _, version, err = g.current(ctx); err != nil {
			return version, err
		}
	}
	_, err = g.s.Multi(ctx, zk.CheckOp(g.dir, version), zk.CreateOp(g.room(g.next), nil, zk.Persistent))
	switch {
	case errors.Is(err, zk.ErrNodeExists), errors.Is(err, zk.ErrBadVersion), errors.Is(err, zk.ErrNoNode),
		zk.Classify(err) == zk.ClassMaybeApplied && ctx.Err() == nil:
		return version, nil // the create that follows will show whether the generation is over
	}
	return version, err
}

// current returns the first generation that is not over, and the version of the data that say so.
func (g *gathering) current(ctx context.Context) (generation int64, version int32, err error) {
	data, st, err := g.s.Get(ctx, g.dir)
	if err != nil || len(data) == 0 {
		return 0, st.Version, err
	}
	generation, err = strconv.ParseInt(string(data), 10, 64)
	if err != nil {
		err = fmt.Errorf("%s holds no number of a generation: %w", g.dir, err)
	}
	return generation, st.Version, err
}

// openIfAll lists the members, and creates the marker if all are present. all is false if somebody is missing.
func (g *gathering) openIfAll(ctx context.Context, self string) (all bool, err error) {
	var passes znode.Passes
	for {
		children, st, err := g.s.Children(ctx, g.room(g.next))
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return false, err
		}
		members, listed, _ := g.present(children, self)
		if !listed {
			return false, recipes.ErrMemberLost
		}
		if len(members) < max(g.o.Members, 1) {
			return false, nil
		}
		g.o.Pause(recipes.PauseCounted)
		again, err := g.open(ctx, st.Version)
		if again {
			err = passes.Next(ctx, st.Version)
		}
		if !again || err != nil {
			return err == nil, err
		}
	}
}

// open creates the marker, and the directory of the next generation for later members. again says that somebody has withdrawn since the members were counted.
func (g *gathering) open(ctx context.Context, version int32) (again bool, err error) {
	ops := []zk.Op{zk.CheckOp(g.room(g.next), version), zk.CreateOp(g.opened(), nil, zk.Persistent),
		zk.CreateOp(g.room(g.next+1), nil, zk.Persistent)}
	if g.plain {
		ops = ops[1:2]
	}
	for {
		var results []zk.OpResult
		err := znode.Insist(ctx, func() (err error) { results, err = g.s.Multi(ctx, ops...); return err })
		switch {
		case err == nil, g.plain && errors.Is(err, zk.ErrNodeExists):
			return false, nil
		case errors.Is(err, zk.ErrBadVersion):
			return true, nil
		case errors.Is(err, zk.ErrNodeExists):
			if len(ops) < 3 || len(results) > 1 && errors.Is(results[1].Err, zk.ErrNodeExists) {
				return false, nil // somebody else was faster
			}
			ops = ops[:2] // somebody is a generation ahead
		default:
			return false, err
		}
	}
}

// withdrawal bounds how long a member that gives up waits to learn from the servers how it ended for the others.
const withdrawal = time.Second

// withdraw removes this member's znode after an attempt that failed with cause, and returns ErrBarrierBroken if the barrier has opened, or ErrInDoubt
// if that could not be determined.
func (g *gathering) withdraw(ctx context.Context, own string, cause error) error {
	if errors.Is(cause, recipes.ErrPassed) {
		g.next++
		return cause
	}
	if znode.SessionOver(cause) {
		return cause // the znode went with the session
	}
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(withdrawal, g.s.Timeout()/3))
	defer cancel()
	ops := []zk.Op{zk.DeleteOp(own, zk.AnyVersion), zk.SetOp(g.room(g.next), nil, zk.AnyVersion)}
	if g.plain {
		ops = ops[:1]
	}
	err := znode.Insist(patient, func() error { return znode.ErrorOf(g.s.Multi(patient, ops...)) })
	open := false
	if err == nil || errors.Is(err, zk.ErrNoNode) { // it was never made, or its removal was in doubt
		open, err = g.hasOpened(patient)
	} else {
		g.s.Go(func() { znode.Remove(context.WithoutCancel(ctx), g.s, own) })
	}
	switch {
	case znode.SessionOver(err):
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", recipes.ErrInDoubt, cause)
	case open:
		g.next++
		return fmt.Errorf("%w: %w", recipes.ErrBarrierBroken, cause)
	}
	return cause
}

// hasOpened reports whether the generation has opened, even if it is over again: the marker is removed in the transaction that ends it.
func (g *gathering) hasOpened(ctx context.Context) (bool, error) {
	_, open, err := g.s.Exists(ctx, g.opened())
	if err != nil || open || g.plain {
		return open, err
	}
	current, _, err := g.current(ctx)
	if errors.Is(err, zk.ErrNoNode) {
		err = nil
	}
	return current > g.next, err
}

// clear ends a generation whose last member is own, or which has no members if own is empty: it removes the member, the marker and the directory, and
// records that the generation is over. ErrNotEmpty means that there is another member; if there are foreign znodes, marker and directory stay.
func (g *gathering) clear(ctx context.Context, generation int64, own string, foreign bool) error {
	if g.plain {
		return g.clearPlain(ctx, own)
	}
	room := g.room(generation)
	var last []zk.Op
	if own != "" {
		last = append(last, zk.DeleteOp(own, zk.AnyVersion))
	}
	if !foreign {
		last = append(last, zk.DeleteOp(room+"/"+g.marker, zk.AnyVersion), zk.DeleteOp(room, zk.AnyVersion))
	}
	doubt := false
	var passes znode.Passes
	for {
		current, version, err := g.current(ctx)
		if err != nil {
			return err
		}
		if current > generation && (own == "" || doubt) {
			return nil // somebody else, or our own request whose reply was lost
		}
		for ; current < generation; current++ { // whose members died inside, or all gave up
			g.s.Multi(ctx, zk.DeleteOp(g.room(current)+"/"+g.marker, zk.AnyVersion), zk.DeleteOp(g.room(current), zk.AnyVersion))
			g.s.Delete(ctx, g.room(current), zk.AnyVersion)
		}
		over := strconv.FormatInt(max(current, generation+1), 10)
		_, err = g.s.Multi(ctx, append(last, zk.SetOp(g.dir, []byte(over), version))...)
		switch class := zk.Classify(err); {
		case class == zk.ClassMaybeApplied && ctx.Err() == nil:
			doubt = true
		case errors.Is(err, zk.ErrBadVersion):
		default:
			return err
		}
		if err := passes.Next(ctx, version); err != nil {
			return err
		}
	}
}

// clearPlain removes the marker after the last member. In this layout the next generation's marker has the same name: if it is created between the
// check and the delete, it is lost, but no delete is repeated because of it.
func (g *gathering) clearPlain(ctx context.Context, own string) error {
	if own != "" {
		if err := znode.Remove(ctx, g.s, own); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
	}
	st, there, err := g.s.Exists(ctx, g.opened())
	if err == nil && there {
		err = znode.RemoveOwn(ctx, g.s, zk.Created{Path: g.opened(), Czxid: st.Czxid})
	}
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}
