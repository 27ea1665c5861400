// Package fakedynamo provides a client of DynamoDB that answers from a script, for tests that inject
// faults, with the small models and items that such scripts use. Tests of behavior run on real engines
// (package testengine).
package fakedynamo

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
)

// Shop is the model of most tests: a root, singletons of each kind, and elements of each.
type Shop struct {
	_       struct{}         `ddb:"table=shops"`
	ID      string           `ddb:"pk=SHOP#{ID}"`
	Name    string           `ddb:"sk=HEAD,root"`
	Open    bool             `ddb:"sk=HEAD"`
	Visits  int              `ddb:"sk=HEAD"`
	Plan    *Plan            `ddb:"sk=PLAN"`
	Address Address          `ddb:"sk=ADDRESS"`
	Extra   any              `ddb:"sk=EXTRA"`
	Lines   []Line           `ddb:"sk=LINE#{SKU}"`
	Notes   []*Note          `ddb:"sk=NOTE#{N:03}"`
	Stock   map[string]Stock `ddb:"sk=STOCK#{key}"`
}

// Plan is a singleton behind a pointer.
type Plan struct {
	Tier  string
	Seats uint
}

// Address is a singleton that is a struct.
type Address struct{ Street, City string }

// Line is an element of a slice.
type Line struct {
	SKU   string
	Count int
	Text  string
}

// Note is an element behind a pointer.
type Note struct {
	N    int
	Text string
}

// Stock is an element of a map.
type Stock struct {
	Count int
	Place string
}

// Plain is a model without versions.
type Plain struct {
	_     struct{} `ddb:"table=plains,noversion"`
	ID    string   `ddb:"pk={ID}"`
	Name  string   `ddb:"sk=HEAD,root"`
	Count int      `ddb:"sk=HEAD"`
	Side  string   `ddb:"sk=SIDE"`
}

// Session is a model whose items expire, each at a time of its own.
type Session struct {
	_     struct{}  `ddb:"table=sessions,ttl=expires"`
	ID    string    `ddb:"pk={ID}"`
	User  string    `ddb:"sk=HEAD,root"`
	Until time.Time `ddb:"sk=HEAD,ttl"`
	Steps []Step    `ddb:"sk=STEP#{N:03}"`
}

// Step is an element that expires.
type Step struct {
	N     int
	Text  string
	Until time.Time `ddb:"ttl"`
}

// Lease is a model whose items all expire with the root.
type Lease struct {
	_     struct{}  `ddb:"table=leases,ttl=expires"`
	ID    string    `ddb:"pk={ID}"`
	User  string    `ddb:"sk=HEAD,root"`
	Until time.Time `ddb:"sk=HEAD,ttl,all"`
	Terms []Note    `ddb:"sk=TERM#{N:03}"`
}

// Topic is a flat model: many entities in one partition. The keys of its elements name a
// field of the topic.
type Topic struct {
	_     struct{} `ddb:"table=topics"`
	Board string   `ddb:"pk=BOARD#{Board}"`
	Name  string   `ddb:"sk=T#{Name}"`
	Open  bool     `ddb:"sk=T#{Name}"`
	Posts []Note   `ddb:"sk=T#{^Name}#{N:03}"`
}

// Ledger is a model the keys of whose elements name a field that is none of its identity.
type Ledger struct {
	_       struct{} `ddb:"table=ledgers"`
	ID      string   `ddb:"pk={ID}"`
	Year    string   `ddb:"sk=HEAD,root"`
	Entries []Note   `ddb:"sk=E#{^Year}#{N:03}"`
}

// Now is the time of the models' clocks.
var Now = time.Unix(1_700_000_000, 0)

// Of returns a model by reflection, whose clock shows Now and whose tables have their
// declared names.
func Of[T any](t testing.TB) *model.Model {
	t.Helper()
	return of(t, reflect.TypeFor[T]())
}

// Wide returns a model whose root has n numbers, F000 and so on.
func Wide(t testing.TB, n int) *model.Model {
	t.Helper()
	fields := []reflect.StructField{
		{Name: "_", PkgPath: "testmodel", Type: reflect.TypeFor[struct{}](), Tag: `ddb:"table=wide"`},
		{Name: "ID", Type: reflect.TypeFor[string](), Tag: `ddb:"pk={ID}"`},
	}
	for i := range n {
		fields = append(fields,
			reflect.StructField{Name: fmt.Sprintf("F%03d", i), Type: reflect.TypeFor[int](), Tag: `ddb:"sk=HEAD"`})
	}
	return of(t, reflect.StructOf(fields))
}

func of(t testing.TB, typ reflect.Type) *model.Model {
	t.Helper()
	e, err := schema.Of(typ)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, table := range e.Tables {
		names = append(names, table.Name)
	}
	m := model.New(e, codec.ReflectedModel(e), names)
	m.Now = func() time.Time { return Now }
	return m
}

// Text is a string as a sort or partition key.
func Text(s string) key.Scalar { return key.Scalar{Type: 'S', Text: s} }

// S is a string.
func S(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// N is a number.
func N(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

// B is bytes, as versions and attempts are.
func B(s string) types.AttributeValue { return &types.AttributeValueMemberB{Value: []byte(s)} }

// Bool is a truth value.
func Bool(b bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: b} }

// Item makes an item of its keys and further attributes.
func Item(pk, sk string, more item.Attributes) item.Attributes {
	a := item.Attributes{"PK": S(pk), "SK": S(sk)}
	for name, v := range more {
		a[name] = v
	}
	return a
}

// Images describes items of the main table, as if they had been read.
func Images(t testing.TB, m *model.Model, items ...item.Attributes) []item.Image {
	t.Helper()
	images, err := m.Describe(m.Tables[0], items)
	if err != nil {
		t.Fatal(err)
	}
	return images
}

// In returns the partition of a partition key, in tables that hold all times.
func In(pk key.Scalar) key.Partition { return key.Partition{PK: pk} }

// At returns a place in the main table.
func At(m *model.Model, pk, sk key.Scalar) item.Place {
	return m.Place(m.Root(), In(pk), sk)
}
