package broken

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

const views, viewOrder, convergence, crashesSeen, writtenValues = "views", "view-order", "convergence", "crashes-seen", "written-values"

// party is the group in its shortest right form, cut into steps: a defect is one step replaced.
type party struct {
	s    zk.Session
	dir  string
	held string
	partySteps
}

type partySteps struct {
	mode zk.Mode
	// taken deals with a znode of the id that is there; nil: try again.
	taken func(ctx context.Context, p *party, path string) (own zk.Created, err error)
	// leave removes the znode.
	leave func(ctx context.Context, p *party, path string) error
	// list reads the group with a watch.
	list func(ctx context.Context, p *party) (recipes.View, *zk.Watch, error)
	// given is the view that the caller is given.
	given func(v recipes.View) recipes.View
}

func rightParty() partySteps {
	return partySteps{
		mode: zk.Ephemeral,
		taken: func(ctx context.Context, p *party, path string) (zk.Created, error) {
			_, there, w, err := p.s.ExistsW(ctx, path)
			if err != nil || !there {
				return zk.Created{}, err
			}
			return zk.Created{}, event(ctx, w)
		},
		leave: func(ctx context.Context, p *party, path string) error {
			for {
				err := p.s.Delete(ctx, path, zk.AnyVersion)
				if !errors.Is(err, zk.ErrMaybeApplied) || ctx.Err() != nil {
					return err
				}
			}
		},
		list: func(ctx context.Context, p *party) (recipes.View, *zk.Watch, error) {
			names, st, w, err := p.s.ChildrenW(ctx, p.dir)
			return viewOf(names, st), w, err
		},
		given: func(v recipes.View) recipes.View { return v },
	}
}

// event waits for a watch.
func event(ctx context.Context, w *zk.Watch) error {
	select {
	case e := <-w.C():
		return e.Err
	case <-ctx.Done():
		w.Stop()
		return ctx.Err()
	}
}

func viewOf(names []string, st zk.Stat) recipes.View {
	slices.Sort(names)
	v := recipes.View{Token: st.Pzxid}
	for _, name := range names {
		v.Members = append(v.Members, recipes.Member{ID: name})
	}
	return v
}

// Join is described at recipes.Group, less the defect.
func (p *party) Join(ctx context.Context, id string, data []byte) (recipes.Grant, error) {
	path, lease := p.dir+"/"+id, p.s.Lease()
	for {
		c, err := p.s.Create(ctx, path, data, p.mode)
		if errors.Is(err, zk.ErrNodeExists) {
			c, err = p.taken(ctx, p, path)
			if err == nil && c.Path == "" {
				continue
			}
		}
		if err != nil {
			return recipes.Grant{}, err
		}
		p.held = c.Path
		return recipes.Grant{Path: c.Path, Token: c.Czxid, Lost: lease}, nil
	}
}

// Leave is described at recipes.Group, less the defect.
func (p *party) Leave(ctx context.Context) error {
	err := p.leave(ctx, p, p.held)
	if errors.Is(err, zk.ErrNoNode) {
		return recipes.ErrMemberLost
	}
	return err
}

// View is described at recipes.Group; no load asks.
func (p *party) View(ctx context.Context) (recipes.View, error) {
	names, st, err := p.s.Children(ctx, p.dir)
	return viewOf(names, st), err
}

// Watch is described at recipes.Group, less the defect.
func (p *party) Watch(ctx context.Context, token int64) (recipes.View, error) {
	for {
		v, w, err := p.list(ctx, p)
		if err != nil {
			return recipes.View{}, err
		}
		if v.Token > token {
			w.Stop()
			return p.given(v), nil
		}
		if err := event(ctx, w); err != nil {
			return recipes.View{}, err
		}
	}
}

// Stop is described at recipes.Group; nothing stays armed.
func (p *party) Stop() {}

func partying(caught, name, doc string, fault func(*partySteps)) Defect[recipes.Group] {
	return Defect[recipes.Group]{Caught: caught, Variant: recipes.Variant[recipes.Group]{
		Name: "broken-" + name, Source: "a test", Doc: doc, Unsafe: true,
		New: func(s zk.Session, path string, _ recipes.Options) recipes.Group {
			p := &party{s: s, dir: path, partySteps: rightParty()}
			fault(&p.partySteps)
			return p
		}}}
}

// Groups is the groups with a defect.
var Groups = []Defect[recipes.Group]{
	partying(views, "already-joined",
		"takes the znode of its client's former session for its own, which goes when that session expires", func(s *partySteps) {
			s.taken = func(ctx context.Context, p *party, path string) (zk.Created, error) {
				st, _, err := p.s.Exists(ctx, path)
				return zk.Created{Path: path, Czxid: st.Czxid}, err
			}
		}),
	partying(views, "leaves-out",
		"leaves out of a view who has gone before it was read, though others who have come since are not in it", func(s *partySteps) {
			list := s.list
			s.list = func(ctx context.Context, p *party) (recipes.View, *zk.Watch, error) {
				v, w, err := list(ctx, p)
				if err != nil {
					return v, w, err
				}
				v.Members = slices.DeleteFunc(v.Members, func(m recipes.Member) bool {
					_, _, err := p.s.Get(ctx, p.dir+"/"+m.ID)
					return errors.Is(err, zk.ErrNoNode)
				})
				return v, w, nil
			}
		}),
	partying(viewOrder, "goes-back", "gives the last view again after a newer one, as of a server that lags behind", func(s *partySteps) {
		var last recipes.View
		n := 0
		s.given = func(v recipes.View) recipes.View {
			if n++; n%5 == 0 {
				return last
			}
			last = v
			return v
		}
	}),
	partying(convergence, "one-watch", "does not arm its watch again when it has fired twice", func(s *partySteps) {
		list, n := s.list, 0
		s.list = func(ctx context.Context, p *party) (recipes.View, *zk.Watch, error) {
			v, w, err := list(ctx, p)
			if n++; n > 4 && err == nil {
				w.Stop()
			}
			return v, w, err
		}
	}),
	partying(convergence, "leaves-once", "tries once to delete its znode, and takes a lost reply for success", func(s *partySteps) {
		s.leave = func(ctx context.Context, p *party, path string) error {
			if err := p.s.Delete(ctx, path, zk.AnyVersion); !errors.Is(err, zk.ErrMaybeApplied) {
				return err
			}
			return nil
		}
	}),
	partying(convergence, "never-forgets", "adds who has come and does not take off who has gone", func(s *partySteps) {
		known := map[string]bool{}
		s.given = func(v recipes.View) recipes.View {
			for _, m := range v.Members {
				known[m.ID] = true
			}
			v.Members = nil
			for id := range known {
				v.Members = append(v.Members, recipes.Member{ID: id})
			}
			slices.SortFunc(v.Members, func(a, b recipes.Member) int { return strings.Compare(a.ID, b.ID) })
			return v
		}
	}),
	partying(crashesSeen, "persistent-member", "is a member with a persistent znode, which stays when it dies", func(s *partySteps) {
		s.mode = zk.Persistent
	}),
}
