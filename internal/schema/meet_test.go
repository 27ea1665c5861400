package schema

import (
	"reflect"
	"strings"
	"testing"
)

// Two models in one table: keys that values which stand in both of an item's keys make equal, and
// ones that they keep apart; and keys that one table cannot have.
func TestMeet(t *testing.T) {
	type (
		text struct{ T string }
		byID = struct {
			_  struct{} `ddb:"table=one"`
			ID string   `ddb:"pk=A#{ID}"`
			T  string   `ddb:"sk=H#{ID}"`
		}
		prefixed = struct {
			_  struct{}        `ddb:"table=one"`
			ID string          `ddb:"pk=A#x{ID}"`
			T  string          `ddb:"sk=HEAD"`
			M  map[string]text `ddb:"sk=H#{key}"`
		}
		literal = struct {
			_  struct{} `ddb:"table=one"`
			ID string   `ddb:"pk=A#x{ID}"`
			T  string   `ddb:"sk=H#y"`
		}
		org = struct {
			_   struct{} `ddb:"table=one"`
			Org string   `ddb:"pk=ORG#{Org}"`
			T   string   `ddb:"sk=ORG#{Org}"`
		}
		settings = struct {
			_  struct{} `ddb:"table=one"`
			ID string   `ddb:"pk=ORG#{ID}"`
			T  string   `ddb:"sk=ORG#SETTINGS"`
		}
		number = struct {
			_  struct{} `ddb:"table=one"`
			ID int      `ddb:"pk=A#{ID:04}"`
			T  string   `ddb:"sk=H#{ID:04}"`
		}
		other = struct {
			_  struct{} `ddb:"table=one"`
			ID int      `ddb:"pk=A#1{ID:03}"`
			T  string   `ddb:"sk=H#2222"`
		}
		named = struct {
			_  struct{} `ddb:"table=one,hash=pk,range=sk"`
			ID string   `ddb:"pk=N#{ID}"`
			T  string   `ddb:"sk=HEAD"`
		}
		native = struct {
			_  struct{} `ddb:"table=one"`
			ID int64    `ddb:"pk={ID}"`
			T  string   `ddb:"sk=HEAD"`
		}
	)
	for _, c := range []struct {
		a, b any
		want string
	}{
		{byID{}, prefixed{}, `"A#xA" "H#xA" is`},
		{byID{}, literal{}, ""},
		{org{}, settings{}, `"ORG#SETTINGS" "ORG#SETTINGS" is`},
		{number{}, other{}, ""},
		{byID{}, named{}, "has the key PK (S), SK (S), and that of "},
		{byID{}, native{}, "PK (N), SK (S), which is none that one table has"},
		{byID{}, org{}, ""},
	} {
		x, errX := Build(TypeOf(reflect.TypeOf(c.a)))
		y, errY := Build(TypeOf(reflect.TypeOf(c.b)))
		if errX != nil || errY != nil {
			t.Fatal(errX, errY)
		}
		got, back := Meet(x, y), Meet(y, x)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) || (got == "") != (back == "") {
			t.Errorf("%T and %T: %s; %s", c.a, c.b, got, back)
		}
	}
}
