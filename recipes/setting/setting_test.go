package setting_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/recipestest"
	"github.com/zkbench/zkbench/recipes/setting"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// When the session ends during a write, the client cannot know whether the write was applied.
func TestASessionEndDuringAWriteIsInDoubt(t *testing.T) {
	for _, v := range setting.Variants() {
		for _, applied := range []bool{false, true} {
			bubble.Run(t, v.Name, func(t *testing.T, ens *zktest.Ensemble) {
				s := ens.Dial()
				c := v.New(s, bubble.Dir, recipes.Options{})
				bubble.OK(t, "Set()", bubble.Second(c.Set(t.Context(), []byte("0"))))
				ens.Hook(func(op zktest.Op) zktest.Action {
					if op.Session == s && op.Kind == zk.KindSet && op.Applied == applied {
						ens.Expire(s)
					}
					return zktest.Action{}
				})
				_, err := c.Set(t.Context(), []byte("1"))
				if !errors.Is(err, recipes.ErrInDoubt) || !errors.Is(err, zk.ErrSessionExpired) {
					t.Errorf("Set() = %v, want in doubt, and the cause", err)
				}
			})
		}
	}
}

func eachSetting(t *testing.T, test func(*testing.T, func(s zk.Session) recipes.Setting, *zktest.Ensemble)) {
	for _, v := range setting.Variants() {
		for _, watch := range v.Watch {
			bubble.Run(t, v.Name+" "+watch, func(t *testing.T, ens *zktest.Ensemble) {
				test(t, func(s zk.Session) recipes.Setting { return v.New(s, "/n", recipes.Options{Watch: watch}) }, ens)
			})
		}
	}
}

func TestSettingsInMemory(t *testing.T) {
	for _, v := range setting.Variants() {
		for _, watch := range v.Watch {
			bubble.Run(t, v.Name+" "+watch, func(t *testing.T, ens *zktest.Ensemble) {
				recipestest.SettingOn(t, v, watch, bubble.DialIn(ens), "/deep/down/setting")
			})
		}
	}
}

// follows calls Watch in its own goroutine.
func follows(ctx context.Context, c recipes.Setting, last recipes.SettingValue) (next *recipes.SettingValue, done *bubble.Attempt) {
	next = new(recipes.SettingValue)
	return next, bubble.Begin(func() (_ recipes.Grant, err error) { *next, err = c.Watch(ctx, last); return })
}

// writes sets data and returns its token.
func writes(t *testing.T, c recipes.Setting, data string) int64 {
	t.Helper()
	token, err := c.Set(t.Context(), []byte(data))
	bubble.OK(t, "Set()", err)
	return token
}

// A reader reports a deletion that it sees, and recognises a recreated znode by its czxid, whatever its version.
func TestADeletedAndRecreatedSetting(t *testing.T) {
	eachSetting(t, func(t *testing.T, on func(zk.Session) recipes.Setting, ens *zktest.Ensemble) {
		admin, w, r := ens.Dial(), on(ens.Dial()), on(ens.Dial())
		next, done := follows(t.Context(), r, recipes.SettingValue{})
		bubble.Expect(t, "a reader before the first version", done, "waits")
		writes(t, w, "1")
		bubble.Expect(t, "a reader after the first version", done, "holds")
		writes(t, w, "2")
		second, err := r.Watch(t.Context(), *next)
		if err != nil || string(second.Data) != "2" || second.Missed != 0 {
			t.Errorf("Watch() = %+v, %v", second, err)
		}
		gone, done := follows(t.Context(), r, second)
		bubble.OK(t, "Delete()", admin.Delete(t.Context(), "/n", zk.AnyVersion))
		if bubble.Expect(t, "the reader", done, "holds"); gone.Exists || gone.Token != second.Token {
			t.Errorf("after the deletion %+v", gone)
		}
		again, done := follows(t.Context(), r, *gone)
		bubble.Expect(t, "the reader after the deletion", done, "waits")
		writes(t, w, "3")
		if bubble.Expect(t, "the reader", done, "holds"); string(again.Data) != "3" || again.Missed != 0 || again.Czxid <= second.Czxid {
			t.Errorf("after the recreation %+v", again)
		}
		bubble.OK(t, "Delete()", admin.Delete(t.Context(), "/n", zk.AnyVersion)) // while nobody waits
		writes(t, w, "4")
		writes(t, w, "5")
		third, err := r.Watch(t.Context(), *again)
		if err != nil || string(third.Data) != "5" || third.Version != 1 || third.Missed != 1 || third.Czxid <= again.Czxid {
			t.Errorf("Watch() = %+v, %v, want the second version of a new znode, with one missed", third, err)
		}
	})
}

// A reader reads again after a reconnection, and a cancelled reader leaves no watch.
func TestADisconnectedOrCancelledReader(t *testing.T) {
	eachSetting(t, func(t *testing.T, on func(zk.Session) recipes.Setting, ens *zktest.Ensemble) {
		s := ens.Dial()
		w, r := on(ens.Dial()), on(s)
		writes(t, w, "1")
		first, err := r.Watch(t.Context(), recipes.SettingValue{})
		bubble.OK(t, "Watch()", err)
		next, done := follows(t.Context(), r, first)
		ens.Disconnect(s)
		for range 3 {
			writes(t, w, "x")
		}
		bubble.Expect(t, "the reader", done, "waits")
		ens.Reconnect(s)
		if bubble.Expect(t, "the reader", done, "holds"); string(next.Data) != "x" || next.Missed != 2 {
			t.Errorf("after the reconnection %+v", next)
		}
		ctx, cancel := context.WithCancel(t.Context())
		_, done = follows(ctx, r, *next)
		cancel()
		bubble.Expect(t, "the cancelled reader", done, "failed")
		_, err = r.Watch(t.Context(), recipes.SettingValue{})
		bubble.OK(t, "Watch()", err)
		r.Stop()
		synctest.Wait()
		if armed := ens.Watches(); len(armed) != 0 {
			t.Errorf("watches left: %v", armed)
		}
		ens.Expire(s)
		if _, err := r.Watch(t.Context(), *next); !errors.Is(err, zk.ErrSessionExpired) {
			t.Errorf("Watch() = %v, want ErrSessionExpired", err)
		}
	})
}

// A reader whose new session is on a lagging server sees neither an earlier version nor a missing znode.
func TestASettingNeverGoesBackAcrossSessions(t *testing.T) {
	for _, versions := range []int{1, 2} { // the server has seen no version, or the first one
		eachSetting(t, func(t *testing.T, on func(zk.Session) recipes.Setting, ens *zktest.Ensemble) {
			w, late := on(ens.Dial()), ens.Dial()
			if versions == 2 {
				writes(t, w, "0")
				time.Sleep(time.Minute)
			}
			ens.Lag(late, 3*time.Second)
			writes(t, w, "1")
			seen, err := on(ens.Dial()).Watch(t.Context(), recipes.SettingValue{})
			bubble.OK(t, "Watch()", err)
			r := on(late)
			next, done := follows(t.Context(), r, seen)
			time.Sleep(10 * time.Second)
			bubble.Expect(t, "the reader", done, "waits")
			writes(t, w, "2")
			time.Sleep(10 * time.Second)
			if bubble.Expect(t, "the reader", done, "holds"); string(next.Data) != "2" || next.Missed != 0 {
				t.Errorf("setting %+v after %+v", next, seen)
			}
			bubble.OK(t, "Delete()", ens.Dial().Delete(t.Context(), "/n", zk.AnyVersion))
			gone, err := on(ens.Dial()).Watch(t.Context(), *next)
			if err != nil || gone.Exists {
				t.Errorf("Watch() after the deletion = %+v, %v", gone, err)
			}
			writes(t, w, "3")
			future := recipes.SettingValue{Exists: true, Token: next.Token + 100, Czxid: next.Czxid}
			if _, err := on(ens.Dial()).Watch(t.Context(), future); !errors.Is(err, recipes.ErrTokenUnknown) {
				t.Errorf("Watch() after a future token = %v, want ErrTokenUnknown", err)
			}
		})
	}
}

// A write whose reply is lost is recognised by its data. If the data is not there, the write is in doubt: another write may have replaced it,
// and a retry would overwrite that one.
func TestALostReplyToAWrite(t *testing.T) {
	for _, kind := range []zk.Kind{zk.KindCreate, zk.KindSet} {
		for _, applied := range []bool{false, true} {
			for _, overwritten := range []bool{false, true} {
				eachSetting(t, func(t *testing.T, on func(zk.Session) recipes.Setting, ens *zktest.Ensemble) {
					w, other := on(ens.Dial()), on(ens.Dial())
					if kind == zk.KindSet {
						writes(t, w, "old")
					}
					lost := false
					ens.Hook(func(op zktest.Op) zktest.Action {
						if op.Kind != kind || op.Applied != applied || lost {
							return zktest.Action{}
						}
						if lost = true; overwritten {
							if _, err := other.Set(t.Context(), []byte("other")); err != nil {
								t.Error(err)
							}
						}
						return zktest.Action{Lose: true}
					})
					token, err := w.Set(t.Context(), []byte("new"))
					ens.Hook(nil)
					z, there := ens.Tree()["/n"]
					switch {
					case applied && !overwritten:
						if err != nil || token != z.Stat.Mzxid || string(z.Data) != "new" {
							t.Errorf("Set() = %d, %v; the znode has %q, %+v", token, err, z.Data, z.Stat)
						}
					case !errors.Is(err, recipes.ErrInDoubt):
						t.Errorf("Set() = %d, %v, want ErrInDoubt", token, err)
					case overwritten && string(z.Data) != "other", !overwritten && (there != (kind == zk.KindSet) || string(z.Data) == "new"):
						t.Errorf("the znode has %q", z.Data)
					}
				})
			}
		}
	}
}

// Each version costs each reader one event, and one read or two by the way it watches.
func TestTheCostOfAVersion(t *testing.T) {
	eachSetting(t, func(t *testing.T, on func(zk.Session) recipes.Setting, ens *zktest.Ensemble) {
		const readers, rounds = 5, 4
		w := on(ens.Dial())
		writes(t, w, "0")
		var all []recipes.Setting
		last := make([]recipes.SettingValue, readers)
		for range readers {
			all = append(all, on(ens.Dial()))
		}
		var events, requests int
		for round := range rounds {
			if round == 1 {
				events, requests = bubble.Events(ens), bubble.Requests(ens)
			}
			for i, r := range all {
				var err error
				last[i], err = r.Watch(t.Context(), last[i])
				bubble.OK(t, "Watch()", err)
			}
			if round < rounds-1 {
				writes(t, w, strconv.Itoa(round+1))
				synctest.Wait()
			}
		}
		each := map[bool]int{true: 1, false: 2}[t.Name()[len(t.Name())-3:] == "get"]
		events, requests = bubble.Events(ens)-events, bubble.Requests(ens)-requests
		if events != (rounds-2)*readers || requests != (rounds-1)*readers*each+rounds-2 {
			t.Errorf("%d events and %d requests", events, requests)
		}
	})
}
