package schema_test

import (
	"reflect"
	"testing"

	"github.com/itemize/itemize/internal/modeltest/models"
	"github.com/itemize/itemize/internal/schema"
)

// Every model of the family is accepted.
func TestFamily(t *testing.T) {
	for _, m := range models.All {
		if _, err := schema.Of(reflect.TypeOf(m).Elem()); err != nil {
			t.Error(err)
		}
	}
}
