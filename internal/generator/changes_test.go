package generator

import (
	"encoding/json"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/itemize/itemize/internal/model/schema"
)

// The effects of model changes on stored data. Each kind of change that would lose data is refused, and
// the error says what to do; each harmless change is accepted.
func TestModelChanges(t *testing.T) {
	type blank = struct{}
	type address struct{ Street, City string }
	type place struct{ Street string }
	type stop struct {
		At   time.Time
		Note string
	}
	type base struct {
		_     blank   `ddb:"table=shops"`
		ID    string  `ddb:"pk=SHOP#{ID}"`
		Email string  `ddb:"sk=HEAD"`
		Count int64   `ddb:"sk=HEAD"`
		Home  address `ddb:"sk=HOME,nested"`
	}
	for name, c := range map[string]struct {
		before, after any
		want          string // "" for a change that is harmless
	}{
		"nothing": {base{}, base{}, ""},
		"a field is added": {base{}, struct {
			_     blank   `ddb:"table=shops"`
			ID    string  `ddb:"pk=SHOP#{ID}"`
			Email string  `ddb:"sk=HEAD"`
			Phone string  `ddb:"sk=HEAD"`
			Count int64   `ddb:"sk=HEAD"`
			Home  address `ddb:"sk=HOME,nested"`
		}{}, ""},
		"a field is renamed, and its attribute is not": {base{}, struct {
			_     blank   `ddb:"table=shops"`
			ID    string  `ddb:"pk=SHOP#{ID}"`
			Mail  string  `ddb:"sk=HEAD" dynamodbav:"Email"`
			Count int64   `ddb:"sk=HEAD"`
			Home  address `ddb:"sk=HOME,nested"`
		}{}, ""},
		"a field becomes a pointer, a time one in text": {struct {
			_  blank     `ddb:"table=shops"`
			ID string    `ddb:"pk=SHOP#{ID}"`
			A  string    `ddb:"sk=HEAD"`
			B  time.Time `ddb:"sk=HEAD"`
			C  int8      `ddb:"sk=HEAD"`
		}{}, struct {
			_  blank   `ddb:"table=shops"`
			ID string  `ddb:"pk=SHOP#{ID}"`
			A  *string `ddb:"sk=HEAD"`
			B  string  `ddb:"sk=HEAD"`
			C  float64 `ddb:"sk=HEAD"`
		}{}, ""},
		"was= of a renamed attribute": {base{}, struct {
			_     blank   `ddb:"table=shops"`
			ID    string  `ddb:"pk=SHOP#{ID}"`
			Mail  string  `ddb:"sk=HEAD,was=Email"`
			Count int64   `ddb:"sk=HEAD"`
			Home  address `ddb:"sk=HOME,nested"`
		}{}, ""},
		"a nested struct grows": {struct {
			_    blank  `ddb:"table=shops"`
			ID   string `ddb:"pk=SHOP#{ID}"`
			Home place  `ddb:"sk=HOME,nested"`
		}{}, struct {
			_    blank   `ddb:"table=shops"`
			ID   string  `ddb:"pk=SHOP#{ID}"`
			Home address `ddb:"sk=HOME,nested"`
		}{}, ""},
		"an attribute is renamed": {base{}, struct {
			_     blank   `ddb:"table=shops"`
			ID    string  `ddb:"pk=SHOP#{ID}"`
			Mail  string  `ddb:"sk=HEAD"`
			Count int64   `ddb:"sk=HEAD"`
			Home  address `ddb:"sk=HOME,nested"`
		}{}, `Mail: the attribute "Email" (of Email) is deleted from the item HEAD: stored values remain, but are ` +
			`not read: if its values are now in Mail, add was=Email to its ddb tag; if this is intended, run ` +
			`itemize gen -accept ./...`},
		"an attribute vanishes": {base{}, struct {
			_     blank   `ddb:"table=shops"`
			ID    string  `ddb:"pk=SHOP#{ID}"`
			Count int64   `ddb:"sk=HEAD"`
			Home  address `ddb:"sk=HOME,nested"`
		}{}, `: the attribute "Email" (of Email) is deleted from the item HEAD: stored values remain, but are not ` +
			`read: if this is intended, run itemize gen -accept ./...; if its values are now in another field, add ` +
			`was=Email to its ddb tag`},
		"an attribute moves to another item": {base{}, struct {
			_     blank   `ddb:"table=shops"`
			ID    string  `ddb:"pk=SHOP#{ID}"`
			Email string  `ddb:"sk=MAIL"`
			Count int64   `ddb:"sk=HEAD"`
			Home  address `ddb:"sk=HOME,nested"`
		}{}, `Email: the attribute "Email" moved from the items HEAD to the items MAIL, where stored entities do ` +
			`not have ` +
			`it: keep it there, or declare another field there, copy the value of each entity to it (load, set, ` +
			`save), and ` +
			`then delete this field with itemize gen -accept ./...`},
		"a list moves to items of its own": {struct {
			_     blank  `ddb:"table=shops"`
			ID    string `ddb:"pk=SHOP#{ID}"`
			Count int    `ddb:"sk=HEAD"`
			Stops []stop `ddb:"sk=HEAD"`
		}{}, struct {
			_     blank  `ddb:"table=shops"`
			ID    string `ddb:"pk=SHOP#{ID}"`
			Count int    `ddb:"sk=HEAD"`
			Stops []stop `ddb:"sk=STOP#{At}"`
		}{}, `: the elements of Stops moved from the attribute "Stops" of the items HEAD to the items STOP#{At}, ` +
			`where ` +
			`stored entities do not have them: keep the field, declare another one for the new items, move the ` +
			`elements ` +
			`of each entity to it (load, append, save), and then delete the old field with itemize gen -accept ./...`},
		"a type changes": {base{}, struct {
			_     blank   `ddb:"table=shops"`
			ID    string  `ddb:"pk=SHOP#{ID}"`
			Email string  `ddb:"sk=HEAD"`
			Count string  `ddb:"sk=HEAD"`
			Home  address `ddb:"sk=HOME,nested"`
		}{}, `Count: the attribute "Count" is stored as N, but would be read as S, so that stored items could not ` +
			`be loaded: keep the field, add another of the new type, and let AfterLoad convert, or move the stored ` +
			`values yourself, and run itemize gen -accept ./...`},
		"an option changes the type": {struct {
			_  blank     `ddb:"table=shops"`
			ID string    `ddb:"pk=SHOP#{ID}"`
			B  time.Time `ddb:"sk=HEAD"`
		}{}, struct {
			_  blank     `ddb:"table=shops"`
			ID string    `ddb:"pk=SHOP#{ID}"`
			B  time.Time `ddb:"sk=HEAD" dynamodbav:",unixtime"`
		}{}, `B: the attribute "B" is stored as S, but would be read as N`},
		"a set becomes a list": {struct {
			_  blank    `ddb:"table=shops"`
			ID string   `ddb:"pk=SHOP#{ID}"`
			B  []string `ddb:"sk=HEAD" dynamodbav:",stringset"`
		}{}, struct {
			_  blank    `ddb:"table=shops"`
			ID string   `ddb:"pk=SHOP#{ID}"`
			B  []string `ddb:"sk=HEAD"`
		}{}, `B: the attribute "B" is stored as SS, but would be read as L`},
		"a number narrows": {base{}, struct {
			_     blank   `ddb:"table=shops"`
			ID    string  `ddb:"pk=SHOP#{ID}"`
			Email string  `ddb:"sk=HEAD"`
			Count int8    `ddb:"sk=HEAD"`
			Home  address `ddb:"sk=HOME,nested"`
		}{}, `Count: the attribute "Count" had the type int64 and has int8 now, so that stored items with numbers ` +
			`that do not fit could not be loaded`},
		"a number of any digits becomes a big one": {struct {
			_  blank                  `ddb:"table=shops"`
			ID string                 `ddb:"pk=SHOP#{ID}"`
			B  attributevalue.Number  `ddb:"sk=HEAD"`
			M  map[string]json.Number `ddb:"sk=HEAD"`
		}{}, struct {
			_  blank                `ddb:"table=shops"`
			ID string               `ddb:"pk=SHOP#{ID}"`
			B  big.Float            `ddb:"sk=HEAD"`
			M  map[string]big.Float `ddb:"sk=HEAD"`
		}{}, ""},
		"a big number becomes a float": {struct {
			_  blank     `ddb:"table=shops"`
			ID string    `ddb:"pk=SHOP#{ID}"`
			B  big.Float `ddb:"sk=HEAD"`
		}{}, struct {
			_  blank   `ddb:"table=shops"`
			ID string  `ddb:"pk=SHOP#{ID}"`
			B  float64 `ddb:"sk=HEAD"`
		}{}, `B: the attribute "B" had the type bigfloat and has float64 now, so that stored items with numbers ` +
			`that do not fit could not be loaded`},
		"a big number becomes an integer": {struct {
			_  blank     `ddb:"table=shops"`
			ID string    `ddb:"pk=SHOP#{ID}"`
			B  big.Float `ddb:"sk=HEAD"`
		}{}, struct {
			_  blank   `ddb:"table=shops"`
			ID string  `ddb:"pk=SHOP#{ID}"`
			B  big.Int `ddb:"sk=HEAD"`
		}{}, `B: the attribute "B" had the type bigfloat and has bigint now, so that stored items with numbers ` +
			`that do not fit could not be loaded`},
		"an array in a key grows": {struct {
			_  blank   `ddb:"table=shops"`
			ID [4]byte `ddb:"pk={ID}"`
			B  string  `ddb:"sk=HEAD"`
		}{}, struct {
			_  blank   `ddb:"table=shops"`
			ID [8]byte `ddb:"pk={ID}"`
			B  string  `ddb:"sk=HEAD"`
		}{}, `in the partition key {ID} has 8 bytes now, so that stored keys of other lengths could not be read`},
		"a nested struct loses a field": {base{}, struct {
			_     blank  `ddb:"table=shops"`
			ID    string `ddb:"pk=SHOP#{ID}"`
			Email string `ddb:"sk=HEAD"`
			Count int64  `ddb:"sk=HEAD"`
			Home  place  `ddb:"sk=HOME,nested"`
		}{}, `Home: the attribute "Home" lacks "City" now: it would not be read, and would be lost when the ` +
			`attribute is written`},
		"a nested struct is spread": {base{}, struct {
			_     blank   `ddb:"table=shops"`
			ID    string  `ddb:"pk=SHOP#{ID}"`
			Email string  `ddb:"sk=HEAD"`
			Count int64   `ddb:"sk=HEAD"`
			Home  address `ddb:"sk=HOME"`
		}{}, `: the attribute "Home" (of Home) is deleted from the item Home`},
		"two fields exchange their attributes": {base{}, struct {
			_     blank   `ddb:"table=shops"`
			ID    string  `ddb:"pk=SHOP#{ID}"`
			Email string  `ddb:"sk=HEAD" dynamodbav:"Count"`
			Count int64   `ddb:"sk=HEAD" dynamodbav:"Email"`
			Home  address `ddb:"sk=HOME,nested"`
		}{}, `Count: the attribute "Email" belonged to Email and would belong to Count, so that stored values would ` +
			`be exchanged`},
		"was= goes too early": {struct {
			_  blank  `ddb:"table=shops"`
			ID string `ddb:"pk=SHOP#{ID}"`
			B  string `ddb:"sk=HEAD,was='a,A'"`
		}{}, struct {
			_  blank  `ddb:"table=shops"`
			ID string `ddb:"pk=SHOP#{ID}"`
			B  string `ddb:"sk=HEAD,was=a"`
		}{}, `B: was=A is deleted, but items that were not written since it was added still have "A", which would ` +
			`not be read: move each once (Scan, and a patch with SetIfAbsent of that field for each), then run ` +
			`itemize gen -accept ./...`},
		"an element's field vanishes": {struct {
			_  blank     `ddb:"table=shops"`
			ID string    `ddb:"pk=SHOP#{ID}"`
			B  string    `ddb:"sk=HEAD"`
			L  []address `ddb:"sk=L#{Street}"`
		}{}, struct {
			_  blank   `ddb:"table=shops"`
			ID string  `ddb:"pk=SHOP#{ID}"`
			B  string  `ddb:"sk=HEAD"`
			L  []place `ddb:"sk=L#{Street}"`
		}{}, `: the attribute "City" (of City) is deleted from the item L`},
	} {
		text := strings.Join(losses(t, c.before, c.after), "\n")
		if (text == "") != (c.want == "") || !strings.Contains(text, c.want) {
			t.Errorf("%s:\n got %s\nwant %s", name, text, c.want)
		}
	}
}

// losses returns the diagnostics of gen for a change of a model.
func losses(t *testing.T, before, after any) []string {
	t.Helper()
	old, now := layoutOf(t, before), layoutOf(t, after)
	out := lost(old, now)
	for _, c := range lostAttributes(old, now) {
		out = append(out, c.field+": "+c.text+": "+c.cure)
	}
	return out
}

func layoutOf(t *testing.T, v any) schema.Layout {
	t.Helper()
	e, err := schema.Build(schema.TypeOf(reflect.TypeOf(v)))
	if err != nil {
		t.Fatal(err)
	}
	return e.Layout()
}
