package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/profiles"
)

// proxied are the operations on the wire that an operation of a profile stands for.
var proxied = map[string][]proxy.Op{
	"create": {proxy.Create, proxy.Create2, proxy.CreateContainer, proxy.CreateTTL}, "delete": {proxy.Delete}, "exists": {proxy.Exists},
	"get": {proxy.GetData}, "set": {proxy.SetData}, "list": {proxy.GetChildren, proxy.GetChildren2}, "sync": {proxy.Sync}, "multi": {proxy.Multi},
}

// disturb carries out a fault of the connections between clients and servers.
func (b *breaking) disturb(steady context.Context, i int, f profiles.PlannedFault) (healer, error) {
	rule := proxy.Rule{Ops: proxied[f.Op], Times: f.Times, Copies: f.Copies}
	if f.Session != profiles.AnySession {
		rule.Session = b.c.crowd.session(f.Session).ID()
	}
	if f.Server != "" {
		number, err := b.find(steady, f.Server)
		if err != nil {
			return nil, err
		}
		rule.Server = number
		b.name(i, f, number)
	}
	b.look(i)
	switch f.Kind {
	case profiles.CutReply:
		rule.On = proxy.Reply
		return b.cut(steady, i, f, rule)
	case profiles.CutRequest:
		rule.On = proxy.Request
		return b.cut(steady, i, f, rule)
	case profiles.Reset:
		at := b.c.origin.Now()
		if b.front.Reset(rule.Session) == 0 {
			return nil, errors.New("there was no connection to reset")
		}
		b.hit(i, at)
		b.heal(i, nil)
		return nil, nil
	}
	rules := []proxy.Rule{rule}
	switch f.Kind {
	case profiles.Silence:
		rules = nil
		for on, way := range map[proxy.Point]string{proxy.ToServer: "to-server", proxy.ToClient: "to-client"} {
			if f.Direction == "both" || f.Direction == way {
				one := rule
				one.On, one.Do = on, proxy.Hold
				rules = append(rules, one)
			}
		}
	case profiles.DelayEvents:
		rules[0].On, rules[0].Do, rules[0].For = proxy.Notification, proxy.Delay, f.Delay
	case profiles.HoldEvents:
		rules[0].On, rules[0].Do = proxy.Notification, proxy.Hold
	case profiles.RepeatEvents:
		rules[0].On, rules[0].Do = proxy.Notification, proxy.Repeat
	default:
		return nil, fmt.Errorf("unknown kind %q", f.Kind)
	}
	var at []*proxy.Fault
	for _, r := range rules {
		at = append(at, b.front.Add(r))
	}
	b.hit(i, b.c.origin.Now())
	return func(context.Context) error {
		for _, f := range at {
			f.Remove()
		}
		return nil
	}, nil
}

// cut waits for the request that a rule is about: the fault strikes when it comes, and is over when it has struck as often as it should,
// or its time is up.
func (b *breaking) cut(steady context.Context, i int, f profiles.PlannedFault, rule proxy.Rule) (healer, error) {
	rule.Do = proxy.Cut
	waiting := steady
	if f.For > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(steady, f.For)
		defer cancel()
	}
	at := b.front.Add(rule)
	defer at.Remove()
	if at.Wait(waiting, 1) != nil {
		return nil, errNotStruck
	}
	b.hit(i, b.c.origin.Now())
	if f.Times > 1 {
		_ = at.Wait(waiting, f.Times) // how often it struck until its time was up is in the result
	}
	b.strikes(i, at.Struck())
	b.heal(i, nil)
	return nil, nil
}

// name notes which server has the role that a fault of connections names.
func (b *breaking) name(i int, f profiles.PlannedFault, number int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if f.Server == profiles.Leader || f.Server == profiles.Follower {
		b.all[i].target = fmt.Sprintf("clients of the %s (server %d)", f.Server, number)
		return
	}
	b.all[i].target = fmt.Sprintf("clients of server %d", number)
}

// strikes notes how often a fault has struck.
func (b *breaking) strikes(i, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all[i].times = n
}

// needsProxy reports whether a profile plans a fault of the connections between clients and servers.
func needsProxy(p profiles.Profile) bool {
	for _, f := range p.Faults {
		if slices.Contains(proxyFaults, f.Kind) {
			return true
		}
	}
	return false
}

// proxyNote is what a reader must know of numbers that were measured through the proxy.
const proxyNote = "The sessions went through zkbench's fault proxy: what it takes is in every response, and its processor time in zkbench's own."
