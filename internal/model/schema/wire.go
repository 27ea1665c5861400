package schema

import "slices"

// Wire is the stored form of an attribute, or of a value inside it, as far as the model's types
// determine it.
type Wire struct {
	// Type is DynamoDB's type: S, N, B, BOOL, SS, NS, BS, L or M. It is "any" for an interface, "own"
	// for a type that encodes itself, and "again" for a type inside itself.
	Type string `json:"type"`
	// Up is how many forms around one of the type "again" its own is: 1 for that of which it is an
	// element, entry or field.
	Up int `json:"up,omitempty"`
	// Number is the Go type of a number, or of the keys of a map. Format is the format of a text or a
	// number (time, unixtime, number). Len is the number of elements or bytes of an array, and Key the
	// kind of a map's keys, "text" if they write themselves as text.
	Number string `json:"number,omitempty"`
	Format string `json:"format,omitempty"`
	Len    int    `json:"len,omitempty"`
	Key    string `json:"key,omitempty"`
	// Of is the form of the elements of lists, and of maps whose keys are not fields. Fields are the
	// fields of a struct.
	Of     *Wire       `json:"of,omitempty"`
	Fields []WireField `json:"fields,omitempty"`
}

// WireField is a field of a struct that is stored as a map.
type WireField struct {
	Name string `json:"name"`
	// Field is the name of the field in Go, "" for that of the attribute.
	Field string `json:"field,omitempty"`
	Wire
}

// Wire describes how values are stored with dynamodbav options.
func (t *Type) Wire(options []string) Wire { return t.wireInside(options, nil) }

// sets are the options that make a set of a list.
var sets = map[string]string{"stringset": "SS", "numberset": "NS", "binaryset": "BS"}

func (t *Type) wireInside(options []string, around []*Type) Wire {
	has := func(o string) bool { return slices.Contains(options, o) }
	switch {
	case t.Lazy:
		return t.Elem.wireInside(options, around)
	case t.Marshals, t.Unmarshals: // as attributevalue.UnixTime, which is a time
		return Wire{Type: "own"}
	case t.Time && has("unixtime"):
		w := Wire{Type: "N", Format: "unixtime"}
		if has("string") { // a text is read as seconds
			w.Number = "int64"
		}
		return w
	case t.Time:
		return Wire{Type: "S", Format: "time"}
	case t.declared() && slices.Contains(around, t):
		return Wire{Type: "again", Up: t.levels(around)}
	case t.Number && !has("string"):
		return Wire{Type: "N"}
	}
	around = append(around[:len(around):len(around)], t)
	switch t.Kind {
	case Bool:
		return Wire{Type: "BOOL"}
	case Int, Uint, Float:
		if has("string") {
			return Wire{Type: "S", Number: t.describe(), Format: "number"}
		}
		return Wire{Type: "N", Number: t.describe()}
	case BigInt, BigFloat:
		w := Wire{Type: "N", Number: t.describe()}
		if has("string") {
			w.Type, w.Format = "S", "number"
		}
		return w
	case Bytes:
		return Wire{Type: "B", Len: t.Len}
	case Pointer:
		return t.Elem.wireInside(options, around)
	case Slice, Array, Map:
		return t.wireOfMany(options, around)
	case Struct:
		w := Wire{Type: "M"}
		for _, f := range t.EncodedFields() {
			x := WireField{Name: f.Name, Wire: f.Type.wireInside(f.AV.Options, around)}
			if f.GoName != f.Name {
				x.Field = f.GoName
			}
			w.Fields = append(w.Fields, x)
		}
		return w
	case Interface:
		w := Wire{Type: "any"}
		if has("string") {
			w.Format = "number"
		}
		return w
	}
	return Wire{Type: "S"}
}

// levels counts the forms from that of a type inside others to the innermost of these; a pointer has
// none of its own.
func (t *Type) levels(around []*Type) int {
	n := 0
	for _, o := range around[slices.Index(around, t):] {
		if o.Kind != Pointer {
			n++
		}
	}
	return n
}

func (t *Type) wireOfMany(options []string, around []*Type) Wire {
	of := t.Elem.wireInside(nil, around)
	if t.Kind == Map {
		w := Wire{Type: "M", Of: &of, Key: t.Key.Kind.String()}
		switch {
		case t.Key.TextValue:
			w.Key = "text"
		case t.Key.Kind == Int, t.Key.Kind == Uint, t.Key.Kind == Float:
			w.Number = t.Key.describe()
		}
		return w
	}
	for _, o := range options {
		if set, ok := sets[o]; ok {
			return Wire{Type: set, Of: &of, Len: t.Len}
		}
	}
	if t.isByteSlices() {
		return Wire{Type: "BS", Of: &of}
	}
	return Wire{Type: "L", Of: &of, Len: t.Len}
}
