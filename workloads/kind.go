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

// Kind is an entry of the catalogue of workloads: all there is to say of one.
type Kind struct {
	profiles.Workload
	Doc string
	// Holders is how many grants there can be at a time, each for as long as the hold; nil or 0: any number.
	Holders func(Load) float64
	// Busy says that Holders counts sessions which one operation keeps busy, and not grants; nil: it counts grants.
	Busy     *Busy
	Variants []Variant
	// Objects is the name of its objects' znodes, NAME-0 and so on in the directory of a cell, and Znodes are the names of what it and all its recipes
	// make. The removal of a run, and 'zkbench clean', leave everything else to others.
	Objects string
	Znodes  recipes.Znodes
	// Shared reports what of a profile its sessions cannot do when they are spread over several processes, which have nothing in common but
	// the servers; nil: they cannot be spread.
	Shared func(profiles.Profile) []profiles.Problem
	Played []Variant // published ones with defects, which scenarios show and no load drives
	// Drive is the variant of a driver, the program of that name; nil: no driver can do what the workload needs.
	Drive func(program string) Variant
}

// Busy is what keeps a session from its next operation, in the words of a warning: 100/s for 3 consumers with 50 ms of work on each.
type Busy struct {
	Who, With string // "consumer", "of work on each"
	Can       string // what can be done so often: "be taken"
	Remedy    string
	For       profiles.Field // how long
}

// Held is how long what Holders counts lasts, on average.
func (k Kind) Held(l Load) time.Duration {
	if k.Busy != nil {
		return l.Distribution(k.Busy.For).Average()
	}
	return l.Hold().Average()
}

// anywhere is Kind.Shared of a workload whose sessions may be in any process, whatever the profile.
func anywhere(profiles.Profile) []profiles.Problem { return nil }

// Variant is a recipe that a workload can drive.
type Variant struct {
	Name, Source, Doc string
	Unsafe            bool // kept as it was published, with faults that are known
	Persistent        bool // needs sessions that can keep watches armed
	Options           []Option
	Znodes            recipes.Znodes // beside those of its Kind
	// Check reports what the variant cannot do of a profile; nil: it can do all.
	Check func(profiles.Profile) []profiles.Problem
	// Own says that the variant is none of zkbench's: it may do with requests that nobody has thought of, or that are not seen.
	Own bool
	// Program is the driver that holds the variant's sessions; "": the engine of the profile does.
	Program string
	Can     string // what the driver's hello has to list
	// Broken says why the entry of the catalogue cannot be used; "": it can.
	Broken string
	// New makes the workload of one cell. The error is of an option that CheckOption refuses.
	New func(l Load, options map[string]string) (Workload, error)
}

// Find is the variant of a name.
func (k Kind) Find(variant string) (Variant, bool) {
	if program, driven := strings.CutPrefix(variant, profiles.DriverPrefix); driven && k.Drive != nil {
		return k.Drive(program), true
	}
	i := slices.IndexFunc(k.Variants, func(v Variant) bool { return v.Name == variant })
	if i < 0 {
		return Variant{}, false
	}
	return k.Variants[i], true
}

// AllZnodes are the names of the znodes of the kind with some of its variants, and with those that no load drives.
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

// CheckOption says what is wrong with an option of that name and value.
func (v Variant) CheckOption(name, value string) error {
	_, err := set(recipes.Options{}, v.Options, name, value)
	return err
}

// driving is what every workload has: the recipe that it drives, and the load.
type driving[T any] struct {
	Load
	variant recipes.Variant[T]
	options recipes.Options
	holdFor func(*rand.Rand) time.Duration // how long a grant is held, or work takes
}

func drive[T any](v recipes.Variant[T], o recipes.Options, l Load) driving[T] {
	return driving[T]{Load: l, variant: v, options: o, holdFor: l.Hold().Sample}
}

// holder is a seat at one of so many objects, and its session as the tracker sees it.
func (d driving[T]) holder(seat Seat, objects int, g *guarded) holder {
	t := &tracker{origin: seat.Origin, fanout: seat.Fanout, blind: d.Foreign != nil}
	return holder{Seat: seat, t: t, object: seat.ID % uint32(objects), deadline: d.Deadline, shared: d.Shared, holdFor: d.holdFor, guarded: g,
		observed: zk.Observe(seat.Session, t.trace())}
}

// Playing is the kind with recipes beside its own that no load drives.
func Playing[T any](k Kind, all []recipes.Variant[T]) Kind {
	for _, v := range all {
		k.Played = append(k.Played, Variant{Name: v.Name, Source: v.Source, Doc: v.Doc, Unsafe: v.Unsafe, Persistent: v.Persistent, Znodes: v.Znodes})
	}
	return k
}

// wakes is the theory of a recipe's watch fan-out, for so many sessions: nothing where the recipe has none.
func wakes[T any](v recipes.Variant[T], l recipes.Load) (release, arrival float64) {
	switch {
	case v.WakesUnder != nil:
		return v.WakesUnder(l)
	case v.Wakes != nil:
		return v.Wakes(l.Sessions)
	}
	return 0, 0
}

// hasTheory says whether a recipe has a theory of its watch fan-out.
func hasTheory[T any](v recipes.Variant[T]) bool { return v.Wakes != nil || v.WakesUnder != nil }

// variantsOf are the variants of one catalogue of recipes as a workload drives them.
func variantsOf[T any](all []recipes.Variant[T], options func(recipes.Variant[T]) []Option,
	make func(recipes.Variant[T], recipes.Options, Load) Workload) []Variant {
	var out []Variant
	for _, v := range all {
		choices, broken := options(v), ""
		switch {
		case v.Name == "":
			broken = "it has no name"
		case v.New == nil:
			broken = "it has no New, which makes a handle"
		}
		out = append(out, Variant{Name: v.Name, Source: v.Source, Doc: v.Doc, Unsafe: v.Unsafe, Persistent: v.Persistent, Options: choices, Broken: broken, Znodes: v.Znodes,
			New: func(l Load, given map[string]string) (Workload, error) {
				var o recipes.Options
				for name, value := range given {
					var err error
					if o, err = set(o, choices, name, value); err != nil {
						return nil, fmt.Errorf("variant %s: %w", v.Name, err)
					}
				}
				return make(v, o, l), nil
			}})
	}
	return out
}

// fixed is a variant without options.
func fixed(v Variant, make func(Load) Workload) Variant {
	v.New = func(l Load, options map[string]string) (Workload, error) {
		for name, value := range options {
			return nil, fmt.Errorf("variant %s: %w", v.Name, v.CheckOption(name, value))
		}
		return make(l), nil
	}
	return v
}
