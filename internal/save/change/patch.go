package change

import (
	"cmp"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/expr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/save/write"
)

// Patch is changes of one entity that are written without reading it.
type Patch struct {
	m         *model.Model
	Identity  []key.Value
	partition key.Partition
	// Entity reports that the caller requires the entity (IfEntityExists).
	Entity bool
	// bound reports that the root item of the entity was read: it is live, with the incarnation live.
	bound bool
	live  types.AttributeValue
	// expiry is that of the root item as it was read last. moved reports that items have another one since Bind.
	expiry types.AttributeValue
	moved  bool
	// token is the incarnation that a root item gets if the patch makes it, or if it has none and gets a unique value.
	token types.AttributeValue
	Items []*PatchItem
	// keys are the values of the fields that keys name, as far as they are known; nil until they are asked for.
	keys []key.Value
	few  [1]*PatchItem // room for those of most patches
}

// PatchItem is the part of a patch that concerns one item.
type PatchItem struct {
	*Change
	patch *Patch
	// owner is that of the conditions which requires the value of a lookup, nil for none.
	owner attr.Condition
	// demand follows from traits. basis and where have the changes and conditions of the caller, and ofKey attributes
	// for secondary indexes that consist of the entity's key.
	demand demand
	traits traits
	basis  basis
	where  []where
	ofKey  []item.Assignment
	knowledge
}

// traits are properties of the changes of an item, from which its demand follows.
type traits uint8

const (
	upserts  traits = 1 << iota // A change is an upsert's.
	strict                      // A change is not.
	takes                       // A change only removes something.
	replaces                    // The item is put whether it exists or not.
)

// where is a condition on an item, and the error for an item that does not meet it. version reports that the
// condition is on the version of a tag.
type where struct {
	condition attr.Condition
	refusal   func(stored item.Attributes) error
	version   bool
}

// keyFields returns the values of the fields that keys name: the identity's, and zero ones.
func (x *Patch) keyFields() []key.Value {
	if x.keys == nil {
		x.keys = make([]key.Value, len(x.m.Schema.KeyFields))
		copy(x.keys, x.Identity)
	}
	return x.keys
}

var (
	errTag        = errors.New("the item has changed since the tag was made")
	errLookup     = errors.New("the entity does not have the value of the lookup")
	errTagCreated = errors.New("the item was created since the tag was made")
)

// NewPatch makes a patch's item changes, without I/O.
func NewPatch(m *model.Model, sel selection.Selection, all []expr.Change) (*Patch, error) {
	if sel.Err != nil {
		return nil, sel.Err
	}
	x := &Patch{m: m, Identity: sel.Identity}
	x.Items = x.few[:0]
	var err error
	if x.partition, err = m.Schema.Partition(sel.Identity); err != nil {
		return nil, err
	}
	var faults Faults
	nothing := false
	for _, p := range all {
		switch {
		case p.Kind == expr.IfEntity:
			x.Entity = true
		case p.Kind == expr.Nothing && p.Err == nil:
			nothing = true
		default:
			faults = faults.and(x.change(p))
		}
	}
	switch {
	case len(faults) > 0:
		return nil, faults
	case len(x.Items) == 0 && !nothing:
		return nil, Faults{m.Errorf("the patch changes nothing: call one of its methods before Exec")}
	}
	if err := x.finish(); err != nil {
		return nil, Faults{err}
	}
	return x, nil
}

// change adds one change.
func (x *Patch) change(p expr.Change) error {
	if p.Err != nil {
		return x.m.Errorf("%w", p.Err)
	}
	it, attributes, err := x.target(&p)
	if err != nil {
		return err
	}
	at, err := x.place(it, p)
	if err != nil {
		return err
	}
	kind := write.Update
	switch p.Kind {
	case expr.Add, expr.Put:
		kind = write.Put
	case expr.RemoveElement, expr.Delete:
		kind = write.Delete
	}
	ch, err := x.at(at, it, kind)
	if err != nil {
		return err
	}
	if p.Kind == expr.Remove || p.Kind == expr.DeleteElements {
		ch.traits |= takes
	}
	if p.Upsert {
		ch.traits |= upserts
	} else if p.Kind != expr.If {
		ch.traits |= strict
	}
	switch p.Kind {
	case expr.If:
		paths := func(f expr.Field) []string { return x.pathIn(it, &p, f) }
		if name := x.emptyKey(it, p.Condition, paths); name != "" {
			return x.m.FieldErrorf(name, schema.EmptyKeyText, it.IndexOf(name))
		}
		ch.where = append(ch.where, where{
			func(e *attr.Expression) string { return p.Condition.Term(e, paths) },
			func(stored item.Attributes) error { return p.Condition.Unmet(stored, paths) }, false,
		})
	case expr.Add, expr.Put:
		if p.Kind == expr.Put {
			ch.traits |= replaces
		}
		ch.Record, ch.Pos = p.Record, p.Pos
		return fill(x.m, ch.Change, x.keyFields(), expiryOf(x.m, it, nil, p.Record), taken{})
	case expr.RemoveElement, expr.Delete:
	case expr.Set, expr.Remove:
		if len(attributes) != 1 || len(x.below(it, &p)) == 0 {
			return x.set(ch, p, attributes)
		}
		return x.operate(ch, p, attributes[0])
	default:
		return x.operate(ch, p, attributes[0])
	}
	return nil
}

// set adds attributes that are set or removed, and with a field that sets the item's
// expiry that.
func (x *Patch) set(ch *PatchItem, p expr.Change, attributes []int) error {
	m, it := x.m, ch.Item
	var rec any
	if p.Kind == expr.Set {
		rec = x.patched(it, p)
	}
	for _, i := range attributes {
		a := it.Attributes[i]
		var v types.AttributeValue
		if rec != nil {
			var err error
			if v, err = x.encode(ch, rec, i); err != nil {
				return err
			}
		}
		if err := x.join(ch, a.Value.Name, []string{a.Name}, nil); err != nil {
			return err
		}
		ch.assign(item.Assignment{Name: a.Name, Index: i, Value: v})
		ch.dropFormer(a)
		if it.Expiry == nil || !slices.Equal(it.Expiry.Path, a.Value.Path) {
			continue
		}
		if it.ExpiryOfRoot {
			return m.FieldErrorf(a.Value.Name,
				"it is the expiry of every item, which a patch does not read: use Update")
		}
		var expiry types.AttributeValue
		if rec != nil {
			expiry = expiryOf(m, it, nil, rec)
		}
		if !m.Reserved.ListsExpiry(it) {
			ch.assign(m.Reserved.AssignExpiry(expiry))
		}
	}
	return nil
}

// encode returns the value of an attribute that is set.
func (x *Patch) encode(ch *PatchItem, rec any, i int) (types.AttributeValue, error) {
	if !ch.Item.Attributes[i].Large.External() {
		return encode(x.m, ch.Item, rec, i, nil)
	}
	v, err := plainly(x.m, ch.Item, rec, i)
	if err == nil && v != nil {
		v, err = ch.Change.encode(x.m, i, v)
	}
	return v, err
}

// ops are the operations of the kinds of changes.
var ops = map[expr.Kind]item.Op{
	expr.Set: item.OpSet, expr.SetIfAbsent: item.OpSetIfAbsent, expr.Remove: item.OpRemove,
	expr.Increment:   item.OpIncrement,
	expr.AddElements: item.OpAddElements, expr.DeleteElements: item.OpDeleteElements, expr.Append: item.OpAppend,
}

// operate adds a change of an attribute, or of a value inside it, that depends on the stored value.
func (x *Patch) operate(ch *PatchItem, p expr.Change, i int) error {
	a := ch.Item.Attributes[i]
	name := p.Field.Shown()
	o := item.Operation{
		Op: ops[p.Kind], Path: append([]string{a.Name}, x.below(ch.Item, &p)...), Value: p.Value,
		Was: a.Was, Field: name,
	}
	switch {
	case p.Unstorable != nil:
		return x.m.ValueErrorf(name, "%w", p.Unstorable)
	case a.Large != nil:
		return x.m.FieldErrorf(a.Value.Name, schema.LargeText, "replace it as a whole, or change it", "with Update")
	case x.expires(ch.Item, a):
		return x.m.FieldErrorf(a.Value.Name, "it is when the item expires: replace it as a whole")
	case p.Kind == expr.Increment:
		if len(o.Path) == 1 && (a.AV.Has("string") || a.AV.Has("nullempty")) {
			return x.m.FieldErrorf(name,
				"the stored value may not be a number, which DynamoDB would not increment: use Update")
		}
		o.Value, o.Low, o.High = &types.AttributeValueMemberN{Value: p.By}, p.Least, p.Most
		if err := attr.Check(o.Value); err != nil {
			return x.m.ValueErrorf(name, "%w", err)
		}
	case p.Kind == expr.Set && p.Value == nil:
		o.Op = item.OpRemove // the value is left out when it is stored
	case p.Kind != expr.Remove && p.Value == nil:
		return x.m.FieldErrorf(name, "the value would not be stored (omitempty): remove the field instead")
	case p.Kind == expr.AddElements || p.Kind == expr.DeleteElements:
		if t := attr.TypeName(o.Value); t != "SS" && t != "NS" && t != "BS" {
			return x.m.FieldErrorf(name, "it is stored as %s, not as a set: use Set", t)
		}
	}
	if err := x.join(ch, name, o.Path, &o); err != nil || o.Path == nil {
		return err
	}
	ch.Operations = append(ch.Operations, o)
	ch.dropFormer(a)
	return nil
}

// expires reports whether an attribute is the time to live of its item.
func (x *Patch) expires(it *schema.Item, a *schema.Attribute) bool {
	return it.Expiry != nil && slices.Equal(it.Expiry.Path, a.Value.Path)
}

// join combines an operation with an earlier one of the patch on the same path, if both have the effect of one:
// o.Path is then nil.
func (x *Patch) join(ch *PatchItem, field string, path []string, o *item.Operation) error {
	// Other changes of one value, or of values inside it, exclude each other.
	twice := func() error {
		return x.m.FieldErrorf(field, "the patch changes it twice, or it and the value around it: use one of them, "+
			"or two patches, "+
			"each with an Exec of its own")
	}
	for i := range ch.Operations {
		before := &ch.Operations[i]
		switch {
		case !overlap(before.Path, path):
		case o == nil || len(before.Path) != len(path):
			return twice()
		default:
			joined, err := before.Join(o)
			if err != nil || !joined {
				return twice()
			}
			o.Path = nil
			return nil
		}
	}
	// the set of a whole attribute
	if o == nil {
		return nil
	}
	whole := func(a item.Assignment) bool { return a.Name == path[0] }
	if slices.ContainsFunc(ch.Set, whole) || slices.ContainsFunc(ch.Remove, whole) {
		return twice()
	}
	return nil
}

// overlap reports whether one path leads to the other's value, or into it.
func overlap(a, b []string) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[:n], b[:n])
}

// dropFormer removes an attribute that is written under the names that it had before.
func (ch *PatchItem) dropFormer(a *schema.Attribute) {
	for _, name := range a.Was {
		ch.assign(item.Assignment{Name: name, Index: item.Former})
	}
}

// assign notes an attribute's new value, the last of several.
func (ch *PatchItem) assign(a item.Assignment) {
	same := func(o item.Assignment) bool { return o.Name == a.Name }
	ch.Set, ch.Remove = slices.DeleteFunc(ch.Set, same), slices.DeleteFunc(ch.Remove, same)
	if a.Value == nil {
		ch.Remove = append(ch.Remove, a)
	} else {
		ch.Set = append(ch.Set, a)
	}
}

// place returns the place of a change's item.
func (x *Patch) place(it *schema.Item, p expr.Change) (item.Place, error) {
	m := x.m
	at := m.Place(it, x.partition, key.Scalar{})
	if it.Key == nil {
		return at, nil
	}
	var err error
	if p.Values != nil {
		at.SK, err = x.elementKey(it, p.Values)
		return at, err
	}
	for _, src := range it.Key.Sources {
		if src.From == schema.FromModel && src.KeyField >= len(x.Identity) {
			return at, m.FieldErrorf(it.Name, "its key names %s, which a patch does not read: use Update", src.Text)
		}
	}
	at.SK, err = m.SortKey(model.Record{Item: it, Value: p.Record, Pos: p.Pos}, x.keyFields())
	return at, err
}

// elementKey returns the sort key of an element that a node names by its placeholders.
func (x *Patch) elementKey(it *schema.Item, placeholders []key.Value) (key.Scalar, error) {
	values := make([]key.Value, 0, len(it.Key.Sources))
	for _, src := range it.Key.Sources {
		if src.From == schema.FromModel && src.KeyField < len(x.Identity) {
			values = append(values, x.Identity[src.KeyField])
			continue
		}
		if len(placeholders) == 0 {
			return key.Scalar{},
				x.m.FieldErrorf(it.Name, "the patch names several elements: name one by its complete key")
		}
		values, placeholders = append(values, placeholders[0]), placeholders[1:]
	}
	return x.m.Render(it, values)
}

// at returns the change of a place, made if there is none yet.
func (x *Patch) at(at item.Place, it *schema.Item, kind write.Kind) (*PatchItem, error) {
	for _, ch := range x.Items {
		switch {
		case ch.Place != at:
		case ch.Kind == kind && kind == write.Update:
			return ch, nil
		default:
			return nil, x.m.FieldErrorf(it.Name, "the patch has two changes of %s that exclude each other: use two "+
				"patches, each with an Exec of its own", at)
		}
	}
	return x.add(it, at, kind), nil
}

// add adds a change of an item.
func (x *Patch) add(it *schema.Item, at item.Place, kind write.Kind) *PatchItem {
	room := &struct { // they live as long as each other
		PatchItem
		of Change
	}{}
	ch := &room.PatchItem
	ch.Change, ch.patch = room.of.start(x.m, kind, it, at), x
	ch.Unread = true
	x.Items = append(x.Items, ch)
	return ch
}

// demandOf returns the demand on an item.
func (x *Patch) demandOf(ch *PatchItem) demand {
	switch {
	case ch.Kind == write.Check && ch.Root:
		return toCheckRoot
	case ch.Kind == write.Check && ch.Item.Element():
		return toCheck
	case ch.Kind == write.Check:
		return toCheckEither
	case ch.Kind == write.Put && ch.traits&replaces != 0:
		return toReplace
	case ch.Kind == write.Put:
		return toAdd
	case ch.Kind == write.Delete:
		return toRemove
	// The root item must exist, unless the patch is an upsert.
	case ch.Root && (x.Entity || ch.traits&strict != 0):
		return toUpdateRoot
	case ch.Root:
		return toUpsertRoot
	// A change that only removes something requires the item, and so does a change of an element.
	case ch.Item.Element() || ch.traits&takes != 0:
		return toUpdate
	}
	// A fixed item that does not exist is its zero value, so a set or an increment creates it.
	return toUpsert
}

// makes reports whether an update makes the item if it is missing, by the same request.
func (ch *PatchItem) makes() bool { return ch.demand == toUpsert || ch.demand == toUpsertRoot }

// finish checks the changes, computes their sizes, and adds the condition on the entity.
func (x *Patch) finish() error {
	x.Entity = x.Entity && len(x.Items) > 0
	upsert := ""
	for _, ch := range x.Items {
		ch.External = len(Values([]*Change{ch.Change}))
		if ch.traits&upserts != 0 {
			upsert = cmp.Or(upsert, ch.Field)
		}
		if ch.Kind == write.Update && len(ch.Set)+len(ch.Remove)+len(ch.Operations) == 0 {
			ch.Kind = write.Check
		}
		ch.demand = x.demandOf(ch)
		if err := cmp.Or(x.fillKeys(ch), x.indexKeys(ch), x.size(ch)); err != nil {
			return err
		}
	}
	ofRoot := func(ch *PatchItem) bool { return ch.Root && ch.traits&upserts != 0 }
	if upsert != "" && !slices.ContainsFunc(x.Items, ofRoot) {
		return x.m.FieldErrorf(upsert, "Upsert is for a patch of the root item: leave it out (Put replaces an "+
			"element); for a counter without an entity, use a flat model")
	}
	for _, ch := range x.Items {
		r := &ch.Request
		ch.basis = basis{r.Kind, r.Put, r.Set, r.Remove, r.Defaults, r.Operations, r.NewSize, r.Unread}
		ch.learn(knowledge{})
		if err := ch.checkLocal(); err != nil {
			return err
		}
		if n := ch.Longest(); n > cost.MaxExpression {
			return x.m.FieldErrorf(ch.Field, "the patch makes an expression of %s (limit 4 KB): change fewer "+
				"fields and entries at once, or use Update", attr.Bytes(n))
		}
	}
	return nil
}

// fillKeys makes an item that Upsert may create store what the entity is known by, where
// its key holds that in part.
func (x *Patch) fillKeys(ch *PatchItem) error {
	m := x.m
	if !ch.makes() {
		return nil
	}
	if ch.Root {
		ch.Defaults = append(ch.Defaults, ch.Reserved.AssignIncarnation(x.rootToken()))
	}
	v := m.Codec.New()
	for i, o := range x.Identity[:m.Schema.Identities()] {
		if err := m.Codec.SetKeyField(v, i, o); err != nil {
			return err
		}
	}
	for i, a := range ch.Item.Attributes {
		identity := slices.ContainsFunc(m.Schema.KeyFields[:m.Schema.Identities()],
			func(o *schema.KeyField) bool { return o.Field == a.Field })
		if !identity || a.Field == nil {
			continue
		}
		value, err := encode(m, ch.Item, v, i, nil)
		if err != nil {
			return err
		}
		if value != nil {
			ch.Defaults = append(ch.Defaults, item.Assignment{Name: a.Name, Index: i, Value: value})
		}
	}
	return nil
}

// size computes the least that the item can have after the change.
func (x *Patch) size(ch *PatchItem) error {
	if ch.Kind == write.Delete || ch.Kind == write.Check {
		return nil
	}
	if ch.Kind == write.Update {
		ch.NewSize = ch.KeySize() + x.m.Reserved.VersionSize()
		for _, a := range ch.Set {
			ch.NewSize += attr.AttributeSize(a.Name, a.Value)
		}
		for i := range ch.Operations {
			ch.NewSize += ch.Operations[i].Least()
		}
	}
	ch.Unread = ch.Kind == write.Update || ch.demand != toAdd || x.m.Reserved.Expires()
	return ch.checkSize(0)
}
