package drivers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// The two sides of a read/write lock.
var (
	reading = Request{Mode: ModeRead}
	writing = Request{Mode: ModeWrite}
)

// readWrite has readers and writers ask beside each other, who may hold together and who may not.
func (k *kit) readWrite(ctx context.Context) (string, error) {
	all, err := k.clients(ctx, 4)
	if err != nil {
		return "", err
	}
	for _, s := range all[:2] {
		if err := k.grantedAs(ctx, s, reading, k.Patience); err != nil {
			return "", fmt.Errorf("to read beside readers: %w", err)
		}
	}
	if err := k.mayTry(ctx, all[2], writing, false, "a try to write beside readers"); err != nil {
		return "", err
	}
	if err := k.mayTry(ctx, all[3], reading, true, "a try to read beside readers"); err != nil {
		return "", err
	}
	writer, err := k.begin(all[2], writing.of(OpAcquire))
	if err != nil {
		return "", err
	}
	for i, s := range all[:2] {
		if err := k.stillWaits(writer, fmt.Sprintf("a writer was let in while session %d read", i+1)); err != nil {
			return "", err
		}
		if err := k.releaseAs(ctx, s, reading); err != nil {
			return "", err
		}
	}
	if r, err := k.answer(ctx, all[2], writer, k.Patience); err != nil || r.Error != "" {
		return "", errors.Join(err, fmt.Errorf("a writer is not let in when nobody reads any more: %s %s", r.Error, r.Message))
	}
	for _, waits := range []Request{reading, writing} {
		if err := k.inVain(ctx, all[3], waits, fmt.Sprintf("a session was let in to %s while another one wrote", waits.Mode)); err != nil {
			return "", err
		}
	}
	waiting := make([]*call, len(all))
	for i, waits := range []Request{reading, writing} { // a reader, and behind it a writer
		if waiting[i], err = k.begin(all[i], waits.of(OpAcquire)); err != nil {
			return "", err
		}
		time.Sleep(settle)
	}
	if err := k.releaseAs(ctx, all[2], writing); err != nil {
		return "", err
	}
	for range waiting[:2] {
		i, err := k.next(ctx, waiting)
		if err != nil {
			return "", fmt.Errorf("a reader waits behind a writer, and another writer behind it: %w", err)
		}
		if err := k.releaseAs(ctx, all[i], []Request{reading, writing}[i]); err != nil {
			return "", err
		}
	}
	for _, s := range all[:2] { // nothing of the attempts is in their way
		if err := k.grantedAs(ctx, s, reading, k.Patience); err != nil {
			return "", fmt.Errorf("after a writer, and attempts that were given up, readers: %w", err)
		}
	}
	return "readers hold together, and a writer alone", nil
}

// rwTurmoil has all read and write as fast as they can.
func (k *kit) rwTurmoil(ctx context.Context) (string, error) {
	var mu sync.Mutex
	var readers, writers int32
	err := k.storm(ctx, func(round int) Request {
		if round%3 == 0 {
			return writing
		}
		return reading
	}, func(what Request, in int32) error {
		mu.Lock()
		defer mu.Unlock()
		if what.Mode == ModeWrite {
			writers += in
		} else {
			readers += in
		}
		if in > 0 && (writers > 1 || writers > 0 && readers > 0) {
			return fmt.Errorf("%w: %d wrote and %d read", ErrTwoHolders, writers, readers)
		}
		return nil
	})
	return fmt.Sprintf("%d grants to %d sessions, no writer beside others", turmoilClients*turmoilRounds, turmoilClients), err
}
