package request

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

// Error is printed for an uncaught panic.
func (p *Panic) Error() string { return fmt.Sprintf("%v\n\n%s", p.Value, p.Stack) }

// Unwrap returns the value if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// Caught runs a function. It returns the panic of the function as an error for Repanic.
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

// Repanic panics with the panic that Caught returned. It returns other errors.
func Repanic(err error) error {
	var p *Panic
	if errors.As(err, &p) {
		panic(p)
	}
	return err
}
