package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/key"
)

// Identities returns how many of the key fields an entity is known by; they
// are the first ones.
func (e *Entity) Identities() int {
	n := 0
	for _, o := range e.KeyFields {
		if o.Identity {
			n++
		}
	}
	return n
}

// Partition returns the partition of the key fields' values. A partition key that is too long is
// an error, and so is a time that no table's name can have.
func (e *Entity) Partition(keyFields []key.Value) (at key.Partition, err error) {
	if at.PK, err = e.PartitionKey(keyFields); err != nil {
		return at, err
	}
	if err := at.PK.CheckSize(key.MaxPartition); err != nil {
		return at, e.Unstorable(e.PK, err)
	}
	if at.PK.Type == 'S' && strings.HasPrefix(at.PK.Text, GuardPrefix) {
		return at, e.Unstorable(e.PK, errGuardKey)
	}
	p := e.Periods
	if p == nil || p.Field >= len(keyFields) || keyFields[p.Field].Kind == key.None {
		return at, nil
	}
	if at.Period, err = p.Of(keyFields[p.Field]); err != nil {
		return at, &Unstorable{Label: e.Label(), Field: e.KeyFields[p.Field].Name, In: p.Placeholder, Err: err}
	}
	return at, nil
}

// PartitionKey returns the partition key of the key fields' values.
func (e *Entity) PartitionKey(keyFields []key.Value) (key.Scalar, error) {
	var room [4]key.Value
	values, err := e.keyFieldValues(e.PK, keyFields, room[:0])
	if err != nil {
		return key.Scalar{}, err
	}
	pk, err := e.PK.Template.Render(values)
	return pk, e.keyError(e.PK, err)
}

// GuardPrefix begins the partition keys of guards of unique values.
const GuardPrefix = "~unique#"

var errGuardKey = errors.New("the partition key would begin with " + GuardPrefix + ", as those of guards of unique " +
	"values do: choose another value")

// SortKey returns a singleton's sort key, the zero Scalar where its table has
// none.
func (e *Entity) SortKey(it *Item, keyFields []key.Value) (key.Scalar, error) {
	if it.Key == nil {
		return key.Scalar{}, nil
	}
	var room [4]key.Value
	values, err := e.keyFieldValues(it.Key, keyFields, room[:0])
	if err != nil {
		return key.Scalar{}, err
	}
	sk, err := it.Key.Template.Render(values)
	return sk, e.keyError(it.Key, err)
}

// EntityPrefix returns the text that the sort keys of a flat model's entity
// begin with, its delimiter included.
func (e *Entity) EntityPrefix(it *Item, keyFields []key.Value) (string, error) {
	n := e.PrefixParts(it)
	values := make([]key.Value, 0, len(it.Key.Sources))
	for _, s := range it.Key.Sources {
		if s.From == FromModel && e.KeyFields[s.KeyField].Identity {
			values = append(values, keyFields[s.KeyField])
		}
	}
	b, err := it.Key.Template.Append(nil, n, values)
	return string(append(b, e.Delim)), e.keyError(it.Key, err)
}

// keyFieldValues has room for the values of most keys.
func (e *Entity) keyFieldValues(k *Key, keyFields, into []key.Value) ([]key.Value, error) {
	values := into
	for _, s := range k.Sources {
		if s.KeyField >= len(keyFields) || keyFields[s.KeyField].Kind == key.None {
			return nil, fmt.Errorf("%s: the key %q needs %s, which is missing", e.Label(), k.Text, s.Value.Name)
		}
		values = append(values, keyFields[s.KeyField])
	}
	return values, nil
}

// keyError names the model and the field that a value in a key comes from.
func (e *Entity) keyError(k *Key, err error) error {
	if err == nil {
		return nil
	}
	return e.Unstorable(k, err)
}

// Unstorable is the error of a key that a value does not give, or that is too long.
func (e *Entity) Unstorable(k *Key, err error) error {
	field := ""
	if len(k.Sources) > 0 {
		field = k.Sources[0].Value.Name
	}
	if ke, ok := err.(*key.Error); ok && ke.Index >= 0 && ke.Index < len(k.Sources) {
		field = k.Sources[ke.Index].Value.Name
	}
	return &Unstorable{Label: e.Label(), Field: field, In: k.SourceName(err), Err: err}
}

// Holds reports whether a key follows the template.
func (k *Key) Holds(s key.Scalar) bool {
	return k.Template.Parse(s, make([]key.Value, len(k.Sources)))
}

// SourceName names the placeholder that a *key.Error is about.
func (k *Key) SourceName(err error) string {
	if ke, ok := err.(*key.Error); ok && ke.Index >= 0 && ke.Index < len(k.Sources) {
		return fmt.Sprintf("%s in %q", k.Sources[ke.Index].Text, k.Text)
	}
	return fmt.Sprintf("%q", k.Text)
}

// Label is the model's name in messages.
func (e *Entity) Label() string {
	if e.Name == "" {
		return e.Tables[0].Name
	}
	return e.Type.Name
}

// Match finds the item whose template a sort key follows, and the values in the
// key; nil for none. In a table without a sort key it is the table's one item.
func (e *Entity) Match(table int, sk key.Scalar) (*Item, []key.Value) {
	return e.MatchIn(table, sk, nil, func(n int) []key.Value { return make([]key.Value, n) })
}

// MatchIn is Match with the values in memory that room gives.
// likely is tried first, nil for none: no key is one of two items.
func (e *Entity) MatchIn(table int, sk key.Scalar, likely *Item, room func(n int) []key.Value) (*Item, []key.Value) {
	if likely != nil && likely.Key != nil && likely.Table.Index == table &&
		strings.HasPrefix(sk.Text, likely.Key.Template.LiteralPrefix()) {
		if values := room(len(likely.Key.Sources)); likely.Key.Template.Parse(sk, values) {
			return likely, values
		}
	}
	for _, it := range e.Items {
		if it.Table.Index != table {
			continue
		}
		if it.Key == nil {
			return it, nil
		}
		if !strings.HasPrefix(sk.Text, it.Key.Template.LiteralPrefix()) {
			continue
		}
		values := room(len(it.Key.Sources))
		if it.Key.Template.Parse(sk, values) {
			return it, values
		}
	}
	return nil, nil
}

// IsPrefix reports whether every key of a table that begins with p has the last segment of p
// completely. That is so if p ends with the delimiter, or inside a time after a year, month, day, hour,
// minute or second.
func (e *Entity) IsPrefix(t *Table, p string) bool {
	if strings.HasSuffix(p, string(e.Delim)) {
		return true
	}
	for _, it := range e.Items {
		if it.Table == t && it.Key != nil && it.Key.Template.TimePrefix(p) {
			return true
		}
	}
	return false
}

// Format returns the format of a placeholder, by the index of its source.
func (k *Key) Format(source int) key.Format {
	n := -1
	for _, p := range k.Template.Parts {
		if p.Format.Kind != key.Literal {
			n++
		}
		if n == source {
			return p.Format
		}
	}
	return key.Format{}
}

// Gives reports whether the key has a key field in full.
func (k *Key) Gives(keyField int) bool {
	return slices.ContainsFunc(k.Sources, func(src Source) bool {
		return src.From == FromModel && src.KeyField == keyField && src.Lossless
	})
}

// Next returns the key and the placeholder behind the first parts of its template, nil for none.
func (k *Key) Next(parts int) (*Key, int) {
	if k == nil {
		return nil, 0
	}
	source := 0
	for i, p := range k.Template.Parts {
		switch {
		case p.Format.Kind == key.Literal:
		case i >= parts:
			return k, source
		default:
			source++
		}
	}
	return nil, 0
}

// Ordered reports whether the values of a placeholder sort as the keys do, so that there are ranges of them.
func (k *Key) Ordered(source int) bool {
	switch f := k.Format(source); f.Kind {
	case key.Digits, key.Sortable:
		return true
	case key.Native, key.Raw:
		last := len(k.Template.Parts) - 1
		return source == len(k.Sources)-1 && k.Template.Parts[last].Format.Kind != key.Literal
	}
	return false
}

// Begins reports whether the beginning of a placeholder's text is the beginning of keys.
func (k *Key) Begins(source int) bool {
	f := k.Format(source)
	return f.Value == key.String && (f.Kind == key.Plain || k.Ordered(source))
}

// KeyOf returns the key and the placeholder in it that hold a key field
// best: in full, if one does.
func (e *Entity) KeyOf(field int) (k *Key, source int) {
	o := e.KeyFields[field]
	return o.key, o.source
}

// finish computes properties that are needed often: the best key for each key field, keys without
// placeholders, and the items with opaque attributes.
func (e *Entity) finish() {
	keys := []*Key{e.PK}
	for _, it := range e.Items {
		for _, a := range it.Attributes {
			it.Opaque = it.Opaque || a.Opaque
			a.Distinct = a.Value.Type.distinct()
			a.Straight = a.Large == nil && !a.Value.Type.Lazy && len(a.Was) == 0
			a.Own = a.Value.Type.own(map[*Type]bool{})
			a.inKeys(it, e)
		}
		it.TextInKeys = e.PK.hasText() || it.Key.hasText()
		if it.Key == nil {
			continue
		}
		keys = append(keys, it.Key)
		it.Key.repeats()
		if len(it.Key.Sources) == 0 {
			it.Key.Fixed, _ = it.Key.Template.Render(nil)
		}
	}
	for _, k := range keys {
		for i, s := range k.Sources {
			if s.From != FromModel {
				continue
			}
			if o := e.KeyFields[s.KeyField]; o.key == nil || s.Lossless && !o.key.Sources[o.source].Lossless {
				o.key, o.source = k, i
			}
		}
	}
}

// inKeys sets InKeys.
func (a *Attribute) inKeys(it *Item, e *Entity) {
	if !a.Value.Type.Opaque() || a.Large != nil {
		return
	}
	keys := []*Key{e.PK, it.Key}
	for _, other := range e.Items {
		if !it.Element() && other != it {
			keys = append(keys, other.Key)
		}
	}
	for _, k := range keys {
		for i := 0; k != nil && i < len(k.Sources); i++ {
			src := k.Sources[i]
			ofElement := src.From == FromElement || src.From == FromSelf
			if (src.From == FromModel && !it.Element() || ofElement && k == it.Key) &&
				slices.Equal(src.Value.Path, a.Value.Path) {
				a.InKeys = append(a.InKeys, Placeholder{k, i})
			}
		}
	}
}

// repeats sets Repeats of each source.
func (k *Key) repeats() {
	for i := range k.Sources {
		src := &k.Sources[i]
		src.Repeats = !src.Lossless && slices.ContainsFunc(k.Sources, func(o Source) bool {
			return o.Lossless && o.From == src.From && o.KeyField == src.KeyField &&
				slices.Equal(o.Value.Path, src.Value.Path)
		})
	}
}

// hasText reports whether the key holds a text of MarshalText.
func (k *Key) hasText() bool {
	for i := 0; k != nil && i < len(k.Sources); i++ {
		if src := k.Sources[i]; src.From != FromShard && KeyText(src.Value.Type, k.Format(i).Value) {
			return true
		}
	}
	return false
}
