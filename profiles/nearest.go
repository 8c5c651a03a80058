package profiles

import "strings"

// Nearest returns the one of known that word was probably meant to be, or "" if none is near: at most one edit per three characters, but always one edit for
// a word of at least two. Among equally near ones the first wins.
func Nearest(word string, known []string) string {
	if len(word) > 64 {
		return ""
	}
	best, nearest := max(len(word)/3, 1)+1, ""
	for _, k := range known {
		if d := edits(strings.ToLower(word), strings.ToLower(k)); d < best && d < len(k) {
			best, nearest = d, k
		}
	}
	return nearest
}

// edits counts the insertions, deletions, substitutions and swaps of neighbours that turn a into b: the optimal string
// alignment distance, by rows of the dynamic programme of Wagner and Fischer (JACM 21, 1974).
func edits(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			substitution := 1
			if a[i-1] == b[j-1] {
				substitution = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+substitution)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// didYouMean returns the end of a message about an unknown word: the nearest known one, or all of them.
func didYouMean(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return "did you mean " + near + "?"
	}
	return "expected one of " + strings.Join(known, ", ")
}
