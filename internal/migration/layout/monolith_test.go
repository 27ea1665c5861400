package layout_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/migration/layout"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/models"
)

// layoutOf reads the layout of a type as data, as the command does.
func layoutOf(t *testing.T, e *schema.Entity) (*layout.Layout, error) {
	t.Helper()
	b, err := json.Marshal(e.Layout())
	if err != nil {
		t.Fatal(err)
	}
	var l schema.Layout
	if err := json.Unmarshal(b, &l); err != nil {
		t.Fatal(err)
	}
	return layout.New(l)
}

type place struct {
	table int
	pk    key.Scalar
	sk    key.Scalar
}

// Split and Join are inverse for random values of every model of the family and of random models. A
// split monolith has the same items and attributes as the mapper stores for the value.
func TestSplitIsWhatTheMapperStores(t *testing.T) {
	seed := draws.Seed(t)
	r := rand.New(rand.NewPCG(seed, 1))
	var all []reflect.Type
	for _, m := range models.All {
		all = append(all, reflect.TypeOf(m).Elem())
	}
	for i := range draws.Times(50, 200, 5_000) {
		all = append(all, models.Type(r, i))
	}
	refused, why, moved, twisted := map[string]int{}, map[string]int{}, 0, 0
	for _, typ := range all {
		e, err := schema.Of(typ)
		if err != nil {
			t.Fatal(err)
		}
		l, err := layoutOf(t, e)
		if err != nil {
			refused[err.Error()[strings.Index(err.Error(), ": "):]]++
			continue
		}
		var tables []string
		for _, table := range e.Tables {
			tables = append(tables, table.Name)
		}
		m := model.New(e, codec.ReflectedModel(e), tables)
		g := models.NewGen(r, e)
		for range 6 {
			v := g.New()
			doc, err := attributevalue.MarshalMapWithOptions(v, models.AsWritten)
			if err != nil {
				continue // what attributevalue cannot encode
			}
			doc["unclaimed"] = &types.AttributeValueMemberS{Value: "x"}
			parts, err := l.Split(doc)
			if err != nil {
				t.Errorf("seed %d: %v %+v: %v", seed, typ, v, err)
				continue
			}
			moved++
			back, err := l.Join(parts.Items)
			if err != nil || !layout.Same(doc, back) {
				t.Fatalf("seed %d: %v: %v comes back as %v, %v", seed, typ, doc, back, err)
			}
			doc = attr.CopyItem(doc)
			odd(r, doc)
			if parts, err := l.Split(doc); err == nil {
				twisted++
				if back, err := l.Join(parts.Items); err != nil || !layout.Same(doc, back) {
					t.Fatalf("seed %d: %v: %v comes back as %v, %v", seed, typ, doc, back, err)
				}
			} else {
				why[err.Error()[strings.LastIndex(err.Error(), ": "):]]++
			}
			found := map[place]item.Attributes{}
			for _, it := range parts.Items {
				found[place{it.Kind.Table, it.PK, it.SK}] = it.Attributes
			}
			d, err := change.Of(snapshot.New(m, v), nil, v, change.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, ch := range d.Changes {
				got := found[place{ch.Table.Index, ch.PK, ch.SK}]
				for name, value := range ch.Put {
					if ch.Table.Hash == name || ch.Table.Range == name || name == e.Version ||
						name == l.Reserved.IncarnationName() {
						continue
					}
					if !attr.Same(value, got[name]) && !quirk(typ, value, got[name]) {
						t.Errorf("seed %d: %v: %s of %s is %s, and the mapper stores %s", seed, typ, name, ch.Place,
							show(got[name]), show(value))
					}
				}
				for name, value := range got {
					if derived := ch.Item.DerivedKey(name) >= 0 || name == e.TTL; derived && ch.Put[name] == nil {
						t.Errorf("seed %d: %v: %s of %s is %s, and the mapper stores none", seed, typ, name, ch.Place,
							show(value))
					}
				}
			}
		}
	}
	t.Logf("%d monoliths moved, and %d of those that were made odd, the others being refused as %v; refused models: %v",
		moved, twisted, why, refused)
	if moved < 500 || twisted < moved/2 {
		t.Error("too few to mean anything")
	}
}

func show(v types.AttributeValue) string {
	if v == nil {
		return "absent"
	}
	var x any
	if err := attributevalue.Unmarshal(v, &x); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%T %v", v, x)
}

// odd changes a monolith in ways in which other programs write them. It has lists in another order,
// NULL, empty lists and maps, absent attributes, and attributes that belong to no field, also in
// structs and elements.
func odd(r *rand.Rand, doc item.Attributes) {
	extra := func() types.AttributeValue {
		return []types.AttributeValue{
			&types.AttributeValueMemberN{Value: "12345678901234567890123456789012345678"},
			&types.AttributeValueMemberBS{Value: [][]byte{{0}, {1, 2}}},
			&types.AttributeValueMemberNS{Value: []string{"1", "0.5"}}, &types.AttributeValueMemberB{Value: []byte{}},
			&types.AttributeValueMemberS{},
		}[r.IntN(5)]
	}
	for name, v := range doc {
		switch v := v.(type) {
		case *types.AttributeValueMemberL:
			r.Shuffle(len(v.Value), func(i, j int) { v.Value[i], v.Value[j] = v.Value[j], v.Value[i] })
			for _, e := range v.Value {
				if m, ok := e.(*types.AttributeValueMemberM); ok && r.IntN(3) == 0 {
					m.Value["odd"] = extra()
				}
			}
			if r.IntN(6) == 0 {
				v.Value = nil
			}
		case *types.AttributeValueMemberM:
			if r.IntN(4) == 0 {
				v.Value["odd"] = extra()
			}
			if r.IntN(8) == 0 {
				v.Value = item.Attributes{}
			}
		}
		if name != "ID" && r.IntN(8) == 0 {
			doc[name] = &types.AttributeValueMemberNULL{Value: true}
		}
	}
	doc["more"] = extra()
}

// quirk reports whether attributevalue encodes a value differently inside a map, which the library does
// not do. It cannot call pointer methods there, and it makes nil bytes empty.
func quirk(typ reflect.Type, stored, monolith types.AttributeValue) bool {
	_, null := stored.(*types.AttributeValueMemberNULL)
	b, bytes := monolith.(*types.AttributeValueMemberB)
	return null && bytes && len(b.Value) == 0 || strings.Contains(typ.String(), "models.Point") ||
		strings.Contains(typ.String(), "*[]uint8")
}

type dated struct {
	_  struct{}  `ddb:"table=dated_{At:month}"`
	ID string    `ddb:"pk=D#{ID}"`
	At time.Time `ddb:"sk=HEAD#{At}"`
	X  string    `ddb:"sk=HEAD#{At}"`
}

type sharded struct {
	_  struct{} `ddb:"table=sharded,shards=4,shardby=ID"`
	Of string   `ddb:"pk=S#{Of}#{shard}"`
	ID string
	X  string `ddb:"sk=HEAD#{ID}"`
}

type voluminous struct {
	_  struct{} `ddb:"table=voluminous"`
	ID string   `ddb:"pk=V#{ID}"`
	X  string   `ddb:"sk=HEAD,compress=zstd"`
}

type unversioned struct {
	_  struct{} `ddb:"table=unversioned,noversion"`
	ID string   `ddb:"pk=U#{ID}"`
	X  string   `ddb:"sk=HEAD"`
}

// Models that a migration does not support are refused by name, and the error says what to do instead.
func TestNotYet(t *testing.T) {
	const (
		bulk            = ", which a migration does not support: load its entities with BulkLoad"
		unversionedText = "the model has noversion, but a migration needs versions: remove it"
	)
	for want, typ := range map[string]reflect.Type{
		"dated: the model has rotating tables" + bulk: reflect.TypeFor[dated](),
		"sharded: the model is sharded" + bulk:        reflect.TypeFor[sharded](),
		"voluminous: the model has large values (compress, chunk, s3=), which a migration does not support: add " +
			"these tags after the migration": reflect.TypeFor[voluminous](),
		"unversioned: " + unversionedText: reflect.TypeFor[unversioned](),
	} {
		e, err := schema.Of(typ)
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := layoutOf(t, e); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
