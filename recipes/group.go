package recipes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/zk"
)

// Member is one member of a group, as a view has it.
type Member struct {
	ID string
	// Data is what it joined with, and Token the czxid of its znode. Both are zero in a view of names alone, and of a member that left, or
	// came anew, between the list that is the view and the read of its data.
	Data  []byte
	Token int64
}

// View is the members that a group had at one instant.
type View struct {
	Members []Member // in the order of their ids
	Token   int64    // the last transaction that changed the group (the pzxid of its directory), by which views are ordered
}

// Group is one client's handle on a group: as a member, as an observer, or as both. A handle is used by one goroutine at a time, and no two
// handles of one session join with one id.
type Group interface {
	// Join makes this client a member until Leave, or until Grant.Lost. An id has one member: Join waits for the end of another one, also
	// of one that was this client's in an earlier session, and the error wraps ErrIDTaken when the context ends meanwhile. After any
	// error it is no member, and the znode of this call is gone, or goes as soon as the session is connected again. ErrHeld: it is a
	// member already.
	Join(ctx context.Context, id string, data []byte) (Grant, error)
	// Leave ends the membership. ErrMemberLost means that the znode was gone already. When the context ends first, the delete goes on in
	// the background, and the next Join waits for it. ErrNotHeld: it is no member.
	Leave(ctx context.Context) error
	// View reads the group, as far as the session's server knows it.
	View(ctx context.Context) (View, error)
	// Watch waits for a view that is later than the one with that token, 0 for any, and never gives an earlier one, also when the token was
	// seen in another session. What changes while nobody waits comes as one view; so its members may be those of the view before, of
	// whom some left and came back. ErrTokenUnknown: the servers know no transaction as late as the token.
	Watch(ctx context.Context, token int64) (View, error)
	// Stop takes the watch of a Watch that has returned off the servers. The handle can be used on.
	Stop()
}

// Errors of groups and settings.
var (
	// ErrIDTaken: another session is the member of that id.
	ErrIDTaken = errors.New("another session has this id")
	// ErrTokenUnknown: what was seen before is later than all that the servers know; they have lost data, or they are others.
	ErrTokenUnknown = errors.New("the servers know nothing as late as the token")
)

// Groups is the catalogue of groups.
var Groups = []Variant[Group]{
	{
		Name: "named", Source: "ZooKeeper's recipe page, 'Group Membership'; the Party of kazoo, without its assumption about ids",
		Doc:    "an ephemeral znode of each member's id, with data: a view is one list and one read for each member",
		Tokens: true,
		New: func(s zk.Session, path string, o Options) Group {
			return &group{queue: queue{s: s, dir: path, o: o}, read: true}
		},
	},
	{
		Name: "shallow", Source: "ZooKeeper's recipe page, 'Group Membership'; the ShallowParty of kazoo, whose names are all there is",
		Doc: "an ephemeral znode of each member's id, and nothing else: a view is one list",
		New: func(s zk.Session, path string, o Options) Group { return &group{queue: queue{s: s, dir: path, o: o}} },
	},
}

// group is a directory of ephemeral znodes. The directory is no container: it has to be there for those who watch it while it is empty.
type group struct {
	queue
	read  bool          // a view has data
	busy  chan struct{} // closed when nothing of an earlier membership goes on in the background; nil: nothing does
	seen  View          // the last that was listed
	armed *zk.Watch     // tells of the next change; nil when there is none
}

// View is described at Group.
func (g *group) View(ctx context.Context) (View, error) {
	names, st, err := g.s.Children(ctx, g.dir)
	if errors.Is(err, zk.ErrNoNode) {
		return View{}, nil
	}
	v, err := g.describe(ctx, names, st, err)
	if err != nil {
		return View{}, fmt.Errorf("view %s: %w", g.dir, err)
	}
	return v, nil
}

// Watch is described at Group.
func (g *group) Watch(ctx context.Context, token int64) (View, error) {
	for caughtUp := false; ; {
		err := g.look(ctx)
		switch {
		case err != nil:
		case g.seen.Token > token:
			return g.seen, nil
		case g.seen.Token == token:
			armed := g.armed
			g.armed = nil
			g.o.pause(PauseArmed)
			err = await(ctx, armed)
			g.o.pause(PauseWoken)
		case caughtUp:
			err = ErrTokenUnknown
		default: // the server of this session is behind what another one has shown
			g.Stop()
			caughtUp, err = true, catchUp(ctx, g.s, g.dir)
		}
		if err != nil && !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrWatchLost) {
			return View{}, fmt.Errorf("watch %s: %w", g.dir, err)
		}
	}
}

// look lists the group and arms the watch on it, unless the armed one says that the last list is still right. The event that it takes may
// stand for several changes; the list shows them all.
func (g *group) look(ctx context.Context) error {
	if g.armed != nil {
		select {
		case <-g.armed.C():
		default:
			return nil
		}
	}
	g.armed = nil
	names, st, w, err := g.s.ChildrenW(ctx, g.dir)
	if errors.Is(err, zk.ErrNoNode) {
		return cmp.Or(makeParents(ctx, g.s, g.dir), err) // the next look finds it
	}
	v, err := g.describe(ctx, names, st, err)
	if err != nil {
		if w != nil {
			w.Stop()
		}
		return err
	}
	g.seen, g.armed = v, w
	return nil
}

// describe makes a view of a list. Its members are those of the list whatever became of them since: who is left out because his znode
// went before it was read would make a view that the group never had.
func (g *group) describe(ctx context.Context, names []string, st zk.Stat, err error) (View, error) {
	if err != nil {
		return View{}, err
	}
	v := View{Token: st.Pzxid}
	for _, name := range names {
		id, err := url.QueryUnescape(name)
		if err != nil {
			g.o.foreign(name)
			continue
		}
		m := Member{ID: id}
		if g.read {
			data, own, err := g.s.Get(ctx, g.dir+"/"+name)
			if err != nil && !errors.Is(err, zk.ErrNoNode) {
				return View{}, err
			}
			if err == nil && own.Czxid <= st.Pzxid {
				m.Data, m.Token = data, own.Czxid
			}
		}
		v.Members = append(v.Members, m)
	}
	slices.SortFunc(v.Members, func(a, b Member) int { return strings.Compare(a.ID, b.ID) })
	return v, nil
}

// Stop is described at Group.
func (g *group) Stop() {
	if g.armed != nil {
		g.armed.Stop()
	}
	g.armed = nil
}
