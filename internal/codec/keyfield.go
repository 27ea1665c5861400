package codec

import (
	"encoding"
	"fmt"
	"reflect"
	"time"

	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/schema"
)

// keyField reads and writes a value that a key holds.
type keyField struct {
	kind key.Kind
	text bool // through MarshalText and UnmarshalText
	typ  reflect.Type
}

// newKeyField returns the field of a placeholder with that kind of value.
func newKeyField(t *schema.Type, kind key.Kind) keyField {
	return keyField{kind: kind, text: schema.KeyText(t, kind), typ: t.Go.(reflect.Type)}
}

func (f keyField) get(v reflect.Value) (key.Value, error) {
	if f.text {
		if !v.CanAddr() {
			c := reflect.New(f.typ).Elem()
			c.Set(v)
			v = c
		}
		b, err := v.Addr().Interface().(encoding.TextMarshaler).MarshalText()
		return key.OfString(string(b)), err
	}
	switch f.kind {
	case key.Int:
		return key.OfInt(v.Int()), nil
	case key.Uint:
		return key.OfUint(v.Uint()), nil
	case key.Time:
		return key.OfTime(timeOf(v)), nil
	case key.Number:
		return key.OfNumber(v.String()), nil
	case key.Bytes:
		if v.Kind() == reflect.Array && !v.CanAddr() {
			c := reflect.New(f.typ).Elem()
			c.Set(v)
			v = c
		}
		return key.OfBytes(v.Bytes()), nil
	}
	return key.OfString(v.String()), nil
}

func (f keyField) set(v reflect.Value, value key.Value) error {
	if f.text {
		return v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(value.Text))
	}
	switch f.kind {
	case key.Int:
		v.SetInt(value.Int)
	case key.Uint:
		v.SetUint(value.Uint)
	case key.Time:
		if t, ok := v.Addr().Interface().(*time.Time); ok {
			*t = value.Time
			return nil
		}
		v.Set(reflect.ValueOf(value.Time).Convert(f.typ))
	case key.Bytes:
		if v.Kind() == reflect.Array {
			if len(value.Text) != v.Len() {
				return fmt.Errorf("%d bytes in a key of %s", len(value.Text), f.typ)
			}
			reflect.Copy(v, reflect.ValueOf([]byte(value.Text)))
			return nil
		}
		v.SetBytes([]byte(value.Text))
	default: // String, Number
		v.SetString(value.Text)
	}
	return nil
}

// KeyFieldValue returns the key value of an argument that stands for a field that
// keys name: a value of the field's type, or one that converts to it without
// loss.
func KeyFieldValue(e *schema.Entity, owner int, arg any) (key.Value, error) {
	o := e.KeyFields[owner]
	f := newKeyField(o.Type, keyFieldKind(e, owner))
	v, err := convert(arg, f)
	if err != nil {
		return key.Value{}, fmt.Errorf("%s: the key field %s takes a %s: %w", e.Label(), o.Name, f.typ, err)
	}
	return f.get(v)
}

func convert(arg any, f keyField) (reflect.Value, error) {
	v := reflect.ValueOf(arg)
	if !v.IsValid() {
		return v, fmt.Errorf("it got nil")
	}
	if v.Type() == f.typ {
		return v, nil
	}
	to := reflect.New(f.typ).Elem()
	switch {
	case f.text && v.Kind() == reflect.String:
		return to, f.set(to, key.OfString(v.String()))
	case v.CanInt() && to.CanInt():
		if to.OverflowInt(v.Int()) {
			return v, fmt.Errorf("%d does not fit", v.Int())
		}
	case v.CanInt() && to.CanUint():
		if v.Int() < 0 || to.OverflowUint(uint64(v.Int())) {
			return v, fmt.Errorf("%d does not fit", v.Int())
		}
	case v.CanUint() && to.CanUint():
		if to.OverflowUint(v.Uint()) {
			return v, fmt.Errorf("%d does not fit", v.Uint())
		}
	case v.Kind() != to.Kind() || !v.CanConvert(f.typ):
		return v, fmt.Errorf("it got the %s %v", v.Type(), arg)
	}
	return v.Convert(f.typ), nil
}
