package operation

import (
	"context"
	"errors"

	"github.com/itemize/itemize/internal/flow"
)

// Repeat runs do, which reads an entity and writes it, again after a conflict in which nothing was written.
func Repeat(ctx context.Context, label string, do func() error) error {
	for try := 1; ; try++ {
		err := do()
		var conflict *Conflict
		ended := errors.As(err, new(*Partial)) || errors.As(err, new(*Exhausted))
		if !errors.As(err, &conflict) || ended || errors.Is(err, ErrExists) || conflict.Moving || try == readTries {
			return err
		}
		if pauseErr := flow.Pause(ctx, try); pauseErr != nil {
			return &Interrupted{label, pauseErr, err}
		}
	}
}
