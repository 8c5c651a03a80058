package fencing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// inMemory is a client in this process, on an ensemble in memory. To pause it, its lock session is cut off and messages to it are kept
// until it resumes.
type inMemory struct {
	io.Reader
	ens    *zktest.Ensemble
	orders *io.PipeWriter
	says   *io.PipeReader
	served chan struct{}
	defect defect

	mu     sync.Mutex
	lock   zk.Session // the first session that it opened
	paused bool
	kept   [][]byte
}

// defect describes what is wrong with a client; the zero value is a correct one.
type defect struct {
	order   func(*Order)  // changes the order that it receives
	report  func(*Report) // changes what it reports
	restive bool          // it continues while it is paused
	silent  bool          // it ends without reporting anything
	refused zktest.Hook   // what its servers, and those of the next holder, refuse after the znodes have been created
}

func startIn(ctx context.Context, ens *zktest.Ensemble, d defect) *inMemory {
	in, orders := io.Pipe()
	says, out := io.Pipe()
	c := &inMemory{Reader: says, ens: ens, orders: orders, says: says, served: make(chan struct{}), defect: d}
	context.AfterFunc(ctx, func() { // as a process is killed
		orders.Close()
		out.Close()
	})
	go func() {
		defer close(c.served)
		Serve(ctx, in, writer(func(b []byte) (int, error) { return c.say(out, b) }), playable, c.open, func(err error) error { return fmt.Errorf("%w, with a remedy", err) })
		out.Close()
	}()
	return c
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

func (c *inMemory) open(_ context.Context, _ Order, timeout time.Duration) (zk.Session, error) {
	s := c.ens.DialTimeout(timeout)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lock == nil {
		c.lock = s
	}
	return s, nil
}

func (c *inMemory) say(out *io.PipeWriter, b []byte) (int, error) {
	if c.defect.silent {
		out.Close()
		return len(b), nil
	}
	if c.defect.report != nil {
		var r Report
		if err := json.Unmarshal(b, &r); err != nil {
			return 0, err
		}
		c.defect.report(&r)
		altered, err := json.Marshal(r)
		if err != nil {
			return 0, err
		}
		_, err = out.Write(altered)
		return len(b), err
	}
	return out.Write(b)
}

func (c *inMemory) Write(b []byte) (int, error) {
	if c.defect.order != nil {
		var o Order
		if err := json.Unmarshal(b, &o); err != nil {
			return 0, err
		}
		c.defect.order(&o)
		b, _ = json.Marshal(o)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused {
		c.kept = append(c.kept, append([]byte(nil), b...))
		return len(b), nil
	}
	return c.orders.Write(b)
}

func (c *inMemory) Pause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused = true
	if !c.defect.restive {
		c.ens.Partition(c.lock)
	}
	return nil
}

func (c *inMemory) Resume() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused = false
	for _, b := range c.kept {
		if _, err := c.orders.Write(b); err != nil {
			return err
		}
	}
	c.ens.Reconnect(c.lock)
	return nil
}

func (c *inMemory) Close() error {
	c.orders.Close()
	c.says.Close()
	<-c.served
	return nil
}

// playable are zkbench's locks, and two foreign ones: one without tokens has nothing to fence with.
var playable = Locks{Own: []recipes.Variant[recipes.Lock]{own("own", true), own("tokenless", false)},
	OwnRW: []recipes.Variant[recipes.RWLock]{ownRW()}}

func own(name string, tokens bool) recipes.Variant[recipes.Lock] {
	v, _ := recipes.Find(lock.Variants(), "predecessor")
	v.Name, v.Tokens = name, tokens
	return v
}

func ownRW() recipes.Variant[recipes.RWLock] {
	v := lock.RWVariants()[0]
	v.Name = "own-read-write"
	return v
}

func TestPlayable(t *testing.T) {
	for name, want := range map[string]bool{"predecessor": true, "own": true, "own-read-write": true, "tokenless": false} {
		if got := slices.Contains(playable.Variants(), name); got != want {
			t.Errorf("%s can be played: %v, want %v", name, got, want)
		}
	}
}

// runIn plays trials on an ensemble in memory with clients of this defect, in a bubble, and checks what they leave.
func runIn(t *testing.T, d defect, change func(*Config, context.CancelFunc), judge func(*testing.T, []Row, error)) {
	synctest.Test(t, func(t *testing.T) {
		znodes := playable.Znodes()
		names := root.NewNames(znodes.Persistent, znodes.Ephemeral)
		ens := zktest.New(zktest.Config{Timeout: 4 * time.Second, Created: func(path string) {
			rest, below := strings.CutPrefix(path, "/fencing/")
			if below && !names.AllOurs(strings.Split(rest, "/")) {
				t.Errorf("%s is made, and Znodes do not declare it: its removal would take it for somebody else's", path)
			}
		}})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		admin := ens.Dial()
		if _, err := admin.Create(t.Context(), "/fencing", nil, zk.Persistent); err != nil {
			t.Fatal(err)
		}
		c := Config{Locks: playable, Order: Order{Timeout: 4 * time.Second, DataTimeout: time.Minute}, Dir: "/fencing", Variants: []string{"predecessor"}, Rounds: 1, Parallel: 4,
			Start: func(ctx context.Context) (Client, error) { return startIn(ctx, ens, d), nil },
			Dial:  func(context.Context) (zk.Session, error) { return ens.Dial(), nil }}
		if change != nil {
			change(&c, cancel)
		}
		ens.Hook(d.refused)
		rows, err := Run(ctx, c)
		judge(t, rows, err)
		admin.Close()
		time.Sleep(time.Minute) // in the bubble: sessions that a client left behind expire
		if left := ens.Sessions(); len(left) != 0 {
			t.Errorf("%d sessions are left", len(left))
		}
	})
}

func TestEveryLockLetsALateWriteInUnlessItIsFenced(t *testing.T) {
	const rounds = 3
	played := 0
	runIn(t, defect{}, func(c *Config, _ context.CancelFunc) {
		c.Variants, c.Rounds = playable.Variants(), rounds
		c.Played = func(n, of int, _ Row) {
			if played++; n != played || of != 4*len(playable.Variants()) {
				t.Errorf("Played(%d, %d), want %d of %d", n, of, played, 4*len(playable.Variants()))
			}
		}
	}, func(t *testing.T, rows []Row, err error) {
		if err != nil || len(rows) != 4*len(playable.Variants()) || len(rows) == 0 {
			t.Fatalf("Run() = %d rows, %v, want four of each of %v", len(rows), err, playable.Variants())
		}
		for _, r := range rows {
			want := Row{Variant: r.Variant, Resource: r.Resource, Fenced: r.Fenced, Witness: r.Witness}
			switch {
			case !r.Fenced:
				want.Accepted = rounds
			case r.Resource == Znode && r.Variant != "single-node":
				want.Rejected, want.Fence = rounds, recipes.FenceTransaction
			default:
				want.Rejected, want.Fence = rounds, recipes.FenceToken
			}
			if r != want {
				t.Errorf("%+v, want %+v", r, want)
			}
			if word := map[bool]string{true: "rejected", false: "written"}[r.Fenced]; !strings.HasPrefix(r.Witness, word+": token 0x") {
				t.Errorf("%s, %s: the witness is %q, want one that begins with %q", r.Variant, r.Resource, r.Witness, word)
			}
		}
	})
	if played == 0 {
		t.Error("Played was never called")
	}
}

// A client's defect shows: as a violation if a late write was accepted, as an error if nothing is known. It is never mistaken for a
// fence that holds, nor for a violation that showed.
func TestWhatIsWrongWithAClientShows(t *testing.T) {
	for _, tt := range []struct {
		why    string
		defect defect
		// want returns for a row: the late write was accepted or rejected, or the error contains these words.
		want func(Row) string
	}{
		{"it writes past the fence", defect{order: func(o *Order) { o.Fenced = false }}, func(r Row) string {
			if r.Resource == Register && r.Fenced {
				return "rejected" // the client cannot influence that fence
			}
			return "accepted"
		}},
		{"it forges its token", defect{report: func(r *Report) { r.Token += 1 << 32 }}, func(Row) string { return "the next holder's token" }},
		{"it forges a token when it writes", defect{report: func(r *Report) {
			if r.Wrote {
				r.Token += 1 << 32
			}
		}}, func(r Row) string {
			if r.Resource == Znode && r.Fenced {
				return "rejected" // its own znode is gone
			}
			return "accepted"
		}},
		{"it says that it wrote, and did not", defect{
			order:  func(o *Order) { o.Fenced = o.Lock == "" || o.Resource != "" },
			report: func(r *Report) { r.Wrote, r.Rejected = r.Path == "", "" },
		}, func(r Row) string {
			switch {
			case r.Resource == Register && r.Fenced:
				return "rejected"
			case r.Resource == Register:
				return "accepted"
			}
			return "the client reports"
		}},
		{"it says that it was rejected, and wrote", defect{
			order: func(o *Order) { o.Fenced = false },
			report: func(r *Report) {
				if r.Wrote {
					r.Wrote, r.Rejected = false, "by nobody"
				}
			},
		}, func(r Row) string {
			if r.Resource == Register { // without its word nothing is written there
				return "rejected"
			}
			return "the client reports"
		}},
		{"it cannot be stopped", defect{restive: true}, func(Row) string { return context.DeadlineExceeded.Error() }},
		{"it ends", defect{silent: true}, func(Row) string { return "the client has ended" }},
		{"it knows no such lock", defect{order: func(o *Order) { o.Variant = "none" }}, func(Row) string { return "no lock is called none" }},
	} {
		t.Run(tt.why, func(t *testing.T) {
			runIn(t, tt.defect, nil, func(t *testing.T, rows []Row, err error) {
				if err != nil || len(rows) != 4 {
					t.Fatalf("Run() = %d rows, %v", len(rows), err)
				}
				for _, r := range rows {
					got := "nothing"
					switch {
					case r.Err != nil && r.Accepted+r.Rejected == 0:
						got = r.Err.Error()
					case r.Accepted == 1 && r.Rejected == 0:
						got = "accepted"
					case r.Rejected == 1 && r.Accepted == 0:
						got = "rejected"
					}
					if want := tt.want(r); !strings.Contains(got, want) {
						t.Errorf("%s, fenced %v: %s (%+v), want %s", r.Resource, r.Fenced, got, r, want)
					}
				}
			})
		})
	}
}

// Servers that refuse requests end a trial soon, with few requests, and nothing is concluded from it.
func TestARefusedTrialEnds(t *testing.T) {
	for _, kind := range []zk.Kind{zk.KindCreate, zk.KindDelete, zk.KindSet, zk.KindGet, zk.KindExists, zk.KindChildren, zk.KindMulti, zk.KindSync, zk.KindAddWatch} {
		for _, code := range []int32{-102, -125, -127, -9999} {
			var sent, refused atomic.Int64
			hook := zktest.Refusing(kind, code, func(zktest.Op) bool { refused.Add(1); return true })
			began := time.Now()
			runIn(t, defect{refused: func(op zktest.Op) zktest.Action { sent.Add(1); return hook(op) }}, func(c *Config, _ context.CancelFunc) {
				c.Variants = playable.Variants()
				began = time.Now()
			}, func(t *testing.T, rows []Row, err error) {
				if took := time.Since(began); err != nil || took > 10*time.Minute || sent.Load() > 200*int64(len(rows)) {
					t.Errorf("%v %d: %v, after %v and %d requests in %d trials", kind, code, err, took, sent.Load(), len(rows))
				}
				said := 0
				for _, r := range rows {
					switch {
					case r.Err == nil && (r.Accepted > 0) != r.Expected():
						t.Errorf("%v %d: %+v", kind, code, r)
					case r.Err != nil && strings.Contains(r.Err.Error(), kind.String()+" ") && strings.Contains(r.Err.Error(), zk.FromCode(code).Error()):
						said++
					}
				}
				if said == 0 && refused.Load() > 0 && kind != zk.KindDelete { // deletes come when the trial is over
					t.Errorf("%v %d: no row says what was refused: %+v", kind, code, rows)
				}
			})
		}
	}
}

func TestRunTellsWhatItCouldNotStart(t *testing.T) {
	broken := errors.New("no more processes")
	runIn(t, defect{}, func(c *Config, _ context.CancelFunc) {
		c.Start = func(context.Context) (Client, error) { return nil, broken }
	}, func(t *testing.T, rows []Row, err error) {
		for _, r := range rows {
			if !errors.Is(r.Err, broken) || r.Accepted+r.Rejected != 0 {
				t.Errorf("%+v, want the error", r)
			}
		}
	})
	runIn(t, defect{}, func(c *Config, _ context.CancelFunc) {
		c.Dial = func(context.Context) (zk.Session, error) { return nil, broken }
	}, func(t *testing.T, rows []Row, err error) {
		for _, r := range rows {
			if !errors.Is(r.Err, broken) {
				t.Errorf("%+v, want the error", r)
			}
		}
	})
}

// A round that cannot be completed is repeated.
func TestARoundIsPlayedAgain(t *testing.T) {
	runIn(t, defect{}, func(c *Config, _ context.CancelFunc) {
		start := c.Start
		var failed atomic.Bool
		c.Start = func(ctx context.Context) (Client, error) {
			if failed.CompareAndSwap(false, true) {
				return nil, errors.New("the machine is too slow")
			}
			return start(ctx)
		}
	}, func(t *testing.T, rows []Row, err error) {
		replayed := 0
		for _, r := range rows {
			replayed += r.Replayed
			if r.Err != nil {
				t.Errorf("%+v, want no error", r)
			}
		}
		if replayed != 1 {
			t.Errorf("%d rounds were played again, want one", replayed)
		}
	})
}

// The end of the context ends running trials and starts no more; what had been completed by then counts.
func TestRunEndsWithItsContext(t *testing.T) {
	runIn(t, defect{}, func(c *Config, cancel context.CancelFunc) {
		c.Rounds = 100
		c.Played = func(n, _ int, _ Row) { t.Errorf("%d rows are complete after the end", n) }
		dial, n := c.Dial, 0
		var mu sync.Mutex
		c.Dial = func(ctx context.Context) (zk.Session, error) {
			mu.Lock()
			defer mu.Unlock()
			if n++; n == 50 {
				cancel()
			}
			return dial(ctx)
		}
	}, func(t *testing.T, rows []Row, err error) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Run() = %v, want the end of its context", err)
		}
		played := 0
		for _, r := range rows {
			played += r.Accepted + r.Rejected
			if r.Err != nil && !errors.Is(r.Err, context.Canceled) {
				t.Errorf("%+v, want the end of the context", r)
			}
		}
		if played == 0 || played >= 50 {
			t.Errorf("%d rounds were played, want those before the end", played)
		}
	})
}
