package generator

import (
	"cmp"
	"fmt"
	"go/token"
	"slices"
)

// Diagnostic is something that is wrong with a model, at its place.
type Diagnostic struct {
	Pos, End token.Position
	// Message names the fault, and the correct form.
	Message string
	Related []Related

	// embed is the struct of which it is only wrong that no other embeds it, "" for other faults.
	embed string
	// base is the struct that has the fault, unless it is a base of models; "" for faults of other kinds.
	base string
	// missing reports that a struct that embeds base can end the fault.
	missing bool
}

// Related is another place that has a part in a diagnostic.
type Related struct {
	Pos     token.Position
	Message string
}

// String returns file:line:column: message.
func (d Diagnostic) String() string { return fmt.Sprintf("%s: %s", d.Pos, d.Message) }

// sortDiagnostics orders by file, line, column and message, and drops doubles.
func sortDiagnostics(all []Diagnostic) []Diagnostic {
	slices.SortStableFunc(all, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Pos.Filename, b.Pos.Filename), cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column), cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(all, func(a, b Diagnostic) bool { return a.Pos == b.Pos && a.Message == b.Message })
}
