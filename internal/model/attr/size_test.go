package attr

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/testing/draws"
)

// slowSize is the rule as the documentation gives it, over a number's one text.
func slowSize(number string) int {
	neg, digits, exp, ok := key.Decimal(number)
	if !ok {
		return 1 + len(number)
	}
	if digits == "" {
		return 1
	}
	left := min(max(exp, 0), len(digits))
	n := 1 + (left+1)/2 + (len(digits)-left+1)/2
	if neg {
		n++
	}
	return n
}

// The short way for plain numbers gives the sizes of the long one.
func TestPlainNumbersHaveTheirSize(t *testing.T) {
	seed := draws.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	check := func(s string) {
		if got, want := NumberSize(s), slowSize(s); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
	for _, s := range []string{
		"0", "-0", "0.0", "00", "000.500", "-", ".", "1.", ".5", "1e5", "12a", "", "+1", "--1",
		"1.2.3", "0042", "-42",
	} {
		check(s)
	}
	for range 20_000 {
		s := strings.Repeat("0", r.IntN(3)) +
			fmt.Sprint(r.IntN(1_000_000)/(1+r.IntN(1000))*[]int{1, 10, 1000}[r.IntN(3)])
		if r.IntN(2) == 0 {
			s += "." + strings.Repeat("0", r.IntN(3)) + fmt.Sprint(r.IntN(1000)) + strings.Repeat("0", r.IntN(3))
		}
		if r.IntN(3) == 0 {
			s = "-" + s
		}
		check(s)
	}
}
