package schema

import (
	"fmt"
	"strings"
)

// Fault is one thing that is wrong with a model.
type Fault struct {
	// Struct is the type whose field is at fault, Field the field; nil for the
	// whole type.
	Struct *Type
	Field  *Field
	// Model is the model's type: a struct without a name is named by the fields that lead to it.
	Model *Type
	// Pos and End are the place in the field's raw tag, in bytes; End is 0
	// where the whole field is meant.
	Pos, End int
	// Msg names the fault, and Cure the correct form.
	Msg, Cure string
	// Related is another field that has a part in it, or nil.
	Related *Field
	// Missing reports that the struct lacks a field or an option, which a struct that embeds it can have.
	Missing bool
}

// String returns the fault as one line: type, field, fault and cure.
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(f.structName())
	if f.Field != nil {
		b.WriteString("." + f.Field.Name)
	}
	b.WriteString(": " + f.Msg)
	if f.Cure != "" {
		b.WriteString(": " + f.Cure)
	}
	return b.String()
}

// structName names the struct.
func (f Fault) structName() string {
	if f.Struct.Name == unnamed && f.Model != nil {
		if name := f.Model.pathTo(f.Struct, map[*Type]bool{}); name != "" {
			return f.Model.Name + name
		}
	}
	return f.Struct.Name
}

// pathTo returns the names of the fields that lead from the type to a type in it, each with a dot before it.
func (t *Type) pathTo(to *Type, seen map[*Type]bool) string {
	if t == nil || seen[t] {
		return ""
	}
	seen[t] = true
	for _, f := range t.Fields {
		in := f.Type
		for n := 0; n < 8 && in.Elem != nil && in != to; n++ { // a type can point to itself
			in = in.Elem
		}
		if in == to {
			return "." + f.Name
		}
		if rest := in.pathTo(to, seen); rest != "" {
			return "." + f.Name + rest
		}
	}
	return ""
}

// Faults are all faults of a model, in the order of its fields.
type Faults []Fault

// Error returns one line for each fault.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, x := range f {
		lines[i] = x.String()
	}
	return strings.Join(lines, "\n")
}

// place is where a fault is reported.
type place struct {
	in       *Type
	field    *Field
	pos, end int
}

// missing is fault for a field or an option that the model lacks.
func (b *builder) missing(at place, cure, format string, args ...any) {
	b.fault(at, cure, format, args...)
	b.faults[len(b.faults)-1].Missing = true
}

func (b *builder) fault(at place, cure, format string, args ...any) {
	b.faults = append(b.faults, Fault{
		Struct: at.in, Field: at.field, Model: b.e.Type, Pos: at.pos, End: at.end,
		Msg: fmt.Sprintf(format, args...), Cure: cure,
	})
}
