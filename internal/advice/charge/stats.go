package charge

import "slices"

// Stats describe the sizes of items, in bytes.
type Stats struct {
	Count int `json:"count"`
	Bytes int `json:"bytes"`
	Min   int `json:"min"`
	Mean  int `json:"mean"`
	P50   int `json:"p50"`
	P95   int `json:"p95"`
	Max   int `json:"max"`
}

// StatsOf returns the statistics of sizes. A percentile is the smallest size that at least that share
// of the sizes does not exceed.
func StatsOf(sizes ...int) Stats {
	if len(sizes) == 0 {
		return Stats{}
	}
	sorted := slices.Sorted(slices.Values(sizes))
	s := Stats{Count: len(sorted), Min: sorted[0], Max: sorted[len(sorted)-1]}
	for _, n := range sorted {
		s.Bytes += n
	}
	s.Mean = s.Bytes / s.Count
	s.P50, s.P95 = percentile(sorted, 50), percentile(sorted, 95)
	return s
}

func percentile(sorted []int, p int) int { return sorted[(len(sorted)*p+99)/100-1] }
