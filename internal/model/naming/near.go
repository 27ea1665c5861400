package naming

// Nearest returns the nearest candidate, at an edit distance of at most a third of the word's length (at
// least one), or "".
func Nearest(s string, candidates []string) string {
	best, bestAt := "", max(1, len(s)/3)+1
	for _, c := range candidates {
		if d := distance(s, c); d < bestAt {
			best, bestAt = c, d
		}
	}
	return best
}

// Hint returns the end of a message about an unknown word: ": it has X", or "".
func Hint(s string, candidates []string) string {
	if n := Nearest(s, candidates); n != "" {
		return ": it has " + n
	}
	return ""
}

// distance returns the edit distance in bytes. Two swapped neighbors count as one edit (optimal string alignment).
func distance(a, b string) int {
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			edit := last[j]
			if a[i] != b[j] {
				edit++
			}
			row[j+1] = min(edit, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
