package broken

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/membership"
	"github.com/zkbench/zkbench/zk"
)

// party contains the parts of the group of names that can be replaced.
type party struct {
	*altered
	recipes.Group // the real one
	dir           string
	given         func(ctx context.Context, v recipes.View) recipes.View
}

// Watch calls the group's Watch, and lets the defect replace the view.
func (p *party) Watch(ctx context.Context, token int64) (recipes.View, error) {
	v, err := p.Group.Watch(ctx, token)
	if err == nil && p.given != nil {
		v = p.given(ctx, recipes.View{Members: slices.Clone(v.Members), Token: v.Token})
	}
	return v, err
}

func partying(caught, name, doc string, fault func(*party)) Defect[recipes.Group] {
	d := defective[recipes.Group](caught, name, doc)
	d.New = func(s zk.Session, dir string, o recipes.Options) recipes.Group {
		p := &party{altered: over(s), dir: dir}
		fault(p)
		v, _ := recipes.Find(membership.Variants(), "shallow")
		p.Group = v.New(p.altered, dir, o)
		return p
	}
	return d
}

// Groups are the groups with a defect.
var Groups = []Defect[recipes.Group]{
	partying(views, "already-joined", "takes the znode of its client's former session for its own, which goes when that session expires",
		func(p *party) {
			p.create = func(ctx context.Context, path string, data []byte, mode zk.Mode) (zk.Created, error) {
				c, err := p.Session.Create(ctx, path, data, mode)
				if errors.Is(err, zk.ErrNodeExists) {
					st, _, err := p.Session.Exists(ctx, path)
					return zk.Created{Path: path, Czxid: st.Czxid}, err
				}
				return c, err
			}
		}),
	partying(views, "leaves-out", "leaves out of a view who has gone before it was read, though others who have come since are not in it",
		func(p *party) {
			p.given = func(ctx context.Context, v recipes.View) recipes.View {
				v.Members = slices.DeleteFunc(v.Members, func(m recipes.Member) bool {
					_, _, err := p.Session.Get(ctx, p.dir+"/"+m.ID)
					return errors.Is(err, zk.ErrNoNode)
				})
				return v
			}
		}),
	partying(viewOrder, "goes-back", "gives the last view again after a newer one, as of a server that lags behind", func(p *party) {
		again := goingBack[recipes.View]()
		p.given = func(_ context.Context, v recipes.View) recipes.View { return again(v) }
	}),
	partying(convergence, "one-watch", "does not arm its watch again when it has fired twice", func(p *party) {
		n := 0
		p.childrenW = func(ctx context.Context, path string) ([]string, zk.Stat, *zk.Watch, error) {
			names, st, w, err := p.Session.ChildrenW(ctx, path)
			if n++; n > 4 && err == nil {
				w.Stop()
			}
			return names, st, w, err
		}
	}),
	partying(convergence, "leaves-once", "tries once to delete its znode, and takes a lost reply for success", func(p *party) {
		p.remove = func(ctx context.Context, path string, version int32) error {
			if err := p.Session.Delete(ctx, path, version); !errors.Is(err, zk.ErrMaybeApplied) {
				return err
			}
			return nil
		}
	}),
	partying(convergence, "never-forgets", "adds who has come and does not take off who has gone", func(p *party) {
		known := map[string]bool{}
		p.given = func(_ context.Context, v recipes.View) recipes.View {
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
	partying(crashesSeen, "persistent-member", "is a member with a persistent znode, which stays when it dies", func(p *party) { p.outliving() }),
}

// goingBack returns the previous result again, one time in five.
func goingBack[T any]() func(T) T {
	var last T
	n := 0
	return func(now T) T {
		if n++; n%5 == 0 {
			return last
		}
		last = now
		return now
	}
}
