package generator

import "testing"

// Two files can be in one build if their constraints hold for one system, one architecture, and some tags.
func TestConstraintsThatCoincide(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"", "", true},
		{"", "//go:build windows", true},
		{"//go:build linux", "//go:build windows", false},
		{"//go:build linux", "//go:build !linux", false},
		{"//go:build linux", "//go:build android", true},
		{"//go:build !linux", "//go:build android", false},
		{"//go:build darwin && arm64", "//go:build ios", true},
		{"//go:build unix", "//go:build windows", false},
		{"//go:build unix", "//go:build linux", true},
		{"//go:build unix", "//go:build integration", true},
		{"//go:build amd64", "//go:build arm64", false},
		{"//go:build linux && amd64", "//go:build amd64 && !integration", true},
		{"//go:build integration", "//go:build !integration", false},
		{"//go:build ignore", "", false},
		{"//go:build a || b", "//go:build !a && !b", false},
	} {
		if coincide(c.a, c.b) != c.want || coincide(c.b, c.a) != c.want {
			t.Errorf("%q and %q: want %t", c.a, c.b, c.want)
		}
	}
}
