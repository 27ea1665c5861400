package mapper

import (
	"context"
	"errors"
	"fmt"

	"github.com/itemize/itemize/internal/read"
)

// updateTries bounds how often an operation is repeated because of conflicts. The
// pauses between grow to a second, so that it is reached only where writers come
// without end.
const updateTries = 100

// repeat runs an operation again as long as it ends in a conflict with nothing
// written.
func (c *core) repeat(ctx context.Context, do func() error) error {
	for try := 1; ; try++ {
		err := do()
		var conflict *ConflictError
		var partial *PartialError
		// What was written in part, or an entity that is in the way, does not go
		// away by doing it again.
		if !errors.As(err, &conflict) || errors.As(err, &partial) || errors.Is(err, ErrExists) || try == updateTries {
			return err
		}
		if pauseErr := read.Pause(ctx, try); pauseErr != nil {
			return fmt.Errorf("%w (%w)", pauseErr, err)
		}
	}
}
