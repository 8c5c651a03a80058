package spill

import (
	"iter"
	"slices"
)

// inOrder reports whether values are sorted.
func inOrder[T any](values []T, compare func(a, b *T) int) bool {
	for i := 1; i < len(values); i++ {
		if compare(&values[i-1], &values[i]) > 0 {
			return false
		}
	}
	return true
}

// sorted yields values in sorted order, equal ones in their given order, without moving them.
func sorted[T any](values []T, compare func(a, b *T) int) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		if compare == nil || inOrder(values, compare) {
			for i := range values {
				if !yield(&values[i]) {
					return
				}
			}
			return
		}
		in := make([]*T, len(values))
		for i := range values {
			in[i] = &values[i]
		}
		arrange(in, compare)
		for _, v := range in {
			if !yield(v) {
				return
			}
		}
	}
}

// arranged returns values in sorted order: the same slice if it is sorted already.
func arranged[T any](values []T, compare func(a, b *T) int) []T {
	if compare == nil || inOrder(values, compare) {
		return values
	}
	in := make([]T, 0, len(values))
	for v := range sorted(values, compare) {
		in = append(in, *v)
	}
	return in
}

// arrange is a stable merge sort of short blocks. It merges only what overlaps, so nearly sorted input takes little more than O(n).
func arrange[T any](in []*T, compare func(a, b *T) int) {
	const block = 16
	for low := 0; low < len(in); low += block {
		some := in[low:min(low+block, len(in))]
		for i := 1; i < len(some); i++ {
			for j := i; j > 0 && compare(some[j-1], some[j]) > 0; j-- {
				some[j-1], some[j] = some[j], some[j-1]
			}
		}
	}
	spare := make([]*T, 0, len(in)/2+block)
	for width := block; width < len(in); width *= 2 {
		for low := 0; low+width < len(in); low += 2 * width {
			join(in[low:min(low+2*width, len(in))], width, spare, compare)
		}
	}
}

// join merges the first middle values with the others; both parts are sorted.
func join[T any](in []*T, middle int, spare []*T, compare func(a, b *T) int) {
	if compare(in[middle-1], in[middle]) <= 0 {
		return
	}
	low, _ := slices.BinarySearchFunc(in[:middle], in[middle], func(a, first *T) int { // the first one greater than the first of the others
		if compare(a, first) <= 0 {
			return -1
		}
		return 1
	})
	left := append(spare[:0], in[low:middle]...)
	to, right := low, middle
	for len(left) > 0 && right < len(in) {
		if compare(left[0], in[right]) <= 0 {
			in[to], left = left[0], left[1:]
		} else {
			in[to] = in[right]
			right++
		}
		to++
	}
	copy(in[to:], left)
}
