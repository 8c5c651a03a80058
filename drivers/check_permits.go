package drivers

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// kitPermits is how many permits the kit's semaphores have.
const kitPermits = 2

var permit = Request{Permits: kitPermits}

// semaphore has sessions ask for more permits than there are, in every way in which that may end.
func (k *kit) semaphore(ctx context.Context) (string, error) {
	all, err := k.clients(ctx, 4)
	if err != nil {
		return "", err
	}
	for i, s := range all[:kitPermits] {
		if err := k.grantedAs(ctx, s, permit, k.Patience); err != nil {
			return "", fmt.Errorf("permit %d of %d: %w", i+1, kitPermits, err)
		}
	}
	if err := k.mayTry(ctx, all[2], permit, false, "a try of a semaphore whose permits are all held"); err != nil {
		return "", err
	}
	if err := k.inVain(ctx, all[2], permit, fmt.Sprintf("one more session was granted one of %d permits", kitPermits)); err != nil {
		return "", err
	}
	if err := k.releaseAs(ctx, all[0], permit); err != nil {
		return "", err
	}
	if err := k.grantedAs(ctx, all[3], permit, k.Patience); err != nil { // nothing of the attempts is in its way
		return "", fmt.Errorf("a permit that was given back: %w", err)
	}
	if err := all[1].Close(); err != nil {
		return "", fmt.Errorf("close: %w", err)
	}
	if err := k.grantedAs(ctx, all[2], permit, k.Patience); err != nil {
		return "", fmt.Errorf("the permit of a session that was closed: %w", err)
	}
	if k.hello.Store == OwnMemory {
		return "no more permits are granted than exist, and none is lost with a session", nil
	}
	all[3].p.end(ErrEnded)
	if err := k.grantedAs(ctx, all[0], permit, 2*k.Timeout+k.Patience); err != nil {
		return "", fmt.Errorf("the permit of a holder whose process was killed: %w", err)
	}
	return "no more permits are granted than exist, and none is lost with a session or a process", nil
}

// semaphoreTurmoil has all ask for permits as fast as they can, and looks that all are there after it.
func (k *kit) semaphoreTurmoil(ctx context.Context) (string, error) {
	var holders atomic.Int32
	err := k.storm(ctx, func(int) Request { return permit }, func(_ Request, in int32) error {
		if n := holders.Add(in); in > 0 && n > kitPermits {
			return fmt.Errorf("%w: %d of %d", ErrTooMany, n, kitPermits)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	for i := range kitPermits {
		s, err := k.open(ctx, k.own[0])
		if err == nil {
			err = k.grantedAs(ctx, s, permit, k.Patience)
		}
		if err != nil {
			return "", errors.Join(fmt.Errorf("permit %d of %d, when nobody else holds one", i+1, kitPermits), err)
		}
	}
	return fmt.Sprintf("%d grants to %d sessions, %d at a time", turmoilClients*turmoilRounds, turmoilClients, kitPermits), nil
}
