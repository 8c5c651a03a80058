package drivers_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

func queueOf(s zk.Session) recipes.Claimer {
	return drivers.NewQueue(s, "/q", recipes.Options{}).(recipes.Claimer)
}

func TestQueue(t *testing.T) {
	f, _ := fleet(t, "none", 1)
	a, b := queueOf(zk.Within(dial(t, f, 0), "/")), queueOf(dial(t, f, 1))
	item := recipes.Item{Data: []byte{0, 0xff, '\n', '"'}}
	put, err := a.Put(t.Context(), item)
	if err != nil || put.Path == "" {
		t.Fatalf("put: %+v, %v", put, err)
	}
	if it, err := b.Take(t.Context()); err != nil || !bytes.Equal(it.Data, item.Data) || it.Path != put.Path {
		t.Errorf("take: %+v, %v, want %+v", it, err, put)
	}
	limited, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.Take(limited); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, recipes.ErrInDoubt) {
		t.Errorf("take of nothing: %v, want that the deadline has passed, and no doubt", err)
	}
	if _, err := a.Put(t.Context(), item); err != nil {
		t.Error(err)
	}
	if it, err := b.Take(t.Context()); err != nil || !bytes.Equal(it.Data, item.Data) { // nothing remains of the attempt that could block it
		t.Errorf("take: %+v, %v", it, err)
	}
	if n := f.Figures().Seam.Count(); n != 5 {
		t.Errorf("the seam was measured %d times, want 5", n)
	}
	waiting := make(chan error, 1)
	go func() {
		_, err := b.Take(t.Context())
		waiting <- err
	}()
	for len(waiting) == 0 { // until it is killed while it waits
		if err := f.Kill(); err != nil {
			break
		}
	}
	var doubt *recipes.InDoubtError
	if err := <-waiting; zk.Classify(err) != zk.ClassSessionGone || errors.As(err, &doubt) && doubt.Item.Data != nil {
		t.Errorf("take with a driver that was killed: %v", err)
	}
	if _, err := a.Put(t.Context(), item); zk.Classify(err) != zk.ClassSessionGone || errors.Is(err, recipes.ErrInDoubt) {
		t.Errorf("put with a session that is over: %v, want no doubt", err)
	}
}

func TestClaims(t *testing.T) {
	f, _ := fleet(t, "claims", 1)
	first, second := dial(t, f, 0), dial(t, f, 1)
	a, b := queueOf(first), queueOf(second)
	if err := a.Finish(t.Context(), recipes.Claim{}); !errors.Is(err, recipes.ErrClaimLost) {
		t.Errorf("finish of nothing: %v", err)
	}
	if _, err := b.Put(t.Context(), recipes.Item{Data: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	c, err := a.Claim(t.Context())
	if err != nil || string(c.Data) != "1" || c.Token == 0 || c.Lost == nil {
		t.Fatalf("claim: %+v, %v", c, err)
	}
	first.Close()
	<-c.Lost
	if err := a.Finish(t.Context(), c); !errors.Is(err, recipes.ErrClaimLost) {
		t.Errorf("finish with a session that is over: %v", err)
	}
	again, err := b.Claim(t.Context())
	if err != nil || string(again.Data) != "1" || again.Token <= c.Token {
		t.Errorf("claim of what somebody did not finish: %+v, %v", again, err)
	}
	if err := b.Finish(t.Context(), again); err != nil {
		t.Error(err)
	}
}

// A take, a put and a finish are in doubt if the driver dies while it executes them; a claim is not, because it ends with its session.
func TestDoubt(t *testing.T) {
	for op, ask := range map[string]func(context.Context, recipes.Claimer) error{
		"put": func(ctx context.Context, q recipes.Claimer) error {
			_, err := q.Put(ctx, recipes.Item{Data: []byte("1")})
			return err
		},
		"take":   func(ctx context.Context, q recipes.Claimer) error { _, err := q.Take(ctx); return err },
		"claim":  func(ctx context.Context, q recipes.Claimer) error { _, err := q.Claim(ctx); return err },
		"finish": func(ctx context.Context, q recipes.Claimer) error { return q.Finish(ctx, recipes.Claim{}) },
	} {
		t.Run(op, func(t *testing.T) {
			f, _ := fleet(t, "dies with items", 1)
			err := ask(t.Context(), queueOf(dial(t, f, 0)))
			if zk.Classify(err) != zk.ClassSessionGone || errors.Is(err, recipes.ErrInDoubt) != (op != "claim") {
				t.Error(err)
			}
		})
	}
}
