package flow

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// Panic is a panic of a function that ran in a goroutine of its own, with the stack of that goroutine.
// The goroutine that waits for the function panics with it, so that its caller can recover.
type Panic struct {
	Value any
	Stack []byte
}

// Error is what an uncaught panic prints.
func (p *Panic) Error() string { return fmt.Sprintf("%v\n\n%s", p.Value, p.Stack) }

// Unwrap returns the value if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// Caught runs a function, and returns its panic as an error, with which Again panics.
func Caught(f func() error) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case *Panic:
			err = v
		default:
			err = &Panic{v, debug.Stack()}
		}
	}()
	return f()
}

// Again panics if an error is that of a function that has panicked, and returns any other.
func Retry(err error) error {
	var p *Panic
	if errors.As(err, &p) {
		panic(p)
	}
	return err
}
