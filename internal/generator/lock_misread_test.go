package generator

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
)

// Changes of a model that take stored data for something else, lose it, or make it unloadable, and
// those that look alike and are harmless. (A second attack found these.)
func TestLockRefusesMisreadingChanges(t *testing.T) {
	type blank = struct{}
	type bySKU struct {
		SKU   string
		Title string
	}
	type place struct{ Street, City string }
	type swapped struct {
		X string `dynamodbav:"Y"`
		Y string `dynamodbav:"X"`
	}
	type plain struct{ X, Y string }
	type shifted struct {
		X string `dynamodbav:"Y"`
		Z string `dynamodbav:"X"`
	}
	for name, c := range map[string]struct {
		before, after any
		want          string
	}{
		"a sort key names another field": {struct {
			_  blank   `ddb:"table=shops"`
			ID string  `ddb:"pk=M#{ID}"`
			A  int     `ddb:"sk=HEAD"`
			L  []bySKU `ddb:"sk=L#{SKU}"`
		}{}, struct {
			_  blank   `ddb:"table=shops"`
			ID string  `ddb:"pk=M#{ID}"`
			A  int     `ddb:"sk=HEAD"`
			L  []bySKU `ddb:"sk=L#{Title}"`
		}{}, "the fields in the sort key L#{SKU} were element SKU and are element Title now"},
		"the partition key names another field": {struct {
			_     blank  `ddb:"table=shops"`
			ID    string `ddb:"pk=M#{ID}"`
			Email string `ddb:"sk=HEAD"`
		}{}, struct {
			_     blank  `ddb:"table=shops"`
			ID    string `ddb:"sk=HEAD"`
			Email string `ddb:"pk=M#{Email}"`
		}{}, "the fields in the partition key were model ID and are model Email now"},
		"a field that a key names is renamed": {struct {
			_  blank  `ddb:"table=shops"`
			ID string `ddb:"pk=M#{ID}"`
			A  int    `ddb:"sk=HEAD"`
		}{}, struct {
			_    blank  `ddb:"table=shops"`
			Name string `ddb:"pk=M#{Name}"`
			A    int    `ddb:"sk=HEAD"`
		}{}, ""},
		"items change places, and their attributes are called alike": {struct {
			_     blank  `ddb:"table=shops"`
			ID    string `ddb:"pk=M#{ID}"`
			X     int    `ddb:"sk=HEAD,root"`
			Home  place  `ddb:"sk=HOME"`
			Since int    `ddb:"sk=HOME"`
			Work  place  `ddb:"sk=WORK"`
			Hours int    `ddb:"sk=WORK"`
		}{}, struct {
			_     blank  `ddb:"table=shops"`
			ID    string `ddb:"pk=M#{ID}"`
			X     int    `ddb:"sk=HEAD,root"`
			Home  place  `ddb:"sk=WORK"`
			Since int    `ddb:"sk=HOME"`
			Work  place  `ddb:"sk=HOME"`
			Hours int    `ddb:"sk=WORK"`
		}{}, `the attribute "Street" belonged to Home.Street and would belong to Work.Street`},
		"a new list takes another's keys": {struct {
			_  blank   `ddb:"table=shops"`
			ID string  `ddb:"pk=M#{ID}"`
			X  int     `ddb:"sk=HEAD"`
			A  []bySKU `ddb:"sk=A#{SKU}"`
		}{}, struct {
			_  blank   `ddb:"table=shops"`
			ID string  `ddb:"pk=M#{ID}"`
			X  int     `ddb:"sk=HEAD"`
			A  []bySKU `ddb:"sk=C#{SKU}"`
			B  []bySKU `ddb:"sk=A#{SKU}"`
		}{}, `the sort key "A#{SKU}" was the key of A and is the key of B now`},
		"a list is renamed": {struct {
			_  blank   `ddb:"table=shops"`
			ID string  `ddb:"pk=M#{ID}"`
			X  int     `ddb:"sk=HEAD"`
			A  []bySKU `ddb:"sk=A#{SKU}"`
		}{}, struct {
			_  blank   `ddb:"table=shops"`
			ID string  `ddb:"pk=M#{ID}"`
			X  int     `ddb:"sk=HEAD"`
			B  []bySKU `ddb:"sk=A#{SKU}"`
		}{}, ""},
		"a field no longer says when an item expires": {struct {
			_  blank     `ddb:"table=shops,ttl=exp"`
			ID string    `ddb:"pk=M#{ID}"`
			T  time.Time `ddb:"sk=HEAD,ttl"`
		}{}, struct {
			_  blank     `ddb:"table=shops,ttl=exp"`
			ID string    `ddb:"pk=M#{ID}"`
			T  time.Time `ddb:"sk=HEAD"`
		}{}, `items of T had "exp" and still expire`},
		"a number in a key becomes narrower": {struct {
			_  blank  `ddb:"table=shops"`
			ID int64  `ddb:"pk=M#{ID:sortable}"`
			A  string `ddb:"sk=HEAD"`
		}{}, struct {
			_  blank  `ddb:"table=shops"`
			ID uint64 `ddb:"pk=M#{ID:sortable}"`
			A  string `ddb:"sk=HEAD"`
		}{}, "in the partition key {ID} had the type int64 and has uint64 now"},
		"a number in a key becomes wider": {struct {
			_  blank  `ddb:"table=shops"`
			ID int16  `ddb:"pk=M#{ID:05}"`
			A  string `ddb:"sk=HEAD"`
		}{}, struct {
			_  blank  `ddb:"table=shops"`
			ID int64  `ddb:"pk=M#{ID:05}"`
			A  string `ddb:"sk=HEAD"`
		}{}, ""},
		"the keys of a map become narrower": {struct {
			_  blank         `ddb:"table=shops"`
			ID string        `ddb:"pk=M#{ID}"`
			A  map[int64]int `ddb:"sk=HEAD"`
		}{}, struct {
			_  blank        `ddb:"table=shops"`
			ID string       `ddb:"pk=M#{ID}"`
			A  map[int8]int `ddb:"sk=HEAD"`
		}{}, "had the type int64 and has int8 now"},
		"an array of bytes grows": {struct {
			_  blank   `ddb:"table=shops"`
			ID string  `ddb:"pk=M#{ID}"`
			A  [3]byte `ddb:"sk=HEAD"`
		}{}, struct {
			_  blank   `ddb:"table=shops"`
			ID string  `ddb:"pk=M#{ID}"`
			A  [4]byte `ddb:"sk=HEAD"`
		}{}, "would take 4 bytes"},
		"unixtime becomes a small number": {struct {
			_  blank     `ddb:"table=shops"`
			ID string    `ddb:"pk=M#{ID}"`
			A  time.Time `ddb:"sk=HEAD" dynamodbav:",unixtime"`
		}{}, struct {
			_  blank  `ddb:"table=shops"`
			ID string `ddb:"pk=M#{ID}"`
			A  int8   `ddb:"sk=HEAD"`
		}{}, "was a time in seconds and is int8 now"},
		"fields inside an attribute exchange their names": {struct {
			_  blank  `ddb:"table=shops"`
			ID string `ddb:"pk=M#{ID}"`
			A  plain  `ddb:"sk=HEAD,nested"`
		}{}, struct {
			_  blank   `ddb:"table=shops"`
			ID string  `ddb:"pk=M#{ID}"`
			A  swapped `ddb:"sk=HEAD,nested"`
		}{}, `belonged to X and would belong to Y`},
		"a field inside an attribute takes the name of another": {struct {
			_  blank  `ddb:"table=shops"`
			ID string `ddb:"pk=M#{ID}"`
			A  plain  `ddb:"sk=HEAD,nested"`
		}{}, struct {
			_  blank   `ddb:"table=shops"`
			ID string  `ddb:"pk=M#{ID}"`
			A  shifted `ddb:"sk=HEAD,nested"`
		}{}, "so that stored values would be exchanged"},
		"a number of any kind becomes an integer": {struct {
			_  blank                 `ddb:"table=shops"`
			ID string                `ddb:"pk=M#{ID}"`
			A  attributevalue.Number `ddb:"sk=HEAD"`
		}{}, struct {
			_  blank  `ddb:"table=shops"`
			ID string `ddb:"pk=M#{ID}"`
			A  int8   `ddb:"sk=HEAD"`
		}{}, "was any number and is int8 now"},
		"a struct becomes a map by numbers": {struct {
			_  blank  `ddb:"table=shops"`
			ID string `ddb:"pk=M#{ID}"`
			A  plain  `ddb:"sk=HEAD,nested"`
		}{}, struct {
			_  blank          `ddb:"table=shops"`
			ID string         `ddb:"pk=M#{ID}"`
			B  int            `ddb:"sk=HEAD"`
			A  map[int]string `ddb:"sk=HEAD"`
		}{}, "was a struct and would have keys of the kind"},
		"a kind of the partition key, of which the template says nothing": {struct {
			_  blank  `ddb:"table=shops"`
			ID string `ddb:"pk={ID}"`
			A  int    `ddb:"sk=HEAD"`
		}{}, struct {
			_  blank `ddb:"table=shops"`
			ID int   `ddb:"pk={ID}"`
			A  int   `ddb:"sk=HEAD"`
		}{}, `was "{ID}" (string) and is "{ID}" (int) now`},
		"a model gets versions": {struct {
			_  blank  `ddb:"table=shops,noversion"`
			ID string `ddb:"pk=M#{ID}"`
			A  int    `ddb:"sk=HEAD"`
		}{}, struct {
			_  blank  `ddb:"table=shops"`
			ID string `ddb:"pk=M#{ID}"`
			A  int    `ddb:"sk=HEAD"`
		}{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Join(losses(t, c.before, c.after), "\n")
			if c.want == "" && text != "" || !strings.Contains(text, c.want) {
				t.Errorf("got %s", text)
			}
		})
	}
}
