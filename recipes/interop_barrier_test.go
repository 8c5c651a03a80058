package recipes_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/recipes/internal/bubble"
)

// theirs is a process with members of another library's own double barrier, each with its own session. Its commands are
//
//	member NAME    create a member; answers its session
//	enter, leave   start to enter or leave
//	halt, go       stop the next enter after its znode is created, and continue it
//	give-up        enter with a timeout that passes
//	die            end its session
//	is             answers its state: entering, waiting (it has counted too few), inside, leaving, out
type theirs struct {
	other
	interop
	path     string
	sessions map[string]int64
}

// doubleBarriers are the commands of the libraries' processes, by name.
var doubleBarriers = map[string]func(in interop, path string) []string{
	"kazoo": func(in interop, path string) []string {
		return []string{"/usr/bin/python3", "-I", "testdata/interop/double_barrier.py", strings.Join(in.addresses, ","), path}
	},
	"curator": func(in interop, path string) []string {
		return []string{jdk("java"), "-cp", curatorJars + ":" + in.classes, "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-XX:+UseSerialGC",
			"-XX:TieredStopAtLevel=1", "-Xmx128m", "DoubleBarrierParty", strings.Join(in.addresses, ","), path}
	},
}

func (in interop) theirs(t *testing.T, library string) theirs {
	path := in.path(t)
	return theirs{startOther(t, doubleBarriers[library](in, path)...), in, path, map[string]int64{}}
}

// asks sends a command to a member and returns the answer.
func (b theirs) asks(verb, name string) string {
	b.t.Helper()
	return b.asked(verb + " " + name)
}

func (b theirs) members(names ...string) {
	b.t.Helper()
	for _, name := range names {
		session, err := strconv.ParseInt(b.asks("member", name), 10, 64)
		bubble.OK(b.t, "the session", err)
		b.sessions[name] = session
	}
}

// all sends a command to the members, one after the other.
func (b theirs) all(verb string, names ...string) {
	b.t.Helper()
	for _, name := range names {
		b.asks(verb, name)
	}
}

// become waits until the members are in the given state.
func (b theirs) become(state string, names ...string) {
	b.t.Helper()
	for _, name := range names {
		last := ""
		b.comes(func() (bool, error) { last = b.asks("is", name); return last == state, nil },
			func() string { return fmt.Sprintf("%s is %s, want %s", name, last, state) })
	}
}

// comes waits until a condition holds.
func (b theirs) comes(so func() (bool, error), otherwise func() string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), limit)
	defer cancel()
	b.until(ctx, b.t, so)
	if ctx.Err() != nil {
		b.t.Fatal(otherwise())
	}
}

// owns returns the znode of a member, or "" if there is none.
func (b theirs) owns(name string) (znode string) {
	children, _, err := b.s.Children(b.t.Context(), b.path)
	if err != nil {
		return ""
	}
	for _, child := range children {
		if st, there, err := b.s.Exists(b.t.Context(), b.path+"/"+child); err == nil && there && st.EphemeralOwner == b.sessions[name] {
			return child
		}
	}
	return ""
}

// watches returns the znodes of the barrier that a member watches.
func (b theirs) watches(name string) (znodes []string, err error) {
	watchers, err := b.watchers(b.t.Context())
	for path, sessions := range watchers {
		if znode, under := strings.CutPrefix(path, b.path+"/"); under && slices.Contains(sessions, b.sessions[name]) {
			znodes = append(znodes, znode)
		}
	}
	return znodes, err
}

// eachLibrary runs play with four members of each library's own double barrier.
func eachLibrary(t *testing.T, play func(t *testing.T, library string, b theirs)) {
	in := newInterop(t)
	for library := range doubleBarriers {
		t.Run(library, func(t *testing.T) {
			b := in.theirs(t, library)
			b.members("first", "second", "third", "fourth")
			play(t, library, b)
		})
	}
}

// The scenario lowest-dies shows a defect of kazoo-double-barrier and curator-double-barrier. The libraries themselves have it.
func TestTheLibrariesLetAMemberOutWhenTheLowestDies(t *testing.T) {
	eachLibrary(t, func(t *testing.T, _ string, b theirs) {
		names := []string{"first", "second", "third", "fourth"}
		b.all("enter", names...)
		b.become("inside", names...)
		slices.SortFunc(names, func(x, y string) int { return strings.Compare(b.owns(x), b.owns(y)) })
		lowest, computes := names[0], names[3]
		znode := b.owns(lowest)
		for _, leaves := range names[1:3] {
			b.asks("leave", leaves)
			b.comes(func() (bool, error) {
				watched, err := b.watches(leaves)
				return slices.Contains(watched, znode) && b.owns(leaves) == "", err
			}, func() string { return "a leaving member does not watch the lowest" })
		}
		b.asks("die", lowest)
		b.become("out", names[1:3]...)
		b.become("inside", computes)
	})
}

// The scenario slow-member. kazoo's slow member watches a missing marker, Curator's waits without a watch, and the others wait for it to leave. At
// most two of the four members are listed by then, so nobody creates the marker again, and all wait forever.
func TestTheLibrariesHangOnASlowMember(t *testing.T) {
	eachLibrary(t, func(t *testing.T, library string, b theirs) {
		b.asks("halt", "first")
		b.asks("enter", "first")
		b.comes(func() (bool, error) { return b.owns("first") != "", nil }, func() string { return "the slow member has no znode" })
		b.all("enter", "second", "third", "fourth")
		b.become("inside", "second", "third", "fourth")
		b.all("leave", "second", "third", "fourth")
		for _, name := range []string{"second", "third", "fourth"} {
			b.comes(func() (bool, error) {
				watched, err := b.watches(name)
				return slices.ContainsFunc(watched, func(znode string) bool { return znode != "ready" }), err
			}, func() string { return name + " leaves and watches no member" })
		}
		members := 4
		b.comes(func() (bool, error) {
			members = 0
			for _, name := range []string{"first", "second", "third", "fourth"} {
				if b.owns(name) != "" {
					members++
				}
			}
			return members < 3, nil // the slow member, and the lowest if that is another one
		}, func() string { return "the leaving members delete nothing" })
		b.asks("go", "first")
		b.become("waiting", "first")
		b.become("leaving", "second", "third", "fourth")
		watched, err := b.watches("first")
		bubble.OK(t, "watches()", err)
		_, opened, err := b.s.Exists(t.Context(), b.path+"/ready")
		bubble.OK(t, "Exists()", err)
		if hangs := len(watched) == 0 || !opened && slices.Equal(watched, []string{"ready"}); !hangs {
			t.Errorf("%d members, the slow one watches %q, marker exists %v: want that nothing can end its wait", members, watched, opened)
		}
	})
}

// The scenario all-die-inside: the marker of members that died lets kazoo's enter when three of four are there, and Curator's when one is.
func TestTheLibrariesEnterByTheMarkerOfTheDead(t *testing.T) {
	eachLibrary(t, func(t *testing.T, library string, b theirs) {
		b.all("enter", "first", "second", "third", "fourth")
		b.become("inside", "first", "second", "third", "fourth")
		b.all("die", "first", "second", "third", "fourth")
		b.members("fifth", "sixth", "seventh")
		if library == "curator" {
			b.asks("enter", "fifth")
			b.become("inside", "fifth")
			return
		}
		for _, name := range []string{"fifth", "sixth"} {
			b.asks("enter", name)
			b.become("waiting", name)
		}
		b.asks("enter", "seventh")
		b.become("inside", "seventh")
		b.become("waiting", "fifth", "sixth")
	})
}

// The scenario enter-given-up (CURATOR-318): the znode of a member that gave up stays, and counts.
func TestCuratorCountsAMemberThatHasGivenUp(t *testing.T) {
	b := newInterop(t).theirs(t, "curator")
	b.members("first", "second", "third", "fourth")
	if answer := b.asks("give-up", "first"); answer != "refused" {
		t.Fatalf("enter() of a single member with a timeout: %s, want refused", answer)
	}
	b.all("enter", "second", "third", "fourth")
	b.become("inside", "second", "third", "fourth")
}
