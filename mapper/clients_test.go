package mapper_test

import (
	"context"
	"errors"
	"testing"

	"github.com/itemize/itemize/examples/packages/registry"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/mapper"
)

// The answer of a stub is a conflict if the mapper knows that the stub sends each request once.
// Otherwise it is unknown, because it may be caused by the mapper's own write.
func TestClientNeverRetries(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	insert := func(options ...mapper.Option) error {
		m := kit.Must(mapper.New[kit.Account](kit.Conflicting{}, options...))(t)
		_, err := m.Save(ctx, m.New(kit.Account{ID: "1", Counter: 1, Left: "x"}))
		return err
	}
	patch := func(options ...mapper.Option) error {
		m := kit.Must(mapper.New[registry.Package](kit.Conflicting{}, options...))(t)
		_, err := registry.PackageByName("p").Root().Patch(registry.PackageFields.License.Set("x")).Exec(ctx, m)
		return err
	}
	var unknown *mapper.OutcomeUnknownError
	for name, c := range map[string]struct {
		do   func(...mapper.Option) error
		want error
	}{"insert": {insert, mapper.ErrExists}, "patch": {patch, mapper.ErrNotFound}} {
		if err := c.do(); !errors.As(err, &unknown) {
			t.Errorf("%s: %v", name, err)
		}
		if err := c.do(mapper.ClientNeverRetries()); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
