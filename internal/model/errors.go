package model

import (
	"errors"
	"fmt"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/redact"
	"github.com/itemize/itemize/internal/model/schema"
)

// ErrUsage is the class of errors of calls that the program has to change.
var ErrUsage = errors.New("itemize: invalid call")

// Usage marks an error as one of a call that the program has to change. errors.Is finds ErrUsage.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return &usage{err}
}

// Usagef is Usage of an error with a text.
func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

// ofArgument is the error of an argument in a key: Usage, unless it is a value that no key takes.
func ofArgument(err error) error {
	if errors.As(err, new(*schema.Unstorable)) {
		return err
	}
	return Usage(err)
}

type usage struct{ err error }

func (u *usage) Error() string { return u.err.Error() }

func (u *usage) Unwrap() error { return u.err }

func (u *usage) Is(target error) bool { return target == ErrUsage }

// Damaged says that a stored item does not fit the model.
type Damaged struct {
	Label, Field string
	item.Place
	err error
}

func (e *Damaged) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *Damaged) Unwrap() error { return e.err }

// StoredErrorf returns an error about the stored value of a field.
func (m *Model) StoredErrorf(field string, at item.Place, format string, args ...any) error {
	return &Damaged{m.Label(), field, at, fieldError(m, field, redact.Errorf(format, args...))}
}
