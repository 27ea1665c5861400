// Package near finds the name that somebody may have meant.
package near

// Of returns the candidate at an edit distance of at most a third of the
// word's length (at least one), or "".
func Of(s string, candidates []string) string {
	best, bestAt := "", max(1, len(s)/3)+1
	for _, c := range candidates {
		if d := distance(s, c); d < bestAt {
			best, bestAt = c, d
		}
	}
	return best
}

// Hint returns what a message adds for a word that is none of those known: ": it has X", or "".
func Hint(s string, candidates []string) string {
	if n := Of(s, candidates); n != "" {
		return ": it has " + n
	}
	return ""
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			sub := diag
			if a[i] != b[j] {
				sub++
			}
			diag = row[j+1]
			row[j+1] = min(sub, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
