package operation

import (
	"context"
	"errors"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/request"
)

// Writes by a lookup find the entity of a unique value by strongly consistent reads, and require that it still has the
// value. If it does not, nothing is written, and the lookup is repeated.

// errOwnerChanged says that the entity of a lookup lost the value before the write.
var errOwnerChanged = errors.New("the value changes its owner all the time: try again later")

// ByOwner runs do with the entity of a lookup, again while the value changes its owner.
func ByOwner(ctx context.Context, env *Env, sel selection.Selection, t *Tally, do func(*search.Owned) error) error {
	if err := sel.Fault(); err != nil {
		return env.fault(err)
	}
	for try := 1; ; try++ {
		owned, err := env.Search.Owner(ctx, sel, &t.Tally)
		if err != nil {
			return env.fault(err)
		}
		// No copy of an earlier attempt can be applied: it requires a version that the root item has lost.
		if err = do(owned); !errors.Is(err, errOwnerChanged) || try == readTries {
			return err
		}
		if pauseErr := request.Pause(ctx, try); pauseErr != nil {
			return &Interrupted{env.Model.Label(), pauseErr, err}
		}
	}
}

// IsOwnerChanged reports whether a write by a lookup has to be repeated.
func IsOwnerChanged(err error) bool { return errors.Is(err, errOwnerChanged) }

// DeleteOwner deletes the entity of a lookup.
func DeleteOwner(ctx context.Context, env *Env, sel selection.Selection, o Options, t *Tally) error {
	if err := o.check(env.Model, forDelete); err != nil {
		return err
	}
	if o.Independent && len(env.Model.Schema.Items) > 1 {
		return env.Model.Errorf("a delete by a lookup requires that the entity still has the value, in the same " +
			"transaction: leave Independent out")
	}
	return ByOwner(ctx, env, sel, t, func(owned *search.Owned) error {
		p, err := newRemoveOwner(env, owned, o)
		if err != nil {
			return err
		}
		return new(single).operation(p, readTries).Run(ctx, t)
	})
}

// DeleteOwned returns the part of a transaction that deletes the entity of a lookup.
func DeleteOwned(env *Env, owned *search.Owned) (Part, error) {
	return newRemoveOwner(env, owned, Options{})
}

func newRemoveOwner(env *Env, owned *search.Owned, o Options) (*remove, error) {
	if !owned.Whole {
		return nil, env.Model.Errorf("a lookup deletes a whole entity: use the patch Delete of the item, or load " +
			"the entity and delete the part by its key")
	}
	p, err := newRemove(env, owned.Selection, nil, o)
	if err == nil {
		p.owner, p.sought = owned, true
	}
	return p, err
}

// lost reports whether the entity of a lookup, by its root item that the delete has read again, does not have the value
// any more, and was not deleted.
func (p *remove) lost(root *item.Image) bool {
	if p.owner == nil || p.progress != untouched &&
		(!p.isFirst(root) || !root.Header.Live() || root.Header.Incarnation == nil) {
		return false
	}
	return root == nil || !p.owner.Still(p.env.Model, root.Attributes())
}

// PatchOwner writes a patch of the entity of a lookup.
func PatchOwner(ctx context.Context, env *Env, spec PatchSpec, o Options, t *Tally) (returned func() (Record, error),
	err error,
) {
	err = ByOwner(ctx, env, spec.Selection, t, func(owned *search.Owned) error {
		spec := spec
		spec.Selection, spec.Owner = owned.Selection, owned
		var x *Operation
		if x, returned, err = NewPatch(env, spec, o); err != nil {
			return err
		}
		return x.Run(ctx, t)
	})
	return returned, err
}
