package discover

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
)

// goType is a Go type of a proposed model: as text, and for reflect.
type goType struct {
	expr string
	rt   reflect.Type
	// options are those of the dynamodbav tag that it needs.
	options []string
	// structure is the struct type that it is or has, nil for none.
	structure *structure
	comment   string
	// unsafe reports that a change of the value would change parts of it that stay the same: sets, and numbers that
	// attributevalue does not write in the same form.
	unsafe bool
}

// structure is a struct type that a model declares.
type structure struct {
	name   string
	fields []field
}

// field is a field of a struct.
type field struct {
	name, attribute string
	typ             goType
	ddb             string
	options         []string
	comment         string
}

// tag is the whole tag of the field.
func (f field) tag() string {
	var parts []string
	if f.ddb != "" {
		parts = append(parts, fmt.Sprintf("ddb:%q", f.ddb))
	}
	name := f.attribute
	if name == f.name {
		name = ""
	}
	if av := strings.Join(append([]string{name}, f.options...), ","); av != "" && f.name != "_" {
		parts = append(parts, fmt.Sprintf("dynamodbav:%q", av))
	}
	return strings.Join(parts, " ")
}

// reflected is the field for reflect.
func (f field) reflected() reflect.StructField {
	out := reflect.StructField{Name: f.name, Type: f.typ.rt, Tag: reflect.StructTag(f.tag())}
	if f.name == "_" {
		out.PkgPath = "model"
	}
	return out
}

func (s *structure) reflected() reflect.Type {
	fields := make([]reflect.StructField, len(s.fields))
	for i, f := range s.fields {
		fields[i] = f.reflected()
	}
	return reflect.StructOf(fields)
}

func typeFor[T any](expr string, options ...string) goType {
	return goType{expr: expr, rt: reflect.TypeFor[T](), options: options}
}

// anyType holds values of several types. attributevalue reads a number into it as a float64, so that a comment warns.
func anyType(p *profile, comment string) goType {
	t := typeFor[any]("any")
	t.comment, t.unsafe = comment, p.inexact() || p.hasSets()
	return t
}

// namer finds names of types.
type namer struct {
	types    scope
	singular func(string) string
	out      []*structure
	// declared is the number of structs, with those that are not finished.
	declared int
}

// Limits of the structs of a model. Maps beyond them are map[string]any.
const (
	maxStructs = 60
	maxNested  = 5
)

// typeOf returns the Go type of values. name is for the struct types that it declares.
func (n *namer) typeOf(p *profile, name string) goType {
	kinds := slices.Sorted(maps.Keys(p.types))
	kinds = slices.DeleteFunc(kinds, func(k string) bool { return k == "NULL" })
	switch len(kinds) {
	case 0:
		return anyType(p, "always NULL in the sample")
	case 1:
	default:
		return anyType(p, "values of several types: as numbers, only those that a float64 holds stay exact")
	}
	switch kinds[0] {
	case "S":
		if p.times == p.types["S"] {
			return typeFor[time.Time]("time.Time")
		}
		return typeFor[string]("string")
	case "N":
		return numberType(p, name)
	case "B":
		return typeFor[[]byte]("[]byte")
	case "BOOL":
		return typeFor[bool]("bool")
	case "SS":
		return typeFor[[]string]("[]string", "stringset")
	case "NS":
		return typeFor[[]attributevalue.Number]("[]attributevalue.Number", "numberset")
	case "BS":
		return typeFor[[][]byte]("[][]byte", "binaryset")
	case "L":
		if p.all() == nil {
			return anyType(p, "always empty in the sample")
		}
		if p.all().types["NULL"] > 0 {
			return anyType(p, "has NULL among its elements")
		}
		e := n.elementType(p.all(), n.singular(name))
		if e.expr == "[]byte" { // attributevalue writes a list of bytes as a set
			e.unsafe = true
		}
		return goType{
			expr: "[]" + e.expr, rt: reflect.SliceOf(e.rt), structure: e.structure, comment: e.comment,
			unsafe: e.unsafe,
		}
	}
	return n.mapType(p, name)
}

// timeWords are words of names of times.
var timeWords = []string{
	"at", "date", "day", "expires", "expiry", "from", "on", "since", "time", "timestamp", "ts", "ttl", "until", "when",
}

// timely reports whether one of the last two words of a name is one of a time: others may be numbers of ten digits.
func timely(name string) bool {
	all := words(name)
	return slices.ContainsFunc(all[max(0, len(all)-2):], func(w string) bool {
		return slices.Contains(timeWords, strings.ToLower(w))
	})
}

func numberType(p *profile, name string) goType {
	switch numbers := p.types["N"]; {
	case p.whole == numbers && p.epochs == numbers && timely(name):
		return typeFor[time.Time]("time.Time", "unixtime")
	case p.whole == numbers:
		return typeFor[int64]("int64")
	case p.exact == numbers:
		return typeFor[float64]("float64")
	}
	return typeFor[attributevalue.Number]("attributevalue.Number")
}

// mapType returns a struct for maps with the same names, and a Go map for others.
func (n *namer) mapType(p *profile, name string) goType {
	bad := p.fields == nil || slices.ContainsFunc(slices.Collect(maps.Keys(p.fields)), p.hides)
	if bad || p.dynamic() || n.rare(p) || p.loose() {
		if len(p.fields) == 0 {
			return anyType(p, "always empty in the sample")
		}
		if p.all() == nil || len(p.all().types) != 1 || p.all().types["NULL"] > 0 {
			return anyType(p, "the names of its entries differ")
		}
		e := n.elementType(p.all(), n.singular(name))
		return goType{
			expr: "map[string]" + e.expr, rt: reflect.MapOf(reflect.TypeFor[string](), e.rt), structure: e.structure,
			comment: e.comment, unsafe: e.unsafe,
		}
	}
	if n.declared >= maxStructs || p.depth > maxNested {
		t := typeFor[map[string]any]("map[string]any")
		t.comment, t.unsafe = "one of too many structs", p.inexact() || p.hasSets()
		return t
	}
	if p.blurred() {
		t := typeFor[map[string]any]("map[string]any")
		t.comment, t.unsafe = "some entries are NULL or empty here, and missing there", p.inexact() || p.hasSets()
		return t
	}
	s := n.structOf(p, name, nil)
	t := goType{expr: s.name, rt: s.reflected(), structure: s}
	for _, f := range s.fields {
		t.unsafe = t.unsafe || f.typ.unsafe
	}
	return t
}

// elementType is the type of elements and entries, which cannot have the options of a field.
func (n *namer) elementType(p *profile, name string) goType {
	t := n.typeOf(p, name)
	if len(t.options) == 0 {
		return t
	}
	if slices.Contains(t.options, "unixtime") {
		return typeFor[int64]("int64")
	}
	t.unsafe, t.options = true, nil
	return t
}

// blurred reports whether a struct could not tell entries that are NULL or empty from missing ones.
func (p *profile) blurred() bool {
	for _, f := range p.fields {
		null, absent := f.types["NULL"] > 0, f.n < p.types["M"]
		list := f.types["L"]+f.types["M"] > 0
		if null && (absent || f.types["NULL"] == f.n) || absent && list && f.zeros > 0 {
			return true
		}
	}
	return false
}

// loose reports whether a Go map is the better type: all values are of one simple type, and a struct would have one
// field, or not be certain. A Go map keeps entries that the sample does not show.
func (p *profile) loose() bool {
	if p.all() == nil || !p.all().only("S") && !p.all().only("N") && !p.all().only("BOOL") {
		return false
	}
	for _, f := range p.fields {
		if f.n < p.types["M"] {
			return true
		}
	}
	return len(p.fields) < 2 || p.types["M"] < 20
}

// rare reports whether some maps have entries that others rarely have: more of them may exist than the sample shows.
func (n *namer) rare(p *profile) bool {
	for _, f := range p.fields {
		if f.n*50 < p.types["M"] {
			return true
		}
	}
	return false
}

// structOf declares a struct for maps. keys are fields that are always present and come first.
func (n *namer) structOf(p *profile, name string, keys []string) *structure {
	n.declared++
	s := &structure{name: n.types.takeStruct(goName(name))}
	in := owner{name, p.types["M"], scope{}}
	order := slices.SortedFunc(maps.Keys(p.fields), func(a, b string) int {
		at := func(x string) int {
			if i := slices.Index(keys, x); i >= 0 {
				return i
			}
			return len(keys)
		}
		return cmp.Or(at(a)-at(b), strings.Compare(a, b))
	})
	for _, attribute := range order {
		f := p.fields[attribute]
		if p.hides(attribute) {
			continue // it stays as it is
		}
		s.fields = append(s.fields, n.fieldOf(attribute, f, in, slices.Contains(keys, attribute)))
	}
	n.out = append(n.out, s)
	return s
}

// owner is a struct that fields are made for: its name, the number of maps or items, and the names that are taken.
type owner struct {
	name  string
	count int
	taken scope
}

// fieldOf returns the field of an attribute.
func (n *namer) fieldOf(attribute string, p *profile, in owner, key bool) field {
	name := goName(attribute)
	if key && slices.Contains(queryMethods, name) {
		name += "Value"
	}
	f := field{name: in.taken.take(name), attribute: attribute}
	f.typ = n.typeOf(p, in.name+f.name)
	f.options, f.comment = f.typ.options, f.typ.comment
	if key {
		return f
	}
	null, absent := p.types["NULL"] > 0, p.n < in.count
	pointer := map[reflect.Kind]bool{
		reflect.String: true, reflect.Int64: true, reflect.Float64: true, reflect.Bool: true, reflect.Struct: true,
	}[f.typ.rt.Kind()]
	if pointer && (null || absent && (p.zeros > 0 || f.typ.rt.Kind() == reflect.Struct)) {
		f.typ.expr, f.typ.rt = "*"+f.typ.expr, reflect.PointerTo(f.typ.rt)
	}
	if absent && !(null && !pointer) {
		f.options = append(slices.Clone(f.options), "omitempty")
	}
	return f
}
