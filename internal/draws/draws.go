// Package draws says how often tests of laws draw at random, and from which seed.
package draws

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Variable is the name of the environment variable that multiplies what tests draw: CI
// draws more often than somebody who tries the library out.
const Variable = "ITEMIZE_DRAWS"

// SeedVariable is the name of the environment variable that makes a failure again: the seed
// that the failing test printed.
const SeedVariable = "ITEMIZE_RANDOM_SEED"

// Times returns n, multiplied by the environment's [Variable] if that is a number.
func Times(n int) int {
	if factor, err := strconv.Atoi(os.Getenv(Variable)); err == nil && factor > 1 {
		return n * factor
	}
	return n
}

// Seed returns a new seed, or the environment's [SeedVariable], and prints it.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv(SeedVariable), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	t.Logf("%s=%d", SeedVariable, seed)
	return seed
}

// Some returns so many of the numbers from 0 to n-1, or with the environment's [Variable] up to all of them, in no order.
func Some(seed uint64, n, some int) []int {
	return rand.New(rand.NewPCG(seed, 0)).Perm(n)[:min(n, Times(some))]
}
