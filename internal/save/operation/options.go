package operation

import (
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/schema"
)

// Options are the options of saves, deletes and patches.
type Options struct {
	// Independent sends each request by itself, Staged sends a staged insert or delete, ExactlyOnce
	// sends a single request as a transaction.
	Independent, Staged, ExactlyOnce bool
	// Move allows changes of key fields. CheckLoaded requires that loaded items are unchanged. Reindex
	// also writes items whose index keys differ. CheckRoot also confirms that the entity is live after
	// a save that adds nothing.
	Move, CheckLoaded, Reindex, CheckRoot bool
	// RootInTransaction requires the root item in the transaction that adds items.
	RootInTransaction bool
	// Tag is the token of the state that is required, nil for none.
	Tag *string
	// Blind adds items without making sure that their entity exists.
	Blind bool
	// Owner is the unique value by which the entity was found, and which it must still have; nil for none.
	Owner *schema.Unique
}

// use is a kind of operation that takes options.
type use string

const (
	forSave   use = "save"
	forDelete use = "delete"
	forPatch  use = "patch"
	forPart   use = "part"
)

// CheckPart refuses options that the part of a transaction does not take.
func (o Options) CheckPart(m *model.Model) error { return o.check(m, forPart) }

// check refuses options that exclude each other, or mean nothing for a use.
func (o Options) check(m *model.Model, u use) error {
	if text := o.fault(u); text != "" {
		return m.Errorf("%s", text)
	}
	if o.Staged && !m.Reserved.Versions() {
		return m.Errorf("Staged needs versions, but the model has none (noversion): %s with Independent, or let "+
			"its items have versions", u)
	}
	return nil
}

// fault says which options mean nothing for a use, or exclude each other; "" for none.
func (o Options) fault(u use) string {
	const onlyTransaction = " exclude each other, since only a transaction checks other items: leave one out"
	switch {
	case u == forDelete && o.Move:
		return "Move has no effect on a delete: leave it out"
	case u == forDelete && o.Reindex:
		return "Reindex has no effect on a delete: leave it out"
	case u == forDelete && o.CheckLoaded:
		return "CheckLoaded has no effect on a delete, which checks all items that it deletes: leave it out"
	case u == forDelete && o.CheckRoot:
		return "CheckRoot has no effect on a delete, which adds nothing: leave it out"
	case u == forPatch && o.CheckRoot:
		return "CheckRoot is for saves: use IfEntityExists of the patch"
	case u == forPatch && o != Options{ExactlyOnce: o.ExactlyOnce, Blind: o.Blind, Tag: o.Tag}:
		return "a patch takes ExactlyOnce, Blind and IfTag only: leave the other options out"
	case u == forPart && (o.Independent || o.Staged || o.ExactlyOnce || o.Move):
		return "a part of a transaction takes CheckLoaded, CheckRoot, Reindex, Blind and IfTag only: leave " +
			"Independent, Staged, ExactlyOnce and Move out"
	case o.Independent && o.Staged:
		return "Independent and Staged exclude each other: use one of them"
	case o.Independent && o.CheckLoaded:
		return "Independent and CheckLoaded" + onlyTransaction
	case o.Staged && o.CheckLoaded:
		return "Staged and CheckLoaded" + onlyTransaction
	case o.Staged && o.ExactlyOnce:
		return "Staged and ExactlyOnce exclude each other: use one of them"
	case o.Independent && o.Move:
		return "Independent and Move exclude each other, since an entity moves in one transaction: leave one out"
	case o.RootInTransaction && (o.Independent || o.Staged || o.Move):
		return "additions during a migration are one transaction: leave Independent, Staged and Move out"
	case o.CheckRoot && o.Blind:
		return "CheckRoot and Blind exclude each other: leave one out"
	}
	return ""
}
