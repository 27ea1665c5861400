package generator

import (
	"go/types"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/itemize/itemize/internal/model/schema"
)

// frontend builds schema types from go/types, as package schema does from reflect.
type frontend struct {
	cache map[types.Type]*schema.Type
	// invalid is set where a type could not be checked, and at is the first field of such a type.
	invalid bool
	at      *types.Var
}

func newFrontend() *frontend { return &frontend{cache: map[types.Type]*schema.Type{}} }

var basicKinds = map[types.BasicKind]struct {
	kind schema.Kind
	bits int
}{
	types.Bool: {schema.Bool, 0}, types.String: {schema.String, 0},
	types.Int: {schema.Int, 64}, types.Int8: {schema.Int, 8}, types.Int16: {schema.Int, 16},
	types.Int32: {schema.Int, 32}, types.Int64: {schema.Int, 64},
	types.Uint: {schema.Uint, 64}, types.Uint8: {schema.Uint, 8}, types.Uint16: {schema.Uint, 16},
	types.Uint32: {schema.Uint, 32}, types.Uint64: {schema.Uint, 64},
	types.Float32: {schema.Float, 32}, types.Float64: {schema.Float, 64},
}

// of describes a type.
func (f *frontend) of(t types.Type) *schema.Type {
	t = types.Unalias(t)
	if s := f.cache[t]; s != nil {
		return s
	}
	s := &schema.Type{Name: typeName(t), Go: t}
	f.cache[t] = s
	f.methods(s, t)
	if n, ok := t.(*types.Named); ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == "math/big" && s.Big() {
		return s
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		k := basicKinds[u.Kind()]
		s.Kind, s.Bits = k.kind, k.bits
		f.invalid = f.invalid || u.Kind() == types.Invalid
	case *types.Slice:
		s.Kind, s.Elem = schema.Slice, f.of(u.Elem())
		f.bytes(s)
	case *types.Array:
		s.Kind, s.Elem, s.Len = schema.Array, f.of(u.Elem()), int(u.Len())
		f.bytes(s)
	case *types.Map:
		s.Kind, s.Key, s.Elem = schema.Map, f.of(u.Key()), f.of(u.Elem())
	case *types.Pointer:
		s.Kind, s.Elem = schema.Pointer, f.of(u.Elem())
	case *types.Interface:
		s.Kind, s.Methods = schema.Interface, u.NumMethods() > 0
	case *types.Struct:
		s.Kind = schema.Struct
		if !s.Time && !s.Marshals {
			f.fields(s, u)
		}
	}
	return s
}

func (f *frontend) bytes(s *schema.Type) {
	if s.Elem.Kind == schema.Uint && s.Elem.Bits == 8 {
		s.Kind = schema.Bytes
	}
}

func (f *frontend) fields(s *schema.Type, u *types.Struct) {
	for i := range u.NumFields() {
		v := u.Field(i)
		field := &schema.Field{
			Name: v.Name(), Index: i, Raw: u.Tag(i), Exported: v.Exported(), Embedded: v.Embedded(), Decl: v,
		}
		s.Fields = append(s.Fields, field)
		if field.Ignored() && unchecked(v.Type()) { // such as one of generated code, or of C
			field.Type = &schema.Type{Name: typeName(v.Type()), Go: v.Type()}
			continue
		}
		if field.Type = f.of(v.Type()); f.invalid && f.at == nil {
			f.at = v
		}
	}
}

// unchecked reports whether a type could not be checked, or is made of one that could not, except for the fields of
// structs with a name.
func unchecked(t types.Type) bool {
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		return t.Kind() == types.Invalid
	case *types.Pointer:
		return unchecked(t.Elem())
	case *types.Slice:
		return unchecked(t.Elem())
	case *types.Array:
		return unchecked(t.Elem())
	case *types.Chan:
		return unchecked(t.Elem())
	case *types.Map:
		return unchecked(t.Key()) || unchecked(t.Elem())
	case *types.Signature:
		return uncheckedIn(t.Params()) || uncheckedIn(t.Results())
	case *types.Struct:
		for i := range t.NumFields() {
			if unchecked(t.Field(i).Type()) {
				return true
			}
		}
	case *types.Named:
		for i := range t.TypeArgs().Len() {
			if unchecked(t.TypeArgs().At(i)) {
				return true
			}
		}
	}
	return false
}

func uncheckedIn(tuple *types.Tuple) bool {
	for i := range tuple.Len() {
		if unchecked(tuple.At(i).Type()) {
			return true
		}
	}
	return false
}

// typeName writes a type as reflect does: with package names, and no more of an
// unnamed struct than that it is one.
func typeName(t types.Type) string {
	if _, ok := t.(*types.Struct); ok {
		return "struct"
	}
	return aliases.ReplaceAllStringFunc(types.TypeString(t, func(p *types.Package) string { return p.Name() }),
		func(s string) string {
			return s[:len(s)-len(strings.TrimLeft(s, "[]* "))] + reflected[strings.TrimLeft(s, "[]* ")]
		})
}

// reflected are the names that reflect has for the predeclared aliases.
var reflected = map[string]string{"byte": "uint8", "rune": "int32", "any": "interface {}"}

var aliases = regexp.MustCompile(`(^|[\[\]* ])(byte|rune|any)\b`)

// methods finds what a type's method set says about its encoding.
func (f *frontend) methods(s *schema.Type, t types.Type) {
	s.Time = isTime(t)
	value := types.NewMethodSet(t)
	set := value
	_, named := t.(*types.Named)
	if named && !types.IsInterface(t) {
		set = types.NewMethodSet(types.NewPointer(t))
	}
	_, pointer := t.Underlying().(*types.Pointer)
	if !types.IsInterface(t) && !pointer {
		s.Marshals, s.MarshalsValue = marshals(set), marshals(value)
	}
	s.Unmarshals = !types.IsInterface(t) && !pointer && unmarshals(set)
	b, ok := t.Underlying().(*types.Basic)
	s.Number = ok && b.Kind() == types.String && isNumber(value)
	s.MarshalsText = has(set, "MarshalText", nil, bytesResult, errorResult)
	s.TextValue = has(value, "MarshalText", nil, bytesResult, errorResult)
	s.UnmarshalsText = has(set, "UnmarshalText", []string{bytesResult}, errorResult)
	if _, isStruct := t.Underlying().(*types.Struct); isStruct && set.Lookup(nil, "AfterLoad") != nil {
		s.Hook, s.WrongHook = true, value.Lookup(nil, "AfterLoad") != nil || !has(set, "AfterLoad", nil)
	}
	if !types.IsInterface(t) && !pointer && set.Lookup(nil, "Normal") != nil {
		s.Normal = has(set, "Normal", nil, "string")
		s.WrongNormal = !s.Normal
	}
	s.Stringer = has(value, "String", nil, "string")
	if n, ok := t.(*types.Named); ok && n.Obj().Name() == schema.LazyName && n.Obj().Pkg() != nil &&
		n.Obj().Pkg().Path() == schema.LazyPackage && n.TypeArgs().Len() == 1 {
		s.Lazy, s.Elem = true, f.of(n.TypeArgs().At(0))
	}
}

const (
	bytesResult = "[]byte"
	errorResult = "error"
)

func isNumber(set *types.MethodSet) bool {
	return has(set, "Float64", nil, "float64", errorResult) && has(set, "Int64", nil, "int64", errorResult) &&
		has(set, "String", nil, "string")
}

// marshals reports whether a method set has attributevalue's Marshaler. Its result
// types are not looked at, so that nothing of AWS is needed here.
func marshals(set *types.MethodSet) bool {
	m := set.Lookup(nil, "MarshalDynamoDBAttributeValue")
	if m == nil {
		return false
	}
	sig := m.Type().(*types.Signature)
	return sig.Params().Len() == 0 && sig.Results().Len() == 2
}

// unmarshals reports whether a method set has attributevalue's Unmarshaler.
func unmarshals(set *types.MethodSet) bool {
	m := set.Lookup(nil, "UnmarshalDynamoDBAttributeValue")
	if m == nil {
		return false
	}
	sig := m.Type().(*types.Signature)
	return sig.Params().Len() == 1 && sig.Results().Len() == 1
}

// has reports whether a method set has a method with these parameters and results.
func has(set *types.MethodSet, name string, params []string, results ...string) bool {
	m := set.Lookup(nil, name)
	if m == nil {
		return false
	}
	sig := m.Type().(*types.Signature)
	return same(sig.Params(), params) && same(sig.Results(), results)
}

func same(tuple *types.Tuple, want []string) bool {
	if tuple.Len() != len(want) {
		return false
	}
	for i, w := range want {
		if got := types.TypeString(types.Unalias(tuple.At(i).Type()), nil); strings.ReplaceAll(got, "uint8",
			"byte") != w {
			return false
		}
	}
	return true
}

// isTime reports whether a type converts to time.Time: it is that, or has it as its
// underlying type.
func isTime(t types.Type) bool {
	st, ok := t.Underlying().(*types.Struct)
	if !ok || st.NumFields() != timeStruct.NumField() {
		return false
	}
	for i := range st.NumFields() {
		v := st.Field(i)
		if v.Pkg() == nil || v.Pkg().Path() != "time" || v.Name() != timeStruct.Field(i).Name {
			return false
		}
	}
	return true
}

// timeStruct has the fields of time.Time, which no other package can declare.
var timeStruct = reflect.TypeFor[time.Time]()
