// Package redact keeps attribute values out of error texts.
//
// An error text names the model, the field and the key of the item. The values of attributes can be
// personal data, and loggers write error texts to places that many people can read. A message puts a
// value into a [Value], which no formatting verb prints. [Detail] returns the text with the values.
package redact

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Value is an attribute value for the details of an error. It follows the noun that it is the
// value of, without a space: "the string%v is not valid UTF-8".
type Value struct {
	text *string // a pointer, so that %#v of a struct with a Value does not print it
}

// maxRunes is how much of a value details show.
const maxRunes = 100

// Of returns a value that only Detail prints. Strings are quoted, and bytes are shown in hexadecimal.
// Long values are cut.
func Of(v any) Value {
	var s string
	switch v := v.(type) {
	case string:
		s = strconv.Quote(v)
	case []byte:
		s = "0x" + hex.EncodeToString(v)
	default:
		s = fmt.Sprint(v)
	}
	if r := []rune(s); len(r) > maxRunes {
		s = string(r[:maxRunes]) + "..."
	}
	return Value{&s}
}

// Format prints nothing.
func (v Value) Format(fmt.State, rune) {}

// Reveal returns the value in parentheses, "" for none.
func (v Value) Reveal() string {
	if v.text == nil {
		return ""
	}
	return " (" + *v.text + ")"
}

// Errorf is fmt.Errorf. A [Value] among the arguments appears only in the details of the error.
func Errorf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	isValue := func(a any) bool { _, ok := a.(Value); return ok }
	if !slices.ContainsFunc(args, isValue) {
		return err
	}
	shown := make([]any, len(args))
	for i, a := range args {
		if shown[i] = a; isValue(a) {
			shown[i] = a.(Value).Reveal()
		}
	}
	full := fmt.Sprintf(strings.ReplaceAll(format, "%w", "%v"), shown...)
	return &Error{err: err, full: &full}
}

// New returns an error with a text, and another for its details.
func New(text, full string) error { return &Error{err: errors.New(text), full: &full} }

// Hide returns an error with a text that does not contain that of err. errors.Is and errors.As find err.
func Hide(err error, format string, args ...any) error {
	text := fmt.Errorf(format, args...)
	full := text.Error() + " (" + Detail(err) + ")"
	return &Error{err: text, full: &full, hidden: err}
}

// Mask returns an error with a text of err in which values are replaced. errors.Is and errors.As find err.
func Mask(err error, text string) error {
	full := err.Error()
	return &Error{err: errors.New(text), full: &full, hidden: err}
}

// Error is an error whose text leaves attribute values out.
type Error struct {
	err    error   // its text
	full   *string // the text with the values
	hidden error   // an error whose text may contain values, nil for none
}

// Error returns the text without values.
func (e *Error) Error() string { return e.err.Error() }

// Reveal returns the text with values.
func (e *Error) Reveal() string { return *e.full }

// Unwrap returns the error that has the text. It does not return an error whose text may contain
// values, since loggers print each error of a chain.
func (e *Error) Unwrap() error { return e.err }

// Is reports whether the hidden error matches.
func (e *Error) Is(target error) bool { return e.hidden != nil && errors.Is(e.hidden, target) }

// As finds the hidden error.
func (e *Error) As(target any) bool { return e.hidden != nil && errors.As(e.hidden, target) }

// Format prints the text without values for each verb, also for %#v.
func (e *Error) Format(s fmt.State, verb rune) {
	if verb == 'v' {
		_, _ = io.WriteString(s, e.Error())
		return
	}
	fmt.Fprintf(s, fmt.FormatString(s, verb), e.Error())
}

// Safe marks an error of a marshaler as one whose text contains no values: it is not hidden.
func Safe(err error) error {
	if err == nil {
		return nil
	}
	return &safe{err}
}

// IsSafe reports whether an error is, or wraps, one that [Safe] has marked.
func IsSafe(err error) bool { return errors.As(err, new(*safe)) }

type safe struct{ error }

func (s *safe) Unwrap() error { return s.error }

// revealer is an error with a text that contains values.
type revealer interface {
	error
	Reveal() string
}

// Detail returns the text of an error with the attribute values.
func Detail(err error) string {
	if err == nil {
		return ""
	}
	d := details{text: err.Error()}
	d.add(err)
	return d.text
}

// details is a text in which those of errors are replaced. It finds them from a position on,
// since a text names its causes in their order.
type details struct {
	text string
	from int
}

func (d *details) add(err error) {
	e, ok := err.(revealer)
	if !ok {
		d.addCauses(err)
		return
	}
	shown, full := e.Error(), e.Reveal()
	at := strings.Index(d.text[d.from:], shown)
	if at < 0 {
		if !strings.Contains(d.text, full) {
			d.text += ": " + full
		}
		d.addCauses(err)
		return
	}
	at += d.from
	rest := len(d.text) - at - len(shown)
	d.text = d.text[:at] + full + d.text[at+len(shown):]
	d.from = at
	d.addCauses(err)
	d.from = len(d.text) - rest
}

func (d *details) addCauses(err error) {
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if cause := e.Unwrap(); cause != nil {
			d.add(cause)
		}
	case interface{ Unwrap() []error }:
		for _, cause := range e.Unwrap() {
			d.add(cause)
		}
	}
}
