package mapper

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/codec"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/internal/selection"
)

// load reads a selection into v, a pointer to a zero model.
func (c *core) load(ctx context.Context, spec selection.Selection, v any, strong bool, t *tally) (*state, error) {
	switch {
	case spec.Err != nil:
		return nil, spec.Err
	case !spec.Entity:
		return nil, fmt.Errorf("%s: the key selects several entities: give all of %s to load one, or run a query", c.schema.Label(), identityNames(c.schema))
	}
	s := &state{core: c, spec: spec, old: c.codec.New(), rows: make([][]*row, len(c.schema.Items)), ghosts: map[place]*ghost{}}
	if err := c.setIdentity(spec, v); err != nil {
		return nil, err
	}
	var err error
	if s.pk, err = c.partitionKey(spec.Identity); err != nil {
		return nil, err
	}
	found, err := c.collect(ctx, spec, read.Options{Strong: strong}, t)
	if err != nil {
		return nil, err
	}
	if found, err = c.alive(ctx, s, found, t); err != nil {
		return nil, err
	}
	if err := c.decode(s, v, found); err != nil {
		return nil, err
	}
	return s, nil
}

// collect reads all items of a selection.
func (c *core) collect(ctx context.Context, spec selection.Selection, o read.Options, t *tally) ([]read.Found, error) {
	var found []read.Found
	var u read.Usage
	defer func() { t.read(&u) }()
	for page, err := range c.reader.Pages(ctx, spec.Parts, o, &u) {
		switch {
		case err != nil:
			return nil, err
		case found == nil:
			found = page.Items
		default:
			found = append(found, page.Items...)
		}
	}
	return found, nil
}

// rootPlace returns where the root of the entity lies.
func (c *core) rootPlace(identity []key.Value) (place, error) {
	pk, err := c.partitionKey(identity)
	if err != nil {
		return place{}, err
	}
	sk, err := c.schema.SortKey(c.schema.Root, identity)
	return place{0, pk, sk}, err
}

// alive leaves out what is stored and not there, and what matches no field. The
// error is ErrNotFound where the root was selected and is not there, or not live.
func (c *core) alive(ctx context.Context, s *state, found []read.Found, t *tally) ([]read.Found, error) {
	found, live, err := c.staged(ctx, s, found, t)
	if err != nil {
		return nil, err
	}
	rootAt, err := c.rootPlace(s.spec.Identity)
	if err != nil {
		return nil, err
	}
	if s.spec.Contains(rootAt.table, rootAt.sk) {
		if err := c.rootThere(&s.spec, c.rootAmong(found, rootAt)); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(found, func(f read.Found) bool {
		switch {
		case f.Kind == nil || !c.owned(s, &f):
			s.unknown++
		case f.Expired, !c.joined(&f, live):
			s.ghosts[place{f.Table, f.PK, f.SK}] = c.ghostOf(&f)
		default:
			return false
		}
		return true
	}), nil
}

func (c *core) rootAmong(found []read.Found, at place) *read.Found {
	for i := range found {
		if found[i].Kind == c.schema.Root && found[i].SK == at.sk {
			return &found[i]
		}
	}
	return nil
}

// joined reports whether an item is one of the live entity, as far as staged writes
// decide it.
func (c *core) joined(f *read.Found, live liveness) bool {
	return f.Kind == c.schema.Root || f.Attempt == nil || attr.Same(f.Attempt, live.attempt)
}

// staged finds out which attempt of a staged insert the live root carries, where
// items carry one. If the items may have been read before the root went live,
// when not all of them were there, they are read again, strongly.
func (c *core) staged(ctx context.Context, s *state, found []read.Found, t *tally) ([]read.Found, liveness, error) {
	rootAt, err := c.rootPlace(s.spec.Identity)
	if err != nil {
		return nil, liveness{}, err
	}
	var seen liveness // that of a root which was read before the items
	for range saveTries {
		among := c.rootAmong(found, rootAt)
		live := livenessOf(among)
		if among == nil {
			live = seen
		}
		foreign, early := c.doubts(found, among, live)
		if !foreign && !early || live.attempt != nil && attr.Same(live.attempt, seen.attempt) {
			return found, live, nil
		}
		root, err := c.readRoot(ctx, s.spec.Identity, t)
		if err != nil {
			return nil, liveness{}, err
		}
		seen = livenessOf(root)
		switch {
		case seen.attempt == nil: // not live, or not staged: nothing that carries an attempt is there
			if among != nil {
				found = c.replaceRoot(found, rootAt, root)
			}
			return found, seen, nil
		case among != nil && !early && attr.Same(live.attempt, seen.attempt), among == nil && c.old(seen):
			return found, seen, nil
		}
		if found, err = c.collect(ctx, s.spec, read.Options{Strong: true}, t); err != nil {
			return nil, liveness{}, err
		}
	}
	return nil, liveness{}, fmt.Errorf("%s: %s was inserted and deleted again and again while it was read: load it again", c.schema.Label(), c.entityName(s.spec.Identity))
}

// doubts reports whether items carry another attempt than the live root, and whether
// items of its attempt may have been read before it went live, when not all of
// them were there: not if it came with the same answer as they, or is live for long.
func (c *core) doubts(found []read.Found, root *read.Found, live liveness) (foreign, early bool) {
	for i := range found {
		switch f := &found[i]; {
		case f.Kind == c.schema.Root, f.Attempt == nil:
		case !attr.Same(f.Attempt, live.attempt):
			foreign = true
		case !c.old(live) && (root == nil || f.Answer == 0 || root.Answer != f.Answer):
			early = true
		}
	}
	return foreign, early
}

// old reports whether a root is live for so long that it is for every reader.
func (c *core) old(l liveness) bool {
	return l.attempt != nil && l.since.Before(c.now().Add(-stale))
}

// stale is an age at which a root has been live for every reader: twice as long as
// DynamoDB accepts a signature, which bounds how far clocks are apart.
const stale = 30 * time.Minute

func (c *core) replaceRoot(found []read.Found, at place, root *read.Found) []read.Found {
	found = slices.DeleteFunc(found, func(f read.Found) bool { return f.Kind == c.schema.Root && f.SK == at.sk })
	if root != nil {
		found = append(found, *root)
	}
	return found
}

func (c *core) ghostOf(f *read.Found) *ghost {
	return &ghost{size: f.Size, attempt: f.Attempt, expired: f.Expired, row: c.rowOf(f)}
}

// rootThere returns ErrNotFound, with what is pending, for a root that is not
// there or not live.
func (c *core) rootThere(spec *selection.Selection, root *read.Found) error {
	missing := &notFoundError{model: c.schema.Label(), key: c.entityName(spec.Identity)}
	switch {
	case root == nil:
		return missing
	case root.Expired:
		missing.pending = "its time to live is over"
		return missing
	}
	if st, ok := readStage(root.Item); ok {
		missing.pending = st.pending()
		return missing
	}
	return nil
}

// entityName names an entity in messages by its key values.
func (c *core) entityName(keyFields []key.Value) string {
	text := ""
	for i, v := range c.identity(keyFields) {
		if i > 0 {
			text += ", "
		}
		text += c.schema.KeyFields[i].Name + " " + v.String()
	}
	return text
}

// owned reports whether an item's key names the entity that is loaded, where it
// names fields of the owner that the selection knows.
func (c *core) owned(s *state, f *read.Found) bool {
	if f.Kind.Key == nil {
		return true
	}
	for i, src := range f.Kind.Key.Sources {
		if src.From == schema.FromModel && src.KeyField < len(s.spec.Identity) && !c.sameInKey(f.Kind.Key, i, f.Values[i], s.spec.Identity[src.KeyField]) {
			return false
		}
	}
	return true
}

// sameInKey reports whether two values give the same text at a placeholder.
func (c *core) sameInKey(k *schema.Key, source int, a, b key.Value) bool {
	f := k.Format(source)
	x, errX := f.Append(nil, a, k.Template.Delim)
	y, errY := f.Append(nil, b, k.Template.Delim)
	return errX == nil && errY == nil && string(x) == string(y)
}

// setIdentity sets the fields that the entity is known by to what its keys say:
// a date's midnight, if the key holds no more of an instant.
func (c *core) setIdentity(spec selection.Selection, v any) error {
	for i, value := range spec.Identity {
		k, source := c.schema.KeyOf(i)
		f := k.Format(source)
		text, err := f.Append(nil, value, k.Template.Delim)
		if err == nil {
			value, _ = f.Parse(string(text), k.Template.Delim)
			err = c.codec.SetKeyField(v, i, value)
		}
		if err != nil {
			return fmt.Errorf("%s.%s: %w", c.schema.Label(), c.schema.KeyFields[i].Name, err)
		}
	}
	return nil
}

// decode sets the fields of v from the items, and takes the snapshot.
func (c *core) decode(s *state, v any, found []read.Found) error {
	elements := make([][]element, len(c.schema.Items))
	rows := make([]row, len(found))
	room := c.roomFor(found)
	for i := range found {
		f, r := &found[i], &rows[i]
		c.fillRow(r, f)
		if !f.Kind.Element() {
			if err := c.decodeItem(f, v, r); err != nil {
				return err
			}
			s.rows[f.Kind.Index] = []*row{r}
			continue
		}
		free := &room[f.Kind.Index]
		rec := (*free)[0]
		*free = (*free)[1:]
		e, err := c.decodeElement(f, r, rec)
		if err != nil {
			return err
		}
		all := &elements[f.Kind.Index]
		if *all == nil {
			*all = make([]element, 0, len(found)-i)
		}
		*all = append(*all, e)
	}
	if err := c.adoptKeyFields(s, v, elements); err != nil {
		return err
	}
	if err := c.checkIdentity(s, v); err != nil {
		return err
	}
	for i, it := range c.schema.Items {
		if it.Element() {
			c.setElements(s, v, it, elements[i])
		}
	}
	c.snapshot(s, v)
	return nil
}

// checkIdentity refuses an entity whose attributes tell other values of the fields
// that it is known by than its keys do: its changes would go elsewhere.
func (c *core) checkIdentity(s *state, v any) error {
	for o := range c.schema.Identities() {
		it := c.schema.KeyFields[o].Item
		if it == nil || it.Element() || len(s.rows[it.Index]) == 0 {
			continue
		}
		value, err := c.codec.KeyField(v, o)
		if err != nil {
			return err
		}
		for _, k := range append([]*schema.Key{c.schema.PK}, it.Key) {
			for i := 0; k != nil && i < len(k.Sources); i++ {
				if src := k.Sources[i]; src.KeyField == o && !c.sameInKey(k, i, value, s.spec.Identity[o]) {
					return fmt.Errorf("%s.%s: item %s: its attribute holds %s, and its key %s: the item was not written by this model; correct one of them",
						c.schema.Label(), c.schema.KeyFields[o].Name, c.public(s.rows[it.Index][0].place), value, s.spec.Identity[o])
				}
			}
		}
	}
	return nil
}

// roomFor returns new elements for the items that are elements, by the item's index.
func (c *core) roomFor(found []read.Found) [][]any {
	counts := make([]int, len(c.schema.Items))
	for i := range found {
		if found[i].Kind.Element() {
			counts[found[i].Kind.Index]++
		}
	}
	room := make([][]any, len(counts))
	for i, n := range counts {
		if n > 0 {
			room[i] = c.codec.Elements(i).NewElements(n)
		}
	}
	return room
}

// element is a decoded element.
type element struct {
	row    *row
	rec    any
	mapKey any
	values []key.Value // of the placeholders in its key
}

// decodeItem sets an item's attributes in a record.
func (c *core) decodeItem(f *read.Found, rec any, r *row) error {
	codec := c.codec.Record(f.Kind.Index)
	any := false
	for i, a := range f.Kind.Attributes {
		value, ok := f.Item[a.Name]
		if !ok {
			continue
		}
		any = true
		if err := codec.Decode(rec, i, value); err != nil {
			return fmt.Errorf("%s.%s: item %s: attribute %q: %w", c.schema.Label(), a.Value.Name, c.public(r.place), a.Name, err)
		}
	}
	// A root is there even when it is empty, so that it does not tell whether
	// its pointer was nil.
	if f.Kind != c.schema.Root || any {
		codec.Allocate(rec)
	}
	return nil
}

// decodeElement sets an element, rec, from an item.
func (c *core) decodeElement(f *read.Found, r *row, rec any) (element, error) {
	it := f.Kind
	elements := c.codec.Elements(it.Index)
	e := element{row: r, rec: rec, values: f.Values}
	for i, src := range it.Key.Sources {
		var err error
		switch src.From {
		case schema.FromModel:
		case schema.FromMapKey:
			e.mapKey, err = elements.FromKey(f.Values[i])
		default:
			err = c.codec.Record(it.Index).SetKey(e.rec, i, f.Values[i])
		}
		if err != nil {
			return e, fmt.Errorf("%s.%s: item %s: %w", c.schema.Label(), it.Name, c.public(r.place), err)
		}
	}
	return e, c.decodeItem(f, e.rec, r)
}

// adoptKeyFields settles the fields of the owner, other than its identity, that
// element keys name. Where the field's own item was loaded, elements of another
// value are no elements of this entity; else their keys tell the value, if they
// agree.
func (c *core) adoptKeyFields(s *state, v any, elements [][]element) error {
	for o := c.schema.Identities(); o < len(c.schema.KeyFields); o++ {
		item := c.schema.KeyFields[o].Item
		loaded := item != nil && len(s.rows[item.Index]) > 0
		adopted := false
		defer func() { s.markUnread(o, !loaded && !adopted && !c.selected(s, item)) }()
		for i, it := range c.schema.Items {
			for n := 0; it.Element() && n < len(it.Key.Sources); n++ {
				if src := it.Key.Sources[n]; src.From != schema.FromModel || src.KeyField != o {
					continue
				}
				if !loaded && !adopted && len(elements[i]) > 0 {
					adopted = true
					if err := c.codec.SetKeyField(v, o, elements[i][0].values[n]); err != nil {
						return err
					}
				}
				kept, err := c.keepOwned(v, o, it, n, elements[i])
				if err != nil {
					return err
				}
				if len(kept) < len(elements[i]) && !loaded {
					return fmt.Errorf("%s.%s: the keys hold several values of %s, and which is the entity's is not loaded: select the item of %[3]s as well",
						c.schema.Label(), it.Name, c.schema.KeyFields[o].Name)
				}
				s.unknown += len(elements[i]) - len(kept)
				elements[i] = kept
			}
		}
	}
	return nil
}

// selected reports whether a singleton's place lies in the selection, so that it is
// known even where it is not there.
func (c *core) selected(s *state, it *schema.Item) bool {
	if s.spec.Whole || it == nil {
		return s.spec.Whole
	}
	sk, err := c.schema.SortKey(it, s.spec.Identity)
	return err == nil && s.spec.Contains(it.Table.Index, sk)
}

// keepOwned returns the elements whose keys hold the owner's value.
func (c *core) keepOwned(v any, o int, it *schema.Item, source int, all []element) ([]element, error) {
	value, err := c.codec.KeyField(v, o)
	if err != nil {
		return nil, fmt.Errorf("%s.%s: %w", c.schema.Label(), c.schema.KeyFields[o].Name, err)
	}
	var kept []element
	for _, e := range all {
		if c.sameInKey(it.Key, source, value, e.values[source]) {
			kept = append(kept, e)
		}
	}
	return kept, nil
}

// setElements fills a slice or map with the decoded elements, in the order of
// their keys.
func (c *core) setElements(s *state, v any, it *schema.Item, all []element) {
	slices.SortStableFunc(all, func(a, b element) int { return key.Compare(a.row.sk, b.row.sk) })
	elements := c.codec.Elements(it.Index)
	elements.Reset(v, len(all))
	rows := make([]*row, len(all))
	for i, e := range all {
		elements.Append(v, e.mapKey, e.rec)
		e.row.pos = codec.Pos{Index: i, Key: e.mapKey}
		rows[i] = e.row
	}
	s.rows[it.Index] = rows
}

// snapshot remembers the values of v as they are stored.
func (c *core) snapshot(s *state, v any) {
	c.codec.CloneKeyFields(s.old, v)
	for i, it := range c.schema.Items {
		if it.Element() {
			c.codec.Elements(i).Clone(s.old, v)
		} else {
			c.codec.Record(i).Clone(s.old, v)
		}
		for _, r := range s.rows[i] {
			rec := v
			if it.Element() {
				rec = c.codec.Elements(i).At(v, r.pos)
			}
			c.keepOpaque(it, r, rec)
		}
	}
}

// keepOpaque keeps what the record's opaque attributes encode to: that, and not
// the stored form, is what a later value is compared with.
func (c *core) keepOpaque(it *schema.Item, r *row, rec any) {
	for i, a := range it.Attributes {
		if !a.Opaque {
			continue
		}
		av, err := c.codec.Record(it.Index).Encode(rec, i)
		if err == nil {
			r.setOpaque(i, av)
		}
	}
}
