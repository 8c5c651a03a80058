package published

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// Elections returns elections as published in articles.
func Elections() []recipes.Variant[recipes.Election] {
	return []recipes.Variant[recipes.Election]{
		{
			Name: "zookeeper-leader-election-support", Formerly: "article-000-election",
			Source: "LeaderElectionSupport of Apache ZooKeeper's own recipes (zookeeper-recipes-election), half of it printed in " + walkThrough,
			Doc:    "reads every candidate at each check, and leaves its own znode in the queue if one of them has disappeared",
			FIFO:   true, Unsafe: true, Wakes: recipes.WakesOne,
			Znodes: recipes.Znodes{Ephemeral: []string{`OBJECT/n_SEQ`}},
			New: func(s zk.Session, path string, o recipes.Options) recipes.Election {
				return &electionSupport{s: s, dir: path, o: o}
			},
		},
	}
}

// electionSupport is the LeaderElectionSupport of ZooKeeper's own recipes (org.apache.zookeeper.recipes.leader), half of which is printed in the
// article that its Source names. Its start() makes an offer and determines the election; watches call the latter again, and listeners are told
// the stages. Campaign stands for start() and the listener that learns of the election or of a failure; the end of its context stands for an
// application that calls stop(). Its defects:
//
//   - each determination reads the data of all offers and needs none of them; an offer that is gone between the list and its read is an error,
//     after which the own offer stays in the queue: when it comes to the head, nobody leads;
//   - an offer's name is not unique, so that after a lost reply it stays as a ghost, behind which its own client waits;
//   - it does not notice that its own offer is not listed, and then watches nothing;
//   - any event but a deletion is ignored, though it has consumed the watch;
//   - a leader is not told when its session has ended;
//   - numbers are compared as if the counter never wrapped, and a child of any other name is an exception: of start(), or, when a watch has called, one
//     that only the client's log shows, and nothing makes the candidate look again;
//   - the directory must exist, and a second start() forgets the offer of the first.
//
// Package scenarios/published plays most scenarios with the library itself, too (Real). Unlike its stop(), Resign forgets an offer that it has deleted.
type electionSupport struct {
	s     zk.Session
	dir   string
	o     recipes.Options
	offer *offer // the own one; nil before the first
}

type offer struct {
	id   int32
	path string
	host string
}

var errNoOffer = errors.New("not the name of an offer") // a NumberFormatException, or an index error, in the article's code

// Campaign waits until this client leads, with the defects above. The term has no channels: nobody would close them.
func (e *electionSupport) Campaign(ctx context.Context) (recipes.Term, error) {
	e.o.Stages(recipes.StageStart)
	t, err := e.start(ctx)
	if err == nil {
		return t, nil
	}
	if ctx.Err() != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.s.Timeout())
		defer cancel()
		e.stop(ctx)
	} else if !errors.Is(err, errNoOffer) {
		e.o.Stages(recipes.StageFailed)
	}
	return recipes.Term{}, fmt.Errorf("campaign %s: %w", e.dir, err)
}

func (e *electionSupport) start(ctx context.Context) (recipes.Term, error) {
	czxid, err := e.makeOffer(ctx)
	if err != nil {
		return recipes.Term{}, err
	}
	for woken := false; ; woken = true {
		elected, w, err := e.determine(ctx)
		if err != nil && !(woken && errors.Is(err, errNoOffer)) {
			return recipes.Term{}, err
		}
		if elected {
			e.o.Pause(recipes.PauseGranted)
			return recipes.Term{Path: e.offer.path, Token: czxid}, nil
		}
		if err := e.deletion(ctx, w); err != nil {
			return recipes.Term{}, err
		}
		e.o.Pause(recipes.PauseWoken)
	}
}

func (e *electionSupport) makeOffer(ctx context.Context) (czxid int64, err error) {
	e.o.Stages(recipes.StageOffer)
	host := e.o.ID
	if host == "" {
		host = fmt.Sprintf("0x%x", e.s.ID())
	}
	c, err := e.s.Create(ctx, e.dir+"/n_", []byte(host), zk.EphemeralSequential)
	if err != nil {
		return 0, err
	}
	e.offer = &offer{path: c.Path, host: host}
	e.o.Stages(recipes.StageOffered)
	e.o.Pause(recipes.PauseCreated)
	return c.Czxid, nil
}

// determine is determineElectionStatus. It returns no watch if the own offer is not listed.
func (e *electionSupport) determine(ctx context.Context) (elected bool, w *zk.Watch, err error) {
	var passes znode.Passes
	for {
		e.o.Stages(recipes.StageDetermine)
		if e.offer.id, err = offerID(znode.Base(e.offer.path)); err != nil {
			return false, nil, err
		}
		offers, err := e.offers(ctx)
		if err != nil {
			return false, nil, err
		}
		i := slices.IndexFunc(offers, func(o offer) bool { return o.id == e.offer.id })
		if i < 0 {
			return false, nil, nil
		}
		e.o.Stages(recipes.StageDetermined)
		if i == 0 {
			e.o.Stages(recipes.StageElected, recipes.StageElectedDone)
			return true, nil, nil
		}
		_, there, w, err := e.s.ExistsW(ctx, offers[i-1].path)
		if err != nil {
			return false, nil, err
		}
		if there {
			e.o.Stages(recipes.StageReady, recipes.StageReadyComplete)
			return false, w, nil
		}
		if err := passes.Next(ctx, offers[i-1].path); err != nil { // and again; the watch on what is gone stays armed
			return false, nil, err
		}
	}
}

// offers is toLeaderOffers: all of them, with the host that each contains.
func (e *electionSupport) offers(ctx context.Context) ([]offer, error) {
	names, _, err := e.s.Children(ctx, e.dir)
	if err != nil {
		return nil, err
	}
	e.o.Pause(recipes.PauseListed)
	all := make([]offer, 0, len(names))
	for _, name := range names {
		path := e.dir + "/" + name
		data, _, err := e.s.Get(ctx, path)
		if err != nil {
			return nil, err
		}
		id, err := offerID(name)
		if err != nil {
			return nil, err
		}
		all = append(all, offer{id, path, string(data)})
	}
	slices.SortFunc(all, func(a, b offer) int {
		if a.id < b.id {
			return -1
		}
		return 1
	})
	return all, nil
}

func offerID(name string) (int32, error) {
	if len(name) < len("n_") {
		return 0, fmt.Errorf("%q: %w", name, errNoOffer)
	}
	n, err := strconv.ParseInt(name[len("n_"):], 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", name, errNoOffer)
	}
	return int32(n), nil
}

// deletion waits for the event that process() handles; once another one has consumed the watch, it waits forever.
func (e *electionSupport) deletion(ctx context.Context, w *zk.Watch) error {
	var fired <-chan zk.Event
	if w != nil {
		fired = w.C()
	}
	for {
		select {
		case event := <-fired:
			if event.Err != nil {
				return event.Err
			}
			if event.Type == zk.EventDeleted {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-e.s.Done():
			return e.s.Err()
		}
	}
}

// Resign is stop(): one delete. If that fails the offer is remembered, and Resign may be called again.
func (e *electionSupport) Resign(ctx context.Context) error {
	if e.offer == nil {
		return recipes.ErrNotHeld
	}
	return znode.EndError("resign", e.dir, recipes.ErrTermLost, e.stop(ctx))
}

func (e *electionSupport) stop(ctx context.Context) error {
	e.o.Stages(recipes.StageStop)
	var err error
	if e.offer != nil {
		err = e.s.Delete(ctx, e.offer.path, zk.AnyVersion)
		if err != nil {
			e.o.Stages(recipes.StageFailed)
		} else {
			e.offer = nil
		}
	}
	e.o.Stages(recipes.StageStopped)
	return err
}

// Leader is getLeaderHostName: it reads all offers.
func (e *electionSupport) Leader(ctx context.Context) (recipes.Leader, error) {
	offers, err := e.offers(ctx)
	if err != nil {
		return recipes.Leader{}, fmt.Errorf("leader of %s: %w", e.dir, err)
	}
	if len(offers) == 0 {
		return recipes.Leader{}, fmt.Errorf("leader of %s: %w", e.dir, recipes.ErrNoLeader)
	}
	return recipes.Leader{ID: offers[0].host, Path: offers[0].path}, nil
}
