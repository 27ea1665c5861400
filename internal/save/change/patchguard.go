package change

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/save/write"
)

// A patch of a part of a unique value reads the root item, and writes it as it was read together with the guards.

// rootToken returns the incarnation that a root item gets by the patch.
func (x *Patch) rootToken() types.AttributeValue {
	if x.token == nil {
		x.token = item.NewToken()
	}
	return x.token
}

// root returns the change of the root item, nil for none.
func (x *Patch) root() *PatchItem {
	i := slices.IndexFunc(x.Items, func(ch *PatchItem) bool { return ch.Root })
	if i < 0 {
		return nil
	}
	return x.Items[i]
}

// Guarded reports whether the patch changes a part of a unique value.
func (x *Patch) Guarded() bool { return len(x.changedUniques()) > 0 }

// changedUniques returns the unique values of which the patch changes a part.
func (x *Patch) changedUniques() (all []*schema.Unique) {
	ch := x.root()
	if ch == nil || ch.basis.kind != write.Update {
		return nil
	}
	for _, u := range x.m.Schema.Uniques {
		if slices.ContainsFunc(x.m.Schema.Guarded(u), ch.changes) {
			all = append(all, u)
		}
	}
	return all
}

// changes reports whether the patch was asked to change an attribute.
func (ch *PatchItem) changes(a *schema.Attribute) bool {
	is := func(s item.Assignment) bool { return s.Name == a.Name }
	return slices.ContainsFunc(ch.basis.set, is) || slices.ContainsFunc(ch.basis.remove, is) ||
		slices.ContainsFunc(ch.basis.operations, func(o item.Operation) bool { return o.Path[0] == a.Name })
}

// ReadRoot makes the patch of the root item one of the item as it was read, nil for a missing one, and returns the
// changes of guards that go with it.
func (x *Patch) ReadRoot(root item.Attributes) ([]Guard, error) {
	ch := x.root()
	if root == nil {
		to := model.Owner{Root: ch.Place, Incarnation: x.token}
		return Guards(x.m, nil, ch.Added(), to, to)
	}
	if ch.read == nil {
		if err := ch.Rewrite(root); err != nil {
			return nil, err
		}
	}
	after := ch.after()
	owner := func(a item.Attributes) model.Owner {
		return model.Owner{Root: ch.Place, Incarnation: ch.Reserved.Header(a).Incarnation}
	}
	return Guards(x.m, ch.read.stored, after, owner(ch.read.stored), owner(after))
}

// ReckonGuards returns the guards that the patch takes as far as its own values give them, and the numbers of others
// that it may release and take: for a plan, before the root item is read.
func (x *Patch) ReckonGuards() (all []Guard, unread int) {
	ch := x.root()
	made := item.Attributes{}
	into(made, ch.basis.set)
	for _, u := range x.changedUniques() {
		unread++
		at, ok, err := x.m.Guard(u, made)
		switch {
		case err == nil && ok:
			all = append(all, Guard{
				Model: x.m, Unique: u, At: at, New: true,
				Take: &model.Owner{Root: ch.Place, Incarnation: someToken},
			})
		case len(u.Attributes) > 1 || len(ch.basis.operations) > 0:
			unread++
		}
	}
	return all, unread
}
