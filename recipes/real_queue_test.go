package recipes_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/queue"
	"github.com/zkbench/zkbench/recipes/recipestest"
	"github.com/zkbench/zkbench/zk"
)

func TestQueuesOnRealServers(t *testing.T) {
	addresses := servers.Get(t, 3).Addresses()
	for engine, open := range engines {
		suite := func(name string, v recipes.Variant[recipes.Queue], o recipes.Options) {
			t.Run(engine+"/"+name, func(t *testing.T) {
				recipestest.QueueOn(t, v, o, dialer(addresses, open), fresh()+"/queue-"+engine+"-"+strings.ReplaceAll(name, " ", "-"), 12)
			})
		}
		for _, v := range slices.Concat(queue.Variants(), queue.PriorityVariants(), queue.DelayVariants()) {
			for _, list := range append([]string{""}, v.Lists...) {
				suite(v.Name+" "+list, v, recipes.Options{List: list})
			}
		}
		suite("fifo exact", queue.Variants()[0], recipes.Options{Exact: true})
		suite("fifo bounded", queue.Variants()[0], recipes.Options{MaxItems: 1000})
	}
}

// ownDir returns a new directory: items of former tests stay.
func ownDir(s zk.Session) string { return fresh() + fmt.Sprintf("/queue-of-%x", s.ID()) }

// realItems returns the number of items in a queue on real servers.
func realItems(t *testing.T, s zk.Session, dir string) int {
	t.Helper()
	bubble.OK(t, "CatchUp()", zk.CatchUp(t.Context(), s, dir)) // others may have changed it on other servers
	names, _, err := s.Children(t.Context(), dir)
	bubble.OK(t, "Children()", err)
	return len(names)
}

// The proxy cuts the connection after the request was applied and before the reply.
func TestLostRepliesOfAQueueOnRealServers(t *testing.T) {
	p, err := proxy.Start(t.Context(), proxy.Config{Upstreams: servers.Get(t, 3).Addresses()})
	bubble.OK(t, "Start()", err)
	t.Cleanup(func() { p.Close() })
	for engine, open := range engines {
		dial := dialer(p.Addresses(), open)
		for _, exact := range []bool{false, true} {
			name := engine + map[bool]string{false: " put again", true: " put exactly once"}[exact]
			want := map[bool]int{false: 3, true: 2}[exact]
			t.Run(name, func(t *testing.T) {
				s := dial(t)
				dir := ownDir(s)
				q := queue.Variants()[0].New(s, dir, recipes.Options{Exact: exact})
				bubble.OK(t, "Put()", bubble.Second(q.Put(t.Context(), bubble.Item(0))))
				cut := p.Add(proxy.Rule{On: proxy.Reply, Session: s.ID(), Ops: []jute.Op{jute.OpCreate, jute.OpCreate2, jute.OpMulti}, Times: 1, Do: proxy.Cut})
				defer cut.Remove()
				bubble.OK(t, "Put()", bubble.Second(q.Put(t.Context(), bubble.Item(1))))
				if n := realItems(t, s, dir); n != want || cut.Injected() != 1 {
					t.Errorf("%d items after %d lost replies, want %d", n, cut.Injected(), want)
				}
			})
		}
		t.Run(engine+" take", func(t *testing.T) {
			s := dial(t)
			dir := ownDir(s)
			q := queue.Variants()[0].New(s, dir, recipes.Options{})
			for i := range 3 {
				bubble.OK(t, "Put()", bubble.Second(q.Put(t.Context(), bubble.Item(i))))
			}
			cut := p.Add(proxy.Rule{On: proxy.Reply, Session: s.ID(), Ops: []jute.Op{jute.OpDelete}, Path: regexp.MustCompile("qn-"), Times: 1, Do: proxy.Cut})
			defer cut.Remove()
			_, err := q.Take(t.Context())
			var doubt *recipes.InDoubtError
			if !errors.As(err, &doubt) || string(doubt.Item.Data) != "0" {
				t.Errorf("Take() = %v, want in doubt with item 0", err)
			}
			it, err := q.Take(t.Context())
			bubble.Got(t, "the next Take()", it, err, "1")
			if n := realItems(t, s, dir); n != 1 || cut.Injected() != 1 {
				t.Errorf("%d items after %d lost replies, want 1", n, cut.Injected())
			}
		})
		t.Run(engine+" finish", func(t *testing.T) {
			s := dial(t)
			dir := ownDir(s)
			v, _ := recipes.Find(queue.Variants(), "claim")
			q := v.New(s, dir, recipes.Options{}).(recipes.Claimer)
			bubble.OK(t, "Put()", bubble.Second(q.Put(t.Context(), bubble.Item(0))))
			c, err := q.Claim(t.Context())
			bubble.OK(t, "Claim()", err)
			cut := p.Add(proxy.Rule{On: proxy.Reply, Session: s.ID(), Ops: []jute.Op{jute.OpMulti}, Times: 1, Do: proxy.Cut})
			defer cut.Remove()
			bubble.OK(t, "Finish()", q.Finish(t.Context(), c))
			if n := realItems(t, s, dir+"/entries") + realItems(t, s, dir+"/taken"); n != 0 || cut.Injected() != 1 {
				t.Errorf("%d znodes after %d lost replies, want none", n, cut.Injected())
			}
		})
		t.Run(engine+" expired claimer", func(t *testing.T) {
			s := dial(t)
			dir := ownDir(s)
			v, _ := recipes.Find(queue.Variants(), "claim")
			q, other := v.New(s, dir, recipes.Options{}).(recipes.Claimer), v.New(dial(t), dir, recipes.Options{}).(recipes.Claimer)
			bubble.OK(t, "Put()", bubble.Second(q.Put(t.Context(), bubble.Item(0))))
			c, err := q.Claim(t.Context())
			bubble.OK(t, "Claim()", err)
			bubble.OK(t, "Expire()", p.Expire(t.Context(), s.ID()))
			next, err := other.Claim(t.Context())
			bubble.OK(t, "Claim() of another", err)
			if err := q.Finish(t.Context(), c); !errors.Is(err, recipes.ErrClaimLost) {
				t.Errorf("Finish() after the expiry = %v, want ErrClaimLost", err)
			}
			if string(next.Data) != "0" || next.Token <= c.Token {
				t.Errorf("the next claim is of %s with token %d after %d", next.Data, next.Token, c.Token)
			}
			bubble.OK(t, "Finish()", other.Finish(t.Context(), next))
		})
	}
}
