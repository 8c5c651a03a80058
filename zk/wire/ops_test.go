package wire

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

// ask makes a request, answers it with the given reply, and returns what was sent.
func (u *unplugged) ask(zxid int64, code int32, body []byte, do func(context.Context) error) (asked, error) {
	u.t.Helper()
	result := make(chan error, 1)
	go func() { result <- do(u.t.Context()) }()
	select {
	case b := <-u.out:
		r := asked{jute.Int32(b[4:]), jute.Op(jute.Int32(b[8:])), b[jute.RequestHeader:]}
		u.feed(reply(r.xid, zxid, code, body...))
		return r, <-result
	case err := <-result:
		return asked{}, err
	}
}

// statOf encodes a Stat with that czxid.
func statOf(czxid int64) []byte {
	return append(jute.AppendInt64(nil, czxid), make([]byte, jute.StatLength-8)...)
}

// The bytes of each request, and the results of its reply, of a refusal and of a truncated reply.
func TestRequestsOnTheWire(t *testing.T) {
	at := func(path string) []byte { return jute.AppendString(nil, path) }
	stat := statOf(5)
	world := []byte(jute.World)
	made := append(at("/app/a-1"), stat...)
	listed := append(wireOf([]string{"a", "b"}), stat...)
	acl := append(slices.Clone(world), stat...)
	create := func(mode zk.Mode) func(context.Context, *Client) (string, error) {
		return func(ctx context.Context, c *Client) (string, error) {
			m, err := c.Create(ctx, "/a", []byte("x"), mode)
			return fmt.Sprint(m.Path, m.Czxid), err
		}
	}
	for _, c := range []struct {
		name    string
		do      func(context.Context, *Client) (string, error)
		op      jute.Op
		body    []byte
		reply   []byte
		want    string
		refused string // the result that comes with ErrNoNode
	}{
		{"create", create(zk.EphemeralSequential), jute.OpCreate2, slices.Concat(at("/app/a"), at("x"), world, jute.AppendInt32(nil, 3)), made, "/a-15", "0"},
		{"create a container", create(zk.Container), jute.OpCreateContainer, slices.Concat(at("/app/a"), at("x"), world, jute.AppendInt32(nil, 4)), made, "/a-15", "0"},
		{"read", func(ctx context.Context, c *Client) (string, error) {
			data, st, err := c.Get(ctx, "/a")
			return fmt.Sprintf("%s %d", data, st.Czxid), err
		}, jute.OpGetData, append(at("/app/a"), 0), append(at("data"), stat...), "data 5", " 0"},
		{"read with a watch", func(ctx context.Context, c *Client) (string, error) {
			data, st, w, err := c.GetW(ctx, "/a")
			return fmt.Sprintf("%s %d %v", data, st.Czxid, w != nil), err
		}, jute.OpGetData, append(at("/app/a"), 1), append(at("data"), stat...), "data 5 true", " 0 false"},
		{"list", func(ctx context.Context, c *Client) (string, error) {
			all, st, err := c.Children(ctx, "/a")
			return fmt.Sprint(all, st.Czxid), err
		}, jute.OpGetChildren2, append(at("/app/a"), 0), listed, "[a b] 5", "[] 0"},
		{"list with a watch", func(ctx context.Context, c *Client) (string, error) {
			all, st, w, err := c.ChildrenW(ctx, "/a")
			return fmt.Sprint(all, st.Czxid, w != nil), err
		}, jute.OpGetChildren2, append(at("/app/a"), 1), listed, "[a b] 5 true", "[] 0 false"},
		{"read an ACL", func(ctx context.Context, c *Client) (string, error) {
			all, st, err := c.GetACL(ctx, "/a")
			return fmt.Sprint(all, st.Czxid), err
		}, jute.OpGetACL, at("/app/a"), acl, "[{31 world anyone}] 5", "[] 0"},
	} {
		u := unplug(t)
		u.root = "/app"
		var got string
		do := func(ctx context.Context) (err error) { got, err = c.do(ctx, u.Client); return err }
		if r, err := u.ask(9, 0, c.reply, do); r.op != c.op || !slices.Equal(r.body, c.body) || err != nil || got != c.want {
			t.Errorf("%s: request %d %q gives %q, %v; want %d %q and %q", c.name, r.op, r.body, got, err, c.op, c.body, c.want)
		}
		if _, err := u.ask(9, codeNoNode, nil, do); !errors.Is(err, zk.ErrNoNode) || got != c.refused {
			t.Errorf("%s, refused: %q, %v; want %q", c.name, got, err, c.refused)
		}
		if _, err := u.ask(9, 0, c.reply[:len(c.reply)-1], do); !errors.Is(err, jute.ErrProtocol) || got != c.refused {
			t.Errorf("%s, reply truncated: %q, %v; want %q and ErrProtocol", c.name, got, err, c.refused)
		}
	}
}

// To Exists a missing znode is not an error; every other refusal is.
func TestExists(t *testing.T) {
	for _, c := range []struct {
		code  int32
		body  []byte
		there bool
		want  error
	}{{0, statOf(5), true, nil}, {codeNoNode, nil, false, nil}, {-102, nil, false, zk.ErrNoAuth}} {
		for _, watch := range []bool{false, true} {
			u := unplug(t)
			_, err := u.ask(9, c.code, c.body, func(ctx context.Context) error {
				var w *zk.Watch
				st, there, err := zk.Stat{}, false, error(nil)
				if watch {
					st, there, w, err = u.ExistsW(ctx, "/a")
				} else {
					st, there, err = u.Exists(ctx, "/a")
				}
				if there != c.there || (st.Czxid == 5) != c.there || (w != nil) != (watch && c.want == nil) {
					t.Errorf("code %d: there: %v, czxid %d, a watch: %v", c.code, there, st.Czxid, w != nil)
				}
				return err
			})
			if !errors.Is(err, c.want) {
				t.Errorf("code %d: %v, want %v", c.code, err, c.want)
			}
		}
	}
}

// Callers may change the list that they get, although lists are remembered.
func TestListsBelongToTheirCallers(t *testing.T) {
	u := unplug(t)
	all := queueNames(40)
	for range 4 {
		_, err := u.ask(9, 0, append(wireOf(all), statOf(5)...), func(ctx context.Context) error {
			got, _, err := u.Children(ctx, "/a")
			if !slices.Equal(got, all) {
				t.Errorf("Children() returns %d names, want %d", len(got), len(all))
			}
			clear(got)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestMultis(t *testing.T) {
	ops := []zk.Op{zk.CreateOp("/a", nil, zk.Persistent), zk.CreateOp("/b", nil, zk.Container), zk.DeleteOp("/c", 1)}
	end := multiHeader(jute.OpError, 1)
	failed := func(code int32) []byte { return jute.AppendInt32(multiHeader(jute.OpError, 0), code) }
	path := func(op jute.Op, p string) []byte { return append(multiHeader(op, 0), jute.AppendString(nil, p)...) }
	done := slices.Concat(path(jute.OpCreate, "/app/a"), path(jute.OpCreateContainer, "/app/b"), statOf(5), multiHeader(jute.OpDelete, 0), end)
	for _, c := range []struct {
		sentence string
		code     int32
		body     []byte
		want     error
		path     string // of the error
		inDoubt  bool
		results  int
	}{
		{"all are done", 0, done, nil, "", false, 3},
		{"the first is refused", 0, slices.Concat(failed(-110), failed(-2), failed(-2), end), zk.ErrNodeExists, "/a", false, 3},
		{"the third is refused", -101, slices.Concat(failed(0), failed(0), failed(codeNoNode), end), zk.ErrNoNode, "/c", false, 3},
		{"it is refused, and no operation gives a reason", -102, slices.Concat(failed(-2), failed(-2), failed(-2), end), zk.ErrNoAuth, "/a", false, 3},
		{"it is refused as a whole", -102, nil, zk.ErrNoAuth, "/a", false, 0},
		{"the results are truncated", 0, done[:len(done)-1], jute.ErrProtocol, "/a", true, 0},
	} {
		u := unplug(t)
		u.root = "/app"
		var res []zk.OpResult
		r, err := u.ask(9, c.code, c.body, func(ctx context.Context) (err error) { res, err = u.Multi(ctx, ops...); return err })
		var e *zk.Error
		if !errors.Is(err, c.want) || errors.As(err, &e) && (e.Path != c.path || e.Op != zk.KindMulti) || errors.Is(err, zk.ErrMaybeApplied) != c.inDoubt || len(res) != c.results {
			t.Errorf("%s: %d results, %v", c.sentence, len(res), err)
		}
		if err == nil && (res[0].Path != "/a" || res[0].Stat.Czxid != 9 || res[1].Path != "/b" || res[2].Path != "" || res[2].Stat.Czxid != 0) {
			t.Errorf("%s: results are %+v", c.sentence, res)
		}
		want := jute.AppendInt32(append(append(putMultiHeader(nil, jute.OpCreate2, false), jute.AppendString(nil, "/app/a")...), append(make([]byte, 4), jute.World...)...), 0)
		if r.op != jute.OpMulti || !slices.Equal(r.body[:len(want)], want) || jute.Int32(r.body[len(want):]) != int32(jute.OpCreateContainer) {
			t.Errorf("%s: request %d %q", c.sentence, r.op, r.body)
		}
	}
	u := unplug(t)
	if _, err := u.ask(9, 0, end, func(ctx context.Context) error { _, err := u.Multi(ctx); return err }); err != nil {
		t.Errorf("an empty multi: %v", err)
	}
	for _, wrong := range []zk.Op{zk.DeleteOp("a", 0), {Kind: zk.KindGet, Path: "/a"}} {
		if r, err := u.ask(9, 0, nil, func(ctx context.Context) error { _, err := u.Multi(ctx, wrong); return err }); !errors.Is(err, zk.ErrBadArguments) || r.op != 0 {
			t.Errorf("%+v: %v, and request %d", wrong, err, r.op)
		}
	}
}

func TestPathsOfReplies(t *testing.T) {
	for path, want := range map[string]string{"/app/a": "/a", "/app": "", "/a": "/a"} {
		if got := (&Client{root: "/app"}).outside(path); got != want {
			t.Errorf("outside(%q) = %q, want %q", path, got, want)
		}
	}
}

// If a server refuses its credentials, the session ends.
func TestCredentials(t *testing.T) {
	for code, want := range map[int32]error{0: nil, -115: zk.ErrAuthFailed} {
		u := unplug(t)
		if err := u.feed(reply(jute.XidAuth, 0, code)); err != nil || u.Err() != want {
			t.Errorf("the reply to credentials with code %d: %v, and Err() = %v; want %v", code, err, u.Err(), want)
		}
	}
}

// If the reply to a read with a watch is invalid, the server holds a watch that no caller knows: it must be removed.
func TestAWatchWhoseReplyIsInvalid(t *testing.T) {
	u := unplug(t)
	if _, err := u.ask(9, 0, []byte{1}, func(ctx context.Context) error { _, _, _, err := u.GetW(ctx, "/a"); return err }); !errors.Is(err, jute.ErrProtocol) {
		t.Errorf("GetW() = %v", err)
	}
	if r := u.asked(); r.op != jute.OpRemoveWatches || len(u.sites.at) != 0 {
		t.Errorf("request %d, %d sites are watched; want a removal and none", r.op, len(u.sites.at))
	}
}

// A path has one persistent watch, of one mode. A one-shot watch at the same path replaces it, so it is armed again, and its streams report a gap.
func TestPersistentWatches(t *testing.T) {
	u := unplug(t)
	add := func(recursive bool) (st *zk.Stream, r asked, err error) {
		r, err = u.ask(9, 0, nil, func(ctx context.Context) (err error) { st, err = u.AddWatch(ctx, "/a", recursive); return err })
		return st, r, err
	}
	asks := func(op jute.Op, number int32) {
		t.Helper()
		r := u.asked()
		if want := jute.AppendInt32(jute.AppendString(nil, "/a"), number); r.op != op || !slices.Equal(r.body, want) {
			t.Fatalf("request %d %q, want %d %q", r.op, r.body, op, want)
		}
		u.feed(reply(r.xid, 9, 0))
	}
	for mode, recursive := range []bool{false, true} {
		first, r, err := add(recursive)
		if want := jute.AppendInt32(jute.AppendString(nil, "/a"), int32(mode)); err != nil || r.op != jute.OpAddWatch || !slices.Equal(r.body, want) {
			t.Fatalf("request %d %q, %v; want %q", r.op, r.body, err, want)
		}
		second, _, err := add(recursive)
		if err != nil {
			t.Fatal(err)
		}
		if _, r, err := add(!recursive); !errors.Is(err, zk.ErrBadArguments) || r.op != 0 {
			t.Errorf("the other mode: %v, and request %d", err, r.op)
		}
		var once *zk.Watch
		get := func(ctx context.Context) (err error) { _, _, once, err = u.GetW(ctx, "/a"); return err }
		if _, err := u.ask(9, 0, dataReply(0, nil)[4+jute.ReplyHeader:], get); err != nil {
			t.Fatal(err)
		}
		asks(jute.OpAddWatch, int32(mode))
		for _, st := range []*zk.Stream{first, second} {
			if e, ok := st.Poll(); !ok || e.Err != zk.ErrWatchLost {
				t.Errorf("a stream yields %+v, want ErrWatchLost", e)
			}
		}
		u.unstream(first, "/unknown")
		u.rearmStreams("/unknown")
		first.Stop()
		second.Stop()
		if u.rearmStreams("/a"); len(u.out) > 0 {
			t.Error("a persistent watch was armed again without a stream, or removed while a one-shot watch at its path is armed")
		}
		third, _, err := add(!recursive) // no stream of the first mode is left
		if err != nil {
			t.Fatal(err)
		}
		once.Stop()
		if len(u.out) > 0 {
			t.Error("a persistent watch with a stream was removed")
		}
		third.Stop()
		asks(jute.OpRemoveWatches, removeAny)
	}
}
