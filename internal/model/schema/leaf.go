package schema

// Leaf has the properties of a type whose values have no parts. A new leaf type needs a row here, and a
// form of that name. Its function is in internal/model/codec, where reflection finds it by name, and
// generated code uses it through package mapperimpl.
type Leaf struct {
	// Form is the name of its form, Handle that of its handle in package field.
	Form, Handle string
	// Comparable reports that == compares values as their encodings, Distinct that
	// different values are always encoded differently.
	Comparable, Distinct bool
}

var leaves = map[Kind]Leaf{
	Bool:  {Form: "Bool", Handle: "Value", Comparable: true, Distinct: true},
	Int:   {Form: "Int", Handle: "Number", Comparable: true, Distinct: true},
	Uint:  {Form: "Uint", Handle: "Number", Comparable: true, Distinct: true},
	Float: {Form: "Float", Handle: "Number"},
	// Of a big.Float the same value is stored alike, whatever its precision.
	BigInt:   {Form: "BigInt", Handle: "Value", Distinct: true},
	BigFloat: {Form: "BigFloat", Handle: "Value"},
	String:   {Form: "String", Handle: "String", Comparable: true, Distinct: true},
}

// Leaf returns what hangs on the type; ok is false for one with parts, or that encodes
// itself, of which only the comparison counts (of keys).
func (t *Type) Leaf() (l Leaf, ok bool) {
	switch {
	case t.Time:
		return Leaf{Form: "Time", Handle: "Ordered"}, true
	case t.Marshals, t.Unmarshals:
		return Leaf{Comparable: leaves[t.Kind].Comparable}, false
	case t.Number:
		return Leaf{Form: "Number", Handle: "Value", Comparable: true}, true
	}
	l, ok = leaves[t.Kind]
	return l, ok
}
