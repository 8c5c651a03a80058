package wire

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// journal passes the records of one session to its Logger without waiting for it: a record may come from the goroutine that reads the sockets of all
// sessions, and a Logger may block.
type journal struct {
	to *slog.Logger

	mu      sync.Mutex
	lines   []slog.Record
	dropped int  // records that came while mostLines were waiting
	running bool // a goroutine is passing records to the Logger
}

// mostLines is the largest number of records of one session that wait for its Logger.
const mostLines = 64

// log queues a record. It may be called with Client.mu held, and by a goroutine that release waits for, or before release.
func (c *Client) log(level slog.Level, msg string, args ...any) {
	j := c.lines
	if j == nil || !j.to.Enabled(context.Background(), level) {
		return
	}
	r := slog.NewRecord(time.Now(), level, msg, 0)
	r.Add(args...)
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.lines) >= mostLines {
		j.dropped++
		return
	}
	j.lines = append(j.lines, r)
	if !j.running {
		j.running = true
		c.work.Go(func() { j.write(c.ID()) })
	}
}

// write passes all records to the Logger, in order.
func (j *journal) write(session int64) {
	ctx := context.Background()
	for {
		j.mu.Lock()
		lines, dropped := j.lines, j.dropped
		j.lines, j.dropped = nil, 0
		j.running = len(lines) > 0
		j.mu.Unlock()
		if len(lines) == 0 {
			return
		}
		for _, r := range lines {
			r.AddAttrs(slog.Int64("session", session))
			j.to.Handler().Handle(ctx, r)
		}
		if dropped > 0 {
			j.to.Warn(fmt.Sprintf("the Logger was too slow: %d lines are missing", dropped), "session", session)
		}
	}
}
