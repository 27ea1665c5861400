package models

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/itemize/itemize/internal/model/grammar"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/testing/leaks"
)

// maxDepth is how deep values of types that contain themselves get.
const maxDepth = 7

// Value sets a field to a random value that attributevalue can bring back.
func (g *Gen) Value(v reflect.Value, t *schema.Type, av grammar.AV) {
	g.depth++
	defer func() { g.depth-- }()
	if g.R.IntN(8) == 0 && !t.Number && !t.Marshals || g.depth > maxDepth && v.Kind() != reflect.Struct {
		v.SetZero()
		return
	}
	if g.special(v) {
		return
	}
	if t.Time {
		g.time(v, av)
		return
	}
	switch t.Kind {
	case schema.Bool:
		v.SetBool(g.R.IntN(2) == 0)
	case schema.Int:
		if t.Bits >= 32 && g.marks() {
			v.SetInt(leaks.Count)
			return
		}
		v.SetInt((g.R.Int64() - g.R.Int64()) >> (64 - t.Bits))
	case schema.Uint:
		if t.Bits >= 32 && g.marks() {
			v.SetUint(leaks.Count)
			return
		}
		v.SetUint(g.R.Uint64() >> (64 - t.Bits))
	case schema.Float:
		g.float(v, t.Bits)
	case schema.String:
		if t.Number {
			v.SetString(g.decimal())
			return
		}
		v.SetString(g.long())
	case schema.Bytes:
		g.byteField(v)
	case schema.Slice:
		g.slice(v, t, av)
	case schema.Array:
		for i := range v.Len() {
			g.Value(v.Index(i), t.Elem, grammar.AV{})
		}
	case schema.Map:
		g.mapField(v, t, av)
	case schema.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		g.Value(v.Elem(), t.Elem, av)
		if t.Elem.Kind == schema.Pointer && v.Elem().IsNil() {
			v.SetZero() // NULL, too
		}
	case schema.Interface:
		if x := g.anything(3); x != nil {
			v.Set(reflect.ValueOf(x))
		} else {
			v.SetZero()
		}
	case schema.Struct:
		for _, f := range t.EncodedFields() {
			g.Value(at(v, f.Path), f.Type, f.AV)
		}
	}
}

func (g *Gen) time(v reflect.Value, av grammar.AV) {
	at := time.Unix(g.R.Int64N(maxUnix)-1e9, g.R.Int64N(1e9)).In(time.FixedZone("", 60*(g.R.IntN(1400)-700)))
	if av.Has("unixtime") {
		at = time.Unix(g.R.Int64N(maxUnix), 0)
	}
	if g.R.IntN(3) == 0 {
		at = at.In(zones[g.R.IntN(len(zones))])
	}
	v.Set(reflect.ValueOf(at).Convert(v.Type()))
}

func (g *Gen) float(v reflect.Value, bits int) {
	f := (g.R.Float64() - 0.5) * math.Pow10(g.R.IntN(20)-10)
	if g.R.IntN(2) == 0 {
		f = float64(g.R.IntN(2000)-1000) / 4
	}
	if g.marks() {
		f = leaks.Count
	}
	if bits == 32 {
		f = float64(float32(f))
	}
	v.SetFloat(f)
}

func (g *Gen) byteField(v reflect.Value) {
	b := g.bytes(0)
	if g.marks() {
		b = append(b, leaks.Text...)
	}
	if v.Kind() == reflect.Array {
		reflect.Copy(v, reflect.ValueOf(g.bytes(v.Len())))
		return
	}
	v.SetBytes(b)
}

func (g *Gen) slice(v reflect.Value, t *schema.Type, av grammar.AV) {
	set := av.Has("stringset") || av.Has("numberset") || av.Has("binaryset") || v.Type() == reflect.TypeFor[[][]byte]()
	n := g.R.IntN(4)
	if set && n == 0 {
		v.SetZero() // an empty set becomes NULL
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		for g.Value(v.Index(i), t.Elem, grammar.AV{}); av.Has("omitemptyelem") && v.Index(i).IsZero() || set &&
			v.Index(i).Kind() == reflect.Slice && v.Index(i).IsNil(); {
			g.Value(v.Index(i), t.Elem, grammar.AV{})
		}
	}
	if set {
		SortSet(v)
	}
}

// SortSet brings a set's members into one order, each once.
func SortSet(v reflect.Value) {
	all := make([]reflect.Value, v.Len())
	for i := range all {
		all[i] = reflect.New(v.Type().Elem()).Elem()
		all[i].Set(v.Index(i))
	}
	compare := func(a, b reflect.Value) int {
		switch {
		case a.CanInt():
			return cmp.Compare(a.Int(), b.Int())
		case a.CanFloat():
			return cmp.Compare(a.Float(), b.Float())
		case a.Kind() == reflect.String:
			return cmp.Compare(a.String(), b.String())
		}
		return slices.Compare(a.Bytes(), b.Bytes())
	}
	slices.SortFunc(all, compare)
	all = slices.CompactFunc(all, func(a, b reflect.Value) bool { return compare(a, b) == 0 })
	out := reflect.MakeSlice(v.Type(), 0, len(all))
	v.Set(reflect.Append(out, all...))
}

func (g *Gen) mapField(v reflect.Value, t *schema.Type, av grammar.AV) {
	v.Set(reflect.MakeMap(v.Type()))
	for range g.R.IntN(4) {
		k := reflect.New(v.Type().Key()).Elem()
		if k.Kind() == reflect.String {
			k.SetString(g.text(1))
		} else {
			g.Value(k, t.Key, grammar.AV{})
		}
		e := reflect.New(v.Type().Elem()).Elem()
		g.Value(e, t.Elem, grammar.AV{})
		if av.Has("omitemptyelem") && e.IsZero() {
			continue
		}
		v.SetMapIndex(k, e)
	}
}

// anything returns a value that comes back as it is through an interface.
func (g *Gen) anything(depth int) any {
	n := 7
	if depth == 0 {
		n = 5
	}
	switch g.R.IntN(n) {
	case 0:
		return nil
	case 1:
		return g.text(0)
	case 2:
		return float64(g.R.IntN(1000)) / 8
	case 3:
		return g.R.IntN(2) == 0
	case 4:
		return g.bytes(0)
	case 5:
		l := make([]any, g.R.IntN(3))
		for i := range l {
			l[i] = g.anything(depth - 1)
		}
		return l
	}
	m := map[string]any{}
	for range g.R.IntN(3) {
		m[g.text(1)] = g.anything(depth - 1)
	}
	return m
}
