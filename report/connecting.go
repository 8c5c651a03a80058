package report

import (
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
)

const connectingCaption = "Connections that the sessions made in the steady phase, by phase, in ms: the socket, the TLS handshake, the ZooKeeper handshake, " +
	"and SASL. Their first connections are not included."

// connectingOf has one line per phase of the connections that the sessions of a row made in the steady phase; it has no rows if they made none.
func connectingOf(group []row) table {
	return linesOf(group, slices.Concat([]column{named("phase", "phase", true)}, under("", partOfOp, "connections"), under("took, ms", partOfOp, "p50|took p50, ms", "p99|p99, ms", "max|max, ms")),
		func(r row, add func(cells ...string)) {
			for _, phase := range metrics.Connects() {
				key := phase.String() + ".service"
				n := int64(0)
				for _, c := range r.cells {
					n += latency(c.Latency, key).Count
				}
				if n > 0 {
					p50 := r.percentile(median, key)
					add(append([]string{phase.Phase(), fmt.Sprint(n), p50.rate()}, tails(p50, r.percentile(p99, key), r.maximum(key))...)...)
				}
			}
		})
}

const stormsCaption = "Clients that lost their connection to a fault, and when they reconnected: 'back after' is the time from the fault until that share of them " +
	"was connected again. Expired sessions are those that ended before the next fault."

// stormsOf has one line per fault that cost clients their connection. It has no rows if no fault did, or if the engine does not report it.
func stormsOf(group []row) table {
	return linesOfCells(group, slices.Concat([]column{named("fault", "fault", true)}, under("clients", partOfOp, "cut off|clients cut off"),
		under("back after, ms", partOfOp, "50 %|50 % back after, ms", "99 %|99 % back after, ms", "all|all back after, ms"), under("", partOfOp, "expired")),
		func(c results.Cell, add func(cells ...string)) {
			for _, f := range c.Faults {
				if f.SessionsCut != nil && *f.SessionsCut > 0 {
					add(faultName(f), fmt.Sprint(*f.SessionsCut), maybe(f.BackHalf, 2), maybe(f.Back99, 2), maybe(f.BackAll, 2), fmt.Sprint(f.SessionsExpired))
				}
			}
		})
}

const reconnectingCaption = "Traffic until all of them were back: what the sessions of the load sent and received from the fault until then, their normal work included. " +
	"setWatches are requests that restore all watches of a session; pings do not count as requests, but their bytes do."

// reconnectingOf has one line per fault that cost clients their connection, with what they sent until they were connected again.
// It has no rows if nothing reports it.
func reconnectingOf(group []row) table {
	const meanwhile = "until all were back"
	columns := []column{named("fault", "fault", true)}
	for _, h := range []string{"handshakes", "setWatches", "all requests", "events", "KiB sent", "KiB received"} {
		columns = append(columns, under(meanwhile, partOfOp, h+"|"+h+" "+meanwhile)...)
	}
	kib := func(n *int64) string {
		if n == nil {
			return "-"
		}
		return phrase.Fixed(float64(*n)/1024, 3)
	}
	return linesOfCells(group, columns, func(c results.Cell, add func(cells ...string)) {
		for _, f := range c.Faults {
			if sent := f.Reconnecting; sent != nil && f.Handshakes != nil {
				add(faultName(f), fmt.Sprint(*f.Handshakes), fmt.Sprint(sent.Watches), fmt.Sprint(sent.Requests), fmt.Sprint(sent.Events), kib(sent.SentBytes), kib(sent.ReceivedBytes))
			}
		}
	})
}

// captioned is a table with its caption.
type captioned struct {
	table
	caption string
}

// reconnections returns the tables on how lost connections were restored, and on the shares of a run; none if there is nothing to show.
func reconnections(group []row) (all []captioned) {
	for _, one := range []captioned{{stormsOf(group), stormsCaption}, {reconnectingOf(group), reconnectingCaption}, {connectingOf(group), connectingCaption}, {fleetOf(group), fleetCaption}} {
		if len(one.rows) > 0 {
			all = append(all, one)
		}
	}
	return all
}
