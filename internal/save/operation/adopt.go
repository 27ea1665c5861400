package operation

import (
	"context"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/internal/save/staging"
	"github.com/itemize/itemize/internal/save/write"
)

// adopt is the part that gives a stored entity the guard of one unique value, which it had before the value was unique.
type adopt struct {
	common
	unique *schema.Unique
	root   *item.Image
}

// NewAdoption returns the operation that gives an entity the guard of a unique value, by its root item as it was read.
func NewAdoption(env *Env, u *schema.Unique, root *item.Image) *Operation {
	p := &adopt{common: common{env: env, harmless: always, forgettable: true}, unique: u, root: root}
	return Transaction(env.Sender, []Part{p})
}

func (p *adopt) requests(*change.Readers) (r Requests, err error) {
	m, f := p.env.Model, p.root
	at, ok, err := m.Guard(p.unique, f.Attributes())
	if err == nil && !ok {
		err = p.changed(change.Changed) // it has been emptied
	}
	if err != nil {
		return r, err
	}
	w := &write.Request{
		Kind: write.Check, Place: f.Place, Label: m.Label(), Field: f.Kind.Name, Root: true, Reserved: m.Reserved,
		Header: f.Header, OldSize: f.Size, NewSize: f.Size,
		Expect: write.AsFound(f.Place, f.Header.Version, f.Attributes()),
	}
	owner := model.Owner{Root: f.Place, Incarnation: f.Header.Incarnation}
	if owner.Incarnation == nil {
		owner.Incarnation = item.NewToken()
		a := m.Reserved.AssignIncarnation(owner.Incarnation)
		w.Kind, w.Set = write.Update, []item.Assignment{a}
		w.NewSize += a.Size() + m.Reserved.Grows(f.Header, false)
		after := attr.CopyItem(f.Attributes())
		a.Into(after)
		w.Entries = m.Entries(f.Kind, f.Table.Name, f.Attributes(), after)
	}
	r.Writes = []*write.Request{w}
	r.Guards = []change.Guard{{Model: m, Unique: p.unique, At: at, Take: &owner}}
	return r, nil
}

// refused reads the root item again, which another writer has changed.
func (p *adopt) refused(ctx context.Context, _ *write.Outcome, t *Tally) (retry bool, err error) {
	root, err := p.env.OwnerOf(ctx, model.Owner{Root: p.root.Place}, t)
	if err != nil {
		return false, err
	}
	if root == nil || staging.Pending(root) != "" {
		return false, p.changed(change.Deleted)
	}
	p.root = root
	return true, p.changed(change.Changed)
}

func (p *adopt) changed(what change.What) *Conflict {
	at := ItemConflict{Place: p.root.Place, Field: p.root.Kind.Name, What: what}
	return &Conflict{Label: p.env.Model.Label(), Items: []ItemConflict{at}}
}
