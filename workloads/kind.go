package workloads

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// Kind is an entry of the catalogue of workloads: it describes one workload completely.
type Kind struct {
	profiles.Workload
	Doc string
	// Holders returns how many grants there can be at a time, each lasting as long as the hold; nil or 0: any number.
	Holders func(Load) float64
	// Busy says that Holders counts sessions that one operation keeps busy, not grants; nil: it counts grants.
	Busy     *Busy
	Variants []Variant
	// Objects is the name of the objects' znodes, NAME-0 and so on in the directory of a cell. Znodes are the names of everything that the
	// workload and its recipes create. The removal of a run, and 'zkbench clean', touch nothing else.
	Objects string
	Znodes  recipes.Znodes
	// Shared reports what a profile asks for that the sessions cannot do when they are spread over so many processes, which share nothing but
	// the servers; nil: they cannot be spread.
	Shared func(p profiles.Profile, processes int) []profiles.Problem
	Played []Variant // published recipes with defects, which scenarios show and no load drives
	// Drive returns the variant of the driver program with that name; nil: no driver can do what the workload needs.
	Drive func(program string) Variant
}

// Busy says, in the words of a warning, what keeps a session from its next operation: 100/s for 3 consumers with 50 ms of work on each.
type Busy struct {
	Who, With string // "consumer", "of work on each"
	Can       string // what can be done at the given rate: "be taken"
	Remedy    string
	For       profiles.Field // how long
}

// Held returns how long what Holders counts lasts, on average.
func (k Kind) Held(l Load) time.Duration {
	if k.Busy != nil {
		return l.Distribution(k.Busy.For).Average()
	}
	return l.Hold().Average()
}

// anywhere is the Kind.Shared of a workload whose sessions may run in any process, for every profile.
func anywhere(profiles.Profile, int) []profiles.Problem { return nil }

// Variant is a recipe that a workload can drive.
type Variant struct {
	Name, Source, Doc string
	Formerly          string // its previous name
	Unsafe            bool   // kept as published, with known defects
	Persistent        bool   // needs sessions that can keep watches armed
	Options           []Option
	Znodes            recipes.Znodes // in addition to those of its Kind
	// Check reports what a profile asks for that the variant cannot do; nil: it can do everything.
	Check func(profiles.Profile) []profiles.Problem
	// Own says that the variant is not one of zkbench's: its requests may be unexpected, or invisible.
	Own bool
	// Program is the driver that holds the variant's sessions; "": the engine of the profile holds them.
	Program string
	Can     string // capability that the driver's hello must list
	// Broken says why the catalogue entry cannot be used; "": it can.
	Broken string
	// New returns the workload of one cell. Its error is about an option that CheckOption rejects.
	New func(l Load, options map[string]string) (Workload, error)
}

// Needs returns what servers must be able to do.
func (v Variant) Needs() []zk.Need {
	if v.Persistent {
		return []zk.Need{{Power: zk.PowerAddWatch}}
	}
	return nil
}

// Find returns the variant with a name.
func (k Kind) Find(variant string) (Variant, bool) {
	if program, external := strings.CutPrefix(variant, profiles.DriverPrefix); external && k.Drive != nil {
		return k.Drive(program), true
	}
	i := slices.IndexFunc(k.Variants, func(v Variant) bool { return v.Name == variant })
	if i < 0 {
		return Variant{}, false
	}
	return k.Variants[i], true
}

// AllZnodes returns the znode names of the kind, of the given variants, and of those that no load drives.
func (k Kind) AllZnodes(variants ...Variant) recipes.Znodes {
	all := k.Znodes
	for _, v := range slices.Concat(variants, k.Played) {
		all = all.And(v.Znodes)
	}
	if k.Objects != "" {
		all = all.And(recipes.Znodes{Persistent: []string{"cell-#/OBJECT"}})
	}
	return all.Of(k.Objects + "-#")
}

// CheckOption returns an error if the variant does not accept an option with that name and value.
func (v Variant) CheckOption(name, value string) error {
	_, err := set(recipes.Options{}, v.Options, name, value)
	return err
}

// driving is embedded by every workload: the recipe that it drives, and the load.
type driving[T any] struct {
	Load
	variant recipes.Variant[T]
	options recipes.Options
	holdFor func(*rand.Rand) time.Duration // how long a grant is held, or work takes
	timeout *sharedTimeout                 // of releases
}

func drive[T any](v recipes.Variant[T], o recipes.Options, l Load) driving[T] {
	return driving[T]{Load: l, variant: v, options: o, holdFor: l.Hold().Sample, timeout: &sharedTimeout{}}
}

// holder returns a seat at one of the objects, with its session as the tracker sees it.
func (d driving[T]) holder(seat Seat, objects int, g *guarded) holder {
	t := &tracker{meter: seat.meter(), blind: d.Foreign != nil}
	return holder{Seat: seat, t: t, object: seat.ID % uint32(objects), deadline: d.Deadline, open: d.Open, shared: d.Shared, holdFor: d.holdFor,
		guarded: g, timeout: d.timeout, limit: seat.Session.Timeout(), observed: t.observe(seat.Session, t)}
}

// Playing returns k with additional recipes that no load drives.
func Playing[T any](k Kind, all []recipes.Variant[T]) Kind {
	for _, v := range all {
		k.Played = append(k.Played, Variant{Name: v.Name, Formerly: v.Formerly, Source: v.Source, Doc: v.Doc, Unsafe: v.Unsafe, Persistent: v.Persistent, Znodes: v.Znodes})
	}
	return k
}

// wakes returns the theory of a recipe's watch fan-out for a load; zeros if the recipe has none.
func wakes[T any](v recipes.Variant[T], l recipes.Load) (release, arrival float64) {
	switch {
	case v.WakesUnder != nil:
		return v.WakesUnder(l)
	case v.Wakes != nil:
		return v.Wakes(l.Sessions)
	}
	return 0, 0
}

// hasTheory reports whether a recipe has a theory of its watch fan-out.
func hasTheory[T any](v recipes.Variant[T]) bool { return v.Wakes != nil || v.WakesUnder != nil }

// variantsOf returns the variants of a catalogue of recipes for a workload.
func variantsOf[T any](all []recipes.Variant[T], options func(recipes.Variant[T]) []Option,
	build func(recipes.Variant[T], recipes.Options, Load) Workload) []Variant {
	var out []Variant
	for _, v := range all {
		choices, broken := options(v), ""
		switch {
		case v.Name == "":
			broken = "it has no name"
		case v.New == nil:
			broken = "it has no New, which makes a handle"
		}
		out = append(out, Variant{Name: v.Name, Formerly: v.Formerly, Source: v.Source, Doc: v.Doc, Unsafe: v.Unsafe, Persistent: v.Persistent, Options: choices, Broken: broken, Znodes: v.Znodes,
			New: func(l Load, given map[string]string) (Workload, error) {
				var o recipes.Options
				for name, value := range given {
					var err error
					if o, err = set(o, choices, name, value); err != nil {
						return nil, fmt.Errorf("variant %s: %w", v.Name, err)
					}
				}
				return build(v, o, l), nil
			}})
	}
	return out
}

// fixed returns a variant without options.
func fixed(v Variant, build func(Load) Workload) Variant {
	v.New = func(l Load, options map[string]string) (Workload, error) {
		for name, value := range options {
			return nil, fmt.Errorf("variant %s: %w", v.Name, v.CheckOption(name, value))
		}
		return build(l), nil
	}
	return v
}
