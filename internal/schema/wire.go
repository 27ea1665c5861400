package schema

import "slices"

// Wire is what DynamoDB stores of an attribute, or of what lies in it, as far as the model's types
// tell.
type Wire struct {
	// Type is DynamoDB's: S, N, B, BOOL, SS, NS, BS, L or M; "any" of an interface, "own" of a type
	// that encodes itself, and "again" of one that lies in itself.
	Type string `json:"type"`
	// Number is the Go type that a number has to fit.
	Number string `json:"number,omitempty"`
	// Of is what lists hold, and maps whose keys are not fields; Fields are a struct's.
	Of     *Wire       `json:"of,omitempty"`
	Fields []WireField `json:"fields,omitempty"`
}

// WireField is a field of a struct that is stored as a map.
type WireField struct {
	Name string `json:"name"`
	Wire
}

// wire describes how values are stored with dynamodbav options.
func (t *Type) wire(options []string) Wire { return t.wireInside(options, nil) }

// sets are the options that make a set of a list.
var sets = map[string]string{"stringset": "SS", "numberset": "NS", "binaryset": "BS"}

func (t *Type) wireInside(options []string, around []*Type) Wire {
	has := func(o string) bool { return slices.Contains(options, o) }
	switch {
	case t.Time && has("unixtime"):
		return Wire{Type: "N"}
	case t.Time:
		return Wire{Type: "S"}
	case t.Marshals, t.Unmarshals:
		return Wire{Type: "own"}
	case t.declared() && slices.Contains(around, t):
		return Wire{Type: "again"}
	case t.Number && !has("string"):
		return Wire{Type: "N"}
	}
	around = append(around[:len(around):len(around)], t)
	switch t.Kind {
	case Bool:
		return Wire{Type: "BOOL"}
	case Int, Uint, Float:
		if has("string") {
			return Wire{Type: "S"}
		}
		return Wire{Type: "N", Number: t.describe()}
	case Bytes:
		return Wire{Type: "B"}
	case Pointer:
		return t.Elem.wireInside(options, around)
	case Slice, Array, Map:
		return t.wireOfMany(options, around)
	case Struct:
		w := Wire{Type: "M"}
		for _, f := range t.EncodedFields() {
			w.Fields = append(w.Fields, WireField{f.Name, f.Type.wireInside(f.AV.Options, around)})
		}
		return w
	case Interface:
		return Wire{Type: "any"}
	}
	return Wire{Type: "S"}
}

func (t *Type) wireOfMany(options []string, around []*Type) Wire {
	of := t.Elem.wireInside(nil, around)
	if t.Kind == Map {
		return Wire{Type: "M", Of: &of}
	}
	for _, o := range options {
		if set, ok := sets[o]; ok {
			return Wire{Type: set}
		}
	}
	if t.Kind == Slice && t.Elem.Kind == Bytes {
		return Wire{Type: "BS"}
	}
	return Wire{Type: "L", Of: &of}
}
