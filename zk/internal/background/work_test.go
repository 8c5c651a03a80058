package background

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestWaitWaitsForAllThatBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Work
		began := time.Now()
		w.Go(func() {
			time.Sleep(time.Second)
			w.Go(func() { time.Sleep(time.Minute) }) // while Wait waits
		})
		for range 2 {
			w.Wait()
			if took := time.Since(began); took != time.Minute+time.Second {
				t.Errorf("Wait returned after %v", took)
			}
		}
		ran := false
		w.Go(func() { ran = true })
		if !ran {
			t.Error("what began after Wait was not over when Go returned")
		}
	})
}

func TestWaitWithNothingToWaitFor(t *testing.T) {
	var w Work
	w.Wait()
	w.Wait()
}
