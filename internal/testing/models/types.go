package models

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"time"
)

// leaves are the types that random models are made of.
var leaves = []reflect.Type{
	reflect.TypeFor[bool](), reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[int64](),
	reflect.TypeFor[uint16](),
	reflect.TypeFor[uint64](), reflect.TypeFor[float32](), reflect.TypeFor[float64](), reflect.TypeFor[string](),
	reflect.TypeFor[[]byte](),
	reflect.TypeFor[[3]byte](), reflect.TypeFor[time.Time](), reflect.TypeFor[any](), reflect.TypeFor[Color](),
	reflect.TypeFor[Name](),
	reflect.TypeFor[Blob](), reflect.TypeFor[UUID](), reflect.TypeFor[Point](), reflect.TypeFor[Money](),
	reflect.TypeFor[Address](),
}

// Type returns a random model type: a struct made by reflect, whose table is
// "random" with the keys PK and SK, both strings. Types of different numbers
// share no partition.
func Type(r *rand.Rand, number int) reflect.Type {
	fields := bases(r, number)
	add := func(t reflect.Type, tag string) {
		name := fmt.Sprintf("F%d", len(fields))
		fields = append(fields, reflect.StructField{Name: name, Type: t, Tag: reflect.StructTag(tag)})
	}
	for i := range 1 + r.IntN(3) {
		sk := string(rune('A' + i))
		for range 1 + r.IntN(4) {
			t := typ(r, 2)
			add(t, field(r, t, "sk="+sk))
		}
	}
	for i := range r.IntN(3) {
		elem := structType(r, 1, true)
		name := string(rune('M' + i))
		switch r.IntN(4) {
		case 0:
			add(reflect.SliceOf(elem), fmt.Sprintf(`ddb:"sk=%s#{K}"`, name))
		case 1:
			add(reflect.MapOf(reflect.TypeFor[string](), elem), fmt.Sprintf(`ddb:"sk=%s#{key}"`, name))
		case 2:
			add(reflect.SliceOf(reflect.PointerTo(elem)), fmt.Sprintf(`ddb:"sk=%s#{N:05}#{K}"`, name))
		case 3:
			add(reflect.MapOf(reflect.TypeFor[Name](), typ(r, 1)), fmt.Sprintf(`ddb:"sk=%s#{key}"`, name))
		}
	}
	return reflect.StructOf(fields)
}

// bases returns the fields of a random model that declare its key, and the structs that it embeds.
func bases(r *rand.Rand, number int) []reflect.StructField {
	table := reflect.StructField{
		Name: "_", PkgPath: "modeltest", Type: reflect.TypeFor[struct{}](), Tag: `ddb:"table=random"`,
	}
	id := reflect.StructField{
		Name: "ID", Type: reflect.TypeFor[string](), Tag: reflect.StructTag(fmt.Sprintf(`ddb:"pk=R%d#{ID}"`, number)),
	}
	if r.IntN(3) == 0 {
		table.Tag = reflect.StructTag(fmt.Sprintf(`ddb:"table=random,pk=R%d#{T}#{ID}"`, number))
		id = embedded(r, reflect.TypeFor[Keyed]())
	}
	fields := []reflect.StructField{table, id}
	if r.IntN(3) == 0 {
		fields = append(fields, embedded(r, reflect.TypeFor[Stamped]()))
		if r.IntN(2) == 0 { // which hides a field of the base
			fields = append(fields, reflect.StructField{Name: "By", Type: reflect.TypeFor[int](), Tag: `ddb:"sk=A"`})
		}
	}
	return fields
}

// embedded returns the field of an embedded struct, or pointer to it.
func embedded(r *rand.Rand, t reflect.Type) reflect.StructField {
	f := reflect.StructField{Name: t.Name(), Type: t, Anonymous: true}
	if r.IntN(2) == 0 {
		f.Type = reflect.PointerTo(t)
	}
	return f
}

// typ returns a random type that attributevalue can encode.
func typ(r *rand.Rand, depth int) reflect.Type {
	if depth > 0 {
		switch r.IntN(8) {
		case 0:
			return reflect.SliceOf(typ(r, depth-1))
		case 1:
			return reflect.MapOf(reflect.TypeFor[string](), without(r, depth-1, reflect.TypeFor[Point]()))
		case 2:
			return reflect.PointerTo(without(r, 0, reflect.TypeFor[any]()))
		case 3:
			return reflect.ArrayOf(1+r.IntN(2), typ(r, depth-1))
		case 4:
			return structType(r, depth-1, false)
		}
	}
	return leaves[r.IntN(len(leaves))]
}

// without returns a random type that is not, or holds, one that the schema
// refuses there.
func without(r *rand.Rand, depth int, t reflect.Type) reflect.Type {
	for {
		if x := typ(r, depth); !strings.Contains(x.String(), t.String()) {
			return x
		}
	}
}

// structType returns a random struct; one that is an element has the fields K
// and N that its key is made of.
func structType(r *rand.Rand, depth int, element bool) reflect.Type {
	var fields []reflect.StructField
	if element {
		fields = append(fields,
			reflect.StructField{Name: "K", Type: reflect.TypeFor[string]()},
			reflect.StructField{Name: "N", Type: reflect.TypeFor[uint8]()})
	}
	if r.IntN(4) == 0 {
		fields = append(fields, embedded(r, reflect.TypeFor[Position]()))
	}
	for i := range 1 + r.IntN(3) {
		t := typ(r, depth)
		fields = append(fields,
			reflect.StructField{Name: fmt.Sprintf("A%d", i), Type: t, Tag: reflect.StructTag(field(r, t, ""))})
	}
	return reflect.StructOf(fields)
}

// field returns a random tag of a field with that type and ddb options.
func field(r *rand.Rand, t reflect.Type, ddb string) string {
	var av []string
	name := ""
	if r.IntN(3) == 0 {
		name = fmt.Sprintf("n%d", r.IntN(1_000_000_000))
	}
	if r.IntN(4) == 0 && !holdsZero(t) && t != reflect.TypeFor[time.Time]() { // the schema refuses it of a time
		av = append(av, "omitempty")
	}
	elem := t
	if t.Kind() == reflect.Pointer {
		elem = t.Elem()
	}
	spreads := elem.Kind() == reflect.Struct && elem != reflect.TypeFor[time.Time]() &&
		elem != reflect.TypeFor[Point]() && elem != reflect.TypeFor[Money]()
	if spreads && ddb != "" {
		// Together with other fields of one item, a spread struct could collide with them.
		ddb += ",nested"
	}
	if t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64 && r.IntN(4) == 0 {
		av = append(av, "string")
	}
	if t == reflect.TypeFor[time.Time]() && r.IntN(3) == 0 {
		av = append(av, "unixtime")
	}
	tag := ""
	if ddb != "" {
		tag = fmt.Sprintf("ddb:%q", ddb)
	}
	if name != "" || len(av) > 0 {
		tag += fmt.Sprintf(" dynamodbav:%q", strings.Join(append([]string{name}, av...), ","))
	}
	return strings.TrimPrefix(tag, " ")
}

// holdsZero reports types whose zero and empty values differ, so that an omitted value would not be
// loaded as it was: pointers to empty values.
func holdsZero(t reflect.Type) bool { return t.Kind() == reflect.Pointer }
