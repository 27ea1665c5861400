package charge

import (
	"math"
	"testing"
	"time"
)

// The closed form gives the sum of the terms.
func TestZipfSum(t *testing.T) {
	for _, n := range []int{1, 2, 4096, 4097, 5000, 300_000} {
		for _, s := range []float64{0, 0.3, 0.99, 1, 1 + 1e-9, 1.2, 2, 7, 1000} {
			want := 0.0
			for k := n; k >= 1; k-- { // the small ones first
				want += math.Pow(float64(k), -s)
			}
			if got := zipfSum(n, s); math.Abs(got-want) > 1e-10*want {
				t.Errorf("n %d, s %v: %v; want %v", n, s, got, want)
			}
		}
	}
}

// Two thousand million keys, and as many as an int counts, take no time.
func TestManyKeys(t *testing.T) {
	for keys, want := range map[int]float64{
		2_000_000_000: 1 / 21.993629,
		math.MaxInt:   1 / (math.Log(math.MaxInt) + 0.577215665),
	} {
		start := time.Now()
		h, err := Capacity{}.Hottest(keys, 1)
		if err != nil || math.Abs(h.Share-want) > 1e-8 || time.Since(start) > time.Second {
			t.Errorf("%d keys: %v (want %v), %v, after %v", keys, h.Share, want, err, time.Since(start))
		}
	}
	even, err := Capacity{}.Hottest(2_000_000_000, 0)
	if err != nil || math.Abs(even.Share*2e9-1) > 1e-12 {
		t.Error(even, err)
	}
}
