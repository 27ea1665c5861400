package schema

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type loud string

func (loud) Normal(int) string { return "" }

type calm struct{ A, B string }

func (calm) Normal() string { return "" }

func (calm) MarshalDynamoDBAttributeValue() (any, error) { return nil, nil }

func (*calm) UnmarshalDynamoDBAttributeValue(any) error { return nil }

type street struct {
	Street string `ddb:"unique"`
}

// What cannot be unique is refused, with the cure.
func TestRefusedUniqueValues(t *testing.T) {
	for _, c := range []struct {
		name  string
		model reflect.Type
		want  []string
	}{
		{"what can be unique", reflect.TypeFor[struct {
			_  table     `ddb:"table=models"`
			ID string    `ddb:"pk={ID}"`
			A  string    `ddb:"sk=HEAD,unique=fold"`
			B  *int      `ddb:"sk=HEAD,unique"`
			C  []byte    `ddb:"sk=HEAD,unique,as='X#C'"`
			D  time.Time `ddb:"sk=HEAD,unique,guards=others"`
			E  calm      `ddb:"sk=HEAD,unique='A,E,fold'"`
			F  float64   `ddb:"sk=HEAD,unique='F,B'"`
		}](), nil},
		{"other items and keys", reflect.TypeFor[struct {
			_  table   `ddb:"table=models"`
			ID string  `ddb:"pk={ID},unique"`
			A  string  `ddb:"sk=HEAD,unique='A,B'"`
			B  string  `ddb:"sk=BODY,unique"`
			C  string  `ddb:"sk=HEAD,unique='D'"`
			E  string  `ddb:"sk=HEAD,unique='E,None'"`
			L  []entry `ddb:"sk=E#{K}"`
			S1 street  `ddb:"sk=SIDE"`
			S2 street  `ddb:"sk=MORE"`
		}](), []string{
			`struct.ID: ID cannot be unique: only keys store it: a partition key is unique already; to use it ` +
				`here, add ` +
				`stored to its tag`,
			`struct.A: B cannot be unique: no attribute of the root item HEAD stores it: move it there (sk=), and ` +
				`name ` +
				`single fields`,
			`struct.B: B cannot be unique: no attribute of the root item HEAD stores it: move it there (sk=), and ` +
				`name ` +
				`single fields`,
			`struct.C: unique= names D, which the model does not have: name fields of the root item HEAD`,
			`struct.E: unique= names None, which the model does not have: name fields of the root item HEAD`,
			`schema.entry.K: K cannot be unique: it is a field of elements: use a model of its own, whose key is ` +
				`the value`,
			`schema.street.Street: Street cannot be unique: no attribute of the root item HEAD stores it: move it ` +
				`there ` +
				`(sk=), and name single fields`,
		}},
		{"types and options", reflect.TypeFor[struct {
			_  table           `ddb:"table=models"`
			ID string          `ddb:"pk={ID}"`
			A  bool            `ddb:"sk=HEAD,unique"`
			B  loud            `ddb:"sk=HEAD,unique"`
			C  any             `ddb:"sk=HEAD,unique"`
			D  string          `ddb:"sk=HEAD,unique,compress=gzip"`
			E  string          `ddb:"sk=HEAD,unique,chunk"`
			F  int             `ddb:"sk=HEAD,unique=fold"`
			G  map[string]bool `ddb:"sk=HEAD,unique"`
			H  string          `ddb:"sk=HEAD,as='A#B'"`
			I  string          `ddb:"sk=HEAD,unique,as=A"`
			J  string          `ddb:"sk=HEAD,unique,as='X#Y'"`
			K  string          `ddb:"sk=HEAD,unique,as='X#Y'"`
			M  string          `ddb:"sk=HEAD,unique,guards=models"`
			N  string          `ddb:"sk=HEAD,unique='M,M'"`
			O  string          `ddb:"sk=HEAD,unique='K'"`
		}](), []string{
			`struct.A: A cannot be unique: a bool has no text that could be part of a key: declare the method ` +
				`Normal() ` +
				`string of its type, or use text, a number, a time or bytes`,
			`struct.B: B cannot be unique: its method Normal has parameters, or another result: declare Normal() ` +
				`string`,
			`struct.C: C cannot be unique: its type encodes itself: declare the method Normal() string of its ` +
				`type, or use ` +
				`text, a number, a time or bytes`,
			`struct.D: D cannot be unique: it is compressed: remove compress=`,
			`struct.E: E cannot be unique: its value may be stored outside of the item: remove chunk and s3=`,
			`struct.F: fold compares texts, but F has none: write unique`,
			`struct.G: G cannot be unique: a map[string]bool has no text that could be part of a key: declare the ` +
				`method ` +
				`Normal() string of its type, or use text, a number, a time or bytes`,
			`struct.H: the option as belongs to a unique field: add unique, or remove it`,
			`struct.I: as= is the name of a model and of a value, with # between them: write as='#I'`,
			`struct.M: guards=models is the table of the root item, which has the guards anyway: remove it`,
			`struct.N: unique= has M twice: write each field once`,
			`struct.O: unique= does not name its field O: name it too, such as unique='K,O'`,
			`struct.K: two unique values have the name X#Y: use another name in as=`,
		}},
		{"lists", reflect.TypeFor[struct {
			_      table  `ddb:"table=models"`
			ID     string `ddb:"pk={ID}"`
			Tenant string `ddb:"sk=HEAD"`
			A      string `ddb:"sk=HEAD,unique=Tenant,A"`
			B      string `ddb:"sk=HEAD,unique=Fold"`
			C      string `ddb:"sk=HEAD,unique='Tenent,C'"`
		}](), []string{
			`struct.A: unknown option "A": put the fields in single quotes: unique='A,B'`,
			`struct.B: unique= names Fold, which the model does not have: write fold, or name fields of the root ` +
				`item HEAD`,
			`struct.C: unique= names Tenent, which the model does not have: write Tenant, or name fields of the root ` +
				`item HEAD`,
		}},
		{"models without versions", reflect.TypeFor[struct {
			_  table  `ddb:"table=models,noversion"`
			ID string `ddb:"pk={ID}"`
			A  string `ddb:"sk=HEAD,unique"`
		}](), []string{`struct.A: guards need versions, but the model has none (noversion): remove noversion, or ` +
			`unique`}},
		{"keys of numbers", reflect.TypeFor[struct {
			_  table  `ddb:"table=models"`
			ID int    `ddb:"pk={ID}"`
			A  string `ddb:"sk=HEAD,unique"`
			B  string `ddb:"sk=HEAD,unique,guards=others"`
		}](), []string{
			`struct.A: the keys of guards are text, but the table models has keys of numbers or bytes: add ` +
				`guards=TABLE, a ` +
				`table with the partition key PK of type S`,
		}},
	} {
		_, err := Of(c.model)
		var got []string
		if err != nil {
			got = strings.Split(err.Error(), "\n")
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

type entry struct {
	K string `ddb:"unique"`
}
