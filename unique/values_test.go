package unique_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
	"github.com/itemize/itemize/unique"
)

type (
	price struct {
		Amount   json.Number
		Currency string
	}
	degrees float64
	point   struct{ X, Y float64 }
	labels  []string
	chosen  struct {
		Words []string  `dynamodbav:",stringset"`
		Bits  [][]byte  `dynamodbav:",binaryset"`
		Ns    []float64 `dynamodbav:",numberset"`
	}
	decimal struct{ digits string }
	deep    struct{ Of map[string][]point }
)

func (p price) Normal() string   { return string(p.Amount) + p.Currency }
func (d degrees) Normal() string { return fmt.Sprint(float64(d)) }
func (p point) Normal() string   { return fmt.Sprint(p.X, p.Y) }
func (l labels) Normal() string  { return fmt.Sprint([]string(l)) }
func (c chosen) Normal() string  { return fmt.Sprint(c) }
func (d decimal) Normal() string { return d.digits }
func (d deep) Normal() string    { return fmt.Sprint(d) }

func (d decimal) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberN{Value: d.digits}, nil
}

func (d *decimal) UnmarshalDynamoDBAttributeValue(v types.AttributeValue) error {
	if n, ok := v.(*types.AttributeValueMemberN); ok {
		d.digits = n.Value
	}
	return nil
}

type (
	priced struct {
		_  struct{} `ddb:"table=values"`
		ID string   `ddb:"pk=V#{ID}"`
		F  price    `ddb:"sk=HEAD,unique,nested"`
	}
	turned struct {
		_  struct{} `ddb:"table=values"`
		ID string   `ddb:"pk=V#{ID}"`
		F  degrees  `ddb:"sk=HEAD,unique"`
	}
	placed struct {
		_  struct{} `ddb:"table=values"`
		ID string   `ddb:"pk=V#{ID}"`
		F  point    `ddb:"sk=HEAD,unique,nested"`
	}
	labeled struct {
		_  struct{} `ddb:"table=values"`
		ID string   `ddb:"pk=V#{ID}"`
		F  labels   `ddb:"sk=HEAD,unique" dynamodbav:",stringset"`
	}
	choosing struct {
		_  struct{} `ddb:"table=values"`
		ID string   `ddb:"pk=V#{ID}"`
		F  chosen   `ddb:"sk=HEAD,unique,nested"`
	}
	precise struct {
		_  struct{} `ddb:"table=values"`
		ID string   `ddb:"pk=V#{ID}"`
		F  decimal  `ddb:"sk=HEAD,unique"`
	}
	nesting struct {
		_  struct{} `ddb:"table=values"`
		ID string   `ddb:"pk=V#{ID}"`
		F  deep     `ddb:"sk=HEAD,unique,nested"`
	}
	quoted struct {
		_  struct{} `ddb:"table=values"`
		ID string   `ddb:"pk=V#{ID}"`
		F  float64  `ddb:"sk=HEAD,unique" dynamodbav:",string"`
	}
	quotedNumber struct {
		_  struct{}    `ddb:"table=values"`
		ID string      `ddb:"pk=V#{ID}"`
		F  json.Number `ddb:"sk=HEAD,unique" dynamodbav:",string"`
	}
)

// A value is compared as DynamoDB stores it: a method Normal sees numbers in one form, and sets in one order.
func TestValuesAreComparedAsTheyAreStored(t *testing.T) {
	t.Parallel()
	minus := math.Copysign(0, -1)
	compared(t, func(p *priced) (*string, *price) { return &p.ID, &p.F }, price{"19.90", "E"}, price{"19.9", "E"})
	compared(t, func(p *turned) (*string, *degrees) { return &p.ID, &p.F }, degrees(minus), 0)
	compared(t, func(p *placed) (*string, *point) { return &p.ID, &p.F }, point{minus, 1e22}, point{0, 1e22})
	compared(t, func(p *labeled) (*string, *labels) { return &p.ID, &p.F }, labels{"b", "a"}, labels{"a", "b"})
	compared(t, func(p *choosing) (*string, *chosen) { return &p.ID, &p.F },
		chosen{[]string{"y", "x"}, [][]byte{{2}, {1}}, []float64{2, 1}},
		chosen{[]string{"x", "y"}, [][]byte{{1}, {2}}, []float64{1, 2}})
	compared(t, func(p *precise) (*string, *decimal) { return &p.ID, &p.F }, decimal{"1.0"}, decimal{"1"})
	compared(t, func(p *nesting) (*string, *deep) { return &p.ID, &p.F },
		deep{map[string][]point{"a": {{minus, 2}}}}, deep{map[string][]point{"a": {{0, 2}}}})
	compared(t, func(p *quoted) (*string, *float64) { return &p.ID, &p.F }, minus, 0)
	compared(t, func(p *quotedNumber) (*string, *json.Number) { return &p.ID, &p.F }, "1.0", "1")
}

// compared saves a value, and tests that another entity cannot have it in any of its forms, and that lookups find it.
func compared[T, F any](t *testing.T, of func(*T) (id *string, value *F), forms ...F) {
	t.Helper()
	ctx := context.Background()
	for _, stored := range forms {
		table := testengine.Table(t, "PK:S", "SK:S")
		m := kit.Must(mapper.New[T](testengine.Start(t).Client(), mapper.Table(table)))(t)
		kit.Must(unique.Verify(ctx, m))(t)
		var first T
		id, value := of(&first)
		*id, *value = "1", stored
		kit.Must(m.Save(ctx, m.New(first)))(t)
		_, loaded := of(&kit.Must(m.Load(ctx, m.Key("1")))(t).Value)
		for _, form := range append(forms, *loaded) {
			var second T
			id, value := of(&second)
			*id, *value = "2", form
			if _, err := m.Save(ctx, m.New(second)); !errors.Is(err, mapper.ErrTaken) {
				t.Errorf("%T: %v is stored, and a second entity with %v: %v", first, stored, form, err)
			}
			if _, err := m.Load(ctx, m.Unique("F", form)); err != nil {
				t.Errorf("%T: %v is stored, and a lookup of %v: %v", first, stored, form, err)
			}
		}
		if r := kit.Must(unique.Verify(ctx, m))(t); !r.Verified() || r.Guarded != 1 {
			t.Errorf("%T: %v: %+v", first, stored, r)
		}
		kit.Must(m.DeleteByKey(ctx, m.Key("1")))(t)
		if r := kit.Must(unique.Drop(ctx, testengine.Start(t).Client(), unique.Table{
			Name: table, Hash: "PK",
			Range: "SK",
		}, fmt.Sprintf("%s#F", nameOf[T]())))(t); r.Written != 0 {
			t.Errorf("%T: %v: the delete left %d guards", first, stored, r.Written)
		}
	}
}

func nameOf[T any]() string {
	name := fmt.Sprintf("%T", *new(T))
	return name[len("unique_test."):]
}

// A lookup takes no integer whose bits alone are those of the value.
func TestLookupsTakeNoOverflow(t *testing.T) {
	t.Parallel()
	type wide struct {
		_  struct{} `ddb:"table=values"`
		ID string   `ddb:"pk=V#{ID}"`
		U  uint64   `ddb:"sk=HEAD,unique"`
		I  int64    `ddb:"sk=HEAD,unique"`
		P  *uint    `ddb:"sk=HEAD,unique"`
		S  int8     `ddb:"sk=HEAD,unique"`
	}
	ctx := context.Background()
	m := kit.Must(mapper.New[wide](testengine.Start(t).Client(), mapper.Table(testengine.Table(t, "PK:S", "SK:S")),
		mapper.AssumeVerified()))(t)
	most := uint(math.MaxUint)
	kit.Must(m.Save(ctx, m.New(wide{ID: "1", U: math.MaxUint64, I: -1, P: &most, S: -1})))(t)
	for field, values := range map[string][]any{
		"U": {-1, int64(-1)}, "I": {uint64(math.MaxUint64)}, "P": {-1}, "S": {255, uint8(255), int64(1) << 40},
	} {
		for _, v := range values {
			if e, err := m.Load(ctx, m.Unique(field, v)); err == nil {
				t.Errorf("%s: %T(%v) found %+v", field, v, v, e.Value)
			}
		}
	}
	kit.Must(m.Load(ctx, m.Unique("U", uint64(math.MaxUint64))))(t)
	kit.Must(m.Load(ctx, m.Unique("I", int8(-1))))(t)
}

// Many lookups read the note once, and each value once.
func TestLoadManyLooksUpEachValueOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table, client := testengine.Table(t, "PK:S", "SK:S"), testengine.Start(t).Client()
	m := kit.Must(mapper.New[user](client, mapper.Table(table)))(t)
	for _, email := range []string{"a", "b"} {
		kit.Must(m.Save(ctx, m.New(user{ID: email, Email: email})))(t)
	}
	kit.Must(unique.Verify(ctx, m))(t)
	m = kit.Must(mapper.New[user](client, mapper.Table(table)))(t)
	var sels []query.Selection[user]
	for range 50 {
		sels = append(sels, m.Unique("Email", "a"), m.Unique("Email", "b"), m.Unique("Email", "nobody"), m.Key("a"))
	}
	var r mapper.Receipt
	all := kit.Must(m.LoadMany(ctx, sels, mapper.ReceiptTo(&r)))(t)
	for i, want := range []string{"a", "b", "", "a"} {
		for n := i; n < len(all); n += 4 {
			if e := all[n]; want == "" && e != nil || want != "" && (e == nil || e.Value.Email != want) {
				t.Fatalf("%d: %+v, want %q", n, e, want)
			}
		}
	}
	if all[0] == all[4] || r.Consumed.RCU > 6 {
		t.Errorf("shared: %v, %v", all[0] == all[4], r)
	}
}

// The note of a value is of one model: a verify of another model with the same name in its guards does not count.
func TestNotesOfOneModelDoNotCountForAnother(t *testing.T) {
	t.Parallel()
	type host struct {
		_  struct{} `ddb:"table=both"`
		ID string   `ddb:"pk=H#{ID}"`
		A  string   `ddb:"sk=HEAD,unique,as='One#A'"`
	}
	type renamed struct {
		_      struct{} `ddb:"table=both"`
		Number string   `ddb:"pk=H#{Number}"`
		A      string   `ddb:"sk=HEAD,unique,as='One#A'"`
	}
	type visitor struct {
		_  struct{} `ddb:"table=both"`
		ID string   `ddb:"pk=V#{ID}"`
		A  string   `ddb:"sk=HEAD,unique,as='One#A'"`
	}
	ctx := context.Background()
	table, client := testengine.Table(t, "PK:S", "SK:S"), testengine.Start(t).Client()
	m := kit.Must(mapper.New[host](client, mapper.Table(table)))(t)
	kit.Must(unique.Verify(ctx, m))(t)
	o := kit.Must(mapper.New[visitor](client, mapper.Table(table)))(t)
	if _, err := o.Load(ctx, o.Unique("A", "x")); err == nil || errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("a lookup of the other model: %v", err)
	}
	same := kit.Must(mapper.New[renamed](client, mapper.Table(table)))(t)
	if _, err := same.Load(ctx, same.Unique("A", "x")); !errors.Is(err, mapper.ErrNotFound) {
		t.Errorf("a lookup after a rename: %v", err)
	}
}

// A note without the root items of its model is none.
func TestNotesWithoutTheirRootItems(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table, client := testengine.Table(t, "PK:S", "SK:S"), testengine.Start(t).Client()
	kit.NewForeign(t, table).Put(kit.Item{
		"PK": kit.S("~unique#user#Email"), "SK": kit.S("note"),
		"note": kit.S(`{"verified": "2026-11-30T00:00:00Z", "attributes": ["Email"]}`),
	})
	m := kit.Must(mapper.New[user](client, mapper.Table(table)))(t)
	if _, err := m.Load(ctx, m.Unique("Email", "a")); !errors.Is(err, mapper.ErrUnverified) {
		t.Error(err)
	}
}
