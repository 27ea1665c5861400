package schema_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/testing/models"
)

// Every model of the family is accepted.
func TestFamily(t *testing.T) {
	for _, m := range slices.Concat(models.All, models.Indexes) {
		if _, err := schema.Of(reflect.TypeOf(m).Elem()); err != nil {
			t.Error(err)
		}
	}
}
