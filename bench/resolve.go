package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/bench/plan"
	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/bench/target"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
)

// Setup defines the names that a profile may use.
type Setup struct {
	Engines   []target.Engine
	Workloads []workloads.Kind
	Acts      []Act
}

// Names returns the names of all znodes that zkbench creates below a root, for every kind of run: a removal may meet the remains of any run.
func (b Setup) Names() root.Names {
	var all recipes.Znodes
	for _, k := range b.Workloads {
		all = all.And(k.AllZnodes(k.Variants...))
	}
	for _, a := range b.Acts {
		all = all.And(a.Znodes)
	}
	return root.NewNames(all.Persistent, all.Ephemeral)
}

// ErrProfile says that the profile asks for something that does not exist. The error lists all such problems.
var ErrProfile = errors.New("invalid profile")

// Check reports everything in the profile that this zkbench does not know, with its position and the known names.
func (b Setup) Check(p profiles.Profile) error {
	var problems []error
	problem := func(key string, i int, what, name string, known []string) {
		hint := ""
		if n := profiles.Nearest(name, known); n != "" {
			hint = fmt.Sprintf("did you mean %q? ", n)
		}
		problems = append(problems, fmt.Errorf("%s: unknown %s %q; %sexpected one of %s", p.At(key, i), what, name, hint, strings.Join(known, ", ")))
	}
	engine, ok := b.engine(p.Engine)
	if !ok {
		problem("engine", 0, "engine", p.Engine, names(b.Engines, func(e target.Engine) string { return e.Name }))
	}
	kind, known := b.workload(p.Workload)
	if act, isAct := b.act(p.Workload); isAct {
		kind = act.kind()
	} else if !known {
		problem("workload", 0, "workload", p.Workload, append(names(b.Workloads, func(k workloads.Kind) string { return k.Name }),
			names(b.Acts, func(a Act) string { return a.Name })...))
		return joined(problems...)
	}
	for i, name := range p.Variants {
		v, known := kind.Find(name)
		if now, renamed := b.Renamed(name); !known && renamed {
			problems = append(problems, fmt.Errorf("%s: %s", p.At("variants", i), now))
			continue
		}
		if !known {
			problem("variants", i, kind.Name+" variant", name, names(kind.Variants, func(v workloads.Variant) string { return v.Name }))
			continue
		}
		if v.Broken != "" {
			problems = append(problems, fmt.Errorf("%s: variant %s cannot be used: %s", p.At("variants", i), name, v.Broken))
			continue
		}
		problems = append(problems, checkDriver(p, i, v)...)
		if ok && !engine.Persistent && v.Persistent {
			problems = append(problems, fmt.Errorf("%s: variant %s needs persistent watches, which the engine %s does not have (use another engine)",
				p.At("variants", i), name, engine.Name))
		}
		for option, value := range p.Options {
			if err := v.CheckOption(option, value); err != nil {
				problems = append(problems, fmt.Errorf("%s: variant %s: %w", p.At("options."+option, 0), name, err))
			}
		}
		if v.Check != nil {
			problems = append(problems, at(p, v.Check(p))...)
		}
	}
	if kind.Drive != nil {
		problems = append(problems, at(p, workloads.CheckDrivers(p))...)
	}
	return joined(slices.Concat(problems, b.checkEnvironments(p), checkUpgrades(p), checkPrefill(p), checkGates(p, kind))...)
}

// Renamed says what the variant with a former name is called now. It returns false if there is none.
func (b Setup) Renamed(name string) (now string, renamed bool) {
	for _, k := range b.Workloads {
		for _, v := range slices.Concat(k.Variants, k.Played) {
			if v.Formerly != "" && v.Formerly == name {
				return fmt.Sprintf("variant %q is now called %q", name, v.Name), true
			}
		}
	}
	return "", false
}

// at returns problems with their positions in the profile.
func at(p profiles.Profile, found []profiles.Problem) (problems []error) {
	for _, one := range found {
		problems = append(problems, fmt.Errorf("%s: %s: %s", p.At(one.Key, one.Index), one.Key, one.Message))
	}
	return problems
}

// Catalogue returns the workloads of the setup as profiles name them.
func (b Setup) Catalogue() profiles.Catalogue {
	var all profiles.Catalogue
	for _, k := range b.Workloads {
		all = append(all, &k.Workload)
	}
	for _, a := range b.Acts {
		k := a.kind()
		all = append(all, &k.Workload)
	}
	return all
}

func (b Setup) act(name string) (Act, bool) {
	return find(b.Acts, func(a Act) bool { return a.Name == name })
}

func find[T any](all []T, is func(T) bool) (one T, there bool) {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i], true
	}
	return one, false
}

// CheckFaults reports every planned fault that cannot be injected into an environment. The error is ErrProfile.
func CheckFaults(p profiles.Profile, on faults.Environment) error {
	return joined(faults.Check(p, on)...)
}

// joined returns ErrProfile with some problems, or nil if there are none.
func joined(problems ...error) error {
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("%w:\n%w", ErrProfile, err)
	}
	return nil
}

func names[T any](of []T, name func(T) string) []string {
	all := make([]string, len(of))
	for i, v := range of {
		all[i] = name(v)
	}
	return all
}

func (b Setup) engine(name string) (target.Engine, bool) {
	return find(b.Engines, func(e target.Engine) bool { return e.Name == name })
}

func (b Setup) workload(name string) (workloads.Kind, bool) {
	return find(b.Workloads, func(k workloads.Kind) bool { return k.Name == name })
}

// Open opens one session with a named engine.
func (b Setup) Open(ctx context.Context, engine string, servers []string, timeout time.Duration) (zk.Session, error) {
	return b.OpenAs(ctx, engine, servers, timeout, nil)
}

// OpenAs opens the administrative session of an access and checks the access. If the access is nil, the session is plain.
func (b Setup) OpenAs(ctx context.Context, engine string, servers []string, timeout time.Duration, as *access.Access) (zk.Session, error) {
	e, ok := b.engine(engine)
	if !ok {
		return nil, fmt.Errorf("unknown engine %q (expected one of %s)", engine, strings.Join(names(b.Engines, func(e target.Engine) string { return e.Name }), ", "))
	}
	e, err := e.As(as, 0)
	if err != nil {
		return nil, err
	}
	s, err := e.Dial(ctx, servers, timeout, 0)
	if err == nil && !as.IsPlain() {
		if err = as.Check(ctx, s); err != nil {
			s.Close()
			s = nil
		}
	}
	return s, access.Explain(err)
}

// Estimate returns how many cells a checked profile has and about how long they take, without the start of the first ensemble.
func (b Setup) Estimate(p profiles.Profile) plan.Estimate {
	kind, known := b.workload(p.Workload)
	if !known {
		return plan.Estimate{}
	}
	return plan.Of(p, kind.Shape == profiles.Finite)
}
