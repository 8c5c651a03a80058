package check

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// horizon is what one process knew about the order of all transactions, and when by its own clock: which it had seen, and which of its own it was still to
// send. Two horizons are compared by transactions alone: if one process sent something at or after an instant, and another had seen it by an instant of its
// own, the first instant precedes the second, whatever their clocks say.
type horizon struct {
	seen *stairs // the highest transaction seen so far, rising
	sent *stairs // backward in time, which is negative: the lowest transaction sent from then on, falling
}

// moment is a transaction and an offset of one clock.
type moment struct {
	at   time.Duration
	zxid int64
}

// horizonOf reads one process's history. A session has seen the transaction of a grant by its End. It has sent a release, the create that took a place or
// made a member, and the request that puts or removes an item, at its Start or later. It takes O(n log n); what does not fit into memory is on disk.
func horizonOf(history iter.Seq[metrics.Sample], room *spill.Room) horizon {
	byTime := func(a, b *moment) int { return cmp.Compare(a.at, b.at) }
	seen, sent := spill.New(room, byTime), spill.New(room, byTime)
	defer seen.Close()
	defer sent.Close()
	see := func(s *metrics.Sample, zxid int64) { seen.Add(moment{s.End, zxid}) }
	write := func(s *metrics.Sample, zxid int64) {
		see(s, zxid)
		sent.Add(moment{-s.Start, zxid})
	}
	for s := range history {
		switch {
		case s.Session == metrics.Everybody: // from before the load
		case s.Op == metrics.Enqueue && s.Outcome == metrics.OK && s.Zxid > 0:
			write(&s, s.Zxid)
		case (s.Op == metrics.Put || s.Op == metrics.Change || s.Op == metrics.Join) && s.Outcome == metrics.OK && s.Token > 0:
			write(&s, s.Token)
		case (s.Op == metrics.Take || s.Op == metrics.See) && s.Outcome == metrics.OK && s.Token > 0:
			see(&s, s.Token)
		case s.Zxid > 0 && (gives(s.Op) || s.Op == metrics.Remove):
			write(&s, s.Zxid)
		case s.Zxid != 0 && s.Outcome == metrics.OK && (locked.begins(s.Op) || shared.begins(s.Op) || led.begins(s.Op)):
			see(&s, max(s.Zxid, -s.Zxid))
		}
	}
	return horizon{
		seen: records(seen.All(), room, func(zxid, last int64) bool { return zxid > last }),
		sent: records(sent.All(), room, func(zxid, last int64) bool { return zxid < last }),
	}
}

func (h horizon) close() {
	h.seen.list.Close()
	h.sent.list.Close()
}

func closeAll(horizons []horizon) {
	for _, h := range horizons {
		h.close()
	}
}

// by returns the highest transaction that the process had seen by an instant; 0 if none.
func (h *horizon) by(at time.Duration) int64 {
	zxid, _ := h.seen.at(at)
	return zxid
}

// after returns the lowest transaction that the process sent at or after an instant: anything not below it had not been committed then. MaxInt64 if there is
// none.
func (h *horizon) after(at time.Duration) int64 {
	if zxid, ok := h.sent.at(-at); ok {
		return zxid
	}
	return math.MaxInt64
}

// stairs are the moments, rising in time, at which a transaction went further than all before it. What does not fit into memory is on disk, with the first
// moment of each page in memory. It is for one goroutine.
type stairs struct {
	list  *spill.List[moment]
	first []moment // of each page
	page  []moment // the last page read
	nth   int      // its number
}

// records keeps those moments, rising in time, that go further than the last one kept.
func records(moments iter.Seq[moment], room *spill.Room, further func(zxid, last int64) bool) *stairs {
	s := &stairs{list: spill.New[moment](room, nil), nth: -1}
	var last moment
	for m := range moments {
		if s.list.Len() > 0 && !further(m.zxid, last.zxid) {
			continue
		}
		if s.list.Len()%pageLength == 0 {
			s.first = append(s.first, m)
		}
		s.list.Add(m)
		last = m
	}
	return s
}

// at returns the transaction of the last moment that is not after an instant; false: there is none.
func (s *stairs) at(instant time.Duration) (zxid int64, some bool) {
	after := func(m moment, at time.Duration) int { // never equal: of several moments at one instant the last counts
		if m.at <= at {
			return -1
		}
		return 1
	}
	i, _ := slices.BinarySearchFunc(s.first, instant, after)
	if i == 0 {
		return 0, false
	}
	if i-1 != s.nth {
		if s.page == nil {
			s.page = make([]moment, min(pageLength, s.list.Len()))
		}
		s.nth, s.page = i-1, s.page[:cap(s.page)]
		s.page = s.page[:s.list.Read(s.nth*pageLength, s.page)]
	}
	if i, _ = slices.BinarySearchFunc(s.page, instant, after); i == 0 { // the page could not be read, which the room reports
		return 0, false
	}
	return s.page[i-1].zxid, true
}

// Skew is how much later the clock of a process started than that of the first, at least and at most. It follows from the order of transactions, because a
// transaction that one sent and another had seen passed from the one to the other; and from the meets, because each process came before another went on.
type Skew struct {
	Low, High time.Duration
	Known     bool // in both directions
}

// Middle returns the best estimate. Error returns its possible error.
func (s Skew) Middle() time.Duration { return s.Low + (s.High-s.Low)/2 }

// Error returns half the distance between the bounds. Clocks that drift apart may swap the bounds.
func (s Skew) Error() time.Duration { return (s.High-s.Low).Abs()/2 + 1 }

// Meet is a point at which all hosts wait for each other, by the clock of one of them: each of them came before any of them continued.
type Meet struct{ Came, Went time.Duration }

// Skews returns the skews of the processes. That of the first is zero.
func Skews(hosts []Host, room *spill.Room) []Skew {
	all := make([]Skew, len(hosts))
	if len(hosts) == 0 {
		return all
	}
	first := horizonOf(hosts[0].History, room)
	defer first.close()
	all[0].Known = true
	for i := 1; i < len(hosts); i++ {
		other := horizonOf(hosts[i].History, room)
		high, above := soonest(&other, &first) // other sent at s, first had seen it at r: s + skew <= r
		low, below := soonest(&first, &other)
		other.close()
		for n := range min(len(hosts[0].Meets), len(hosts[i].Meets)) {
			a, b := hosts[0].Meets[n], hosts[i].Meets[n]
			if d := a.Went - b.Came; !above || d < high {
				high, above = d, true
			}
			if d := b.Went - a.Came; !below || d < low {
				low, below = d, true
			}
		}
		all[i] = Skew{Low: -low, High: high, Known: above && below}
	}
	return all
}

// soonest returns the minimum time, by both clocks, from when one process sent a transaction until the other had seen it or a later one.
func soonest(from, to *horizon) (least time.Duration, known bool) {
	next, stop := iter.Pull(to.seen.list.All())
	defer stop()
	seen, more := next()
	for sent := range from.sent.list.Backward() {
		for more && seen.zxid < sent.zxid {
			seen, more = next()
		}
		if !more {
			break
		}
		if d := seen.at + sent.at; !known || d < least { // sent.at is negative
			least, known = d, true
		}
	}
	return least, known
}
