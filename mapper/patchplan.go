package mapper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/codec"
	"github.com/itemize/itemize/internal/condition"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/internal/selection"
)

// itemPatch is what a patch requires of an item, and does beyond setting attributes.
type itemPatch struct {
	// exists and absent are what has to be true of the item; neither, where it is
	// written either way.
	exists, absent bool
	// conditions have to hold; atLeast are attributes that have to be as large.
	conditions []condition.Condition
	atLeast    []assignment
	increments []assignment
	// defaults are set where the item does not have them: what its key holds in part.
	defaults []assignment
	// attempt is the staged insert that the item came with, once its root was seen live.
	attempt types.AttributeValue
}

// writes reports whether the patch changes the item.
func (ch *change) writes() bool {
	return ch.kind != KindUpdate || len(ch.attributes)+len(ch.removed)+len(ch.patch.increments) > 0
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
func (c *core) planPatch(spec selection.Selection, all []codec.PatchChange, settings writeSettings) (*patching, error) {
	if spec.Err != nil {
		return nil, spec.Err
	}
	x := &patching{c: c, exactly: settings.exactlyOnce, d: &diff{c: c, keyFields: spec.Identity}}
	settings.exactlyOnce = false
	if settings != (writeSettings{}) {
		return nil, fmt.Errorf("%s: a patch takes ExactlyOnce only: leave the other options out", c.schema.Label())
	}
	var err error
	if x.d.pk, err = c.partitionKey(spec.Identity); err != nil {
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
func (x *patching) change(p codec.PatchChange) error {
	if p.Err != nil {
		return fmt.Errorf("%s: %w", x.c.schema.Label(), p.Err)
	}
	it, attributes, err := x.c.target(&p)
	if err != nil {
		return err
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
		return x.set(ch, p, attributes)
	case codec.PatchIncrement:
		return x.increment(ch, p, attributes[0])
	case codec.PatchIf:
		ch.patch.conditions = append(ch.patch.conditions, p.Condition)
	case codec.PatchAdd:
		ch.rec, ch.pos = p.Record, p.Pos
		return (&diff{c: x.c, v: x.c.codec.New()}).fill(ch, nil)
	}
	return nil
}

// set adds attributes that are set or removed, and with a field that sets the item's
// expiry that.
func (x *patching) set(ch *change, p codec.PatchChange, attributes []int) error {
	c, it := x.c, ch.item
	var rec any
	if p.Kind == codec.PatchSet {
		rec = c.patched(it, p)
	}
	for _, i := range attributes {
		a := it.Attributes[i]
		var v types.AttributeValue
		if rec != nil {
			var err error
			if v, err = (&diff{c: c}).encode(it, rec, i); err != nil {
				return err
			}
		}
		if slices.ContainsFunc(ch.patch.increments, func(o assignment) bool { return o.name == a.Name }) {
			return x.twice(a.Value.Name)
		}
		x.assign(ch, assignment{a.Name, i, v})
		if it.Expiry == nil || !slices.Equal(it.Expiry.Path, a.Value.Path) {
			continue
		}
		if it.ExpiryOfRoot {
			return fmt.Errorf("%s.%s: it is the expiry of every item, which a patch does not read: use Update", c.schema.Label(), a.Value.Name)
		}
		var expiry types.AttributeValue
		if rec != nil {
			expiry = (&diff{c: c, s: &state{}}).expiry(it, nil, rec)
		}
		if it.Attribute(c.schema.TTL) < 0 {
			x.assign(ch, assignment{c.schema.TTL, expiryIndex, expiry})
		}
	}
	return nil
}

// increment adds an increment. One that would make an unsigned number negative does not
// meet its condition.
func (x *patching) increment(ch *change, p codec.PatchChange, i int) error {
	a := ch.item.Attributes[i]
	if a.AV.Has("string") || a.AV.Has("nullempty") {
		return fmt.Errorf("%s.%s: what is stored of it may be no number, which DynamoDB would not increment: use Update", x.c.schema.Label(), a.Value.Name)
	}
	n := &types.AttributeValueMemberN{Value: p.By}
	if err := attr.Check(n); err != nil {
		return fmt.Errorf("%s.%s: %w", x.c.schema.Label(), a.Value.Name, err)
	}
	if slices.ContainsFunc(slices.Concat(ch.attributes, ch.removed, ch.patch.increments), func(o assignment) bool { return o.name == a.Name }) {
		return x.twice(a.Value.Name)
	}
	ch.patch.increments = append(ch.patch.increments, assignment{a.Name, i, n})
	if rest, negative := strings.CutPrefix(p.By, "-"); negative && a.Value.Type.Kind == schema.Uint {
		ch.patch.atLeast = append(ch.patch.atLeast, assignment{a.Name, i, &types.AttributeValueMemberN{Value: rest}})
	}
	return nil
}

func (x *patching) twice(field string) error {
	return fmt.Errorf("%s.%s: the patch increments it and changes it as well: do one of them", x.c.schema.Label(), field)
}

// assign notes an attribute's new value, the last of several.
func (x *patching) assign(ch *change, a assignment) {
	same := func(o assignment) bool { return o.name == a.name }
	ch.attributes, ch.removed = slices.DeleteFunc(ch.attributes, same), slices.DeleteFunc(ch.removed, same)
	if a.value == nil {
		ch.removed = append(ch.removed, a)
	} else {
		ch.attributes = append(ch.attributes, a)
	}
}

// place returns where the item of a change lies.
func (x *patching) place(it *schema.Item, p codec.PatchChange) (place, error) {
	c := x.c
	at := place{table: it.Table.Index, pk: x.d.pk}
	if it.Key == nil {
		return at, nil
	}
	keyFields := make([]key.Value, len(c.schema.KeyFields))
	copy(keyFields, x.d.keyFields)
	for _, src := range it.Key.Sources {
		if src.From == schema.FromModel && src.KeyField >= len(x.d.keyFields) && p.Values == nil {
			return at, fmt.Errorf("%s.%s: its key names %s, which a patch does not know: use Update", c.schema.Label(), it.Name, src.Text)
		}
	}
	var err error
	if p.Values == nil {
		at.sk, err = c.sortKey(it, keyFields, p.Record, p.Pos)
		return at, err
	}
	values, rest := make([]key.Value, 0, len(it.Key.Sources)), p.Values
	for _, src := range it.Key.Sources {
		if src.From == schema.FromModel && src.KeyField < len(x.d.keyFields) {
			values = append(values, x.d.keyFields[src.KeyField])
			continue
		}
		if len(rest) == 0 {
			return at, fmt.Errorf("%s.%s: the patch names several elements: name one, by its whole key", c.schema.Label(), it.Name)
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
	if kind == KindPut && it.ExpiryOfRoot {
		return nil, fmt.Errorf("%s.%s: it expires with the root, which a patch does not read: use Update", x.c.schema.Label(), it.Name)
	}
	if x.upsert && kind == KindUpdate && !it.Element() && it.Expiry != nil {
		return nil, fmt.Errorf("%s.%s: it can expire, and Upsert would revive what is expired and not deleted yet: use Update", x.c.schema.Label(), it.Name)
	}
	ch := &change{place: at, kind: kind, item: it, unread: true, patch: &itemPatch{}}
	half := kind == KindUpdate && it.Element() // what Upsert would make of it
	ch.patch.exists, ch.patch.absent = kind != KindPut && (!x.upsert || half), kind == KindPut && !x.upsert
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
	if !slices.ContainsFunc(x.changes, (*change).writes) {
		return fmt.Errorf("%s: the patch only checks, and changes nothing: set something", c.schema.Label())
	}
	for _, ch := range x.changes {
		root = root || ch.item == c.schema.Root
		if len(ch.patch.conditions)+len(ch.patch.atLeast) > 0 {
			ch.patch.exists = true
		}
		if !ch.writes() {
			ch.kind = KindCheck
		}
		if err := errors.Join(x.fillKeys(ch), x.size(ch)); err != nil {
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
	at, err := c.rootPlace(x.d.keyFields)
	if err != nil {
		return err
	}
	x.changes = append(x.changes, &change{place: at, kind: KindCheck, item: c.schema.Root, unread: true, patch: &itemPatch{exists: true}})
	return nil
}

// fillKeys makes an item that Upsert may create store what the entity is known by, where
// its key holds that in part.
func (x *patching) fillKeys(ch *change) error {
	if !x.upsert || ch.kind != KindUpdate || ch.item.Element() {
		return nil
	}
	v := x.c.codec.New()
	for i, o := range x.d.keyFields {
		if err := x.c.codec.SetKeyField(v, i, o); err != nil {
			return err
		}
	}
	for i, a := range ch.item.Attributes {
		identity := slices.ContainsFunc(x.c.schema.KeyFields[:len(x.d.keyFields)], func(o *schema.KeyField) bool { return o.Field == a.Field })
		if !identity || a.Field == nil {
			continue
		}
		value, err := (&diff{c: x.c}).encode(ch.item, v, i)
		if err != nil {
			return err
		}
		if value != nil {
			ch.patch.defaults = append(ch.patch.defaults, assignment{a.Name, i, value})
		}
	}
	return nil
}

// size computes the least that the item can have after the change.
func (x *patching) size(ch *change) error {
	if ch.kind == KindDelete || ch.kind == KindCheck {
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

// describe returns the plan.
func (x *patching) describe() *Plan {
	var t tally
	for _, ch := range x.changes {
		t.wrote(x.c.describe(ch, x.price(ch)))
	}
	return &Plan{Mode: x.mode(), Items: t.items, WCU: t.wcu, requests: min(1, len(x.changes))}
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
	for try := 0; ; try++ {
		err := c.send(ctx, c.scratch(x.d), x.d, step{changes: x.changes, transact: x.together()}, t)
		var left *leftError
		if !errors.As(err, &left) || try == saveTries {
			return err
		}
		if err := x.staged(ctx, left, t); err != nil {
			return err
		}
	}
}

// leftError says that items belong to a staged insert, live or not.
type leftError struct {
	changes []*change
	stored  []read.Item
}

func (e *leftError) Error() string { return "items of a staged insert" }

// staged finds out what became of the staged insert that items came with. Those of the
// live entity are written on condition that they are; others are not there.
func (x *patching) staged(ctx context.Context, left *leftError, t *tally) error {
	c := x.c
	root, err := c.readRoot(ctx, x.d.keyFields, t)
	if err != nil {
		return err
	}
	live := livenessOf(root).attempt
	for i, ch := range left.changes {
		attempt := left.stored[i][schema.Attempt]
		switch {
		case attr.Same(attempt, live):
			if ch.patch.absent {
				return c.patchFailed([]*change{ch}, []read.Item{{c.hash(ch): attr.ValueOf(ch.pk)}})
			}
			ch.patch.attempt = attempt
		case ch.kind == KindPut:
			ch.ghost = &ghost{size: cost.ItemSize(left.stored[i]), attempt: attempt}
			ch.oldSize = ch.ghost.size
		default:
			return &notFoundError{model: c.schema.Label(), key: c.public(ch.place).String(), pending: "it was left over by an insert that is not finished: insert the entity"}
		}
	}
	return nil
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
	switch {
	case ch.item == c.schema.Root:
		terms = append(terms, "attribute_not_exists("+x.name(schema.State)+")")
	case p.attempt != nil:
		terms = append(terms, x.name(schema.Attempt)+" = "+x.value(p.attempt))
	case ch.ghost != nil:
		terms = append(terms, "(attribute_not_exists("+x.name(schema.Attempt)+") OR "+x.name(schema.Attempt)+" = "+x.value(ch.ghost.attempt)+")")
	default:
		terms = append(terms, "attribute_not_exists("+x.name(schema.Attempt)+")")
	}
	for _, a := range p.atLeast {
		terms = append(terms, x.name(a.name)+" >= "+x.value(a.value))
	}
	for _, given := range p.conditions {
		terms = append(terms, given.Term(placeholdersOf{x}))
	}
	return strings.Join(terms, " AND ")
}

// placeholdersOf makes an expression what conditions are rendered into.
type placeholdersOf struct{ x *expression }

func (p placeholdersOf) Name(attribute string) string        { return p.x.name(attribute) }
func (p placeholdersOf) Value(v types.AttributeValue) string { return p.x.value(v) }

// patchFailed is the error of a patch whose conditions failed. stored are the items as
// they are, nil for those whose conditions held.
func (c *core) patchFailed(changes []*change, stored []read.Item) error {
	if left := c.leftParts(changes, stored); left != nil {
		return left
	}
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

// leftParts returns the items that carry a staged insert's attempt which the patch did not
// reckon with, nil for none.
func (c *core) leftParts(changes []*change, stored []read.Item) *leftError {
	var left leftError
	for i, ch := range changes {
		attempt := stored[i][schema.Attempt]
		known := ch.patch.attempt
		if ch.ghost != nil {
			known = ch.ghost.attempt
		}
		if attempt != nil && ch.item != c.schema.Root && !attr.Same(attempt, known) {
			left.changes, left.stored = append(left.changes, ch), append(left.stored, stored[i])
		}
	}
	if left.changes == nil {
		return nil
	}
	return &left
}
