package check

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// grant is a hold: its times on its host's clock and the transactions of its grant and its release.
func grant(session byte, from, to int, g, r int64) history {
	return history{zxid(g, acquire(session, from-1, from, 0)), zxid(r, release(session, to, to+1))}
}

// placed is an enqueue with the transaction that created its znode.
func placed(session byte, start, end int, czxid int64) metrics.Sample {
	s := enqueue(session, start, end)
	s.Token, s.Zxid = czxid, czxid
	return s
}

func hostsOf(histories ...history) (all []Host) {
	for i, h := range histories {
		all = append(all, Host{Name: "share " + string(rune('1'+i)), History: slices.Values(h)})
	}
	return all
}

// The second host's clock is seconds ahead: all its times are later than the first host's.
func TestExclusionAcrossHosts(t *testing.T) {
	lost := func(h history) history {
		h = slices.Clone(h)
		h[1] = zxid(0, with(metrics.Lost, h[1]))
		return h
	}
	a, after := grant('a', 10, 20, 100, 120), grant('b', 5010, 5020, 120, 130)
	within := grant('b', 5010, 5020, 110, 130)
	for _, test := range []struct {
		name        string
		first, next history
		answer      Answer
		evidence    int
		say         string
	}{
		{"one after the other", a, after, Holds, 2, ""},
		{"one within the other, at unknown times", a, within, Violated, 2, "whether both held it at once is unknown"},
		{"each host saw before its end what the other sent after its grant", slices.Concat(a, history{placed('c', 11, 12, 112), placed('c', 13, 19, 118)}),
			slices.Concat(within, history{placed('d', 5011, 5012, 115)}), Violated, 2, "both held at once"},
		{"the host of b had seen the removal when b was granted in an older state", a, slices.Concat(history{placed('d', 5000, 5002, 125)}, within), Violated, 2, "by luck not held at once"},
		{"a was never released", a[:1], after, Violated, 2, "gave it up later, at no transaction"},
		{"a was lost, and b granted after the next write of a's host", slices.Concat(lost(a), history{placed('c', 21, 22, 105)}), after, Holds, 1, ""},
		{"a was lost, and its host wrote nothing after that", lost(a), within, Unknown, 1, "1 of 2 grants may have been given"},
		{"a was lost, and both held at the same time", slices.Concat(lost(a), history{placed('c', 11, 12, 112), placed('c', 13, 19, 118), placed('c', 30, 31, 119)}),
			slices.Concat(within, history{placed('d', 5011, 5012, 115)}), Violated, 1, "both held at once"},
		{"the reply to a's release was lost, and b's host had seen what a's sent then", slices.Concat(history{a[0], zxid(0, a[1])}, history{placed('c', 20, 22, 121)}),
			slices.Concat(history{placed('d', 5000, 5002, 125)}, within), Holds, 1, ""},
		{"b was granted by an event without a zxid", a, grant('b', 5010, 5020, 0, 130), Unknown, 1, "1 of 2 grants may have been given"},
		{"b was granted by an event without a zxid, and had seen a's removal before", a, grant('b', 5010, 5020, -120, 130), Holds, 1, ""},
		{"b was granted by an event without a zxid, and had seen nothing after a's grant", a, grant('b', 5010, 5020, -119, 130), Unknown, 1, "1 of 2 grants may have been given"},
		{"b was granted by an event without a zxid, and its host wrote soon", a, slices.Concat(history{placed('d', 5010, 5011, 111)}, grant('b', 5010, 5020, 0, 130)), Violated, 1,
			"whether both held it at once is unknown"},
		{"no zxids", grant('a', 10, 20, 0, 0), grant('b', 5010, 5020, 0, 0), Unknown, 0, "1 of 2 grants may"},
		{"two on one host, by its clock", slices.Concat(a, grant('c', 15, 25, 120, 125)), after, Violated, 3, "share 1, by its own clock"},
		{"nothing was granted", nil, nil, Unknown, 0, "nothing was granted"},
		{"the other host took no part", a, nil, Unknown, 1, "no contention"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, turned := range []bool{false, true} {
				hosts := hostsOf(test.first, test.next)
				if turned {
					slices.Reverse(hosts)
				}
				v, judged := MutualExclusion().JudgeAcross(hosts, nil)
				if say := test.say; !judged || v.Answer != test.answer || v.Evidence != test.evidence && v.Answer != Violated || !strings.Contains(v.Detail, say) && test.name[:3] != "two" {
					t.Errorf("turned=%v: %v (%d operations, %s), want %v (%d, %q)", turned, v.Answer, v.Evidence, v.Detail, test.answer, test.evidence, say)
				}
				if v.Answer == Violated && (v.Count == 0 || len(v.Witness) < 2) {
					t.Errorf("%d violations, counterexample %v", v.Count, v.Witness)
				}
				by := map[string]int{}
				for _, j := range v.Judges {
					if by[j.By]++; by[j.By] > 1 {
						t.Errorf("turned=%v: two results of the judge %q: %+v", turned, j.By, v.Judges)
					}
				}
			}
		})
	}
	cut := hostsOf(a[:1], after)
	cut[0].Cut = true
	if v, _ := MutualExclusion().JudgeAcross(cut, nil); v.Answer != Unknown || !strings.Contains(v.Detail, "the history of share 1 is incomplete") {
		t.Errorf("a hold without an end in a cut history: %+v, want unknown", v)
	}
}

func TestOrdersAcrossHosts(t *testing.T) {
	token := func(t int64, h history) history {
		h = slices.Clone(h)
		h[0].Token = t
		return h
	}
	first, next := grant('a', 10, 20, 100, 120), grant('b', 5010, 5020, 120, 130)
	more := func(h history, session byte, token int64) history { // a grant long before, so that there is evidence
		before := grant(session, 4, 5, 50, 60)
		before[0].Token = token
		if token == 0 {
			before = append(before, placed(session, 2, 3, 40))
		}
		return append(before, h...)
	}
	place := func(at int, czxid int64, h history) history {
		p := placed(byte(h[0].Session), at, at+1, czxid)
		h = slices.Clone(h)
		h[0].Start = p.Start
		return append(history{p}, h...)
	}
	for _, test := range []struct {
		name   string
		check  Check
		a, b   history
		answer Answer
	}{
		{"the later state has the larger token", TokenOrder(), token(7, first), token(8, next), Holds},
		{"the later state has the smaller token", TokenOrder(), token(8, first), token(7, next), Violated},
		{"two in one state", TokenOrder(), token(8, first), token(7, grant('b', 5010, 5020, 100, 130)), Holds},
		{"no tokens", TokenOrder(), first, next, Unknown},
		{"a smaller token in an unknown state", TokenOrder(), more(token(8, first), 'c', 6), token(7, grant('b', 5010, 5020, -99, 130)), Unknown},
		{"that was before the larger token's", TokenOrder(), more(token(8, first), 'c', 6), append(token(7, grant('b', 5010, 5020, -99, 100)), placed('d', 5012, 5013, 100)), Holds},
		{"a larger token in an unknown state", TokenOrder(), more(token(7, first), 'c', 6), token(8, grant('b', 5010, 5020, -99, 130)), Unknown},
		{"that its host knew to be later", TokenOrder(), more(token(7, first), 'c', 6), append(token(8, grant('b', 5010, 5020, -99, 130)), placed('d', 5001, 5002, 120)), Holds},
		{"one token twice, in an unknown state", TokenOrder(), more(token(7, first), 'c', 6), append(token(7, grant('b', 5010, 5020, -99, 130)), placed('d', 5001, 5002, 120)), Unknown},
		{"one token for a writer and a reader, in an unknown state", QueueOrder(), more(token(7, first), 'c', 6),
			history{zxid(-99, reads('b', 5009, 5010, 7)), zxid(130, readDone('b', 5020, 5021)), placed('d', 5001, 5002, 120)}, Unknown},
		{"one token for two readers, in an unknown state", QueueOrder(), more(history{zxid(100, reads('a', 9, 10, 7)), zxid(120, readDone('a', 20, 21))}, 'c', 6),
			history{zxid(-99, reads('b', 5009, 5010, 7)), zxid(130, readDone('b', 5020, 5021)), placed('d', 5001, 5002, 120)}, Holds},
		{"a larger token of a reader in an unknown state", QueueOrder(), more(token(7, first), 'c', 6), history{zxid(-99, reads('b', 5009, 5010, 8)), zxid(130, readDone('b', 5020, 5021))}, Unknown},
		{"the larger of two larger tokens was perhaps given before it, the other was not", TokenOrder(),
			slices.Concat(token(6, grant('e', 4, 5, 50, 60)), token(8, grant('a', 20, 22, -110, 112)), token(9, grant('c', 30, 32, -100, 115)), history{placed('x', 10, 11, 99), placed('x', 40, 41, 117)}),
			token(7, grant('b', 5010, 5020, 105, 130)), Unknown},
		{"first come, first granted", FIFO(), place(1, 90, first), place(5001, 95, next), Holds},
		{"first come, last granted", FIFO(), place(1, 95, first), place(5001, 90, next), Violated},
		{"first come, granted in an unknown state", FIFO(), more(place(1, 95, first), 'c', 0), place(5001, 90, grant('b', 5010, 5020, -99, 130)), Unknown},
		{"an enqueue without a transaction", FIFO(), place(1, 0, first), place(5001, 90, next), Unknown},
	} {
		if v, judged := test.check.JudgeAcross(hostsOf(test.a, test.b), nil); !judged || v.Answer != test.answer {
			t.Errorf("%s: %s is %v (%s), want %v", test.name, test.check.Name, v.Answer, v.Detail, test.answer)
		}
	}
}

// The second host's clock is seconds ahead. An item is delivered again when its first claim was lost, which only what its host does next can show.
func TestClaimsAcrossHosts(t *testing.T) {
	first, given := with(metrics.Lost, finish('a', 1, 5, 20, 21)), claimed('a', 1, 5, 0, 10)
	again := claimed('b', 1, 9, 5000, 5010)
	for _, tt := range []struct {
		why    string
		a, b   history
		answer Answer
	}{
		{"the first consumer's host put something after it had lost the item, and the second's had seen that", history{put(1, 0, 1), given, first, put(7, 22, 23)}, history{again}, Holds},
		{"it did so before it had lost the item", history{put(1, 0, 1), given, put(7, 12, 13), first}, history{again}, Unknown},
		{"the second had not seen that", history{put(1, 0, 1), given, first, put(11, 22, 23)}, history{again}, Unknown},
		{"it put nothing", history{put(1, 0, 1), given, first}, history{again}, Unknown},
		{"the first finished the item", history{put(1, 0, 1), given, finish('a', 1, 5, 20, 21), put(7, 22, 23)}, history{again}, Violated},
		{"two items", history{put(1, 0, 1), put(2, 0, 1), given, first}, history{about(2, again)}, Holds},
		{"both on one host", history{put(1, 0, 1), given, first, claimed('c', 1, 9, 22, 23)}, history{acquire('b', 0, 1, 0)}, Holds},
	} {
		if v := Claims().Across(hostsOf(tt.a, tt.b), nil); v.Answer != tt.answer {
			t.Errorf("%s: %v (%s), want %v", tt.why, v.Answer, v.Detail, tt.answer)
		}
	}
}

// The skew of two clocks is bounded by what one host sent and the other had seen, and by the points where they met.
func TestSkewsOfClocks(t *testing.T) {
	// The second host's clock started 5 s after the first: its times are 5 s less.
	a := history{placed('a', 6000, 6004, 100), placed('a', 6030, 6036, 140)}
	b := history{placed('b', 1010, 1013, 120)}
	hosts := hostsOf(a, b)
	if s := Skews(hosts, nil)[1]; !s.Known || s.Low != 4987*ms || s.High != 5026*ms || s.Low > 5*time.Second || s.High < 5*time.Second {
		t.Errorf("the skew is %+v", s)
	}
	for i := range hosts {
		hosts[i].Meets = []Meet{{Came: time.Duration(i) * -5001 * ms, Went: time.Duration(i) * -4999 * ms}}
	}
	if s := Skews(hosts, nil)[1]; s.Low != 4999*ms && s.High != 5001*ms {
		t.Errorf("with a meeting the skew is %+v", s)
	}
	if s := Skews(hostsOf(a, nil), nil)[1]; s.Known {
		t.Errorf("without anything in common the skew is %+v", s)
	}
}

// Of the bounds of several hosts the largest counts, however little larger it is than the others.
func TestBoundAcrossHosts(t *testing.T) {
	hosts := hostsOf(nil, nil, nil)
	for i, ends := range []int{100, 101, 99} {
		hosts[i].Meets = []Meet{{Came: -2 * ms, Went: 0}}
		hosts[i].History = slices.Values(history{sample(metrics.Bound, 'a', 0, 0, ends, 0)})
	}
	all, off, problem := aligned(hosts, nil)
	got := slices.Collect(all)
	if want := 101*ms + 2*off; problem != "" || off == 0 || len(got) != 1 || got[0].Service() != want {
		t.Errorf("bounds %v with clocks up to %v apart (%s), want one of %v", got, off, problem, want)
	}
}

// A lost wake-up shows across hosts: an object stays free while a session on another host than the last holder's waits.
func TestLivenessAcrossHosts(t *testing.T) {
	meets := []Meet{{Came: -2 * ms, Went: 0}}
	judge := func(a, b history) Verdict {
		hosts := hostsOf(a, b)
		hosts[0].Meets, hosts[1].Meets = meets, meets
		v, _ := Liveness(50*ms).JudgeAcross(hosts, nil)
		return v
	}
	held := history{acquire('a', 0, 10, 0), release('a', 20, 22)}
	if v := judge(held, history{with(metrics.Timeout, acquire('b', 5, 200, 0))}); v.Answer != Violated {
		t.Errorf("a long wait for an object freed by another host: %v", v)
	}
	if v := judge(held, history{acquire('b', 5, 60, 0)}); v.Answer != Holds {
		t.Errorf("without a long wait: %v", v)
	}
	if v := judge(history{acquire('a', 0, 10, 0), release('a', 190, 192)}, history{acquire('b', 5, 200, 0)}); v.Answer != Holds {
		t.Errorf("a wait for a holder on another host: %v", v)
	}
	hosts := hostsOf(held, nil)
	hosts[1].Cut = true
	if v, _ := Liveness(50*ms).JudgeAcross(hosts, nil); v.Answer != Unknown {
		t.Errorf("with a cut history: %v", v)
	}
}

// With two permits, a write is fenced off while two others hold them; transactions order writes and holds of several hosts.
func TestFenceOfPermitsAcrossHosts(t *testing.T) {
	a, b, c := grant('a', 10, 20, 100, 140), grant('b', 5010, 5020, 105, 150), grant('c', 5015, 5030, 106, 160)
	for _, test := range []struct {
		name        string
		first, next history
		answer      Answer
	}{
		{"a write while one other holds", slices.Concat(a, history{write('a', 12, 13, 5, 130)}), b, Holds},
		{"a write while two others hold", slices.Concat(a, history{write('a', 12, 13, 5, 130)}), slices.Concat(b, c), Violated},
		{"a write before both hold", slices.Concat(a, history{write('a', 12, 13, 5, 104)}), slices.Concat(b, c), Holds},
		{"a write after one of them released", slices.Concat(a, history{write('a', 42, 43, 5, 155)}), slices.Concat(b, c), Holds},
		{"a write after one of them was lost", slices.Concat(a, history{write('a', 12, 13, 5, 130)}), slices.Concat(b, history{c[0], with(metrics.Lost, c[1])}), Holds},
		{"grants without transactions", history{acquire('a', 9, 10, 5), write('a', 12, 13, 5, 130)}, history{acquire('b', 9, 10, 5), release('b', 20, 21)}, Unknown},
		{"nothing was written", a, b, Unknown},
		{"all that was written was rejected", slices.Concat(a, history{with(metrics.Lost, write('a', 12, 13, 5, 0))}), b, Holds},
	} {
		if v, judged := Fence(2).JudgeAcross(hostsOf(test.first, test.next), nil); !judged || v.Answer != test.answer || v.Answer == Violated && len(v.Witness) != 2 {
			t.Errorf("%s: %v (%s, %d operations), want %v", test.name, v.Answer, v.Detail, v.Evidence, test.answer)
		}
	}
}

// Every value that is seen was written, on whichever host.
func TestWrittenValuesAcrossHosts(t *testing.T) {
	change := func(session byte, start, end int, token, value int64) metrics.Sample {
		s := sample(metrics.Change, session, 0, start, end, token)
		s.Value = value
		return s
	}
	see := func(session byte, end int, token, value int64) metrics.Sample {
		s := sample(metrics.See, session, 0, end-1, end, token)
		s.Value = value
		return s
	}
	late := with(metrics.InDoubt, change('a', 30, 40, 0, 2))
	for _, test := range []struct {
		name        string
		first, next history
		answer      Answer
	}{
		{"written, and seen elsewhere", history{change('a', 10, 20, 100, 1)}, history{see('b', 5, 100, 1)}, Holds},
		{"nobody wrote it", history{change('a', 10, 20, 100, 1)}, history{see('b', 5, 100, 3)}, Violated},
		{"written in another transaction", history{change('a', 10, 20, 100, 1)}, history{see('b', 5, 101, 1)}, Violated},
		{"a write in doubt was seen", history{late}, history{see('b', 5, 101, 2)}, Holds},
		{"seen before its write started", history{see('c', 25, 105, 7), change('d', 1, 2, 105, 7), late}, history{see('b', 5, 101, 2)}, Violated},
		{"two saw one version with two values", history{change('a', 10, 20, 100, 1), see('c', 25, 100, 1)}, history{see('b', 5, 100, 0)}, Violated},
	} {
		if v, judged := WrittenValues().JudgeAcross(hostsOf(test.first, test.next), nil); !judged || v.Answer != test.answer {
			t.Errorf("%s: %v (%s), want %v", test.name, v.Answer, v.Detail, test.answer)
		}
	}
	cut := hostsOf(nil, history{see('b', 5, 100, 3)})
	cut[0].Cut = true
	if v, _ := WrittenValues().JudgeAcross(cut, nil); v.Answer != Unknown {
		t.Errorf("with a host whose writes are missing: %+v", v)
	}
}

// The members of a view are those of its transaction, on whichever host.
func TestViewsAcrossHosts(t *testing.T) {
	a, la := join('a', 0, 10, 20, 100), zxid(130, leaves('a', 40, 42))
	lost := with(metrics.Lost, leaves('a', 40, 40))
	views := map[int64][]int64{110: {0}, 120: nil, 121: {0}, 130: nil, 140: {0}}
	failed := with(metrics.Timeout, join('b', 60, 30, 35, 0))
	with60 := map[int64][]int64{105: {0, 60}}
	for _, test := range []struct {
		name        string
		first, next history
		answer      Answer
	}{
		{"seen by another host", history{a, la}, saw(views, sees('x', 5, 6, 110), sees('x', 6, 7, 130)), Holds},
		{"nobody saw anything", history{a, la}, nil, Unknown},
		{"a member is missing before the transaction that ended it", history{a, la}, saw(views, sees('x', 5, 6, 120)), Violated},
		{"a member is missing, and its end is unknown", history{a, lost}, saw(views, sees('x', 5, 6, 120)), Holds},
		{"a member is missing, and its host had seen a later transaction while it was one", history{a, lost, placed('c', 30, 31, 125)}, saw(views, sees('x', 5, 6, 120)), Violated},
		{"it is back without joining", history{a, lost}, saw(views, sees('x', 5, 6, 120), sees('y', 5, 6, 121)), Violated},
		{"two hosts saw two sets at one transaction", append(saw(views, sees('x', 5, 6, 110)), a, la), saw(map[int64][]int64{110: nil}, sees('y', 5, 6, 110)), Violated},
		{"a session that never joined", history{a, la}, saw(with60, sees('x', 5, 6, 105)), Violated},
		{"a join that may have succeeded", history{a, la, failed}, saw(with60, sees('x', 5, 6, 105)), Holds},
		{"a join that started after its host had seen a later transaction", history{a, la, placed('c', 25, 26, 105), failed}, saw(with60, sees('x', 5, 6, 105)), Violated},
	} {
		for _, turned := range []bool{false, true} {
			hosts := hostsOf(test.first, test.next)
			if turned {
				slices.Reverse(hosts)
			}
			if v, judged := Views().JudgeAcross(hosts, nil); !judged || v.Answer != test.answer {
				t.Errorf("%s, turned=%v: %v (%s), want %v", test.name, turned, v.Answer, v.Detail, test.answer)
			}
		}
	}
	cut := hostsOf(nil, saw(views, sees('x', 5, 6, 110)))
	cut[0].Cut = true
	if v, _ := Views().JudgeAcross(cut, nil); v.Answer != Unknown {
		t.Errorf("with a host whose members are missing: %+v", v)
	}
}

// Observers on one host see crashes on another.
func TestCrashesSeenAcrossHosts(t *testing.T) {
	meets := []Meet{{Came: -2 * ms, Went: 0}}
	views := map[int64][]int64{10: {0}, 25: nil}
	crashed := history{join('a', 0, 0, 2, 10), with(metrics.Lost, leaves('a', 20, 20))}
	first := sees('x', 0, 3, 10)
	for _, test := range []struct {
		name   string
		next   history
		answer Answer
	}{
		{"in time", saw(views, first, sees('x', 3, 60, 25)), Holds},
		{"too late", saw(views, first, sees('x', 3, 90, 25)), Violated},
		{"never", saw(views, first, with(metrics.Unfinished, sees('x', 3, 200, 0))), Violated},
		{"nobody looked", nil, Unknown},
	} {
		hosts := hostsOf(crashed, test.next)
		hosts[0].Meets, hosts[1].Meets = meets, meets
		if v, judged := CrashesSeen(50*ms).JudgeAcross(hosts, nil); !judged || v.Answer != test.answer {
			t.Errorf("%s: %v (%s), want %v", test.name, v.Answer, v.Detail, test.answer)
		}
	}
}

// Overtaking across hosts shows in the transactions of enqueues and the states of grants.
func TestOvertakesAcrossHosts(t *testing.T) {
	of := func(session byte, at int, place, state, gone int64) history {
		h := grant(session, at+5, at+10, state, gone)
		h[0].Start, h[0].Due = time.Duration(at)*ms, time.Duration(at)*ms
		return append(history{placed(session, at, at+1, place)}, h...)
	}
	a, b, c := of('a', 0, 90, 130, 140), of('b', 5000, 95, 100, 110), of('c', 5100, 97, 115, 120)
	f, d := DealAcross(hostsOf(a, slices.Concat(b, c)), nil)
	if f.Overtakes != 2 || f.MaxOvertakes != 2 || f.Grants != 3 || f.Sessions != 3 || !slices.Equal(d.Overtaken, []int{2, 0, 1}) || f.LongestWait != 5*ms {
		t.Errorf("overtaken by two sessions on another host: %+v, %+v", f, d)
	}
	f, d = DealAcross(hostsOf(of('a', 0, 90, 100, 110), slices.Concat(of('b', 5000, 95, 120, 125), c)), nil)
	if f.Overtakes != 1 || f.MaxOvertakes != 1 {
		t.Errorf("overtaken by a session on the same host: %+v", f)
	}
	c[1].Zxid = 0
	if f, d = DealAcross(hostsOf(a, slices.Concat(b, c)), nil); len(d.Overtaken) > 0 || f.Grants != 3 || f.LongestWait != 5*ms {
		t.Errorf("a grant without a state: %+v, %+v", f, d)
	}
}

// Real time is that of each host. The second host's clock is seconds ahead.
func TestDeliveryOrderAcrossHosts(t *testing.T) {
	acknowledged := func(item int64, czxid int64) metrics.Sample {
		p := put(item, 0, 1)
		p.Session, p.Token = 'p', czxid
		return p
	}
	out := func(session byte, item, czxid, at int64) history {
		r := about(item, with(metrics.OK, remove(session, czxid, int(at), int(at)+1)))
		return history{zxid(at, r), take(session, item, 0, int(at)+1)}
	}
	first, next := out('a', 1, 3, 20), out('b', 2, 4, 5010)
	unknown := func(h history) history { return history{zxid(0, h[0]), h[1]} }
	for _, tt := range []struct {
		why         string
		first, next history
		want        Answer
	}{
		{"in the order of transactions", append(first, acknowledged(1, 3)), next, Holds},
		{"an item that was there when its put was acknowledged, for all that is known", append(first, acknowledged(1, 0)), next, Unknown},
		{"an item whose host had seen it by then", append(first, acknowledged(1, 0), placed('c', 0, 1, 3)), next, Holds},
		{"of no transactions each host's own real time tells nothing of the other's", append(unknown(first), acknowledged(1, 3), acknowledged(7, 5), take('a', 7, 30, 31)), unknown(next), Unknown},
		{"out of order on one host, by its clock", history{put(1, 0, 1), put(2, 2, 3), take('a', 2, 5, 6), take('b', 1, 7, 8)}, nil, Violated},
	} {
		if v, _ := DeliveryOrder().JudgeAcross(hostsOf(tt.first, tt.next), nil); v.Answer != tt.want {
			t.Errorf("%s: %v, want %v: %s", tt.why, v.Answer, tt.want, v.Detail)
		}
	}
}
