package models

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/schema"
)

// pair is a model's two codecs.
type pair struct {
	*testing.T
	schema    *schema.Entity
	gen       *Gen
	reflected codec.Model
	generated codec.Model
	shared    bool // how strings of the next item from the wire are made
	foreign   *rand.Rand
}

// generatedCodec returns the codec that generated code gives a model, as the mapper
// finds it.
func generatedCodec(t *testing.T, model any, e *schema.Entity) codec.Model {
	t.Helper()
	m := reflect.ValueOf(model).MethodByName("ItemizeCodec")
	if !m.IsValid() {
		t.Fatalf("%T has no generated code", model)
	}
	c := m.Call([]reflect.Value{reflect.Zero(m.Type().In(0))})[0]
	if got := c.Elem().FieldByName("Layout").String(); got != e.Fingerprint() {
		layout, _ := json.MarshalIndent(e.Layout(), "", " ")
		t.Fatalf("the generated code has the layout %s, and the model %s: %s", got, e.Fingerprint(), layout)
	}
	return codec.New(e, c.Elem().FieldByName("Table").FieldByName("Form").Interface().(*codec.Form), nil)
}

// Parity is law 8 for one model, given by a pointer to it. For a number of random values, reflection
// and generated code return the same results for all calls of the mapper.
func Parity(t *testing.T, seed uint64, model any, values int) {
	t.Helper()
	typ := reflect.TypeOf(model).Elem()
	e, err := schema.Of(typ)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, 0))
	p := &pair{
		T: t, schema: e, gen: NewGen(r, e), reflected: codec.ReflectedModel(e),
		generated: generatedCodec(t, model, e), foreign: rand.New(rand.NewPCG(seed, 1)),
	}
	for range values {
		a := p.gen.New()
		b := reflect.New(typ).Interface()
		reflect.ValueOf(b).Elem().Set(reflect.ValueOf(a).Elem())
		c := p.clone(a)
		p.gen.Edit(c)
		for _, y := range []any{a, b, c, p.gen.New(), reflect.New(typ).Interface()} {
			p.compare(a, y)
			p.compare(y, a)
		}
	}
}

// clone copies a value with both codecs, which have to make the same.
func (p *pair) clone(v any) any {
	p.Helper()
	x, y := p.reflected.New(), p.generated.New()
	for _, to := range []struct {
		c   codec.Model
		dst any
	}{{p.reflected, x}, {p.generated, y}} {
		to.c.CloneKeyFields(to.dst, v)
		for i, it := range p.schema.Items {
			if it.Element() {
				to.c.Elements(i).Clone(to.dst, v)
			} else {
				to.c.Record(i).Clone(to.dst, v)
			}
		}
	}
	p.equal("Clone", x, y)
	return x
}

var exporter = cmp.Exporter(func(reflect.Type) bool { return true })

func (p *pair) equal(what string, x, y any) {
	p.Helper()
	if reflect.DeepEqual(x, y) {
		return
	}
	if d := cmp.Diff(x, y, exporter); d != "" {
		p.Fatalf("%s (-reflected +generated):\n%s", what, d)
	}
}

// compare asks both codecs everything about two values.
func (p *pair) compare(a, b any) {
	p.Helper()
	p.equal("SameKeyFields", p.reflected.SameKeyFields(a, b), p.generated.SameKeyFields(a, b))
	for i := range p.schema.KeyFields {
		x, errX := p.reflected.KeyField(a, i)
		y, errY := p.generated.KeyField(a, i)
		p.equal("KeyField", [2]any{x, errText(errX)}, [2]any{y, errText(errY)})
		if errX == nil {
			u, v := p.reflected.New(), p.generated.New()
			p.equal("SetKeyField", errText(p.reflected.SetKeyField(u, i, x)), errText(p.generated.SetKeyField(v, i, x)))
			p.equal("SetKeyField", u, v)
		}
	}
	for i, it := range p.schema.Items {
		if it.Element() {
			p.elements(i, it, a, b)
			continue
		}
		p.record(i, it, a, b)
		x, y := p.reflected.Record(i), p.generated.Record(i)
		p.equal("Present", x.Present(a), y.Present(a))
		u, v := p.clone(a), p.clone(a)
		x.Clone(u, b)
		y.Clone(v, b)
		p.equal("Clone over "+it.Name, u, v)
		x.Allocate(u)
		y.Allocate(v)
		p.equal("Allocate", u, v)
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// record compares what the codecs of one item say of two records.
func (p *pair) record(i int, it *schema.Item, a, b any) {
	p.Helper()
	x, y := p.reflected.Record(i), p.generated.Record(i)
	p.equal("Equal "+it.Name, x.Equal(a, b), y.Equal(a, b))
	if !it.Element() || !it.ExpiryOfRoot {
		atX, okX := x.Expiry(a)
		atY, okY := y.Expiry(a)
		p.equal("Expiry", [2]any{atX, okX}, [2]any{atY, okY})
	}
	for j, k := range it.Derived {
		for n, src := range k.Sources {
			if src.From == schema.FromItem || src.From == schema.FromElement {
				u, errU := x.IndexKey(a, j, n)
				v, errV := y.IndexKey(a, j, n)
				p.equal("IndexKey "+k.Name, [2]any{u, errText(errU)}, [2]any{v, errText(errV)})
			}
		}
	}
	for n, attribute := range it.Attributes {
		u, errU := x.Encode(a, n)
		v, errV := y.Encode(a, n)
		if strings.Contains(errText(errU), "unsupported") && errV != nil {
			continue
		}
		p.equal("Encode "+attribute.Name, [2]any{u, errText(errU)}, [2]any{v, errText(errV)})
		if !attribute.Opaque {
			p.equal("Same "+attribute.Name, x.Same(a, b, n), y.Same(a, b, n))
		}
		if errU != nil || u == nil || attr.Check(u) != nil {
			continue // it is never stored
		}
		p.scan(i, it, n, u)
		p.scan(i, it, n, p.anything())
		if now, err := x.Encode(b, n); err == nil && attr.Check(now) == nil {
			p.graft(i, it, n, Foreign(p.foreign, u), now)
		}
		dstX, dstY := newRecord(p.reflected, i, it), newRecord(p.generated, i, it)
		p.equal("Decode "+attribute.Name, errText(x.Decode(dstX, n, u)), errText(y.Decode(dstY, n, u)))
		p.equal("Decode "+attribute.Name, dstX, dstY)
	}
}

// scan compares an attribute that is decoded from the wire with the same attribute that the SDK has
// decoded.
func (p *pair) scan(i int, it *schema.Item, n int, v types.AttributeValue) {
	p.Helper()
	name := it.Attributes[n].Name
	for _, m := range []codec.Model{p.reflected, p.generated} {
		x, y := newRecord(m, i, it), newRecord(m, i, it)
		from := onWire(p, p.shared, map[string]types.AttributeValue{name: v})
		errX, errY := m.Record(i).Scan(x, n, from.Value(0)), m.Record(i).Decode(y, n, v)
		p.equal("Scan "+name, errX == nil, errY == nil)
		if errX == nil { // the error names a random one of a map's invalid values, and the values before it are set
			p.equal("Scan "+name, x, y)
		}
		p.shared = !p.shared
	}
}

// graft compares what becomes of a stored value beside a change.
func (p *pair) graft(i int, it *schema.Item, n int, stored, now types.AttributeValue) {
	p.Helper()
	x, errX := p.reflected.Record(i).Graft(n, stored, now)
	y, errY := p.generated.Record(i).Graft(n, stored, now)
	p.equal("Graft "+it.Attributes[n].Name, errX == nil, errY == nil)
	p.equal("Graft "+it.Attributes[n].Name, x, y)
}

// anything returns a value that may be of any type.
func (p *pair) anything() types.AttributeValue {
	v, err := attributevalue.Marshal(p.gen.anything(3))
	if err != nil {
		return &types.AttributeValueMemberSS{Value: []string{"a", "b"}}
	}
	return v
}

func newRecord(m codec.Model, i int, it *schema.Item) any {
	if it.Element() {
		return m.Elements(i).NewElement()
	}
	return m.New()
}

// elements compares what the codecs of a slice or map say of two values.
func (p *pair) elements(i int, it *schema.Item, a, b any) {
	p.Helper()
	x, y := p.reflected.Elements(i), p.generated.Elements(i)
	p.equal("Len", x.Len(a), y.Len(a))
	p.equal("Equal "+it.Name, x.Equal(a, b), y.Equal(a, b))
	u, v := p.clone(a), p.clone(a)
	x.Clone(u, b)
	y.Clone(v, b)
	p.equal("Clone over "+it.Name, u, v)
	x.Reset(u, 3)
	y.Reset(v, 3)
	p.equal("Reset", u, v)
	x.Each(a, func(pos codec.Pos, rec any) bool {
		p.equal("At", x.At(a, pos), y.At(a, pos))
		if rec == nil {
			return true
		}
		p.record(i, it, rec, rec)
		x.Append(u, pos.Key, rec)
		y.Append(v, pos.Key, rec)
		x.Set(u, codec.Pos{Key: pos.Key}, rec)
		y.Set(v, codec.Pos{Key: pos.Key}, rec)
		p.keys(i, it, pos, rec)
		return true
	})
	p.equal("Append", u, v)
}

// keys compares what the codecs make of an element's key.
func (p *pair) keys(i int, it *schema.Item, pos codec.Pos, rec any) {
	p.Helper()
	x, y := p.reflected, p.generated
	for n, src := range it.Key.Sources {
		switch src.From {
		case schema.FromMapKey:
			k, errK := x.Elements(i).MapKey(pos.Key)
			l, errL := y.Elements(i).MapKey(pos.Key)
			p.equal("MapKey", [2]any{k, errText(errK)}, [2]any{l, errText(errL)})
			back, errBack := x.Elements(i).FromKey(k)
			again, errAgain := y.Elements(i).FromKey(k)
			p.equal("FromKey", [2]any{back, errText(errBack)}, [2]any{again, errText(errAgain)})
		case schema.FromElement, schema.FromSelf:
			k, errK := x.Record(i).Key(rec, n)
			l, errL := y.Record(i).Key(rec, n)
			p.equal("Key", [2]any{k, errText(errK)}, [2]any{l, errText(errL)})
			if errK != nil {
				continue
			}
			u, v := x.Elements(i).NewElement(), y.Elements(i).NewElement()
			p.equal("SetKey", errText(x.Record(i).SetKey(u, n, k)), errText(y.Record(i).SetKey(v, n, k)))
			p.equal("SetKey", u, v)
		}
	}
}
