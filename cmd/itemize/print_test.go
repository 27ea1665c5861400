package main

import "testing"

// No number is printed as nothing, and long ones can be read.
func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{dollars(0), "$0"},
		{dollars(0.00003551), "$0.00003551"},
		{dollars(0.0000000012344), "$0.000000001234"},
		{dollars(0.025), "$0.025"},
		{dollars(0.5), "$0.50"},
		{dollars(1), "$1.00"},
		{dollars(1.2345), "$1.234"},
		{dollars(99.999), "$100.00"},
		{dollars(1234.5), "$1,234.50"},
		{dollars(1234567.891), "$1,234,567.89"},
		{dollars(1e12), "$1,000,000,000,000.00"},
		{number(0), "0"},
		{number(999), "999"},
		{number(1000), "1,000"},
		{number(-1234567), "-1,234,567"},
		{number(11111.11), "11,111"},
		{number(1228.5), "1,228.5"},
		{number(16.6667), "16.67"},
		{number(0.00000005), "0.00000005"},
		{number(0.166667), "0.1667"},
		{plural(1, "key"), "1 key"},
		{plural(2, "key"), "2 keys"},
		{plural(2000, "key"), "2,000 keys"},
		{plural(0, "key"), "0 keys"},
		{span(30), "2.5 years"},
		{span(3.14), "3.1 months"},
		{span(1), "30 days"},
		{span(1.0 / 300), "2.4 hours"},
		{span(1.0 / 4320), "10 minutes"},
		{span(1.0 / 43200), "60 seconds"},
		{span(0), "a second"},
	} {
		if c.got != c.want {
			t.Errorf("%s; want %s", c.got, c.want)
		}
	}
}
