package random

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/itemize/itemize/internal/modeltest"
)

// Law 8, for models whose types were drawn at random.
func TestReflectionAndGeneratedCodeAgree(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, model := range All {
		t.Run(reflect.TypeOf(model).Elem().Name(), func(t *testing.T) { modeltest.Parity(t, seed, model, 20) })
	}
}
