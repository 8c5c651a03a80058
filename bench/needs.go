package bench

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/bench/plan"
	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
)

// CheckVersions is CheckServers for the versions that a profile names, before anything is started. With several ensembles it is no problem if some of them cannot
// carry out a variant that others can: the run leaves that out.
func (b Setup) CheckVersions(p profiles.Profile) error {
	all := p.Environments()
	var first error
	for i, on := range all {
		can := zk.PowersOf(slices.Concat([]string{profiles.VersionOf(on.ZooKeeperOf())}, faults.Upgraded(on, nil))...)
		err := b.CheckServers(on, can, nil)
		if i == 0 {
			first = err
		}
		if err == nil || len(all) > 1 && b.canSome(on, can) {
			return nil
		}
	}
	return first
}

// canSome reports whether servers can carry out a variant of a profile.
func (b Setup) canSome(p profiles.Profile, on zk.Powers) bool {
	kind, _ := b.workload(p.Workload)
	return slices.ContainsFunc(p.Variants, func(name string) bool { return b.checkVariant(kind, name, on, nil) == nil })
}

// CheckServers reports every use of something that the servers cannot do, with its position, their version and what works instead. hellos are
// those of the drivers, as far as they are known. The error is ErrProfile.
func (b Setup) CheckServers(p profiles.Profile, on zk.Powers, hellos map[string]drivers.Hello) error {
	kind, _ := b.workload(p.Workload)
	if act, isAct := b.act(p.Workload); isAct {
		kind = act.kind()
	}
	var problems []error
	for i, name := range p.Variants {
		if err := b.checkVariant(kind, name, on, hellos); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", p.At("variants", i), err))
		}
	}
	if p.TLS != (profiles.TLS{}) {
		if err := on.Refuse("tls", zk.Need{Power: zk.PowerTLS, Instead: "use their plain port"}); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", p.At("tls", 0), err))
		}
	}
	return joined(problems...)
}

// checkVariant returns why servers cannot carry out a variant of a workload; nil if they can.
func (b Setup) checkVariant(kind workloads.Kind, name string, on zk.Powers, hellos map[string]drivers.Hello) error {
	v, known := kind.Find(name)
	if !known {
		return nil
	}
	needs, _ := hellos[v.Program].Powers() // a hello with other needs ends the driver
	needs = append(needs, v.Needs()...)
	if other, ok := find(kind.Variants, func(v workloads.Variant) bool {
		return !v.Unsafe && v.Broken == "" && on.Refuse("", v.Needs()...) == nil
	}); ok {
		for i := range needs {
			needs[i].Instead = cmp.Or(needs[i].Instead, "use another variant, such as "+other.Name)
		}
	}
	return on.Refuse("variant "+name, needs...)
}

// leaveOut takes the cells that the servers of one of several ensembles cannot carry out from the plan, and returns a note on each of their variants. It is an error
// if that leaves nothing, or if there is only one ensemble.
func (r *runner) leaveOut(p profiles.Profile, on zk.Powers) (notes []string, err error) {
	refused := r.CheckServers(p, on, r.hellos)
	if refused == nil || !r.several() {
		return nil, refused
	}
	kind, _ := r.workload(p.Workload)
	for _, name := range p.Variants {
		why := r.checkVariant(kind, name, on, r.hellos)
		if why == nil {
			continue
		}
		notes = append(notes, fmt.Sprintf("left out: %v", why))
		r.planned = slices.DeleteFunc(r.planned, func(c plan.Cell) bool { return c.Environment == r.number && c.Variant == name })
	}
	if len(notes) == 0 || len(r.planned) == 0 {
		return nil, refused
	}
	r.pace = plan.NewPace(r.planned)
	return notes, nil
}
