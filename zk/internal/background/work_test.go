package background

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestWaitWaitsForAllWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Work
		began := time.Now()
		w.Go(func() {
			time.Sleep(time.Second)
			w.Go(func() { time.Sleep(time.Minute) }) // started while Wait is waiting
		})
		for range 2 {
			w.Wait()
			if took := time.Since(began); took != time.Minute+time.Second {
				t.Errorf("Wait returned after %v, want 1m1s", took)
			}
		}
		ran := false
		w.Go(func() { ran = true })
		if !ran {
			t.Error("Go after Wait returned before its function had run")
		}
	})
}

func TestWaitWithNothingToWaitFor(t *testing.T) {
	var w Work
	w.Wait()
	w.Wait()
}
