package charge

import "math"

// zipfSum returns the sum of 1/k^s for k from 1 to n. It adds up some thousand terms exactly. For the
// others it uses the formula of Euler and Maclaurin, whose error is far below that of the sum. s is 0
// or more.
func zipfSum(n int, s float64) float64 {
	const exact = 4096
	sum := 0.0
	for k := 1; k <= min(n, exact); k++ {
		sum += math.Pow(float64(k), -s)
	}
	if n <= exact {
		return sum
	}
	from, to := float64(exact), float64(n)
	f := func(x float64) float64 { return math.Pow(x, -s) }
	slope := func(x float64) float64 { return -s * math.Pow(x, -s-1) }
	return sum + powerIntegral(from, to, s) + (f(to)-f(from))/2 + (slope(to)-slope(from))/12
}

// powerIntegral returns the integral of x^-s.
func powerIntegral(from, to, s float64) float64 {
	log := math.Log(to / from)
	if s == 1 {
		return log
	}
	return math.Pow(from, 1-s) * math.Expm1((1-s)*log) / (1 - s)
}
