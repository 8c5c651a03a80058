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

// heard is what another share told last, and when that was news here.
type heard struct {
	live    Live
	version int32
	at      time.Time
}

const (
	liveEach = time.Second
	// liveStale is how old what a share told may be: more than a write and a look take.
	liveStale = 5 * time.Second
)

// Tell says how this share goes on. It does not block: the last that was told is written once a second.
func (m *Meeting) Tell(l Live) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.telling = &l
}

// Heard is what the other shares told lately, by their numbers. The lowest share alone listens.
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

// talk tells and listens until the meeting is over. What fails is tried again a second later: nothing rests on it.
func (m *Meeting) talk(ctx context.Context) {
	for made := false; sleep.For(ctx, liveEach) == nil; {
		ctx, cancel := context.WithTimeout(ctx, hasty)
		made = m.say(ctx, made)
		if m.cfg.Share.Lowest() {
			m.listen(ctx)
		}
		cancel()
	}
}

// say writes what is to be told; made says that the znode is there.
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

// listen reads what the others told.
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
