package tags

import (
	"errors"

	"github.com/itemize/itemize/internal/model/grammar"
)

// Option is one option of a ddb tag.
type Option struct {
	// Name is the name of the option. Value is the text after its "=", without quotes.
	Name, Value string
}

// Error is a fault of a tag.
type Error struct {
	// Pos and End are its position in the raw tag, in bytes.
	Pos, End int
	// Message describes the fault. Cure says what to write instead, if that is known.
	Message, Cure string
}

// Error returns the fault and its cure.
func (e *Error) Error() string {
	if e.Cure == "" {
		return e.Message
	}
	return e.Message + ": " + e.Cure
}

// Parse returns the options of a ddb tag, in their order. raw is the whole struct tag as in the source,
// without back quotes. field is the name of its field; the blank field "_" has other options. The error
// joins an *Error for each fault. Parse does not check the meaning of a tag in its model; itemize vet
// does.
func Parse(field, raw string) ([]Option, error) {
	where := grammar.OnField
	if field == "_" {
		where = grammar.OnBlank
	}
	parsed, faults := grammar.Parse(raw, where)
	var errs []error
	for _, f := range faults {
		errs = append(errs, &Error{Pos: f.Pos, End: f.End, Message: f.Msg, Cure: f.Cure})
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	var options []Option
	for _, o := range parsed.Options {
		options = append(options, Option{Name: o.Word, Value: o.Value})
	}
	return options, nil
}
