package fleet

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/zkbench/zkbench/internal/sleep"
	"github.com/zkbench/zkbench/zk"
)

// Live is what a share reports about itself once a second, for the display at the lowest share.
type Live struct {
	Cell      int     `json:"cell"`
	Phase     string  `json:"phase"`
	Sessions  int     `json:"sessions"`
	Connected int     `json:"connected"`
	PerSecond float64 `json:"per_s"` // operations that succeeded
	Errors    int64   `json:"errors"`
	P99       float64 `json:"p99_ms"` // of the last second; 0 without operations
}

// heard is the last report of another share, and when it was new here.
type heard struct {
	live    Live
	version int32
	at      time.Time
}

const (
	liveEach = time.Second
	// liveStale is the maximum age of a report: longer than a write and a look take.
	liveStale = 5 * time.Second
)

// Tell reports the progress of this share. It does not block: the latest report is written once a second.
func (m *Meeting) Tell(l Live) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.telling = &l
}

// Heard returns the recent reports of the other shares, by number. Only the lowest share reads them.
func (m *Meeting) Heard() map[int]Live {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[int]Live{}
	for n, h := range m.heard {
		if time.Since(h.at) < liveStale {
			all[n] = h.live
		}
	}
	return all
}

// talk writes and reads reports until the meeting is over. A failure is retried a second later, because nothing depends on the reports.
func (m *Meeting) talk(ctx context.Context) {
	for made := false; sleep.For(ctx, liveEach) == nil; {
		ctx, cancel := context.WithTimeout(ctx, farewellTimeout)
		made = m.say(ctx, made)
		if m.cfg.Share.Lowest() {
			m.listen(ctx)
		}
		cancel()
	}
}

// say writes the pending report; made reports whether its znode exists.
func (m *Meeting) say(ctx context.Context, made bool) bool {
	m.mu.Lock()
	l := m.telling
	m.telling = nil
	m.mu.Unlock()
	if l == nil {
		return made
	}
	path := m.at("live", m.cfg.Share.Number())
	if made {
		_, err := m.s.Set(ctx, path, encode(*l), zk.AnyVersion)
		return err == nil
	}
	_, err := m.s.Create(ctx, path, encode(*l), zk.Ephemeral)
	return err == nil || errors.Is(err, zk.ErrNodeExists)
}

// listen reads the reports of the other shares.
func (m *Meeting) listen(ctx context.Context) {
	m.mu.Lock()
	all := maps.Clone(m.heard)
	m.mu.Unlock()
	if all == nil {
		all = map[int]heard{}
	}
	for i := range m.cfg.Share.count() {
		n := i + 1
		if n == m.cfg.Share.Number() {
			continue
		}
		var l Live
		st, there, err := m.readStat(ctx, m.at("live", n), &l)
		if err != nil {
			return
		}
		if before, known := all[n]; there && (!known || before.version != st.Version) {
			all[n] = heard{l, st.Version, time.Now()}
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.heard = all
}
