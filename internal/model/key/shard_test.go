package key

import (
	"fmt"
	"testing"
)

// These vectors say where items are stored, so they never change. They were computed independently,
// from the definitions of FNV-1a and fmix64.
func TestVectors(t *testing.T) {
	for text, want := range map[string][3]int{
		"": {3, 143, 343}, "a": {6, 116, 316}, "foobar": {6, 76, 76}, "ORDER-1": {4, 14, 14}, "ORDER-2": {6, 66, 66},
		"2026-11-22T17:00:00.000000000Z": {7, 97, 97}, "é": {4, 44, 44},
	} {
		got := [3]int{HashShard([]byte(text), 10), HashShard([]byte(text), 200), HashShard([]byte(text), 400)}
		if got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// The placement is uniform for keys as applications have them, and a shard of 400 is one of two.
func TestUniform(t *testing.T) {
	for name, text := range map[string]func(i int) string{
		"counted":  func(i int) string { return fmt.Sprint(i) },
		"padded":   func(i int) string { return fmt.Sprintf("ORDER#%010d", i) },
		"sortable": func(i int) string { return fmt.Sprintf("%020d", uint64(i)+1<<63) },
		"instants": func(i int) string {
			return fmt.Sprintf("2026-11-22T%02d:%02d:%02d.%09dZ", i/3600%24, i/60%60, i%60, i)
		},
		"even ones": func(i int) string { return fmt.Sprint(2 * i) },
	} {
		for _, n := range []int{2, 10, 200, 256, 400} {
			count := make([]int, n+1)
			for i := range 500 * n {
				s := HashShard([]byte(text(i)), n)
				count[s]++
				if d := HashShard([]byte(text(i)), 2*n); d != s && d != s+n {
					t.Fatalf("%d of %d shards, %d of twice as many", s, n, d)
				}
			}
			chi := 0.0
			for _, c := range count[1:] {
				chi += float64((c-500)*(c-500)) / 500
			}
			// The statistic has a mean of n-1 and a variance of 2(n-1): five deviations.
			f := float64(n - 1)
			if d := chi - f; count[0] != 0 || d*d > 25*2*f+25 {
				t.Errorf("%s over %d shards: chi-squared %.1f, expected about %.0f", name, n, chi, f)
			}
		}
	}
}

func TestDraw(t *testing.T) {
	seen := map[int]bool{}
	for range 1000 {
		seen[RandomShard(3)] = true
	}
	if len(seen) != 3 || !seen[1] || !seen[3] {
		t.Errorf("drawn: %v", seen)
	}
}
