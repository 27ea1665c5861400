package codec

import (
	"fmt"
	"reflect"

	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/redact"
	"github.com/itemize/itemize/internal/model/schema"
)

// KeyFieldValue returns the key value of an argument for a key field: a value of the field's type, or
// one that converts to it without loss.
func KeyFieldValue(e *schema.Entity, i int, arg any) (key.Value, error) {
	o := e.KeyFields[i]
	return keyValue(e, o.Name, o.Type, keyFieldKind(e, i), arg)
}

// PlaceholderValue is KeyFieldValue for a placeholder of any key.
func PlaceholderValue(e *schema.Entity, k *schema.Key, source int, arg any) (key.Value, error) {
	src := k.Sources[source]
	return keyValue(e, src.Value.Name, src.Value.Type, k.Format(source).Value, arg)
}

func keyValue(e *schema.Entity, name string, t *schema.Type, kind key.Kind, arg any) (key.Value, error) {
	if v, ok := plain(arg, t.Go.(reflect.Type), kind); ok {
		return v, nil
	}
	f := argument{Reflected(t), schema.KeyText(t, kind)}
	p, err := f.convert(arg)
	if err != nil {
		return key.Value{}, fmt.Errorf("%s: the key field %s takes a %s: %w", e.Label(), name, f.form.Type, err)
	}
	return f.form.KeyValue(p, kind, f.text)
}

// plain returns the key value of an argument of the field's very type, where that is a
// string or an integer.
func plain(arg any, t reflect.Type, kind key.Kind) (key.Value, bool) {
	v := reflect.ValueOf(arg)
	switch {
	case !v.IsValid() || v.Type() != t:
	case v.Kind() == reflect.String:
		return key.Value{Kind: kind, Text: v.String()}, true
	case kind == key.Int && v.CanInt():
		return key.OfInt(v.Int()), true
	case kind == key.Uint && v.CanUint():
		return key.OfUint(v.Uint()), true
	}
	return key.Value{}, false
}

// argument is an argument for a key field.
type argument struct {
	form *Form
	text bool // as text
}

// convert returns a pointer to the argument as a value of the field's type.
func (f argument) convert(arg any) (any, error) {
	v, to := reflect.ValueOf(arg), reflect.New(f.form.Type)
	if !v.IsValid() {
		return nil, fmt.Errorf("the value is nil: pass one")
	}
	typ, field := f.form.Type, to.Elem()
	switch {
	case v.Type() == typ:
	case f.text && v.Kind() == reflect.String:
		return to.Interface(), f.form.SetKeyValue(to.Interface(), key.OfString(v.String()), true)
	case v.CanInt() && field.CanInt():
		if field.OverflowInt(v.Int()) {
			return nil, redact.Errorf("the number%v does not fit", redact.Of(v.Int()))
		}
	case v.CanInt() && field.CanUint():
		if v.Int() < 0 || field.OverflowUint(uint64(v.Int())) {
			return nil, redact.Errorf("the number%v does not fit", redact.Of(v.Int()))
		}
	case v.CanUint() && field.CanUint():
		if field.OverflowUint(v.Uint()) {
			return nil, redact.Errorf("the number%v does not fit", redact.Of(v.Uint()))
		}
	case v.Kind() != typ.Kind() || !v.CanConvert(typ):
		return nil, redact.Errorf("the value is of type %s%v", v.Type(), redact.Of(arg))
	}
	field.Set(v.Convert(typ))
	return to.Interface(), nil
}

// FromKey returns the value of a placeholder, of its field's type, from that of a key.
func FromKey(k *schema.Key, source int, value key.Value) (any, error) {
	t := k.Sources[source].Value.Type
	f := Reflected(t)
	p := reflect.New(f.Type)
	err := f.SetKeyValue(p.Interface(), value, schema.KeyText(t, k.Format(source).Value))
	return p.Elem().Interface(), err
}
