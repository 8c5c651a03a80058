package fuzz_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/broken"
)

// within is the number of seeds in which a defect must be found.
const within = 100

// signs lists what the referees report about a defect, by the check that catches it in a benchmark. Other reports prove nothing here: the
// defective recipes are short, and leave znodes or give up at any fault.
var signs = map[string][]string{
	"mutual-exclusion":        {"held at once", "has not been told"},
	"reader-writer-exclusion": {"held at once", "has not been told"},
	"permits":                 {"held at once", "has not been told"},
	"leadership":              {"held at once", "has not been told"},
	"conservation":            {"is lost", "came out"},
	"claims":                  {"held at once", "has not been told", "came out"},
	"total":                   {"the counter is", "twice"},
	"unique-numbers":          {"had been given", "twice"},
	"commit-agreement":        {"committed"},
	"barred":                  {"set all the time"},
	"enter-safety":            {"have been there"},
	"leave-safety":            {"is inside"},
}

// unseen lists the defects that do not show in these runs, with the reason.
var unseen = map[string]string{
	"broken-missing-first":       "somebody must delete the waiter's znode",
	"broken-missing-leads":       "somebody must delete the candidate's znode",
	"broken-blind-leader":        "it still reports the suspension, which comes first",
	"broken-blind-permit":        "the session must expire during a long hold",
	"broken-blind-claim":         "the session must expire during a long hold",
	"broken-protected-name":      "the item must be taken before its producer checks",
	"broken-finishes-in-two":     "the item that it delivers twice is in doubt",
	"broken-adopts-old":          "no candidate has an ID that outlives its session",
	"broken-stale-marker":        "the referee judges the creation of a marker, and nobody creates the old one",
	"broken-counts-marker":       "the referee judges the creation of a marker, and nobody creates the old one",
	"broken-keeps-member":        "the referee counts znodes, and that of a member that gave up exists",
	"broken-one-twice":           "it repeats one number in five hundred, and these games draw fewer",
	"broken-few-readers-walk-in": "it begins with the 490th request, and these games make fewer",
	"broken-reads-first":         "the item must be finished between a read and a claim",
}

// The referees find the defects of broken recipes within few seeds.
func TestFuzzFindsDefects(t *testing.T) {
	var all []flawed
	all = append(all, broke(broken.Locks, lockGame, dir)...)
	all = append(all, broke(broken.RWLocks, sharedGame, dir)...)
	all = append(all, broke(broken.Semaphores, semaphoreGame, dir+"/locks", dir+"/leases")...)
	all = append(all, broke(broken.MultiLocks, multiGame, dir+"/a", dir+"/b", dir+"/c")...)
	all = append(all, broke(broken.Elections, electionGame, dir)...)
	all = append(all, broke(broken.Groups, groupGame, dir)...)
	all = append(all, broke(broken.Queues, queueGame, dir)...)
	all = append(all, broke(broken.ClaimQueues, queueGame, dir+"/entries", dir+"/taken")...)
	all = append(all, broke(broken.PriorityQueues, queueGame, dir)...)
	all = append(all, broke(broken.DelayQueues, queueGame, dir)...)
	all = append(all, broke(broken.Counters, counterGame, path.Dir(dir))...)
	all = append(all, broke(broken.Generators, idGame, dir)...)
	all = append(all, broke(broken.Configs, configGame, path.Dir(dir))...)
	all = append(all, broke(broken.Commits, commitGame, dir)...)
	all = append(all, broke(broken.Barriers, barrierGame, path.Dir(dir))...)
	all = append(all, broke(broken.DoubleBarriers, doubleBarrierGame, dir)...)
	all = append(all, broke(broken.Rendezvouses, rendezvousGame, dir)...)
	for check := range signs {
		if !slices.ContainsFunc(all, func(f flawed) bool { return f.caught == check }) {
			t.Errorf("no check %s catches a defect: has it another name now?", check)
		}
	}
	for name := range unseen {
		if !slices.ContainsFunc(all, func(f flawed) bool { return path.Base(f.name) == name }) {
			t.Errorf("there is no defect %s", name)
		}
	}
	for _, f := range all {
		if unseen[path.Base(f.name)] != "" || signs[f.caught] == nil { // nothing that these referees look for
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			for seed := uint64(1); seed <= within; seed++ {
				w := play(t, seed, game{f.name, func(w *world) player {
					w.lenient = true
					for _, d := range f.dirs {
						makeAll(w, d)
					}
					return f.make(w)
				}})
				for _, p := range w.problems {
					if f.shows(p) {
						t.Logf("%s: seed %d: %s", f.caught, seed, p)
						return
					}
				}
			}
			t.Errorf("%s: not found in %d seeds", f.caught, within)
		})
	}
}

// flawed is a game with a defect.
type flawed struct {
	game
	caught string
	dirs   []string // that the recipe expects
}

func (f flawed) shows(problem string) bool {
	for _, sign := range signs[f.caught] {
		if strings.Contains(problem, sign) {
			return true
		}
	}
	return false
}

func broke[T any](defects []broken.Defect[T], make func(recipes.Variant[T]) game, dirs ...string) (all []flawed) {
	for _, d := range defects {
		all = append(all, flawed{make(d.Variant), d.Caught, dirs})
	}
	return all
}
