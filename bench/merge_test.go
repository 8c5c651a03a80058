package bench

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	defects "github.com/zkbench/zkbench/recipes/broken"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// dirs returns the directories of the shares' results.
func (f *ships) dirs() (all []string) {
	for _, r := range f.all {
		r.config.Out.Close()
		all = append(all, r.config.Out.Path())
	}
	return all
}

// merge merges the results of shares; partial allows some to be missing.
func (f *ships) merge(dirs []string, partial bool) (*results.Run, string, error) {
	f.t.Helper()
	shares, missing, err := results.ReadShares(dirs, partial)
	if err != nil {
		return nil, "", err
	}
	path := filepath.Join(f.t.TempDir(), "merged")
	out, err := results.Create(path, []byte(shares[0].Profile))
	if err != nil {
		f.t.Fatal(err)
	}
	defer out.Close()
	c := f.all[0].config
	doc, err := Merge(f.t.Context(), Merged{Config: Config{Setup: c.Setup, Profile: c.Profile, Version: c.Version, Out: out}, Shares: shares, Missing: missing})
	if err != nil {
		return doc, path, err
	}
	contradictions, err := results.Validate(path)
	if err != nil || len(contradictions) > 0 {
		f.t.Errorf("the merged result contradicts itself: %q, %v", contradictions, err)
	}
	return doc, path, nil
}

// If a share's history had no room, only its start is kept: a sound lock, semaphore, read/write lock or election is not condemned, and what is reported of the rest
// does not contradict the counts.
func TestMergedSharesWhoseHistoriesAreCut(t *testing.T) {
	for _, profile := range [][]string{
		{"variants: [predecessor]", "sessions: 12", "hold: 1ms", "duration: 2s"},
		{"workload: semaphore", "variants: [lease]", "sessions: 8", "permits: 2", "hold: 1ms", "duration: 2s"},
		{"workload: read-write", "variants: [read-write]", "sessions: 9", "readers: 50", "rate: 60", "hold: 2ms", "duration: 2s"},
		{"workload: election", "variants: [predecessor]", "sessions: 6", "failover: resign", "hold: 2ms", "duration: 2s"},
		{"workload: queue", "variants: [fifo]", "sessions: 8", "rate: 60", "duration: 2s"},
	} {
		t.Run(strings.Join(profile, "-"), func(t *testing.T) {
			cut := 0
			for _, most := range []int64{300, 1000, 1300, 1700, 2300, 2900, 3300, 4100} {
				synctest.Test(t, func(t *testing.T) {
					f := newShips(t, 2, zktest.Config{OpLatency: 3 * time.Millisecond}, profile...)
					f.all[0].config.MostHistory = most
					if _, errs := f.run(0, time.Second); errs[0] != nil || errs[1] != nil {
						t.Fatal(errs)
					}
					doc, _, err := f.merge(f.dirs(), false)
					if err != nil {
						t.Fatal(err)
					}
					if !doc.Cells[0].Shares[0].Cut {
						t.Logf("%d bytes were enough", most)
						return
					}
					cut++
					if doc.Exit.Code != 5 || !strings.Contains(strings.Join(doc.Cells[0].Notes, "; "), "the history of share 1 is incomplete") {
						t.Errorf("%d bytes: exit %+v, notes %q", most, doc.Exit, doc.Cells[0].Notes)
					}
					for _, k := range doc.Cells[0].Checks {
						if k.Verdict == "violated" {
							t.Errorf("%d bytes: %s is violated: %s", most, k.Name, k.Detail)
						}
					}
				})
			}
			if cut < 3 {
				t.Errorf("the history was cut in %d of the runs, want 3 at least", cut)
			}
		})
	}
}

// A violation that the rest of a cut history proves is reported, and the result does not contradict itself.
func TestMergedSharesWhoseHistoriesAreCutConvictABrokenRecipe(t *testing.T) {
	for _, most := range []int64{1000, 2300, 3300} {
		synctest.Test(t, func(t *testing.T) {
			f := newShips(t, 2, zktest.Config{OpLatency: 3 * time.Millisecond}, "variants: [broken-two-permits]", "sessions: 12", "hold: 20ms", "duration: 2s")
			for _, r := range f.all {
				r.withLocks(defects.Locks)
			}
			f.all[0].config.MostHistory = most
			if _, errs := f.run(0, time.Second); errs[0] != nil || errs[1] != nil {
				t.Fatal(errs)
			}
			doc, _, err := f.merge(f.dirs(), false)
			if err != nil {
				t.Fatal(err)
			}
			if k := checkOf(t, doc.Cells[0], "mutual-exclusion"); !doc.Cells[0].Shares[0].Cut || doc.Exit.Code != 4 || k.Verdict != "violated" {
				t.Errorf("%d bytes: cut %v, exit %+v, %+v", most, doc.Cells[0].Shares[0].Cut, doc.Exit, k)
			}
		})
	}
}

// A znode that is left because the servers refused its removal by a session of another share is not a violation in the merged result.
func TestMergedSharesExcuseWhatWasRefusedToOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newShips(t, 2, zktest.Config{OpLatency: 3 * time.Millisecond}, "variants: [predecessor]", "sessions: 4", "duration: 1s", "session_timeout: 4s")
		var second sync.Map
		f.all[1].opened = func(seat int, s *zktest.Session) { second.Store(s, seat >= 0) }
		f.all[0].ens.Hook(func(op zktest.Op) zktest.Action {
			if theirs, _ := second.Load(op.Session); theirs == true && op.Kind == zk.KindDelete && !op.Applied {
				return zktest.Action{Err: zk.ErrNoAuth}
			}
			return zktest.Action{}
		})
		docs, errs := f.run(0, time.Second)
		if errs[0] != nil || errs[1] != nil {
			t.Fatal(errs)
		}
		if k := checkOf(t, docs[0].Cells[0], "nothing-left"); k.Verdict != "unknown" || !strings.Contains(k.Detail, "merge the shares to tell") {
			t.Errorf("the first share alone: %+v", k)
		}
		doc, _, err := f.merge(f.dirs(), false)
		if err != nil {
			t.Fatal(err)
		}
		if k := checkOf(t, doc.Cells[0], "nothing-left"); k.Verdict != "unknown" || !strings.Contains(k.Detail, "the servers refused a removal of session ") {
			t.Errorf("%+v", k)
		}
		if notes := strings.Join(doc.Cells[0].Notes, "; "); !strings.Contains(notes, "share 2: the servers refused ") || !strings.Contains(notes, "delete /") {
			t.Errorf("the notes do not tell what was refused: %s", notes)
		}
	})
}

// A merged run has the counts of a single one with the same seed, and all of its checks.
func TestMergedSharesAreOneRun(t *testing.T) {
	for _, profile := range [][]string{
		{"variants: [predecessor]", "sessions: 10", "objects: 3", "rate: 40", "repetitions: 2", "duration: 4s", "hold: 2ms"},
		{"variants: [predecessor]", "sessions: [7, 10]", "hold: 20ms", "duration: 4s"},
		{"workload: read-write", "variants: [read-write]", "sessions: 9", "readers: 50", "rate: 30", "hold: 2ms", "duration: 4s"},
		{"workload: election", "variants: [predecessor]", "sessions: 9", "failover: resign", "objects: 2", "rate: 30", "hold: 2ms", "duration: 4s"},
		{"workload: election", "variants: [predecessor]", "sessions: 6", "failover: crash", "hold: 20ms", "duration: 30s"},
		{"workload: election", "variants: [predecessor]", "sessions: 6", "failover: expire", "objects: 2", "rate: 10", "hold: 2ms", "duration: 4s"},
		{"workload: multi-lock", "variants: [multi]", "sessions: 8", "objects: 4", "together: 2", "rate: 30", "hold: 2ms", "duration: 4s"},
		{"workload: semaphore", "variants: [lease]", "sessions: 8", "permits: 2", "fence: server", "rate: 30", "hold: 2ms", "duration: 4s"},
	} {
		t.Run(strings.Join(profile, "-"), func(t *testing.T) {
			var whole *results.Run
			for _, n := range []int{1, 3} {
				synctest.Test(t, func(t *testing.T) {
					f := newShips(t, n, zktest.Config{OpLatency: time.Millisecond}, profile...)
					docs, errs := f.run(0, time.Second)
					if n == 1 {
						whole = docs[0]
						return
					}
					for i, err := range errs {
						if err != nil {
							t.Fatalf("share %d: %v", i+1, err)
						}
					}
					doc, _, err := f.merge(f.dirs(), false)
					if err != nil {
						t.Fatal(err)
					}
					if doc.Exit.Code != 0 || doc.Partial || len(doc.Cells) != len(whole.Cells) || len(doc.Shares) != n || len(doc.Pools) != len(whole.Pools) {
						t.Fatalf("exit %v, partial %v, %d cells of %d shares, %d pools", doc.Exit, doc.Partial, len(doc.Cells), len(doc.Shares), len(doc.Pools))
					}
					for i, c := range doc.Cells {
						one := whole.Cells[i]
						if c.Name != one.Name || c.Due != one.Due || c.Loop == "open" && c.Operations != one.Operations || c.Sessions != one.Sessions {
							t.Errorf("%s: %d operations of %d due by %d sessions; one process has %d of %d by %d", c.Name, c.Operations, c.Due, c.Sessions, one.Operations, one.Due, one.Sessions)
						}
						for _, figure := range []string{"overtakes_per_grant", "overtakes_max"} {
							got, reported := c.Cost[figure]
							if want, wanted := one.Cost[figure]; c.Variant != "multi" && (reported != wanted || got != want) { // it queues at several objects
								t.Errorf("%s: %s is %v (%v), of one process %v (%v)", c.Name, figure, got, reported, want, wanted)
							}
						}
						for _, op := range []string{"hand-off", "detect", "elect"} { // those within a share, if there are any
							got, want := c.Done[op], one.Done[op]
							if c.Objects == 1 && want > 20 && (got < want/10 || got > want*2/3) || got > want {
								t.Errorf("%s: %d times of %s are told, of one process %d", c.Name, got, op, want)
							}
						}
						got, reported := c.Cost["ownerless_share"]
						if want, wanted := one.Cost["ownerless_share"]; reported != wanted || math.Abs(got-want) > 0.02+want/4 {
							t.Errorf("%s: idle while wanted %v (%v), of one process %v (%v)", c.Name, got, reported, want, wanted)
						}
						sum := int64(0)
						for _, s := range c.Shares {
							sum += s.Operations
							if s.SkewLow == nil || *s.SkewLow > 0 || *s.SkewHigh < 0 || *s.SkewHigh-*s.SkewLow > 50 {
								t.Errorf("%s: share %d started %v to %v ms later, and they did at once", c.Name, s.Number, s.SkewLow, s.SkewHigh)
							}
						}
						if sum != c.Operations || c.Operations == 0 {
							t.Errorf("%s: %d operations, %d of the shares", c.Name, c.Operations, sum)
						}
						var names, want []string
						for _, k := range c.Checks {
							names = append(names, k.Name)
							if k.Verdict != check.Holds.String() {
								t.Errorf("%s: %s is %s: %s", c.Name, k.Name, k.Verdict, k.Detail)
							}
						}
						for _, k := range one.Checks {
							want = append(want, k.Name)
						}
						if strings.Join(names, ",") != strings.Join(want, ",") {
							t.Errorf("%s: the checks are %v, of one process %v", c.Name, names, want)
						}
					}
				})
			}
		})
	}
}

// Other shares take or see what one share puts or writes: items are neither lost nor taken twice nor out of order, and values are those that were written.
func TestMergedSharesJudgeWhatTheyGiveEachOther(t *testing.T) {
	for _, profile := range [][]string{
		{"workload: queue", "variants: [fifo]", "sessions: 10", "objects: 2", "preload: 4", "payload: 16", "rate: 40", "hold: 2ms", "duration: 4s"},
		{"workload: queue", "variants: [claim]", "sessions: 7", "producers: 30", "payload: 16", "hold: 20ms", "bound: 20", "duration: 4s"},
		{"workload: priority-queue", "variants: [priority]", "sessions: 8", "payload: 16", "rate: 40", "hold: 2ms", "duration: 4s"},
		{"workload: membership", "variants: [shallow]", "sessions: 10", "objects: 2", "members: 60", "rate: 10", "hold: 20ms", "duration: 4s"},
		{"workload: membership", "variants: [named]", "sessions: 9", "crashes: 30", "hold: 20ms", "duration: 30s"},
		{"workload: config", "variants: [cache]", "sessions: 9", "objects: 2", "writers: 40", "rate: 30", "duration: 4s"},
	} {
		t.Run(strings.Join(profile[:2], "-"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newShips(t, 3, zktest.Config{OpLatency: time.Millisecond}, profile...)
				docs, errs := f.run(0, time.Second)
				due := int64(0)
				for i, err := range errs {
					if err != nil {
						t.Fatalf("share %d: %v", i+1, err)
					}
					due += docs[i].Cells[0].Due
				}
				doc, _, err := f.merge(f.dirs(), false)
				if err != nil {
					t.Fatal(err)
				}
				c := doc.Cells[0]
				if doc.Exit.Code != 0 || c.Operations == 0 || c.Due != due {
					t.Errorf("exit %v, %d operations, %d of %d that were due", doc.Exit, c.Operations, c.Due, due)
				}
				for op, of := range map[string]int64{"put-to-take.response": c.Done["take"], "deliver.service": c.Done["deliver"]} {
					l, reported := c.Latency[op]
					if wanted := slices.Contains(c.Measures, strings.Split(op, ".")[0]); wanted && (l.Count == 0 || l.Min <= 0 || l.Negative > 0) || reported != wanted {
						t.Errorf("%s is told: %v, %+v", op, reported, l)
					}
					if strings.HasPrefix(op, "put") && reported && (l.Count < of/5 || l.Count > of/2) { // one in three shares
						t.Errorf("%s is told of %d items of %d", op, l.Count, of)
					}
				}
				for _, k := range c.Checks {
					if k.Verdict != check.Holds.String() || k.Evidence == 0 {
						t.Errorf("%s is %s with evidence %d: %s", k.Name, k.Verdict, k.Evidence, k.Detail)
					}
				}
			})
		})
	}
}

// By the order of transactions, the cause of each grant is the same as by the clock of one process that saw everything, and so is the path of each item.
func TestWhatSharesTimeIsWhatOneProcessTimes(t *testing.T) {
	for _, profile := range [][]string{
		{"variants: [predecessor]", "sessions: 10", "objects: 2", "hold: 5ms", "duration: 4s"},
		{"workload: read-write", "variants: [read-write]", "sessions: 9", "readers: 50", "hold: 5ms", "duration: 4s"},
		{"workload: election", "variants: [predecessor]", "sessions: 6", "failover: resign", "hold: 5ms", "duration: 4s"},
		{"workload: election", "variants: [predecessor]", "sessions: 6", "failover: expire", "hold: 5ms", "duration: 10s"},
		{"workload: queue", "variants: [fifo]", "sessions: 10", "payload: 16", "rate: 40", "hold: 2ms", "duration: 4s"},
	} {
		t.Run(strings.Join(profile, "-"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newShips(t, 1, zktest.Config{OpLatency: time.Millisecond}, profile...)
				if _, errs := f.run(); errs[0] != nil {
					t.Fatal(errs[0])
				}
				shares, _, err := results.ReadShares(f.dirs(), false)
				if err != nil {
					t.Fatal(err)
				}
				var all []metrics.Sample
				if err := shares[0].History(shares[0].Run.Cells[0].Name, func(s metrics.Sample) { all = append(all, s) }); err != nil {
					t.Fatal(err)
				}
				reported, found := map[string]int{}, map[string]int{}
				note := func(in map[string]int, s metrics.Sample) {
					in[fmt.Sprintf("%v %v of session %d: %v to %v", s.Op, s.Outcome, s.Session, s.Start, s.End)]++
				}
				until := time.Duration(0)
				for _, s := range all {
					switch s.Op {
					case metrics.HandOff, metrics.Detect, metrics.Elect, metrics.PutToTake:
						note(reported, s)
						until = max(until, s.End)
					}
				}
				hosts := []check.Host{{Name: "share 1", History: slices.Values(all)}}
				check.HandOffs(hosts, nil, func(_ int, _ metrics.Sample, parts []metrics.Sample) {
					for _, p := range parts {
						note(found, p)
					}
				})
				check.PutToTake(hosts, []time.Duration{until}, nil, func(_ int, way metrics.Sample) { note(found, way) })
				if len(reported) < 50 {
					t.Errorf("only %d times were told", len(reported))
				}
				wrong := 0
				for what, n := range reported {
					if found[what] != n {
						wrong++
						t.Logf("told %d times, found %d: %s", n, found[what], what)
					}
				}
				for what, n := range found {
					if reported[what] == 0 {
						wrong++
						t.Logf("told never, found %d: %s", n, what)
					}
				}
				if wrong > 0 {
					t.Errorf("%d of %d times differ", wrong, len(reported))
				}
			})
		})
	}
}

// A result with a missing or lost share is partial, and nothing holds in it.
func TestAMergedRunWithoutAShareIsPartial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newShips(t, 3, zktest.Config{OpLatency: time.Millisecond}, "sessions: 6", "rate: 30")
		f.run()
		dirs := f.dirs()
		if _, _, err := f.merge(dirs[:2], false); err == nil || !strings.Contains(err.Error(), "share 3 of 3 missing") {
			t.Errorf("merged without the third: %v", err)
		}
		doc, _, err := f.merge([]string{dirs[2], dirs[0]}, true)
		if err != nil {
			t.Fatal(err)
		}
		if doc.Exit.Code != 5 || !doc.Partial || !doc.Cells[0].Partial || !doc.Shares[1].Missing || !strings.Contains(doc.Exit.Reason, "share 2 has no result") {
			t.Errorf("exit %v, partial %v", doc.Exit, doc.Partial)
		}
		for _, k := range doc.Cells[0].Checks {
			if k.Verdict != check.Unknown.String() {
				t.Errorf("%s %s, though a share is missing", k.Name, k.Verdict)
			}
		}
	})
}

// Results that cannot be merged are refused, with the file and a remedy.
func TestSharesThatAreNotOfOneRunAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newShips(t, 2, zktest.Config{OpLatency: time.Millisecond}, "sessions: 6", "rate: 30")
		f.run()
		dirs := f.dirs()
		change := func(do func(r *results.Run)) string {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(dirs[1])); err != nil {
				t.Fatal(err)
			}
			r, err := results.Read(dir)
			if err != nil {
				t.Fatal(err)
			}
			do(r)
			text, _ := json.Marshal(r)
			if err := os.WriteFile(filepath.Join(dir, results.RunFile), text, 0o644); err != nil {
				t.Fatal(err)
			}
			return dir
		}
		without := func(file string, keep int64) string {
			dir := change(func(*results.Run) {})
			path := filepath.Join(dir, file)
			if matches, _ := filepath.Glob(path); len(matches) == 1 {
				path = matches[0]
			}
			if keep == 0 {
				os.Remove(path)
			} else if err := os.Truncate(path, keep); err != nil {
				t.Fatal(err)
			}
			return dir
		}
		for want, second := range map[string]string{
			"meeting is other":                 change(func(r *results.Run) { r.Share.Meeting = "other" }),
			"seed is 8, not 7":                 change(func(r *results.Run) { r.Seed = 8 }),
			"zkbench is 9":                     change(func(r *results.Run) { r.Environment.Zkbench = "9" }),
			"the run has no shares":            change(func(r *results.Run) { r.Share = nil }),
			"are both share 1":                 change(func(r *results.Run) { r.Share.Number = 1 }),
			"belongs to another share":         change(func(r *results.Run) { r.Share.Number, r.Share.Shares = 1, 2 }),
			"part.jsonl is missing":            without(results.PartFile, 0),
			"profile.yaml":                     without(results.ProfileFile, 10),
			"incomplete file of samples":       without("history-*", 1000),
			"copy the whole directory of the ": without("history-*", 0),
			"no such file or directory":        filepath.Join(t.TempDir(), "none"),
		} {
			all := []string{dirs[0], second}
			if strings.HasPrefix(want, "belongs to another") {
				all = []string{second, dirs[1]}
			}
			_, _, err := f.merge(all, false)
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), filepath.Dir(second)) {
				t.Errorf("%v, want %q and the directory in it", err, want)
			}
		}
	})
}
