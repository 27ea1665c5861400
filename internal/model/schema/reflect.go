package schema

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Of builds the schema of a model from its reflected type. The error is a
// Faults with all that is wrong.
func Of(t reflect.Type) (*Entity, error) {
	return Build(TypeOf(t))
}

// TypeOf describes a type.
func TypeOf(t reflect.Type) *Type { return (&reflector{types: map[reflect.Type]*Type{}}).of(t) }

// reflector is the front end on reflect.
type reflector struct {
	types map[reflect.Type]*Type
}

var (
	timeType        = reflect.TypeFor[time.Time]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	stringMethod    = reflect.TypeFor[fmt.Stringer]()
	normalMethod    = reflect.TypeFor[interface{ Normal() string }]()
	numberMethods   = reflect.TypeFor[interface {
		Float64() (float64, error)
		Int64() (int64, error)
		String() string
	}]()
)

var kinds = map[reflect.Kind]Kind{
	reflect.Bool: Bool, reflect.String: String,
	reflect.Int: Int, reflect.Int8: Int, reflect.Int16: Int, reflect.Int32: Int, reflect.Int64: Int,
	reflect.Uint: Uint, reflect.Uint8: Uint, reflect.Uint16: Uint, reflect.Uint32: Uint, reflect.Uint64: Uint,
	reflect.Float32: Float, reflect.Float64: Float,
	reflect.Slice: Slice, reflect.Array: Array, reflect.Map: Map,
	reflect.Struct: Struct, reflect.Pointer: Pointer, reflect.Interface: Interface,
}

func (f *reflector) of(rt reflect.Type) *Type {
	if t := f.types[rt]; t != nil {
		return t
	}
	t := &Type{Kind: kinds[rt.Kind()], Name: rt.String(), Go: rt}
	if rt.Kind() == reflect.Struct && rt.Name() == "" {
		t.Name = unnamed
	}
	f.types[rt] = t
	f.methods(t, rt)
	if rt.PkgPath() == LazyPackage && strings.HasPrefix(rt.Name(), LazyName+"[") {
		get, _ := rt.MethodByName("Preview")
		t.Lazy, t.Elem = true, f.of(get.Type.Out(0))
		return t
	}
	if rt.PkgPath() == "math/big" && t.Big() {
		return t
	}
	switch t.Kind {
	case Int, Uint, Float:
		t.Bits, t.Word = rt.Bits(), rt.Kind() == reflect.Int || rt.Kind() == reflect.Uint
	case Interface:
		t.Methods = rt.NumMethod() > 0
	case Slice, Array:
		t.Elem = f.of(rt.Elem())
		if rt.Elem().Kind() == reflect.Uint8 {
			t.Kind = Bytes
		}
		if rt.Kind() == reflect.Array {
			t.Len = rt.Len()
		}
	case Pointer:
		t.Elem = f.of(rt.Elem())
	case Map:
		t.Key, t.Elem = f.of(rt.Key()), f.of(rt.Elem())
	case Struct:
		if !t.Time && !t.Marshals {
			f.fields(t, rt)
		}
	}
	return t
}

// methods finds what the type's method set says about its encoding. Like
// attributevalue it looks at pointer methods of named types only.
func (f *reflector) methods(t *Type, rt reflect.Type) {
	t.Time = rt.Kind() == reflect.Struct && rt.ConvertibleTo(timeType)
	set := rt
	if rt.Name() != "" && rt.Kind() != reflect.Interface {
		set = reflect.PointerTo(rt)
	}
	if rt.Kind() != reflect.Interface && rt.Kind() != reflect.Pointer {
		t.Marshals, t.MarshalsValue = marshals(set), marshals(rt)
	}
	t.Unmarshals = rt.Kind() != reflect.Interface && rt.Kind() != reflect.Pointer && unmarshals(set)
	t.Number = rt.Kind() == reflect.String && rt.Implements(numberMethods)
	t.TextValue = rt.Implements(textMarshaler)
	t.Stringer = rt.Implements(stringMethod)
	t.MarshalsText = set.Implements(textMarshaler)
	t.UnmarshalsText = set.Implements(textUnmarshaler)
	if _, ok := set.MethodByName("Normal"); ok && rt.Kind() != reflect.Interface && rt.Kind() != reflect.Pointer {
		t.Normal = set.Implements(normalMethod)
		t.WrongNormal = !t.Normal
	}
	if m, ok := set.MethodByName("AfterLoad"); ok && rt.Kind() == reflect.Struct {
		_, onValue := rt.MethodByName("AfterLoad")
		t.Hook, t.WrongHook = true, onValue || m.Type.NumIn() != 1 || m.Type.NumOut() != 0
	}
}

func marshals(rt reflect.Type) bool {
	m, ok := rt.MethodByName("MarshalDynamoDBAttributeValue")
	return ok && m.Type.NumIn() == 1 && m.Type.NumOut() == 2
}

func unmarshals(rt reflect.Type) bool {
	m, ok := rt.MethodByName("UnmarshalDynamoDBAttributeValue")
	return ok && m.Type.NumIn() == 2 && m.Type.NumOut() == 1
}

func (f *reflector) fields(t *Type, rt reflect.Type) {
	for i := range rt.NumField() {
		sf := rt.Field(i)
		t.Fields = append(t.Fields, &Field{
			Name: sf.Name, Index: i, Type: f.of(sf.Type), Raw: string(sf.Tag),
			Exported: sf.IsExported(), Embedded: sf.Anonymous, Decl: sf,
		})
	}
}
