package wire

import "testing"

// The end of a plain run in a string is found eight bytes at a time as it is one by one: any byte, at any place.
func TestStop(t *testing.T) {
	plain := func(b []byte, i int) int {
		for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= 0x20 {
			i++
		}
		return i
	}
	for n := range 90 {
		for _, around := range []byte{' ', '!', '#', 0x7f, 0x80, 0xff} {
			b := make([]byte, n)
			for i := range b {
				b[i] = around
			}
			for at := range b {
				for c := range 256 {
					b[at] = byte(c)
					for _, from := range []int{0, at / 2, at} {
						if got, want := stop(b, from), plain(b, from); got != want {
							t.Fatalf("%d bytes %#x, %#x at %d: from %d it ends at %d, and not at %d", n, around, c, at,
								from, got, want)
						}
					}
				}
				b[at] = around
			}
		}
	}
}
