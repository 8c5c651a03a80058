package report

import (
	"fmt"

	"github.com/zkbench/zkbench/internal/phrase"
)

// connectPhases are the phases of making a connection, as operations of the document and in words.
var connectPhases = []struct{ op, name string }{
	{"connect-tcp", "TCP"},
	{"connect-tls", "TLS, full handshake"},
	{"connect-tls-resumed", "TLS, resumed"},
	{"connect-session", "session"},
	{"connect-sasl", "SASL"},
}

const connectingCaption = "Connections that the sessions made in the steady phase, by phase, in ms: the socket, the TLS handshake, the ZooKeeper handshake, " +
	"and SASL. Their first connections are not included."

// connectingOf is a line for each phase of the connections that the sessions of each row made in the steady phase; no rows where they made none.
func connectingOf(group []row) table {
	var t table
	first := t.keyHeads(group)
	t.head("", "phase", "phase", true, partKeys)
	t.head("", "connections", "connections", false, partOfOp)
	t.head("took, ms", "p50", "took p50, ms", false, partOfOp)
	for _, q := range []string{"p99", "max"} {
		t.head("took, ms", q, q+", ms", false, partOfOp)
	}
	for _, r := range group {
		for _, phase := range connectPhases {
			key := phase.op + ".service"
			n := int64(0)
			for _, c := range r.cells {
				n += latency(c.Latency, key).Count
			}
			if n == 0 {
				continue
			}
			p50 := r.percentile(median, key)
			t.rows = append(t.rows, append(append(cellsOf(first, r), phase.name, fmt.Sprint(n), p50.rate()), tails(p50, r.percentile(p99, key), r.maximum(key))...))
		}
	}
	return t
}

const stormsCaption = "Clients that lost their connection to a fault, and when they reconnected: 'back after' is the time from the fault until that share of them " +
	"was connected again. Expired sessions are those that ended before the next fault."

// stormsOf is a line for each fault by which clients lost their connection; no rows where none did, or the engine does not tell.
func stormsOf(group []row) table {
	var t table
	first := t.keyHeads(group)
	t.head("", "fault", "fault", true, partKeys)
	t.head("clients", "cut off", "clients cut off", false, partOfOp)
	for _, share := range []string{"50 %", "99 %", "all"} {
		t.head("back after, ms", share, share+" back after, ms", false, partOfOp)
	}
	t.head("", "expired", "expired", false, partOfOp)
	for _, r := range group {
		for _, c := range r.cells {
			for _, f := range c.Faults {
				if f.SessionsCut == nil || *f.SessionsCut == 0 {
					continue
				}
				line := cellsOf(first, r)
				line[0] = repeated(r, c)
				t.rows = append(t.rows, append(line, faultName(f), fmt.Sprint(*f.SessionsCut), maybe(f.BackHalf, 2), maybe(f.Back99, 2), maybe(f.BackAll, 2),
					fmt.Sprint(f.SessionsExpired)))
			}
		}
	}
	return t
}

const reconnectingCaption = "Traffic until all of them were back: what the sessions of the load sent and received from the fault until then, their normal work included. " +
	"setWatches are requests that restore all watches of a session; pings do not count as requests, but their bytes do."

// reconnectingOf is a line for each fault by which clients lost their connection, with what they sent until they were back; no rows where nobody tells.
func reconnectingOf(group []row) table {
	var t table
	first := t.keyHeads(group)
	t.head("", "fault", "fault", true, partKeys)
	const meanwhile = "until all were back"
	for _, h := range []string{"handshakes", "setWatches", "all requests", "events", "KiB sent", "KiB received"} {
		t.head(meanwhile, h, h+" "+meanwhile, false, partOfOp)
	}
	kib := func(n *int64) string {
		if n == nil {
			return "-"
		}
		return phrase.Fixed(float64(*n)/1024, 3)
	}
	for _, r := range group {
		for _, c := range r.cells {
			for _, f := range c.Faults {
				sent := f.Reconnecting
				if sent == nil || f.Handshakes == nil {
					continue
				}
				line := cellsOf(first, r)
				line[0] = repeated(r, c)
				t.rows = append(t.rows, append(line, faultName(f), fmt.Sprint(*f.Handshakes), fmt.Sprint(sent.Watches), fmt.Sprint(sent.Requests),
					fmt.Sprint(sent.Events), kib(sent.SentBytes), kib(sent.ReceivedBytes)))
			}
		}
	}
	return t
}

// captioned is a table and what it shows.
type captioned struct {
	table
	caption string
}

// reconnections are the tables that tell how connections that had been lost were made again, and those of the shares of a run; none where none was.
func reconnections(group []row) (all []captioned) {
	for _, one := range []captioned{{stormsOf(group), stormsCaption}, {reconnectingOf(group), reconnectingCaption}, {connectingOf(group), connectingCaption}, {fleetOf(group), fleetCaption}} {
		if len(one.rows) > 0 {
			all = append(all, one)
		}
	}
	return all
}
