package discover

import (
	"math"
	"strconv"

	"github.com/itemize/itemize/internal/model/attr"
)

// Dollars formats an amount, with at least four significant digits below a dollar.
func Dollars(n float64) string {
	decimals := 2
	if abs := math.Abs(n); abs > 0 && abs < 1 {
		decimals = max(2, 3-int(math.Floor(math.Log10(abs))))
	}
	text := strconv.FormatFloat(n, 'f', decimals, 64)
	whole, fraction := text[:len(text)-decimals-1], text[len(text)-decimals:]
	return "$" + attr.Thousands(whole) + "." + fraction
}
