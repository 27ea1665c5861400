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
	// Pos and End are the place in the field's raw tag, in bytes; End is 0
	// where the whole field is meant.
	Pos, End int
	// Msg names the fault, and Cure the correct form.
	Msg, Cure string
	// Related is another field that has a part in it, or nil.
	Related *Field
}

// String returns the fault as one line: type, field, fault and cure.
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(f.Struct.Name)
	if f.Field != nil {
		b.WriteString("." + f.Field.Name)
	}
	b.WriteString(": " + f.Msg)
	if f.Cure != "" {
		b.WriteString(": " + f.Cure)
	}
	return b.String()
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

func (b *builder) fault(at place, cure, format string, args ...any) {
	b.faults = append(b.faults, Fault{
		Struct: at.in, Field: at.field, Pos: at.pos, End: at.end,
		Msg: fmt.Sprintf(format, args...), Cure: cure,
	})
}
