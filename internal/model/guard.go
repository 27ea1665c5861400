package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/selection"
)

// A guard is the item that reserves a unique value for one entity. Its key is made of the value, and its attributes
// name the owner: the root item, and the incarnation of the entity. docs/format.md describes it.

const (
	guardSort  = "guard"
	noteSort   = "note"
	ownerPK    = "~pk"
	ownerSK    = "~sk"
	ownerTable = "~table" // of a guard in another table than its owner's
	// maxGuarded is the largest value in a guard's key, in bytes. A larger one is replaced by its hash.
	maxGuarded = 1000
)

// Owner is the entity of a guard: its root item, and its incarnation.
type Owner struct {
	Root        item.Place
	Incarnation types.AttributeValue
}

// Same reports whether two owners are one incarnation of one entity.
func (o Owner) Same(p Owner) bool {
	return o.Root.Table.Name == p.Root.Table.Name && o.Root.PK == p.Root.PK && o.Root.SK == p.Root.SK &&
		attr.Same(o.Incarnation, p.Incarnation)
}

// IsGuardOf reports whether a partition key is that of a guard of a unique value, by its name.
func IsGuardOf(pk key.Scalar, name string) bool {
	return pk.Type == 'S' && strings.HasPrefix(pk.Text, schema.GuardPrefix+name+"#")
}

// NotePlace returns the place of the note of a unique value, by its name, in its table of guards.
func NotePlace(t *item.Table, name string) item.Place {
	return reservedPlace(t, schema.GuardPrefix+name, noteSort)
}

// reservedPlace returns the place of an item of the library.
func reservedPlace(t *item.Table, pk, sk string) item.Place {
	at := item.Place{Table: t, PK: key.Scalar{Type: 'S', Text: pk}}
	if t.Range != "" {
		at.SK = key.Scalar{Type: 'S', Text: sk}
	}
	return at
}

// IsGuard reports whether a partition key is that of a guard.
func IsGuard(pk key.Scalar) bool {
	return pk.Type == 'S' && strings.HasPrefix(pk.Text, schema.GuardPrefix)
}

// GuardTable returns the table of the guards of a unique value.
func (m *Model) GuardTable(u *schema.Unique) *item.Table {
	if u.Table == "" {
		return m.Tables[m.Root().Table.Index]
	}
	return m.GuardTables[u.Table]
}

// NameGuardTable sets the real name of a table that has guards alone.
func (m *Model) NameGuardTable(declared, name string) {
	if m.GuardTables == nil {
		m.GuardTables = map[string]*item.Table{}
	}
	m.GuardTables[declared] = &item.Table{Name: name, Hash: "PK", Index: -1}
}

// Guard returns the place of the guard of the unique value that a root item with these attributes has; ok is false if a
// part of the value is empty.
func (m *Model) Guard(u *schema.Unique, root item.Attributes) (at item.Place, ok bool, err error) {
	var texts []string
	for n, i := range u.Attributes {
		text, err := m.normal(u, i, root[m.Root().Attributes[i].Name])
		if err != nil {
			return at, false, m.ValueErrorf(m.Schema.Guarded(u)[n].Value.Name, "%w", err)
		}
		if text == "" {
			return at, false, nil
		}
		texts = append(texts, escaped(text))
	}
	value := strings.Join(texts, "#")
	if len(value) > maxGuarded {
		sum := sha256.Sum256([]byte(value))
		value = "~" + hex.EncodeToString(sum[:])
	}
	t := m.GuardTable(u)
	at = reservedPlace(t, schema.GuardPrefix+u.Name+"#"+value, guardSort)
	if err := at.PK.CheckSize(key.MaxPartition); err != nil {
		return at, false, m.ValueErrorf(m.Schema.Guarded(u)[0].Value.Name, "its guard: %w", err)
	}
	return at, true, nil
}

// escaped escapes a text as keys do, with the delimiter #.
func escaped(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c == '%' || c == '#' || c == '~' && i == 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// normal returns the text by which the stored value of an attribute of the root item is compared, "" for an empty one.
func (m *Model) normal(u *schema.Unique, i int, v types.AttributeValue) (text string, err error) {
	a := m.Root().Attributes[i]
	t := a.Value.Type
	if t.Kind == schema.Pointer {
		t = t.Elem
	}
	switch v := v.(type) {
	case nil, *types.AttributeValueMemberNULL:
		return "", nil
	case *types.AttributeValueMemberS:
		text = v.Value
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil && t.Time {
			if text = at.UTC().Format(time.RFC3339Nano); at.IsZero() {
				text = ""
			}
		} else if t.Numeric() { // the option string
			text = attr.Canonical(text)
		}
	case *types.AttributeValueMemberN:
		if text = attr.Canonical(v.Value); t.Time && text == zeroSeconds {
			text = ""
		}
	case *types.AttributeValueMemberB:
		if text = hex.EncodeToString(v.Value); text != "" {
			text = "0x" + text
		}
	default:
		if !t.Normal {
			return "", fmt.Errorf("a value of type %s cannot be unique: store text, a number or bytes",
				attr.TypeName(v))
		}
	}
	if t.Normal {
		if text, err = m.normalOf(i, v); err != nil {
			return "", err
		}
		if !utf8.ValidString(text) {
			return "", fmt.Errorf("the method Normal of %s returns invalid UTF-8: return text", t.Name)
		}
	}
	if u.Fold && (t.Normal || t.Kind == schema.String && !t.Number) {
		text = strings.Map(folded, text)
	}
	return text, nil
}

// zeroSeconds is the zero time in epoch seconds.
var zeroSeconds = fmt.Sprint(time.Time{}.Unix())

// normalOf returns the result of the method Normal of a value, as it is or will be stored.
func (m *Model) normalOf(i int, v types.AttributeValue) (text string, err error) {
	record, rec := m.Codec.Record(m.Root().Index), m.Codec.New()
	if err := record.Decode(rec, i, attr.Stored(v)); err != nil {
		return "", fmt.Errorf("the value cannot be read, so that its normal form is unknown: %w", err)
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the method Normal of %s panics: fix it", m.Root().Attributes[i].Value.Type.Name)
		}
	}()
	for p := reflect.ValueOf(record.Field(rec, i)); p.IsValid() && !p.IsZero(); p = p.Elem() {
		if n, ok := p.Interface().(interface{ Normal() string }); ok {
			return n.Normal(), nil
		}
		if p.Kind() != reflect.Pointer {
			break
		}
	}
	return "", nil
}

// folded returns one character for all that simple case folding makes equal.
func folded(r rune) rune {
	if unicode.SimpleFold(r) == r {
		return r
	}
	return unicode.ToLower(unicode.ToUpper(r))
}

// GuardItem returns the guard of an owner, without a version.
func (m *Model) GuardItem(at item.Place, o Owner) item.Attributes {
	g := at.Key()
	g[ownerPK] = attr.ValueOf(o.Root.PK)
	if o.Root.Table.Range != "" {
		g[ownerSK] = attr.ValueOf(o.Root.SK)
	}
	if o.Root.Table.Name != at.Table.Name {
		g[ownerTable] = &types.AttributeValueMemberS{Value: o.Root.Table.Name}
	}
	if o.Incarnation != nil {
		m.Reserved.AssignIncarnation(o.Incarnation).Into(g)
	}
	return g
}

// GuardOwner returns the owner that a guard names, nil if it names none. A guard of another model, or of another table
// with the same table of guards, is an error: to judge it free would take a value from an entity.
func (m *Model) GuardOwner(u *schema.Unique, guard item.Attributes) (*Owner, error) {
	root := m.Tables[m.Root().Table.Index]
	o := &Owner{Root: item.Place{Table: root}, Incarnation: m.Reserved.Header(guard).Incarnation}
	if of, ok := guard[ownerTable].(*types.AttributeValueMemberS); ok && of.Value != root.Name {
		return nil, m.Errorf("the table of guards %s has guards of entities in %s too: give each table its own "+
			"(guards=), or delete those that stayed with unique.Drop", m.GuardTable(u).Name, of.Value)
	}
	var ok bool
	if o.Root.PK, ok = attr.ScalarOf(guard[ownerPK]); !ok {
		return nil, nil
	}
	if root.Range != "" {
		if o.Root.SK, ok = attr.ScalarOf(guard[ownerSK]); !ok {
			return nil, nil
		}
	}
	if _, ok := m.RootIdentity(o.Root); !ok {
		return nil, m.Errorf("the guards named %s are of another model too: give one of the two unique values another "+
			"name (as=)", u.Name)
	}
	return o, nil
}

// RootIdentity returns the identity of the entity with a root item at a place; ok is false for the place of another
// item.
func (m *Model) RootIdentity(at item.Place) (identity []key.Value, ok bool) {
	img := item.Image{Place: at}
	if m.match(&img, &Room{}); img.Kind != m.Root() {
		return nil, false
	}
	return m.Whose(&img)
}

// SelectUnique returns the selection of the entity that has a unique value.
func (m *Model) SelectUnique(fields string, values []any) selection.Selection {
	var names []string
	asked := strings.ReplaceAll(fields, " ", "")
	for i, u := range m.Schema.Uniques {
		name := m.Schema.FieldNames(u)
		if names = append(names, name); name != asked && u.Written != asked {
			continue
		}
		if len(values) != len(u.Attributes) {
			return selection.Selection{Err: m.Errorf("Unique(%q) takes %d values, and got %d: pass one for each field",
				fields,
				len(u.Attributes), len(values))}
		}
		return selection.Selection{
			Targets: []selection.Target{{Kind: selection.TargetWhole}},
			Lookup:  &selection.Lookup{Unique: i, Set: func(v any) error { return m.setUnique(u, v, values) }},
		}
	}
	cure := "the unique values are " + strings.Join(names, "; ")
	if names == nil {
		cure = "add unique to the tag of a field"
	}
	return selection.Selection{Err: m.Errorf("Unique: no unique value %q: %s", fields, cure)}
}

// setUnique sets the fields of a unique value in a model.
func (m *Model) setUnique(u *schema.Unique, v any, values []any) error {
	record := m.Codec.Record(m.Root().Index)
	for n, i := range u.Attributes {
		null := &types.AttributeValueMemberNULL{Value: true}
		_ = record.Decode(v, i, null) // makes the structs on the way
		to := reflect.ValueOf(record.Field(v, i)).Elem()
		is := reflect.ValueOf(values[n])
		if to.Kind() == reflect.Pointer && is.IsValid() && is.Type() != to.Type() {
			to.Set(reflect.New(to.Type().Elem()))
			to = to.Elem()
		}
		if !is.IsValid() || !is.CanConvert(to.Type()) || is.Kind() != to.Kind() && !isSame(is.Kind(), to.Kind()) {
			return m.Errorf("the value of %s has the type %T: pass a %s", m.Root().Attributes[i].Value.Name, values[n],
				to.Type())
		}
		if to.Set(is.Convert(to.Type())); isNumber(to.Kind()) &&
			is.Equal(is) && !is.Equal(to.Convert(is.Type())) || // NaN is not equal to itself, and refused later
			isNegative(is) != isNegative(to) { // two 64-bit integers with the same bits
			return m.Errorf("the value of %s does not fit a %s", m.Root().Attributes[i].Value.Name, to.Type())
		}
	}
	return nil
}

// isNumber reports whether a conversion to a kind may not keep the value.
func isNumber(k reflect.Kind) bool { return k >= reflect.Int && k <= reflect.Float64 }

func isNegative(v reflect.Value) bool { return v.CanInt() && v.Int() < 0 }

// isSame reports whether two kinds are both of integers.
func isSame(a, b reflect.Kind) bool {
	integer := func(k reflect.Kind) bool { return k >= reflect.Int && k <= reflect.Uint64 }
	return integer(a) && integer(b)
}

// SomeIdentity returns an identity for plans of entities whose keys are unknown.
func (m *Model) SomeIdentity() []key.Value {
	all := make([]key.Value, m.Schema.Identities())
	for i := range all {
		all[i] = key.OfString("?")
		k, source := m.Schema.KeyOf(i)
		switch k.Format(source).Value {
		case key.Int:
			all[i] = key.OfInt(1)
		case key.Uint:
			all[i] = key.OfUint(1)
		case key.Time:
			all[i] = key.OfTime(time.Unix(0, 0))
		case key.Bytes:
			all[i] = key.OfBytes([]byte("?"))
		case key.Number:
			all[i] = key.OfNumber("1")
		}
	}
	if s := m.Schema.Shards; s != nil {
		all = append(all, schema.ShardOf(s.Most()))
	}
	return all
}

// Holds reports whether the owner of a guard, who may have expired, has the value, by its root item, nil for none.
func (m *Model) Holds(u *schema.Unique, guard item.Place, owner Owner, root *item.Image) bool {
	if root == nil || !root.Header.Live() || !attr.Same(root.Header.Incarnation, owner.Incarnation) {
		return false
	}
	at, ok, err := m.Guard(u, root.Attributes())
	return err == nil && ok && at.PK == guard.PK
}

// SameEntity reports whether two root items are of one entity. While the number of shards changes, they may be on two
// of its shards: an insert requires that the entity is not on the other one.
func (m *Model) SameEntity(a, b item.Place) bool {
	if a == b || !m.IsResharding() {
		return a == b
	}
	one, ok := m.RootIdentity(a)
	two, is := m.RootIdentity(b)
	n := m.Schema.Identities()
	return ok && is && slices.EqualFunc(one[:n], two[:n], key.Value.Equal)
}

// UniqueValues returns the parts of a unique value as a root item stores them.
func (m *Model) UniqueValues(u *schema.Unique, root item.Attributes) (all []item.Assignment) {
	for n, a := range m.Schema.Guarded(u) {
		all = append(all, item.Assignment{Name: a.Name, Index: u.Attributes[n], Value: root[a.Name]})
	}
	return all
}

// OwnedBy requires that a guard names an owner.
func (m *Model) OwnedBy(o Owner) attr.Condition {
	return func(x *attr.Expression) string {
		text := x.Name(ownerPK) + " = " + x.Value(attr.ValueOf(o.Root.PK))
		if o.Root.Table.Range != "" {
			text += " AND " + x.Name(ownerSK) + " = " + x.Value(attr.ValueOf(o.Root.SK))
		}
		return text + " AND " + m.Reserved.IncarnationIs(x, o.Incarnation)
	}
}

// FreeOrOwnedBy requires that a guard is missing, or names one of some owners.
func (m *Model) FreeOrOwnedBy(at item.Place, owners []*Owner) attr.Condition {
	return func(x *attr.Expression) string {
		text := "(attribute_not_exists(" + x.Name(at.Table.Hash) + ")"
		for _, o := range owners {
			text += " OR " + m.OwnedBy(*o)(x)
		}
		return text + ")"
	}
}
