package drivers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	helloWithin = 30 * time.Second // a virtual machine may have to start
	hellos      = 8                // at the start; the fastest of them calibrates the clock
	helloEvery  = time.Second      // afterwards, to calibrate it again
)

// greet asks for the hello several times, and keeps asking as long as the process lives.
func (p *Process) greet(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, helloWithin, fmt.Errorf("no answer to hello within %v", helloWithin))
	defer cancel()
	for range hellos {
		c, err := p.send(Request{Op: OpHello, Protocol: Protocol})
		if err != nil {
			return err
		}
		r, err := p.await(ctx, c)
		switch {
		case err != nil:
			return err
		case !slices.ContainsFunc(whole, r.Knows):
			return fmt.Errorf("it supports nothing that zkbench uses: its hello lists %q (expected at least one of %s)", r.Can, strings.Join(whole, ", "))
		}
		p.Hello = r.Hello
	}
	p.timing.Go(p.keepTime)
	return nil
}

// keepTime measures the clock repeatedly until the process is gone. A stopped process replies late, which says nothing about the clock.
func (p *Process) keepTime() {
	every := time.NewTicker(helloEvery)
	defer every.Stop()
	for {
		select {
		case <-p.ended:
			return
		case <-every.C:
			if c, err := p.send(Request{Op: OpHello, Protocol: Protocol}); err == nil {
				p.await(context.Background(), c) // ends with the process
			}
		}
	}
}

// heard handles the reply to a hello, and measures the clock with it. The lock must be held.
func (p *Process) heard(r Reply, sent, received time.Time) error {
	switch {
	case r.Error != "":
		return fmt.Errorf("%w: hello is answered with the error %s: %s", ErrProtocol, r.Error, r.Message)
	case r.Protocol != Protocol:
		return fmt.Errorf("%w: it speaks version %d (expected %d)", ErrProtocol, r.Protocol, Protocol)
	case r.Name == "" || r.Now <= 0 || r.Store == "":
		return fmt.Errorf("%w: its hello lacks the name, the store or now, the time of its clock", ErrProtocol)
	}
	if _, err := r.Powers(); err != nil {
		return err
	}
	if err := p.clock.measure(sent, received, r.Now); err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return nil
}
