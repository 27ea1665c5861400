package tags

import (
	"errors"

	"github.com/itemize/itemize/internal/tags"
)

// Option is one option of a ddb tag.
type Option struct {
	// Name is the option's name, and Value the text behind its "=", unquoted.
	Name, Value string
}

// Error is a fault of a tag.
type Error struct {
	// Pos and End are its place in the raw tag, in bytes.
	Pos, End int
	// Message describes the fault, and Cure says what to write instead, if that is known.
	Message, Cure string
}

// Error returns the fault and its cure.
func (e *Error) Error() string {
	if e.Cure == "" {
		return e.Message
	}
	return e.Message + ": " + e.Cure
}

// Parse returns the options of the ddb tag on a field, in their order. raw is the whole struct tag as
// it is in the source, without the back quotes, and field the name of its field: the blank field "_"
// takes other options. The error joins an *Error for each fault. What a tag means in its model is not
// checked: itemize vet does that.
func Parse(field, raw string) ([]Option, error) {
	where := tags.OnField
	if field == "_" {
		where = tags.OnBlank
	}
	parsed, faults := tags.Parse(raw, where)
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
