package mapper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/codec"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/internal/sel"
	"github.com/itemize/itemize/mapper/mapperimpl"
	"github.com/itemize/itemize/query"
)

// Patch is changes of one entity that are written without reading it first. Generated
// code makes patches (PatchUser), with a method for each change.
//
// All changes of one item are one request, at the price of that item; of several items
// one transaction, at the double price. What a set, a removal or an increment changes
// has to be there (ErrNotFound), and what is added must not be (ErrExists): Upsert makes
// a patch write either way. Since nothing is read, nothing tells how large the items are:
// the plan's units are bounds, the receipt's Consumed what it was.
type Patch[T any] struct {
	node    query.Node[T]
	changes []mapperimpl.Change
}

// NewPatch is for generated code.
func NewPatch[T any](n query.Node[T]) Patch[T] { return Patch[T]{node: n} }

// With is for generated code: the patch with one more change.
func With[T any](p Patch[T], c mapperimpl.Change) Patch[T] {
	p.changes = append(slices.Clone(p.changes), c)
	return p
}

// Exec writes the patch. An increment whose answer was lost is never sent again: the
// error is an *OutcomeUnknownError, which ExactlyOnce avoids, at the double price. The
// other options of writes mean nothing here and are refused.
func (p Patch[T]) Exec(ctx context.Context, m *Mapper[T], options ...WriteOption) (*Receipt, error) {
	var t tally
	if m == nil {
		return t.receipt(), errors.New("the patch has nothing to run on: pass the model's *mapper.Mapper")
	}
	x, err := m.core.planPatch(m.core.resolved(query.Spec(p.node)), p.changes, writeSettingsOf(options))
	if err == nil {
		t.mode = x.mode()
		err = x.send(ctx, &t)
	}
	return t.receipt(), err
}

// Plan returns what Exec would send, and cost. It does no I/O.
func (p Patch[T]) Plan(m *Mapper[T], options ...WriteOption) (*Plan, error) {
	if m == nil {
		return nil, errors.New("the patch has nothing to run on: pass the model's *mapper.Mapper")
	}
	x, err := m.core.planPatch(m.core.resolved(query.Spec(p.node)), p.changes, writeSettingsOf(options))
	if err != nil {
		return nil, err
	}
	var t tally
	for _, ch := range x.changes {
		t.wrote(m.core.describe(ch, x.price(ch)))
	}
	return &Plan{Mode: x.mode(), Items: t.items, WCU: t.wcu, requests: min(1, len(x.changes))}, nil
}

// itemPatch is what a patch requires of an item, and does beyond setting attributes.
type itemPatch struct {
	// exists and absent are what has to be true of the item; neither, where it is
	// written either way.
	exists, absent bool
	// equals are attributes with the values that they have to have.
	equals     []assignment
	increments []assignment
}

// patching is a patch of one entity.
type patching struct {
	c       *core
	d       *diff // the keys
	upsert  bool
	entity  bool
	exactly bool
	changes []*change
}

// planPatch makes a patch's item changes. It does no I/O.
func (c *core) planPatch(spec sel.Spec, all []mapperimpl.Change, settings writeSettings) (*patching, error) {
	if spec.Err != nil {
		return nil, spec.Err
	}
	x := &patching{c: c, exactly: settings.exactlyOnce, d: &diff{c: c, owners: spec.Owners}}
	settings.exactlyOnce = false
	if settings != (writeSettings{}) {
		return nil, fmt.Errorf("%s: a patch takes ExactlyOnce only: leave the other options out", c.schema.Label())
	}
	var err error
	if x.d.pk, err = c.partitionKey(spec.Owners); err != nil {
		return nil, err
	}
	var errs []error
	for _, p := range all {
		switch p.Kind {
		case codec.PatchUpsert:
			x.upsert = true
		case codec.PatchIfEntity:
			x.entity = true
		}
	}
	for _, p := range all {
		if p.Kind != codec.PatchUpsert && p.Kind != codec.PatchIfEntity {
			errs = append(errs, x.change(p))
		}
	}
	errs = append(errs, x.finish())
	return x, errors.Join(errs...)
}

// change adds one change.
func (x *patching) change(p mapperimpl.Change) error {
	c, it := x.c, x.c.schema.Items[p.Item]
	if p.Err != nil {
		return p.Err
	}
	at, err := x.place(it, p)
	if err != nil {
		return err
	}
	kind := KindUpdate
	switch p.Kind {
	case codec.PatchAdd:
		kind = KindPut
	case codec.PatchRemoveElement, codec.PatchDelete:
		kind = KindDelete
	}
	ch, err := x.at(at, it, kind)
	if err != nil {
		return err
	}
	switch p.Kind {
	case codec.PatchSet, codec.PatchRemove:
		return x.set(ch, p)
	case codec.PatchIncrement:
		a := it.Attributes[p.Attributes[0]]
		n := &types.AttributeValueMemberN{Value: p.By}
		ch.patch.increments = append(ch.patch.increments, assignment{a.Name, p.Attributes[0], n})
		return codec.Check(n)
	case codec.PatchIf:
		for _, i := range p.Attributes {
			v, err := (&diff{c: c}).encode(it, p.Record, i)
			if err != nil {
				return err
			}
			ch.patch.equals = append(ch.patch.equals, assignment{it.Attributes[i].Name, i, v})
		}
	case codec.PatchAdd:
		ch.rec, ch.pos = p.Record, p.Pos
		return (&diff{c: c, v: c.codec.New()}).fill(ch, nil)
	}
	return nil
}

// set adds attributes that are set or removed, and with a field that sets the item's
// expiry that.
func (x *patching) set(ch *change, p mapperimpl.Change) error {
	c, it := x.c, ch.item
	for _, i := range p.Attributes {
		a := it.Attributes[i]
		var v types.AttributeValue
		if p.Kind == codec.PatchSet {
			var err error
			if v, err = (&diff{c: c}).encode(it, p.Record, i); err != nil {
				return err
			}
		}
		x.assign(ch, assignment{a.Name, i, v})
		if it.Expiry == nil || !slices.Equal(it.Expiry.Path, a.Value.Path) {
			continue
		}
		if it.ExpiryOwner {
			return fmt.Errorf("%s.%s: it is the expiry of every item, which a patch does not read: use Update", c.schema.Label(), a.Value.Name)
		}
		var expiry types.AttributeValue
		if p.Kind == codec.PatchSet {
			expiry = (&diff{c: c, s: &state{}}).expiry(it, nil, p.Record)
		}
		if it.Attribute(c.schema.TTL) < 0 {
			x.assign(ch, assignment{c.schema.TTL, expiryIndex, expiry})
		}
	}
	return nil
}

func (x *patching) assign(ch *change, a assignment) {
	if a.value == nil {
		ch.removed = append(ch.removed, a)
	} else {
		ch.attributes = append(ch.attributes, a)
	}
}

// place returns where the item of a change lies.
func (x *patching) place(it *schema.Item, p mapperimpl.Change) (place, error) {
	c := x.c
	at := place{table: it.Table.Index, pk: x.d.pk}
	if it.Key == nil {
		return at, nil
	}
	owners := make([]key.Value, len(c.schema.Owners))
	copy(owners, x.d.owners)
	for _, src := range it.Key.Sources {
		if src.From == schema.FromOwner && src.Owner >= len(x.d.owners) && p.Kind != codec.PatchRemoveElement {
			return at, fmt.Errorf("%s.%s: its key names %s, which a patch does not know: use Update", c.schema.Label(), it.Name, src.Text)
		}
	}
	var err error
	if p.Kind != codec.PatchRemoveElement {
		at.sk, err = c.sortKey(it, owners, p.Record, p.Pos)
		return at, err
	}
	values, rest := make([]key.Value, 0, len(it.Key.Sources)), p.Values
	for _, src := range it.Key.Sources {
		if src.From == schema.FromOwner && src.Owner < len(x.d.owners) {
			values = append(values, x.d.owners[src.Owner])
			continue
		}
		values, rest = append(values, rest[0]), rest[1:]
	}
	if at.sk, err = it.Key.Template.Render(values); err == nil {
		err = at.sk.CheckSize(key.MaxSort)
	}
	if err != nil {
		return at, fmt.Errorf("%s.%s: %s: %w", c.schema.Label(), it.Name, it.Key.SourceName(err), err)
	}
	return at, nil
}

// at returns the change of a place, made if there is none yet.
func (x *patching) at(at place, it *schema.Item, kind Kind) (*change, error) {
	for _, ch := range x.changes {
		switch {
		case ch.place != at:
		case ch.kind == kind && kind == KindUpdate:
			return ch, nil
		default:
			return nil, fmt.Errorf("%s.%s: the patch changes %s twice in ways that exclude each other: use two patches", x.c.schema.Label(), it.Name, x.c.public(at))
		}
	}
	if kind == KindPut && it.ExpiryOwner {
		return nil, fmt.Errorf("%s.%s: it expires with the root, which a patch does not read: use Update", x.c.schema.Label(), it.Name)
	}
	ch := &change{place: at, kind: kind, item: it, unread: true, patch: &itemPatch{}}
	ch.patch.exists, ch.patch.absent = kind != KindPut && !x.upsert, kind == KindPut && !x.upsert
	x.changes = append(x.changes, ch)
	return ch, nil
}

// finish checks the changes, computes their sizes, and adds the condition on the entity.
func (x *patching) finish() error {
	c := x.c
	if len(x.changes) == 0 {
		return fmt.Errorf("%s: the patch changes nothing: call one of its methods before Exec", c.schema.Label())
	}
	root := false
	for _, ch := range x.changes {
		root = root || ch.item == c.schema.Root
		if len(ch.patch.equals) > 0 {
			ch.patch.exists = true
		}
		if err := x.size(ch); err != nil {
			return err
		}
	}
	if !x.entity {
		return nil
	}
	if root {
		for _, ch := range x.changes {
			ch.patch.exists = ch.patch.exists || ch.item == c.schema.Root
		}
		return nil
	}
	at, err := c.rootPlace(x.d.owners)
	if err != nil {
		return err
	}
	x.changes = append(x.changes, &change{place: at, kind: KindCheck, item: c.schema.Root, unread: true, patch: &itemPatch{exists: true}})
	return nil
}

// size computes the least that the item can have after the change.
func (x *patching) size(ch *change) error {
	if ch.kind == KindDelete {
		return nil
	}
	if ch.kind == KindUpdate {
		ch.newSize = cost.ItemSize(x.c.reader.Key(ch.table, ch.pk, ch.sk))
		for _, a := range slices.Concat(ch.attributes, ch.patch.increments) {
			ch.newSize += cost.AttributeSize(a.name, a.value)
		}
		if name := x.c.schema.Version; name != "" {
			ch.newSize += len(name) + tokenSize
		}
	}
	ch.unread = ch.kind == KindUpdate || !ch.patch.absent || x.c.schema.TTL != ""
	if ch.newSize > cost.MaxItem {
		return x.c.tooLarge(ch)
	}
	return nil
}

func (x *patching) together() bool { return x.exactly || len(x.changes) > 1 }

func (x *patching) mode() Mode {
	if x.together() {
		return ModeTransaction
	}
	return ModeOne
}

func (x *patching) price(ch *change) cost.Units {
	if x.together() {
		return ch.transactWCU()
	}
	return ch.wcu()
}

func (x *patching) send(ctx context.Context, t *tally) error {
	c := x.c
	if !c.fits(x.changes) {
		return fmt.Errorf("%s: the patch changes %d items, more than a transaction takes (%d): use several patches", c.schema.Label(), len(x.changes), cost.MaxTransactItems)
	}
	return c.send(ctx, c.scratch(x.d), x.d, step{changes: x.changes, transact: x.together()}, t)
}

// patchCondition returns what must be true of the stored item.
func (c *core) patchCondition(x *expression, ch *change) string {
	p := ch.patch
	if p.absent {
		return c.absent(x, ch)
	}
	var terms []string
	if p.exists {
		terms = append(terms, "attribute_exists("+x.name(c.hash(ch))+")")
		if ttl := c.schema.TTL; ttl != "" {
			terms = append(terms, "(attribute_not_exists("+x.name(ttl)+") OR "+x.name(ttl)+" > "+x.value(epoch(c.now()))+")")
		}
	}
	if ch.item == c.schema.Root {
		terms = append(terms, "attribute_not_exists("+x.name(schema.State)+")")
	}
	for _, a := range p.equals {
		if a.value == nil {
			terms = append(terms, "attribute_not_exists("+x.name(a.name)+")")
		} else {
			terms = append(terms, x.name(a.name)+" = "+x.value(a.value))
		}
	}
	return strings.Join(terms, " AND ")
}

// patchFailed is the error of a patch whose conditions failed. stored are the items as
// they are, nil for those whose conditions held.
func (c *core) patchFailed(changes []*change, stored []read.Item) error {
	e := &ConflictError{Model: c.schema.Label(), patch: true}
	for i, ch := range changes {
		if stored[i] == nil {
			continue
		}
		gone := len(stored[i]) == 0 || c.reader.Expired(stored[i]) || ch.item == c.schema.Root && stored[i][schema.State] != nil
		name := c.public(ch.place).String()
		switch {
		case gone:
			return &notFoundError{model: c.schema.Label(), key: name}
		case ch.patch.absent:
			e.Items = append(e.Items, ItemConflict{Key: c.public(ch.place), Field: fieldOf(ch.item), Conflict: ConflictCreated})
			return &existsError{name, e}
		}
		e.Items = append(e.Items, ItemConflict{Key: c.public(ch.place), Field: fieldOf(ch.item), Conflict: ConflictChanged})
	}
	return e
}
