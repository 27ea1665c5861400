// Package models provides models for property tests. A family covers every kind of field that
// attributevalue can encode, and every kind of key and item of the ddb tag ([All]). There are also
// random models ([Type]), and random values of any model ([Gen]).
package models

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/grammar"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/testing/leaks"
)

// Gen makes random values of one model. One in eight texts, numbers and names of nested entries has the
// marker of package leaks: no error text may contain it. The values that keys are made of have none.
type Gen struct {
	R      *rand.Rand
	Schema *schema.Entity
	codec  codec.Model
	used   map[string]bool // keys of entities, each used once
	depth  int             // of the value that is made
	keyed  bool            // the value that is made is of a key
}

// NewGen returns a generator for a model's schema.
func NewGen(r *rand.Rand, e *schema.Entity) *Gen {
	return &Gen{R: r, Schema: e, codec: codec.ReflectedModel(e), used: map[string]bool{}}
}

// New returns a pointer to a random value of the model.
func (g *Gen) New() any {
	v := g.codec.New()
	root := reflect.ValueOf(v).Elem()
	for again := true; again; {
		for i, o := range g.Schema.KeyFields {
			k, source := g.Schema.KeyOf(i)
			g.key(at(root, o.Path), o.Type, k.Format(source))
		}
		again = g.isTaken(v)
	}
	for _, it := range g.Schema.Items {
		if it.Element() {
			g.elements(root, it)
			continue
		}
		g.fixedItem(root, it)
	}
	g.Repair(v)
	return v
}

// isTaken reports whether an entity with the key of v was made before.
func (g *Gen) isTaken(v any) bool {
	var keyFields []key.Value
	for i := range g.Schema.KeyFields {
		value, err := g.codec.KeyField(v, i)
		if err != nil {
			panic(err)
		}
		keyFields = append(keyFields, value)
	}
	pk, err := g.Schema.PartitionKey(keyFields)
	if err != nil {
		panic(err)
	}
	name := pk.String()
	if g.Schema.Flat {
		sk, err := g.Schema.SortKey(g.Schema.Root, keyFields)
		if err != nil {
			panic(err)
		}
		name += " " + sk.String()
	}
	was := g.used[name]
	g.used[name] = true
	return was
}

// fixedItem fills a singleton's fields, or leaves them as they are now and then.
func (g *Gen) fixedItem(root reflect.Value, it *schema.Item) {
	if g.R.IntN(5) == 0 {
		return
	}
	if it.Pointer {
		p := at(root, it.Field.Path)
		p.Set(reflect.New(p.Type().Elem()))
	}
	for _, a := range it.Attributes {
		switch {
		case g.isKeyField(a):
		case a.Name == g.Schema.TTL:
			g.future(at(root, a.Value.Path))
		default:
			g.Value(at(root, a.Value.Path), a.Value.Type, a.AV)
		}
	}
	if e := it.Expiry; e != nil && it.Attribute(g.Schema.TTL) < 0 {
		g.future(at(root, e.Path))
	}
}

func (g *Gen) isKeyField(a *schema.Attribute) bool {
	return slices.ContainsFunc(g.Schema.KeyFields,
		func(o *schema.KeyField) bool { return slices.Equal(o.Path, a.Value.Path) })
}

// future sets an expiry to years from now, or to none.
func (g *Gen) future(v reflect.Value) {
	t := time.Now().Add(time.Duration(1+g.R.IntN(1000)) * 24 * time.Hour).Truncate(time.Second)
	switch {
	case v.Kind() == reflect.Pointer && g.R.IntN(3) == 0:
		v.SetZero()
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.ValueOf(&t))
	default:
		v.Set(reflect.ValueOf(t))
	}
}

func (g *Gen) elements(root reflect.Value, it *schema.Item) {
	f := at(root, it.Field.Path)
	n := g.R.IntN(5)
	if n == 0 {
		f.SetZero()
		return
	}
	if f.Kind() == reflect.Map {
		f.Set(reflect.MakeMap(f.Type()))
		for range n {
			f.SetMapIndex(g.mapKey(it), g.Element(it))
		}
		return
	}
	f.Set(reflect.MakeSlice(f.Type(), 0, n))
	for range n {
		f.Set(reflect.Append(f, g.Element(it)))
	}
}

func (g *Gen) mapKey(it *schema.Item) reflect.Value {
	for i, s := range it.Key.Sources {
		if s.From == schema.FromMapKey {
			k := reflect.New(it.Field.Type.Key.Go.(reflect.Type)).Elem()
			g.key(k, it.Field.Type.Key, it.Key.Format(i))
			return k
		}
	}
	panic("a map without {key}")
}

// Element returns a random element of an item, as the field holds it.
func (g *Gen) Element(it *schema.Item) reflect.Value {
	p := reflect.New(it.Elem.Go.(reflect.Type))
	g.fillElement(p.Elem(), it)
	if it.ElemPointer {
		return p
	}
	return p.Elem()
}

func (g *Gen) fillElement(rec reflect.Value, it *schema.Item) {
	keys := map[string]bool{}
	for i, s := range it.Key.Sources {
		switch s.From {
		case schema.FromElement:
			g.key(at(rec, s.Value.Path), s.Value.Type, it.Key.Format(i))
			keys[fmt.Sprint(s.Value.Path)] = true
		case schema.FromSelf:
			g.key(rec, it.Elem, it.Key.Format(i))
			return
		}
	}
	for _, a := range it.Attributes {
		if keys[fmt.Sprint(a.Value.Path)] {
			continue
		}
		f := rec
		if len(a.Value.Path) > 0 {
			f = at(rec, a.Value.Path)
		}
		g.Value(f, a.Value.Type, a.AV)
	}
	if e := it.Expiry; e != nil && !it.ExpiryOfRoot {
		g.future(at(rec, e.Path))
	}
}

// Repair removes elements whose keys are those of others.
func (g *Gen) Repair(v any) {
	root := reflect.ValueOf(v).Elem()
	for _, it := range g.Schema.Items {
		if !it.Element() || it.Map() {
			continue
		}
		seen := map[key.Scalar]bool{}
		f := at(root, it.Field.Path)
		kept := reflect.MakeSlice(f.Type(), 0, f.Len())
		g.codec.Elements(it.Index).Each(v, func(p codec.Pos, rec any) bool {
			if sk := g.SortKey(v, it, p, rec); !seen[sk] {
				seen[sk] = true
				kept = reflect.Append(kept, f.Index(p.Index))
			}
			return true
		})
		if kept.Len() == 0 {
			kept = reflect.Zero(f.Type())
		}
		f.Set(kept)
	}
}

// SortKey returns the sort key of an element.
func (g *Gen) SortKey(v any, it *schema.Item, p codec.Pos, rec any) key.Scalar {
	var values []key.Value
	for i, s := range it.Key.Sources {
		var value key.Value
		var err error
		switch s.From {
		case schema.FromModel:
			value, err = g.codec.KeyField(v, s.KeyField)
		case schema.FromMapKey:
			value, err = g.codec.Elements(it.Index).MapKey(p.Key)
		default:
			value, err = g.codec.Record(it.Index).Key(rec, i)
		}
		if err != nil {
			panic(err)
		}
		values = append(values, value)
	}
	sk, err := it.Key.Template.Render(values)
	if err != nil {
		panic(err)
	}
	return sk
}

// at walks to a field, making the structs on the way.
func at(v reflect.Value, path []int) reflect.Value {
	for i, x := range path {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(x)
	}
	return v
}

// key sets a field that a key holds in a format.
func (g *Gen) key(v reflect.Value, t *schema.Type, f key.Format) {
	g.keyed = true
	defer func() { g.keyed = false }()
	switch {
	case t.Time:
		at := time.Unix(g.R.Int64N(253402300799), g.R.Int64N(1e9)).UTC()
		if f.Kind == key.Unix || f.Kind == key.Native {
			at = time.Unix(g.R.Int64N(9_999_999_999), g.R.Int64N(1e9)).UTC()
		}
		if g.R.IntN(3) == 0 {
			at = time.Date(2021, time.Month(1+g.R.IntN(12)), 1+g.R.IntN(28), g.R.IntN(24), 0, 0, 0, time.UTC)
		}
		if g.R.IntN(3) == 0 {
			at = at.In(zones[g.R.IntN(len(zones))])
		}
		v.Set(reflect.ValueOf(at).Convert(v.Type()))
		return
	case g.special(v):
		return
	}
	switch v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if f.Kind == key.Digits {
			v.SetInt(int64(g.R.Uint64N(limit(f))))
			return
		}
		g.Value(v, t, grammar.AV{})
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if f.Kind == key.Digits {
			v.SetUint(g.R.Uint64N(limit(f)))
			return
		}
		g.Value(v, t, grammar.AV{})
	case reflect.String:
		if t.Number {
			v.SetString(strconv.Itoa(g.R.IntN(100000)))
			return
		}
		s := g.text(1)
		if f.Kind == key.Raw {
			s = "r" + s
		}
		v.SetString(s)
	case reflect.Slice:
		v.SetBytes(g.bytes(1))
	case reflect.Array:
		reflect.Copy(v, reflect.ValueOf(g.bytes(v.Len())))
	case reflect.Struct: // of texts, with MarshalText
		for i := range v.NumField() {
			v.Field(i).SetString(g.text(1))
		}
	default:
		panic("no key of type " + v.Type().String())
	}
}

// limit is the number of values of a width.
func limit(f key.Format) uint64 {
	n := f.Max
	if f.Width < 19 {
		n = min(n, uint64(math.Pow10(f.Width))-1)
	}
	return max(n, 1)
}

// special fills types whose values cannot be any.
func (g *Gen) special(v reflect.Value) bool {
	switch v.Type().Name() { // those of package models, and of its generated twin
	case "Size":
		v.SetInt(g.R.Int64N(3))
		return true
	case "Money":
		v.FieldByName("Cents").SetInt(g.R.Int64N(1000))
		v.FieldByName("Currency").SetString(g.text(0))
		return true
	case "UUID":
		reflect.Copy(v, reflect.ValueOf(g.bytes(16)))
		return true
	}
	switch p := v.Addr().Interface().(type) {
	case interface{ SetPoint(x, y int) }:
		p.SetPoint(g.R.IntN(5), g.R.IntN(5))
	case *attributevalue.UnixTime:
		*p = attributevalue.UnixTime(time.Unix(g.R.Int64N(maxUnix), 0))
	case *netip.Addr:
		*p = netip.AddrFrom4([4]byte(g.bytes(4)))
	case *netip.Prefix:
		*p = netip.PrefixFrom(netip.AddrFrom4([4]byte(g.bytes(4))), g.R.IntN(33))
	default:
		return false
	}
	return true
}

const maxUnix = 9_999_999_999

var alphabet = []rune{
	'a', 'b', 'Z', '0', '9', ' ', '#', '%', '/', '~', '{', '\'', '"', '.', 'é', '世', '😀', '\n',
	'\x00',
}

// text returns a short string, now and then empty where least is 0.
func (g *Gen) text(least int) string {
	s := g.runes(least + g.R.IntN(8))
	if g.marks() {
		return leaks.Text + s
	}
	return s
}

// marks reports whether a value gets the marker.
func (g *Gen) marks() bool { return !g.keyed && g.R.IntN(8) == 0 }

// long returns a string that can make an item cost several units.
func (g *Gen) long() string {
	if g.R.IntN(12) == 0 {
		return g.runes(g.R.IntN(3000))
	}
	return g.text(0)
}

func (g *Gen) runes(n int) string {
	b := make([]rune, n)
	for i := range b {
		b[i] = alphabet[g.R.IntN(len(alphabet))]
	}
	return string(b)
}

func (g *Gen) bytes(least int) []byte {
	b := make([]byte, least+g.R.IntN(4))
	for i := range b {
		b[i] = byte(g.R.Uint32())
	}
	return b
}

// decimal returns a number in its canonical form.
func (g *Gen) decimal() string {
	s, _ := key.Canonical(fmt.Sprintf("%d.%03d", g.R.Int64()-g.R.Int64(), g.R.IntN(1000)))
	return s
}
