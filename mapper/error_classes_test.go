package mapper_test

import (
	"context"
	"errors"
	"testing"

	"github.com/itemize/itemize/mapper"
)

// An insert, a staged insert, and a part of a transaction that find their entity return an
// *ExistsError with the model and the root item. None is a *ConflictError, because a loop that loads
// and repeats after conflicts would not end.
func TestExistsErrorIsNoConflict(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := newBoards(t)
	must(m.Save(ctx, m.New(board{ID: "1", Main: cells{State: "x"}})))(t)
	again := func() *mapper.Entity[board] { return m.New(board{ID: "1", Main: cells{State: "y"}}) }
	for name, write := range map[string]func() error{
		"insert":      func() error { _, err := m.Save(ctx, again()); return err },
		"staged":      func() error { _, err := m.Save(ctx, again(), mapper.Staged()); return err },
		"transaction": func() error { _, err := mapper.Transact(ctx, m.SavePart(again())); return err },
	} {
		err := write()
		var exists *mapper.ExistsError
		if !errors.As(err, &exists) || !errors.Is(err, mapper.ErrExists) || exists.Model != "mapper_test.board" ||
			exists.Key.Partition == "" || exists.Field == "" {
			t.Errorf("%s: %v: %+v", name, err, exists)
		}
		if errors.As(err, new(*mapper.ConflictError)) {
			t.Errorf("%s: it is a conflict too: %v", name, err)
		}
	}
}
