package drivers

import (
	"strings"
	"testing"
	"time"
)

func TestClock(t *testing.T) {
	const ms, µs = time.Millisecond, time.Microsecond
	type hello struct{ sent, received, now time.Duration }
	for _, c := range []struct {
		name       string
		hellos     []hello
		start, end time.Duration // in the reply to a request that lasted from 10 s to 10 s + 3 ms
		says       string
	}{
		{"the closest hello counts", []hello{{0, 10 * ms, ms}, {20 * ms, 20*ms + 20*µs, 20*ms + 10*µs}}, 10000*ms + ms, 10000*ms + 2*ms, ""},
		{"a clock may lose 500 us in a second", []hello{{0, 20 * µs, 10 * µs}}, 10000*ms - 5*ms, 10000 * ms, ""},
		{"and no more", []hello{{0, 20 * µs, 10 * µs}}, 10000*ms - 7*ms, 10000 * ms, "before the request was sent"},
		{"what is known of it ages", []hello{{0, 20 * µs, 10 * µs}, {9000 * ms, 9000*ms + 20*µs, 9000*ms - 4*ms}}, 10000*ms - 5*ms, 10000 * ms, ""},
		{"and is as close as the last hello", []hello{{0, 20 * µs, 10 * µs}, {9000 * ms, 9000*ms + 20*µs, 9000 * ms}}, 10000*ms - 3*ms, 10000 * ms, "before the request was sent"},
		{"a late hello tells nothing", []hello{{0, 20 * µs, 10 * µs}, {1000 * ms, 9000 * ms, 9000 * ms}}, 10000*ms + ms, 10000*ms + 2*ms, ""},
		{"a clock jumps", []hello{{0, 20 * µs, 10 * µs}, {1000 * ms, 1000*ms + 20*µs, 1002 * ms}}, 0, 0, "its clock went on by 1.00199s in 1s"},
		{"another unit", []hello{{0, 20 * µs, 10 * µs}, {1000 * ms, 1000*ms + 20*µs, ms}}, 0, 0, "its clock went on by 990µs in 1s"},
		{"a reply that ends after it came", []hello{{0, 20 * µs, 10 * µs}, {9999 * ms, 9999*ms + 20*µs, 9999 * ms}}, 10000*ms + ms, 10000*ms + 5*ms, "after it was received"},
	} {
		began, k := time.Now(), clock{}
		var err error
		for _, h := range c.hellos {
			if err == nil {
				err = k.measure(began.Add(h.sent), began.Add(h.received), int64(h.now+time.Hour))
			}
		}
		if err == nil {
			err = k.lie(Reply{Start: int64(c.start + time.Hour), End: int64(c.end + time.Hour)}, began.Add(10000*ms), began.Add(10003*ms))
		}
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}
}
