package models

import (
	"math/rand/v2"
	"os"
	"reflect"
	"testing"

	"github.com/itemize/itemize/internal/modeltest"
)

// The models here are those of package models, with generated code beside them.
func TestTwin(t *testing.T) {
	for _, name := range []string{"models.go", "types.go"} {
		want, err := os.ReadFile("../models/" + name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s is not that of ../models: copy it, and generate again", name)
		}
	}
}

// Law 8, for every model of the family.
func TestReflectionAndGeneratedCodeAgree(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, model := range All {
		t.Run(reflect.TypeOf(model).Elem().Name(), func(t *testing.T) { modeltest.Parity(t, seed, model, 60) })
	}
}
