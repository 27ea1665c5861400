// Package selection describes which part of an item collection an operation reads: a
// selection, as data.
package selection

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
)

// Kind is the kind of a range of sort keys.
type Kind uint8

// The kinds of ranges. One is the single item of a table without a sort key, or
// the item with the sort key Low.
const (
	All Kind = iota
	One
	Prefix
	Between
	// None is an empty range: nothing is asked.
	None
	// AtLeast is from Low on, and AtMost up to High.
	AtLeast
	AtMost
)

// Range is a range of sort keys in one partition.
type Range struct {
	Kind Kind
	// Low is the key of One, the prefix of Prefix, and the first of Between,
	// whose last is High. It is the zero Scalar for a table without a sort key.
	Low, High key.Scalar
}

// Part is a range in one table.
type Part struct {
	// Table is the index of the table in the schema.
	Table int
	key.Partition
	// Span is the time range of a part of many entities in the tables of several periods. The Period of
	// the Partition is then not yet set.
	Span  Span
	Range Range
	// Keep filters what the range holds, nil for no filter. It is for queries.
	Keep *Filter
	// In is the secondary index that the part is in, nil for the table itself. Table is the
	// index's then, PK and Range mean nothing.
	In *Inside
}

// Inside is a range in a secondary index.
type Inside struct {
	Entry *schema.Entry
	// Hash are the values of the partition key's attributes, and Equal those of the first of the
	// sort key's; Range is that of the next.
	Hash, Equal []key.Scalar
	Range       Range
	// Keep filters what the range holds, nil for no filter.
	Keep *KeepRange
}

// KeepRange keeps the items of an index range whose stored time is in a range. Derived is the position,
// in the item's Derived, of the attribute that has the time, or -1 if the item's sort key has it. Source
// is the placeholder's position in that key.
type KeepRange struct {
	Derived, Source int
	From, To        Bound
}

// Keeps reports whether an instant is in the range.
func (f *KeepRange) Keeps(t time.Time) bool { return (&Filter{From: f.From, To: f.To}).Keeps(t) }

// Selection is a part of an item collection.
type Selection struct {
	Parts []Part
	// Targets are parts that are to be resolved yet.
	Targets []Target
	// Identity are the values that the entity is known by, in the order of
	// schema.Entity.KeyFields; fewer than all for a query over several entities.
	Identity []key.Value
	// Entity reports that the selection belongs to one entity, and Whole that it is the whole entity.
	Entity, Whole bool
	// Elsewhere are the other shards that the entity may be on, from before or after their number
	// has changed.
	Elsewhere []key.Value
	// Lookup selects the entity that has a unique value, nil for a selection by key. Identity is unknown then.
	Lookup *Lookup
	// Err is the error of an invalid value. It is returned when the selection is used.
	Err error
}

// Lookup is a unique value, by its position in the entity's Uniques.
type Lookup struct {
	Unique int
	// Set sets the fields of the value in a model, to which v points.
	Set func(v any) error
}

// LookupError says that a call takes only keys.
type LookupError struct{ Label string }

func (e *LookupError) Error() string {
	return e.Label + ": a lookup by a unique value is for Load, LoadMany, Update, DeleteByKey, patches and " +
		"transactions: load the entity, and use its key"
}

// Of returns the selection of a lookup with the identity of the entity that has the value.
func (s Selection) Of(e *schema.Entity, identity []key.Value) Selection {
	s.Lookup, s.Identity, s.Err = nil, identity, s.Fault()
	return s.Resolve(e)
}

// Fault returns the error of a selection, nil for that of a lookup which a call takes.
func (s Selection) Fault() error {
	if _, ok := s.Err.(*LookupError); ok && s.Lookup != nil {
		return nil
	}
	return s.Err
}

// In returns the partition of the selection's entity.
func (s *Selection) In(e *schema.Entity) (key.Partition, error) {
	if s.Entity && len(s.Parts) > 0 && s.Parts[0].In == nil {
		return s.Parts[0].Partition, nil // it has been made before
	}
	return e.Partition(s.Identity)
}

// Contains reports whether an item's key is in the selection.
func (s *Selection) Contains(table int, sk key.Scalar) bool {
	for _, p := range s.Parts {
		if p.Table == table && p.Range.Contains(sk) {
			return true
		}
	}
	return false
}

// Contains reports whether a sort key is in the range.
func (r Range) Contains(sk key.Scalar) bool {
	switch r.Kind {
	case One:
		return r.Low == sk
	case Prefix:
		return strings.HasPrefix(sk.Text, r.Low.Text)
	case None:
		return false
	case Between:
		return key.Compare(r.Low, sk) <= 0 && key.Compare(sk, r.High) <= 0
	case AtLeast:
		return key.Compare(r.Low, sk) <= 0
	case AtMost:
		return key.Compare(sk, r.High) <= 0
	}
	return true
}

// Entity returns the selection of a whole entity, by the values of the key fields
// that identify it. With fewer values, which a flat model allows as long
// as they give the partition key, it is one of all entities that share them.
func Entity(e *schema.Entity, keyFields []key.Value) Selection {
	if e.Shards != nil && len(keyFields) < e.KeyFieldsInKey() {
		return sharded(e, keyFields)
	}
	s := Selection{Identity: keyFields, Entity: len(keyFields) == e.KeyFieldsInKey()}
	s.Whole = s.Entity
	s.inPartition(e, keyFields)
	return s
}

// inPartition adds the parts that are in the partition of the key fields' values.
func (s *Selection) inPartition(e *schema.Entity, keyFields []key.Value) {
	at, err := e.Partition(keyFields)
	if err != nil {
		s.Err = err
		return
	}
	var span Span
	if !s.Entity {
		span = spread(e, keyFields, &at)
	}
	for _, t := range e.Tables {
		if !s.Entity && t != e.Root.Table {
			continue // many entities are found by their roots
		}
		s.inTable(e, t, Part{Table: t.Index, Partition: at, Span: span})
	}
}

// inTable adds the parts of a table that an entity's items are in, in one partition.
func (s *Selection) inTable(e *schema.Entity, t *schema.Table, in Part) {
	add := func(r Range) {
		in.Range = r
		s.Parts = append(s.Parts, in)
	}
	var first *schema.Item
	n := 0
	for _, it := range e.Items {
		if it.Table == t {
			first, n = cmp.Or(first, it), n+1
		}
	}
	switch {
	case n == 0:
	case t.Range == "":
		add(Range{Kind: One})
	case e.Flat:
		for _, r := range flatRanges(e, t, s.Identity, &s.Err) {
			add(r)
		}
	case n == 1 && !first.Element():
		sk, err := e.SortKey(first, s.Identity)
		if err != nil {
			s.Err = err
		}
		add(Range{Kind: One, Low: sk})
	default:
		add(Range{Kind: All})
	}
}

// flatRanges returns the ranges of an entity of a flat model in a table: under its prefixes.
// If an item's key is such a prefix, the key is a range too.
func flatRanges(e *schema.Entity, t *schema.Table, keyFields []key.Value, fail *error) []Range {
	if len(keyFields) < e.KeyFieldsInKey() {
		return []Range{rootsRange(e)}
	}
	var out []Range
	under := map[string]bool{}
	for _, it := range e.Items {
		switch {
		case it.Table != t:
		case e.PrefixParts(it) == len(it.Key.Template.Parts):
			sk, err := e.SortKey(it, keyFields)
			if err != nil {
				*fail = err
			}
			out = append(out, Range{Kind: One, Low: sk})
		case !under[it.Prefix]:
			under[it.Prefix] = true
			prefix, err := e.EntityPrefix(it, keyFields)
			if err != nil {
				*fail = err
			}
			out = append(out, Range{Kind: Prefix, Low: key.Scalar{Type: 'S', Text: prefix}})
		}
	}
	return out
}

// rootsRange returns the range of the roots of a partition, and of all keys with their prefix.
func rootsRange(e *schema.Entity) Range {
	if e.Scattered {
		if text := e.Root.Key.Template.LiteralPrefix(); text != "" {
			return Range{Kind: Prefix, Low: key.Scalar{Type: 'S', Text: text}}
		}
	}
	return Range{Kind: All}
}

// Join returns the selection of both. Both are of the same entity.
func (s Selection) Join(t Selection) Selection {
	switch {
	case s.Err != nil:
		return s
	case t.Err != nil:
		return t
	case s.Lookup != t.Lookup && s.Lookup != nil && t.Lookup != nil:
		s.Err = errors.New("the selections are of two lookups: make the lookup once, and join parts of it")
		return s
	case !sameEntity(s.Identity, t.Identity), s.Lookup != t.Lookup:
		s.Err = errors.New("the selections are of different entities: load them one by one")
		return s
	}
	joined := s
	if len(s.Parts) == 0 {
		joined.Parts = slices.Clip(t.Parts)
	} else {
		joined.Parts = slices.Clone(s.Parts)
		for _, p := range t.Parts {
			if !slices.Contains(s.Parts, p) {
				joined.Parts = append(joined.Parts, p)
			}
		}
	}
	joined.Targets = append(slices.Clone(s.Targets), t.Targets...)
	joined.Whole = s.Whole || t.Whole
	return joined
}

func sameEntity(a, b []key.Value) bool {
	return slices.EqualFunc(a, b, key.Value.Equal)
}

// From returns what of a range does not come before a key.
func (r Range) From(low key.Scalar) Range {
	switch {
	case r.Kind == All:
		return Range{Kind: AtLeast, Low: low}
	case r.Kind == Prefix && key.Compare(low, r.Low) > 0:
		r = Range{Kind: Between, Low: low, High: r.last()}
	case r.Kind == One && key.Compare(r.Low, low) < 0:
		return Range{Kind: None}
	case (r.Kind == Between || r.Kind == AtLeast) && key.Compare(low, r.Low) > 0:
		r.Low = low
	case r.Kind == AtMost:
		r = Range{Kind: Between, Low: low, High: r.High}
	}
	return r.orNone()
}

// UpTo returns what of a range does not come behind a key.
func (r Range) UpTo(high key.Scalar) Range {
	switch {
	case r.Kind == All:
		return Range{Kind: AtMost, High: high}
	case r.Kind == Prefix && key.Compare(high, r.last()) < 0:
		r = Range{Kind: Between, Low: r.Low, High: high}
	case r.Kind == One && key.Compare(r.Low, high) > 0:
		return Range{Kind: None}
	case (r.Kind == Between || r.Kind == AtMost) && key.Compare(high, r.High) < 0:
		r.High = high
	case r.Kind == AtLeast:
		r = Range{Kind: Between, Low: r.Low, High: high}
	}
	return r.orNone()
}

// last returns what all keys of a prefix come before.
func (r Range) last() key.Scalar {
	return key.Scalar{Type: r.Low.Type, Text: r.Low.Text + "\U0010FFFF"}
}

// orNone is the range, or none where it ends before it begins.
func (r Range) orNone() Range {
	if r.Kind == Between && key.Compare(r.High, r.Low) < 0 {
		return Range{Kind: None}
	}
	return r
}

// Common returns what all keys of a range begin with.
func (r Range) Common() string {
	if r.Kind == Prefix {
		return r.Low.Text
	}
	n := 0
	for n < min(len(r.Low.Text), len(r.High.Text)) && r.Low.Text[n] == r.High.Text[n] {
		n++
	}
	return r.Low.Text[:n]
}
