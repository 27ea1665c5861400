package operation

import (
	"context"
	"errors"

	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/request"
)

// Repeat runs do, which reads an entity and writes it. It repeats do after a conflict in which nothing
// was written, and after an entity was deleted and inserted again between the read and the write.
func Repeat(ctx context.Context, label string, do func() error) error {
	for try := 1; ; try++ {
		err := do()
		var conflict *Conflict
		ended := errors.As(err, new(*Partial)) || errors.As(err, new(*Exhausted))
		var missing *search.NotFound
		replaced := errors.As(err, &missing) && missing.Replaced
		if !errors.As(err, &conflict) && !replaced || ended || errors.Is(err, ErrExists) || conflict != nil &&
			(conflict.Moving || conflict.Tag != "") || try == readTries {
			return err
		}
		if pauseErr := request.Pause(ctx, try); pauseErr != nil {
			return &Interrupted{label, pauseErr, err}
		}
	}
}
