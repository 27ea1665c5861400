package operation

import (
	"context"
	"errors"

	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/change"
)

// Repeat runs do, which reads and writes an entity, again after a conflict in which nothing was written, and after
// the entity was deleted and inserted again in between.
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

// While the number of shards changes (shards='400,200') an entity may be on one of several shards. An
// operation with a key alone finds the entity first.

// DeleteLocated deletes a selection whose entity may be on several shards, and locates it again if nothing was
// deleted: it may have moved.
func DeleteLocated(ctx context.Context, env *Env, sel selection.Selection, o Options, t *Tally) error {
	if err := o.check(env.Model, forDelete); err != nil {
		return err
	}
	strong := read.Options{Strong: true}
	at, _, err := env.Search.LocateOne(ctx, sel, strong, &t.Tally)
	for try := 0; err == nil; try++ {
		if try == readTries {
			return &Exhausted{Label: env.Model.Label()}
		}
		before := len(t.Items)
		x, err := NewDelete(env, at, nil, o)
		if err == nil {
			err = x.Run(ctx, t)
		}
		missing := errors.Is(err, search.ErrNotFound)
		if err != nil && !missing {
			return err
		}
		p := x.parts[0].(*remove)
		if len(t.Items) > before && p.progress != over && !p.rootless {
			return nil
		}
		now, live, failed := env.Search.LocateOne(ctx, sel, strong, &t.Tally)
		if failed != nil {
			return env.fault(failed)
		}
		moved := env.Model.Shard(now.Identity) != env.Model.Shard(at.Identity)
		switch {
		case !live, !moved && !missing && p.progress != over && !p.rootless:
			return err
		case p.progress == over: // a move and the next entity of the key look alike
			return &Unknown{Label: env.Model.Label(), Items: written(change.Requests(p.changes)), Err: errNextEntity}
		}
		at = now
	}
	return env.fault(err)
}

// locatePatch returns a patch with the selection of the shard that the entity is on.
func locatePatch(ctx context.Context, env *Env, spec PatchSpec, t *Tally) (PatchSpec, error) {
	if spec.Selection.Err != nil || len(spec.Selection.Elsewhere) == 0 {
		return spec, nil
	}
	for _, c := range spec.Changes {
		if c.Upsert {
			return spec, env.Model.Errorf("Upsert may create an entity, which needs a check of each shard while " +
				"the number of shards changes: insert with Save, and patch existing entities")
		}
	}
	var err error
	if spec.Selection, _, err = env.Search.LocateOne(ctx, spec.Selection, read.Options{Strong: true},
		&t.Tally); err != nil {
		return spec, env.fault(err)
	}
	spec.Located = true // items that are added to an entity that has moved would be left behind
	return spec, nil
}

// PatchLocated writes a patch of an entity that may be on several shards, and locates it again if nothing was
// written: it may have moved.
func PatchLocated(ctx context.Context, env *Env, spec PatchSpec, o Options, t *Tally) (returned func() (Record, error),
	err error,
) {
	if spec.Selection.Lookup != nil {
		return PatchOwner(ctx, env, spec, o, t)
	}
	at, err := locatePatch(ctx, env, spec, t)
	for try := 0; err == nil; try++ {
		before := len(t.Items)
		var x *Operation
		if x, returned, err = NewPatch(env, at, o); err != nil {
			return nil, err
		}
		if err = x.Run(ctx, t); !at.Located || len(t.Items) > before || try == readTries ||
			!errors.Is(err, search.ErrNotFound) {
			return returned, err
		}
		now, failed := locatePatch(ctx, env, spec, t)
		if failed != nil || env.Model.Shard(now.Selection.Identity) == env.Model.Shard(at.Selection.Identity) {
			return nil, err
		}
		at, err = now, nil
	}
	return nil, err
}

// notLocated refuses a part of a transaction whose entity would have to be located.
func (env *Env) notLocated() error {
	return env.Model.Errorf("while the number of shards changes, the key does not give the shard, and a " +
		"transaction does not search for it: load it, and pass the *Entity")
}
