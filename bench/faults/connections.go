package faults

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/profiles"
)

// proxied maps the operations of a profile to operations on the wire.
var proxied = map[string][]jute.Op{
	"create": {jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL}, "delete": {jute.OpDelete}, "exists": {jute.OpExists},
	"get": {jute.OpGetData}, "set": {jute.OpSetData}, "list": {jute.OpGetChildren, jute.OpGetChildren2}, "sync": {jute.OpSync}, "multi": {jute.OpMulti},
}

// disturb injects a fault of the connections between clients and servers, and returns its recovery.
func (s *Schedule) disturb(steady context.Context, i int, f profiles.PlannedFault) (recovery, error) {
	rule := proxy.Rule{Ops: proxied[f.Op], Times: f.Times, Copies: f.Copies}
	if f.Session != profiles.AnySession {
		rule.Session = s.target.Session(f.Session).ID()
	}
	if f.Server != "" {
		number, err := s.find(steady, f.Server)
		if err != nil {
			return nil, err
		}
		rule.Server = number
		s.name(i, f, number)
	}
	s.keepPlaces(i)
	switch f.Kind {
	case profiles.CutReply:
		rule.On = proxy.Reply
		return s.cut(steady, i, f, rule)
	case profiles.CutRequest:
		rule.On = proxy.Request
		return s.cut(steady, i, f, rule)
	case profiles.Reset:
		at := s.target.Origin.Now()
		if s.target.Proxy.Reset(rule.Session) == 0 {
			return nil, errors.New("there was no connection to reset")
		}
		s.injected(i, at)
		s.recovered(i, nil)
		return nil, nil
	}
	rules := []proxy.Rule{rule}
	events := &rules[0]
	events.On = proxy.Notification
	switch f.Kind {
	case profiles.Silence:
		rules, events = nil, nil
		for on, way := range map[proxy.Point]string{proxy.ToServer: "to-server", proxy.ToClient: "to-client"} {
			if f.Direction == "both" || f.Direction == way {
				one := rule
				one.On, one.Do = on, proxy.Hold
				rules = append(rules, one)
			}
		}
	case profiles.DelayEvents:
		events.Do, events.For = proxy.Delay, f.Delay
	case profiles.HoldEvents:
		events.Do = proxy.Hold
	case profiles.RepeatEvents:
		events.Do = proxy.Repeat
	case profiles.DropEvents:
		events.Do = proxy.Drop
	default:
		return nil, fmt.Errorf("unknown kind %q", f.Kind)
	}
	var at []*proxy.Fault
	for _, r := range rules {
		at = append(at, s.target.Proxy.Add(r))
	}
	if events != nil {
		s.counts(i, at[0].Injected)
	}
	s.injected(i, s.target.Origin.Now())
	return func(context.Context) error {
		for _, f := range at {
			f.Remove()
		}
		return nil
	}, nil
}

// cut waits for the request that a rule matches, at which the proxy cuts the connection. The fault is over when that has happened the planned number of
// times, or its time is up.
func (s *Schedule) cut(steady context.Context, i int, f profiles.PlannedFault, rule proxy.Rule) (recovery, error) {
	rule.Do = proxy.Cut
	waiting := steady
	if f.For > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(steady, f.For)
		defer cancel()
	}
	at := s.target.Proxy.Add(rule)
	defer at.Remove()
	if at.Wait(waiting, 1) != nil {
		return nil, errNoRequest
	}
	s.injected(i, s.target.Origin.Now())
	if f.Times > 1 {
		_ = at.Wait(waiting, f.Times) // the result has the count even if the time is up first
	}
	s.counts(i, at.Injected)
	s.recovered(i, nil)
	return nil, nil
}

// name records the server that has the role named by a fault of connections.
func (s *Schedule) name(i int, f profiles.PlannedFault, number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Server == profiles.Leader || f.Server == profiles.Follower {
		s.all[i].Target = fmt.Sprintf("clients of the %s (server %d)", f.Server, number)
		return
	}
	s.all[i].Target = fmt.Sprintf("clients of server %d", number)
}

// counts sets the function that counts how often a fault has taken effect.
func (s *Schedule) counts(i int, effects func() int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[i].effects = effects
}

// errNoRequest means that a fault waited for a request and none came.
var errNoRequest = errors.New("no such request came")
