package check

import (
	"cmp"
	"iter"
	"slices"
	"time"
)

// rule reports whether a span must not start while others exist, given the numbers of exclusive and of shared ones.
type rule func(next span, exclusive, shared int) (forbidden bool)

// alone is the rule of a lock: one holder.
func alone(_ span, exclusive, _ int) bool { return exclusive > 0 }

// clash is a span that started although the rule forbade it, and the spans that existed then, in the order of their starts.
type clash struct {
	intruder span
	held     []span
}

// holder returns the span that best shows why the intruder must not start: the first that exists, preferably an exclusive one.
func (c clash) holder() span {
	if i := slices.IndexFunc(c.held, func(s span) bool { return !s.shared }); i >= 0 {
		return c.held[i]
	}
	if len(c.held) > 0 {
		return c.held[0]
	}
	return c.intruder // a rule that forbids a span even alone
}

// present holds the spans of an object that exist at an instant.
type present struct {
	spans             heap[standing]
	exclusive, shared int
}

// standing is a span with its place in the order.
type standing struct {
	span
	nth int
}

func newPresent() *present {
	return &present{spans: heap[standing]{before: func(a, b *standing) bool {
		return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(a.nth, b.nth)) < 0
	}}}
}

func (p *present) count(shared bool, n int) {
	if shared {
		p.shared += n
	} else {
		p.exclusive += n
	}
}

// sweep goes through spans in the order of earlierSpan and judges each against the spans of its object that still exist when it starts. It returns the number of
// spans that break the rule, and the earliest of them.
func sweep(all iter.Seq[span], forbidden rule) (count int, first clash) {
	here, nth := map[uint32]*present{}, 0
	for s := range all {
		p := here[s.object]
		if p == nil {
			p = newPresent()
			here[s.object] = p
		}
		p.leave(s.from) // an empty span at that instant counts only if it came before s
		if forbidden(s, p.exclusive, p.shared) {
			if count++; count == 1 {
				first = clash{intruder: s, held: p.inOrder()}
			}
		}
		p.enter(&s, &nth)
	}
	return count, first
}

// enter adds a span, the nth of all.
func (p *present) enter(s *span, nth *int) {
	p.count(s.shared, 1)
	p.spans.push(standing{*s, *nth})
	*nth++
}

// leave removes the spans that end by an instant.
func (p *present) leave(by time.Duration) {
	for len(p.spans.items) > 0 && p.spans.items[0].to <= by {
		p.count(p.spans.pop().shared, -1)
	}
}

// inOrder returns the spans that exist, in the order of their starts.
func (p *present) inOrder() []span {
	items := slices.Clone(p.spans.items)
	slices.SortFunc(items, func(a, b standing) int { return cmp.Compare(a.nth, b.nth) })
	all := make([]span, len(items))
	for i, s := range items {
		all[i] = s.span
	}
	return all
}
