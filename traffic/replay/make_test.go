package replay

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/traffic/trace"
)

// list is a Source.
type list []trace.Event

func (l *list) Next() (*trace.Event, error) {
	if len(*l) == 0 {
		return nil, io.EOF
	}
	e := &(*l)[0]
	*l = (*l)[1:]
	return e, nil
}

// ms are milliseconds.
const ms = time.Millisecond

func planned(t *testing.T, events ...trace.Event) *Plan {
	t.Helper()
	p, err := Make(trace.Header{}, (*list)(&events), Weights{trace.Get: 3, trace.Children: 1}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func opened(session int, at time.Duration) trace.Event {
	return trace.Event{Kind: trace.Open, Session: session, At: at, Timeout: 4 * time.Second}
}

func closed(session int, at time.Duration) trace.Event {
	return trace.Event{Kind: trace.Close, Session: session, At: at}
}

func sent(session int, at time.Duration, e trace.Event) trace.Event {
	e.Kind, e.Session, e.At = trace.Request, session, at
	return e
}

// requests returns the requests of a plan, in the order of their times.
func (p *Plan) requests() (all []Item) {
	for _, items := range p.Clients {
		for _, it := range items {
			if it.Offers() {
				all = append(all, it)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Item) int { return int(a.At - b.At) })
	return all
}

// Who waits for whom: each pair of requests of two sessions, or of one.
func TestNeeds(t *testing.T) {
	t.Parallel()
	create := func(path string) trace.Event { return trace.Event{Op: trace.Create, Path: path} }
	numbered := trace.Event{Op: trace.Create, Path: "/n-", Flags: trace.Sequential, Got: "/n-0000000007"}
	for sentence, c := range map[string]struct {
		first, second trace.Event
		same          bool // both are of one session
		needs         bool
	}{
		"a set needs the create of another session":       {first: create("/a"), second: trace.Event{Op: trace.Set, Path: "/a", Flags: trace.NoVersion}, needs: true},
		"not that of its own session, which comes first":  {first: create("/a"), second: trace.Event{Op: trace.Set, Path: "/a", Flags: trace.NoVersion}, same: true},
		"but that of a name which the servers give":       {first: numbered, second: trace.Event{Op: trace.Delete, Path: "/n-0000000007", Flags: trace.NoVersion}, same: true, needs: true},
		"a create needs its parent":                       {first: create("/a"), second: create("/a/b"), needs: true},
		"a read needs the znode that it saw":              {first: create("/a"), second: trace.Event{Op: trace.Get, Path: "/a"}, needs: true},
		"a create that failed needs the znode in its way": {first: create("/a"), second: trace.Event{Op: trace.Create, Path: "/a", Code: NodeExists}, needs: true},
		"a request of another znode needs nothing":        {first: create("/a"), second: create("/b")},
		"a failed create is nothing to wait for":          {first: trace.Event{Op: trace.Create, Path: "/a", Code: NoNode}, second: trace.Event{Op: trace.Get, Path: "/a", Code: NoNode}},
		"a multi needs what any of its operations needs":  {first: create("/a"), second: trace.Event{Op: trace.Multi, Ops: []trace.Event{create("/b"), {Op: trace.Check, Path: "/a", Flags: trace.NoVersion}}}, needs: true},
		"a znode made by a multi is needed like another":  {first: trace.Event{Op: trace.Multi, Ops: []trace.Event{create("/a")}}, second: trace.Event{Op: trace.Get, Path: "/a"}, needs: true},
		"nothing of a multi that failed":                  {first: trace.Event{Op: trace.Multi, Code: NoNode, Ops: []trace.Event{create("/a")}}, second: trace.Event{Op: trace.Get, Path: "/a", Code: NoNode}},
		"a write at a version needs the write before":     {first: trace.Event{Op: trace.Set, Path: "/there", Version: 7}, second: trace.Event{Op: trace.Set, Path: "/there", Version: 8}, needs: true},
		"a write at any version does not":                 {first: trace.Event{Op: trace.Set, Path: "/there", Version: 7}, second: trace.Event{Op: trace.Set, Path: "/there", Flags: trace.NoVersion}},
		"a create after a delete needs the delete":        {first: trace.Event{Op: trace.Delete, Path: "/there", Flags: trace.NoVersion}, second: create("/there"), needs: true},
		"so does a read that finds nothing":               {first: trace.Event{Op: trace.Delete, Path: "/there", Flags: trace.NoVersion}, second: trace.Event{Op: trace.Exists, Path: "/there", Code: NoNode}, needs: true},
		"a delete needs who read the znode before":        {first: trace.Event{Op: trace.Get, Path: "/there"}, second: trace.Event{Op: trace.Delete, Path: "/there", Flags: trace.NoVersion}, needs: true},
		"a create needs who found nothing before":         {first: trace.Event{Op: trace.Exists, Path: "/a", Code: NoNode}, second: create("/a"), needs: true},
		"a write does not need who read before":           {first: trace.Event{Op: trace.Get, Path: "/there"}, second: trace.Event{Op: trace.Set, Path: "/there", Flags: trace.NoVersion}},
		"a delete needs the delete of the last child":     {first: trace.Event{Op: trace.Delete, Path: "/there/child", Flags: trace.NoVersion}, second: trace.Event{Op: trace.Delete, Path: "/there", Flags: trace.NoVersion}, needs: true},
	} {
		second := 1
		if c.same {
			second = 0
		}
		p := planned(t, trace.Event{Kind: trace.Prefill, Session: -1, Path: "/there"}, trace.Event{Kind: trace.Prefill, Session: -1, Path: "/there/child"}, opened(0, 0), opened(1, 0),
			sent(0, 10*ms, c.first), sent(second, 20*ms, c.second))
		all := p.requests()
		if got := len(all[1].Needs) > 0; got != c.needs || c.needs && (all[1].Needs[0] != all[0].Number || all[0].Number < 0) {
			t.Errorf("%s: needs %v, the first is %d", sentence, all[1].Needs, all[0].Number)
		}
		if len(all[0].Needs) > 0 {
			t.Errorf("%s: the first needs %v", sentence, all[0].Needs)
		}
	}
}

// Who comes first on the servers is told by the replies, so two requests that cross never wait for each other.
func TestRequestsThatCross(t *testing.T) {
	t.Parallel()
	late := sent(0, 10*ms, trace.Event{Op: trace.Create, Path: "/a", Took: 50 * ms})
	early := sent(1, 20*ms, trace.Event{Op: trace.Get, Path: "/a", Code: NoNode, Took: 5 * ms})
	all := planned(t, opened(0, 0), opened(1, 0), late, early).requests()
	if len(all[0].Needs)+len(all[1].Needs) != 0 {
		t.Errorf("%v and %v", all[0].Needs, all[1].Needs)
	}
}

// Of replies that come at once from several sessions, zxids say which was first: a read after the write whose zxid it has, and before the next one.
func TestZxidsOrderReplies(t *testing.T) {
	t.Parallel()
	// The replies come as the letters b, c, a.
	a := sent(0, 10*ms, trace.Event{Op: trace.Create, Path: "/a", Took: 5 * ms, Zxid: 7})
	b := sent(1, 10*ms, trace.Event{Op: trace.Get, Path: "/a", Took: 3 * ms, Zxid: 7})
	c := sent(2, 10*ms, trace.Event{Op: trace.Delete, Path: "/a", Flags: trace.NoVersion, Version: -1, Took: 4 * ms, Zxid: 8})
	all := planned(t, opened(0, 0), opened(1, 0), opened(2, 0), a, b, c).requests()
	if len(all) != 3 || all[0].Op != trace.Create || all[1].Op != trace.Get || all[2].Op != trace.Delete {
		t.Fatalf("requests %+v", all)
	}
	if want := []int{all[0].Number}; !slices.Equal(all[1].Needs, want) || !slices.Contains(all[2].Needs, all[1].Number) || len(all[0].Needs) != 0 {
		t.Errorf("the create needs %v, the read %v, the delete %v", all[0].Needs, all[1].Needs, all[2].Needs)
	}
	// A server that is behind answers with an old zxid, which does not put the reply before its request, nor before other requests of its session.
	events := []trace.Event{sent(0, 10*ms, trace.Event{Took: 1 * ms, Zxid: 9}), sent(1, 12*ms, trace.Event{Took: 8 * ms}), sent(2, 14*ms, trace.Event{Took: 1 * ms}),
		sent(1, 16*ms, trace.Event{Took: 7 * ms, Zxid: 8}), sent(2, 18*ms, trace.Event{Took: 1 * ms})}
	var at []time.Duration
	for _, e := range inOrder(events) {
		at = append(at, e.At)
	}
	if want := []time.Duration{10 * ms, 14 * ms, 18 * ms, 12 * ms, 16 * ms}; !slices.Equal(at, want) {
		t.Errorf("in the order %v, want %v", at, want)
	}
}

// Versions count from the same change: recorded 31 is 1 if 30 was the version before the recording.
func TestVersions(t *testing.T) {
	t.Parallel()
	set := func(at time.Duration, version int32, code int32) trace.Event {
		return sent(0, at, trace.Event{Op: trace.Set, Path: "/a", Version: version, Code: code})
	}
	var got []int32
	for _, it := range planned(t, trace.Event{Kind: trace.Prefill, Session: -1, Path: "/a"}, opened(0, 0), set(1*ms, 3, BadVersion), set(2*ms, 30, 0), set(3*ms, 31, 0), set(4*ms, 31, BadVersion),
		sent(0, 5*ms, trace.Event{Op: trace.Set, Path: "/a", Flags: trace.NoVersion, Version: -1}), set(6*ms, 33, 0)).requests() {
		got = append(got, it.Version)
	}
	if want := []int32{impossible, 0, 1, 1, -1, 3}; !slices.Equal(got, want) {
		t.Errorf("versions %v, want %v", got, want)
	}
}

// Sessions that were not open at the same time share a client, and each client's work is in the order of its times.
func TestClients(t *testing.T) {
	t.Parallel()
	get := trace.Event{Op: trace.Get, Path: "/a"}
	p := planned(t, opened(0, 0), sent(0, 1*ms, get), opened(1, 2*ms), closed(0, 10*ms), opened(2, 10*ms), sent(2, 11*ms, get), closed(1, 12*ms), closed(2, 13*ms), opened(3, 14*ms))
	if len(p.Clients) != 2 || p.Sessions != 4 {
		t.Fatalf("%d clients of %d sessions", len(p.Clients), p.Sessions)
	}
	for c, items := range p.Clients {
		for i := range items {
			if i > 0 && items[i].At < items[i-1].At {
				t.Errorf("client %d: item %d at %v after %v", c, i, items[i].At, items[i-1].At)
			}
		}
	}
}

// Reads of which only the number is known are between the events around them; a session that expires is silent for its timeout at each speed.
func TestDrawnReadsAndExpiries(t *testing.T) {
	t.Parallel()
	p := planned(t, opened(0, 0), sent(0, 100*ms, trace.Event{Op: trace.Set, Path: "/a", Flags: trace.NoVersion, Reads: 3}),
		trace.Event{Kind: trace.Expire, Session: 0, At: 10 * time.Second, Reads: 1})
	if p.Drawn != 4 || p.Requests != 5 || p.Expiries != 1 {
		t.Errorf("%d drawn of %d requests, %d expiries", p.Drawn, p.Requests, p.Expiries)
	}
	var at []time.Duration
	for _, it := range p.requests() {
		at = append(at, it.At)
	}
	if want := []time.Duration{25 * ms, 50 * ms, 75 * ms, 100 * ms, 5050 * ms}; !slices.Equal(at, want) {
		t.Errorf("at %v, want %v", at, want)
	}
	last := p.Clients[0][len(p.Clients[0])-1]
	if last.Kind != Vanish || last.Due(1) != 6*time.Second || last.Due(2) != time.Second {
		t.Errorf("%d due %v, %v at twice the speed", last.Kind, last.Due(1), last.Due(2))
	}
	events := list{opened(0, 0), sent(0, 100*ms, trace.Event{Op: trace.Sync, Path: "/a", Reads: 3})}
	if p, err := Make(trace.Header{}, &events, nil, 1); err != nil || p.Drawn != 0 || p.LeftOut["read of unknown kind"] != 3 {
		t.Errorf("without kinds of reads: %+v, %v", p, err)
	}
}

// What cannot be sent is counted; a trace of nothing else is an error, as is one that contradicts itself.
func TestWhatCannotBeSent(t *testing.T) {
	t.Parallel()
	p := planned(t, trace.Event{Kind: trace.Prefill, Session: -1, Path: "/box", Flags: trace.Container}, opened(0, 0), sent(0, 1*ms, trace.Event{Op: trace.SetACL, Path: "/a"}), sent(0, 2*ms, trace.Event{Op: trace.OtherOp, Code: 106}), sent(0, 3*ms, trace.Event{Op: trace.NoOp, Code: -122}),
		sent(0, 4*ms, trace.Event{Op: trace.NoOp, Code: NoNode}), sent(0, 5*ms, trace.Event{Op: trace.Multi, Ops: []trace.Event{{Op: trace.NoOp, Code: rolledBack}, {Op: trace.NoOp, Code: NotEmpty}}}),
		sent(0, 6*ms, trace.Event{Op: trace.Create, Path: "/c", Flags: trace.Container}), sent(0, 7*ms, trace.Event{Op: trace.Create, Path: "/ttl-", Got: "/ttl-0000000000", Flags: trace.TTL | trace.Sequential, TTL: time.Minute}),
		sent(-1, 8*ms, trace.Event{Op: trace.Delete, Path: "/c"}))
	if p.LeftOut["setACL"] != 1 || p.LeftOut["other request"] != 1 || p.LeftOut["write of unknown kind"] != 1 || p.Requests != 5 ||
		!maps.Equal(p.Replaced, map[string]int{"znode that was there as a container: persistent": 1, "create as a container: persistent": 1, "create with a TTL: persistent": 1}) {
		t.Errorf("%d requests, left out %v, replaced %v", p.Requests, p.LeftOut, p.Replaced)
	}
	if m := p.requests()[1]; m.Op != trace.Multi || m.Code != NotEmpty || len(m.Ops) != 2 || m.Ops[0].Code != rolledBack || m.Ops[1].Code != NotEmpty {
		t.Errorf("a multi of which only the errors are known is %+v", m)
	}
	events := list{opened(0, 0), sent(0, 1*ms, trace.Event{Op: trace.GetACL, Path: "/a"})}
	if _, err := Make(trace.Header{}, &events, nil, 1); !errors.Is(err, ErrEmpty) {
		t.Errorf("nothing that can be sent: %v", err)
	}
	events = list{opened(0, 0), opened(0, 1*ms)}
	if _, err := Make(trace.Header{}, &events, nil, 1); err == nil {
		t.Error("a session that is opened twice")
	}
}

// Parents that the trace does not have are created, and numbered siblings in the order of their numbers.
func TestThePrefill(t *testing.T) {
	t.Parallel()
	there := func(path string) trace.Event { return trace.Event{Kind: trace.Prefill, Session: -1, Path: path} }
	p := planned(t, there("/a/b/n-0000000012"), there("/a/b/n-0000000003"), there("/a/b"), opened(0, 0), sent(0, 1*ms, trace.Event{Op: trace.Get, Path: "/a/b/n-0000000003"}))
	if len(p.Prefill) != 4 || p.Prefill[0].Path != (Ref{-1, "/~a"}) || p.Prefill[2].Path != (Ref{1, "/~n-0000000003"}) || !p.Prefill[2].Sequential || p.requests()[0].Path != (Ref{2, ""}) {
		t.Errorf("%+v, then %+v", p.Prefill, p.requests()[0].Path)
	}
}

// Znodes of which only answers tell that they existed before, as in recordings, are created before; those that did not exist, or come into being later, are not.
func TestAnswersProveWhatExistedBefore(t *testing.T) {
	t.Parallel()
	p := planned(t, opened(0, 0), sent(0, 1*ms, trace.Event{Op: trace.Get, Path: "/a/b", Size: 7}), sent(0, 2*ms, trace.Event{Op: trace.Exists, Path: "/none", Code: NoNode}),
		sent(0, 3*ms, trace.Event{Op: trace.Create, Path: "/none"}), sent(0, 4*ms, trace.Event{Op: trace.Get, Path: "/none"}), sent(0, 5*ms, trace.Event{Op: trace.Create, Path: "/there", Code: NodeExists}),
		sent(0, 6*ms, trace.Event{Op: trace.Create, Path: "/dir/n-", Got: "/dir/n-0000000007", Flags: trace.Sequential}), sent(0, 7*ms, trace.Event{Op: trace.Delete, Path: "/dir/n-0000000007"}),
		sent(0, 8*ms, trace.Event{Op: trace.Multi, Ops: []trace.Event{{Op: trace.Check, Path: "/checked"}, {Op: trace.Delete, Path: "/old"}}}),
		sent(0, 9*ms, trace.Event{Op: trace.Multi, Code: NoNode, Ops: []trace.Event{{Op: trace.Delete, Path: "/never"}}}), sent(0, 10*ms, trace.Event{Op: trace.Set, Path: "/set", Code: BadVersion}),
		sent(0, 11*ms, trace.Event{Op: trace.Sync, Path: "/synced"}), sent(0, 12*ms, trace.Event{Op: trace.Create, Path: "/odd", Code: unimplemented}))
	var got []string
	for _, z := range p.Prefill {
		path := z.Path.Rest
		if z.Path.Birth >= 0 {
			path = p.Births[z.Path.Birth].Named.Rest + path
		}
		got = append(got, fmt.Sprintf("%s %d", path, z.Size))
	}
	slices.Sort(got)
	if want := []string{"/~a 0", "/~a/~b 7", "/~checked 0", "/~dir 0", "/~old 0", "/~set 0", "/~there 0"}; !slices.Equal(got, want) {
		t.Errorf("before there are %q, want %q", got, want)
	}
	if p.LeftOut["request that the servers did not know"] != 1 || len(p.LeftOut) != 1 {
		t.Errorf("left out: %v", p.LeftOut)
	}
}

// Sessions that depend on each other, here those of a lock, are replayed by one process, and what remains is dealt out evenly.
func TestSessionsThatDependOnEachOtherAreInOneProcess(t *testing.T) {
	lock := func(name string, sessions ...int) (all []trace.Event) {
		for i, s := range sessions {
			all = append(all, sent(s, ms, trace.Event{Op: trace.Create, Flags: trace.Ephemeral | trace.Sequential, Path: name + "/n-", Got: fmt.Sprintf("%s/n-%010d", name, i)}))
			if i > 0 {
				all = append(all, sent(s, ms, trace.Event{Op: trace.Exists, Path: fmt.Sprintf("%s/n-%010d", name, i-1)}))
			}
		}
		return all
	}
	var events []trace.Event
	for s := range 6 {
		events = append(events, opened(s, 0))
	}
	for _, group := range [][]trace.Event{lock("/a", 0, 3, 5), lock("/b", 1, 4), lock("/c", 2)} {
		events = append(events, group...)
	}
	for s := range 6 {
		events = append(events, closed(s, 5*ms))
	}
	for processes := 1; processes <= 3; processes++ {
		of := slices.Clone(events)
		p, err := Make(trace.Header{}, (*list)(&of), nil, processes)
		if err != nil {
			t.Fatal(err)
		}
		at, load := map[int]int{}, make([]int, processes)
		for c, items := range p.Clients {
			for _, it := range items {
				if old, some := at[it.Session]; some && old != c {
					t.Errorf("%d processes: session %d has two clients", processes, it.Session)
				}
				at[it.Session] = c
			}
			load[c%processes] += len(items)
		}
		process := func(session int) int { return at[session] % processes }
		if len(at) != 6 || process(0) != process(3) || process(0) != process(5) || process(1) != process(4) || slices.Min(load) == 0 || slices.Max(load) > 12 && processes > 1 {
			t.Errorf("%d processes: sessions at clients %v, %v items", processes, at, load)
		}
	}
	if _, err := Make(trace.Header{}, (*list)(&events), nil, 4); err == nil || !strings.Contains(err.Error(), "the largest number of processes for them is 3, not 4") {
		t.Error(err)
	}
}
