package outcome

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
)

// tookText describes a phase of connections with its median and 99th percentile.
func tookText(p access.Took) string {
	return fmt.Sprintf("%s %s and %s", p.Phase, phrase.Duration(p.P50), phrase.Duration(p.P99))
}

// connectingNote is the start of the note on how long connections took to make.
const connectingNote = "Making a connection"

// Connected adds the phases of the connections to an ensemble to the document; settings distinguishes it from the other ensembles of the run, and resumed is
// how many TLS handshakes resumed a session. If note is set, it also adds a note.
func (d *Document) Connected(all []access.Took, resumed, environment int, settings []profiles.Setting, note bool) {
	var texts []string
	for _, p := range all {
		c := results.Connecting{Phase: p.Phase, Environment: environment, Count: p.Count, P50: Millis(p.P50), P99: Millis(p.P99), Max: Millis(p.Max)}
		text := tookText(p)
		if p.Phase == "tls" {
			c.Resumed = resumed
			text = fmt.Sprintf("%s (%d of %d resumed)", text, resumed, p.Count)
		}
		d.Connecting, texts = append(d.Connecting, c), append(texts, text)
	}
	if len(texts) > 0 && note {
		there := ""
		for _, s := range settings {
			there += fmt.Sprintf(" with %s %v", s.Key, s.Value)
		}
		d.Notes = append(d.Notes, connectingNote+there+" took, p50 and p99: "+strings.Join(texts, "; ")+".")
	}
}

// ConnectedShares adds up the connection phases of all shares.
func (d *Document) ConnectedShares(shares []*results.ShareResult) error {
	d.Notes = slices.DeleteFunc(slices.Clone(d.Notes), func(note string) bool { return strings.HasPrefix(note, connectingNote) })
	var all []access.Took
	var sums []*metrics.Histogram
	resumed := 0
	for _, s := range shares {
		for _, p := range s.Parts[""].Connecting {
			i := slices.IndexFunc(all, func(t access.Took) bool { return t.Phase == p.Phase })
			if i < 0 {
				i = len(all)
				all, sums = append(all, access.Took{Phase: p.Phase}), append(sums, metrics.NewHistogram())
			}
			if err := p.Times.AddTo(sums[i]); err != nil {
				return fmt.Errorf("%s: %w", s.Dir, err)
			}
			resumed += p.Resumed
		}
	}
	for i, h := range sums {
		all[i].Count, all[i].P50, all[i].P99, all[i].Max = int(h.Count()), h.Quantile(0.5), h.Quantile(0.99), h.Max()
	}
	d.Connected(all, resumed, 0, nil, true)
	return nil
}
