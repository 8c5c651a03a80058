package wire

import (
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
)

func TestPutPath(t *testing.T) {
	for _, c := range []struct{ root, path, want string }{
		{"", "/a", "/a"}, {"", "/", "/"}, {"/app", "/", "/app"}, {"/app", "/a", "/app/a"},
	} {
		d := jute.Decoder{B: putPath(nil, c.root, c.path)}
		if got := d.String(); got != c.want || d.Bad {
			t.Errorf("putPath(%q, %q) writes %q, want %q", c.root, c.path, got, c.want)
		}
	}
}

func TestSurplus(t *testing.T) {
	all := holdData | holdChild | holdStream
	for _, c := range []struct {
		why           string
		armed, wanted hold
		remove        []int32
		left          hold
	}{
		{"nothing armed", 0, holdData, nil, 0},
		{"all wanted", holdData | holdChild, holdData | holdChild, nil, holdData | holdChild},
		{"a data watch that nobody wants", holdData | holdChild, holdChild, []int32{removeData}, holdChild},
		{"a child watch that nobody wants", holdData | holdChild, holdData, []int32{removeChild}, holdData},
		{"both", holdData | holdChild, 0, []int32{removeData, removeChild}, 0},
		{"one-shot watches under a stream stay, for a removal would take the stream too", all, holdStream, nil, all},
		{"a stream over wanted one-shot watches stays for the same reason", all, holdData, nil, all},
		{"a stream that is the last", holdStream, 0, []int32{removeAny}, 0},
		{"a stream and what was left under it", all, 0, []int32{removeAny}, 0},
	} {
		if remove, left := surplus(c.armed, c.wanted); !slices.Equal(remove, c.remove) || left != c.left {
			t.Errorf("%s: surplus(%b, %b) = %v, %b, want %v, %b", c.why, c.armed, c.wanted, remove, left, c.remove, c.left)
		}
	}
}

func TestPauses(t *testing.T) {
	for _, c := range []struct {
		fails, servers int
		timeout        time.Duration
		want           time.Duration
	}{
		{0, 3, time.Minute, 0}, {1, 3, time.Minute, 0}, {2, 3, time.Minute, 0}, {3, 3, time.Minute, 50 * time.Millisecond}, {4, 3, time.Minute, 0},
		{6, 3, time.Minute, 100 * time.Millisecond}, {12, 3, time.Minute, 400 * time.Millisecond}, {1, 1, time.Minute, 50 * time.Millisecond},
		{90, 3, time.Minute, 2 * time.Second}, {90, 3, 6 * time.Second, time.Second}, {1000, 1, time.Minute, 2 * time.Second},
	} {
		if got := pause(c.fails, c.servers, c.timeout); got != c.want {
			t.Errorf("pause(%d, %d, %v) = %v, want %v", c.fails, c.servers, c.timeout, got, c.want)
		}
	}
	for timeout, want := range map[time.Duration]time.Duration{3 * time.Second: time.Second, 6 * time.Second: 2 * time.Second, time.Minute: 2 * time.Second} {
		if got := closeWait(timeout); got != want {
			t.Errorf("closeWait(%v) = %v, want %v", timeout, got, want)
		}
	}
	for _, c := range []struct {
		timeout time.Duration
		servers int
		want    time.Duration
	}{
		{30 * time.Second, 3, 20 * time.Second / 3}, {time.Hour, 3, 10 * time.Second}, {time.Second, 7, 250 * time.Millisecond},
	} {
		if got := dialTimeout(c.timeout, c.servers); got != c.want {
			t.Errorf("patience(%v, %d) = %v, want %v", c.timeout, c.servers, got, c.want)
		}
	}
}

func TestQueue(t *testing.T) {
	var q queue
	a, b, c := new(call), new(call), new(call)
	for _, k := range []*call{a, b, c} {
		q.push(k)
	}
	q.remove(b)
	if b.in != nil || q.pop() != a || q.pop() != c || q.pop() != nil || q.head != nil || q.tail != nil {
		t.Error("the queue has lost its order")
	}
}
