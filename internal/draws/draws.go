// Package draws says how often tests of laws draw at random.
package draws

import (
	"os"
	"strconv"
)

// Variable is the name of the environment variable that multiplies what tests draw: CI
// draws more often than somebody who tries the library out.
const Variable = "ITEMIZE_DRAWS"

// Times returns n, multiplied by the environment's [Variable] if that is a number.
func Times(n int) int {
	if factor, err := strconv.Atoi(os.Getenv(Variable)); err == nil && factor > 1 {
		return n * factor
	}
	return n
}
