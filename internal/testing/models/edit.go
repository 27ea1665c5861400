package models

import (
	"reflect"

	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/schema"
)

// Edit changes a value at random: attributes, whole items, elements added,
// removed, changed and reordered, or now and then nothing. Its keys stay.
func (g *Gen) Edit(v any) {
	other := g.New()
	for i := range g.Schema.KeyFields {
		value, err := g.codec.KeyField(v, i)
		if err == nil {
			err = g.codec.SetKeyField(other, i, value)
		}
		if err != nil {
			panic(err)
		}
	}
	for _, it := range g.Schema.Items {
		if g.R.IntN(3) > 0 {
			continue
		}
		if it.Element() {
			g.editElements(v, other, it)
		} else {
			g.editFixedItem(v, other, it)
		}
	}
	g.Repair(v)
}

func (g *Gen) editFixedItem(v, other any, it *schema.Item) {
	a, b := reflect.ValueOf(v).Elem(), reflect.ValueOf(other).Elem()
	switch g.R.IntN(4) {
	case 0: // all of it
		for _, x := range it.Attributes {
			if !g.isKeyField(x) {
				move(a, b, x.Value.Path)
			}
		}
		if it.Pointer {
			at(a, it.Field.Path).Set(at(b, it.Field.Path))
		}
	case 1: // nothing of it
		for _, x := range it.Attributes {
			if f := look(a, x.Value.Path); f.IsValid() && !g.isKeyField(x) {
				f.SetZero()
			}
		}
		if it.Pointer {
			at(a, it.Field.Path).SetZero()
		}
	default: // one attribute
		if n := len(it.Attributes); n > 0 {
			if x := it.Attributes[g.R.IntN(n)]; !g.isKeyField(x) {
				move(a, b, x.Value.Path)
			}
		}
	}
}

// move sets a field of a to that of b, if b has it.
func move(a, b reflect.Value, path []int) {
	if f := look(b, path); f.IsValid() {
		at(a, path).Set(f)
	}
}

func (g *Gen) editElements(v, other any, it *schema.Item) {
	f := at(reflect.ValueOf(v).Elem(), it.Field.Path)
	o := look(reflect.ValueOf(other).Elem(), it.Field.Path)
	if f.Kind() == reflect.Map {
		g.editMap(v, f, o, it)
		return
	}
	for range 1 + g.R.IntN(3) {
		n := f.Len()
		switch g.R.IntN(5) {
		case 0:
			f.Set(reflect.AppendSlice(f, o))
		case 1:
			if n > 0 {
				i := g.R.IntN(n)
				f.Set(reflect.AppendSlice(f.Slice3(0, i, i), f.Slice(i+1, n)))
			}
		case 2:
			if n > 1 {
				reflect.Swapper(f.Interface())(g.R.IntN(n), g.R.IntN(n))
			}
		default:
			if n > 0 {
				g.editElement(g.codec.Elements(it.Index).At(v, codec.Pos{Index: g.R.IntN(n)}), it)
			}
		}
	}
}

// editElement changes an attribute of an element in place.
func (g *Gen) editElement(rec any, it *schema.Item) {
	p := reflect.New(it.Elem.Go.(reflect.Type))
	g.fillElement(p.Elem(), it)
	to := reflect.ValueOf(rec).Elem()
	if len(it.Attributes) == 0 || len(it.Attributes[0].Value.Path) == 0 {
		to.Set(p.Elem())
		return
	}
	move(to, p.Elem(), it.Attributes[g.R.IntN(len(it.Attributes))].Value.Path)
}

func (g *Gen) editMap(v any, f, o reflect.Value, it *schema.Item) {
	if f.IsNil() {
		f.Set(reflect.MakeMap(f.Type()))
	}
	for _, k := range f.MapKeys() {
		switch g.R.IntN(4) {
		case 0:
			f.SetMapIndex(k, reflect.Value{})
		case 1:
			f.SetMapIndex(k, g.Element(it))
		}
	}
	if o.IsValid() && g.R.IntN(2) == 0 {
		for m := o.MapRange(); m.Next(); {
			f.SetMapIndex(m.Key(), m.Value())
		}
	}
	if f.Len() == 0 {
		f.SetZero()
	}
}
