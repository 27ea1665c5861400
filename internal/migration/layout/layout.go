// Package layout converts one large item of an entity into the items of a model's layout, and back. It
// works on attribute values, with the layout as data (the lock file). It knows no Go types, and keeps
// attributes that belong to no field. It sends no requests.
//
// A monolith is the encoding of a value of the model by attributevalue. It has an attribute for each
// field, a map for a struct, and a list or map for a slice or map. The root keeps a residue
// ([schema.Moved]) of everything that the items and their keys cannot represent. This is the order of a
// list, NULL against an empty list, and attributes in addition to the fields of a struct. So
// [Layout.Join] returns exactly the input of [Layout.Split].
package layout

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
)

// Layout is a model's layout, ready to use.
type Layout struct {
	schema.Layout
	Reserved item.Reserved
	// Kinds are the kinds of items; Root is that of the root.
	Kinds []*Kind
	Root  *Kind
	pk    template
	// top are the attributes of a monolith that fields claim.
	top map[string]bool
}

// Kind is a kind of item.
type Kind struct {
	*schema.LayoutItem
	// Table is the index of its table.
	Table int
	// key is nil in a table without a sort key.
	key *template
	// in is the attribute of the monolith that holds the struct which the item consists of, "" where
	// its attributes are the model's, or of several structs.
	in     string
	listed map[string]bool
	// keys put its items into secondary indexes.
	keys []*indexKey
}

// template is a key with the sources of its placeholders.
type template struct {
	*key.Template
	from []source
}

// source is the source of a placeholder's value.
type source struct {
	from, attribute, field string
	kind                   key.Kind
	// len is the length of an array of bytes, 0 for a slice.
	len int
	// unix, text: a time is stored as a number of seconds, and a number as text.
	unix, text bool
}

// New makes a layout ready. The error says what of it cannot be migrated by data alone.
func New(l schema.Layout) (*Layout, error) {
	x := &Layout{Layout: l, top: map[string]bool{}, Reserved: item.Reserved{
		Version: l.Version, State: l.State, Incarnation: l.Incarnation, Moved: l.Moved,
	}}
	if err := x.supported(); err != nil {
		return nil, fmt.Errorf("%s: %w", l.Model, err)
	}
	var errs []error
	read := func(k *schema.LayoutKey, attributeType string) *template {
		t, err := readTemplate(k, attributeType, l.Delim[0])
		errs = append(errs, err)
		return t
	}
	if pk := read(&l.PartitionKey, l.Tables[0].HashType); pk != nil {
		x.pk = *pk
	}
	for i := range l.Items {
		it := &x.Layout.Items[i]
		k := &Kind{LayoutItem: it, listed: map[string]bool{}}
		k.Table = max(0, slices.IndexFunc(l.Tables, func(t schema.LayoutTable) bool { return t.Name == it.Table }))
		if it.SortKey != nil {
			k.key = read(it.SortKey, l.Tables[k.Table].RangeType)
		}
		x.claim(k)
		x.Kinds = append(x.Kinds, k)
		if it.Root {
			x.Root = k
		}
	}
	errs = append(errs, x.indexed())
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("%s: %w", l.Model, err)
	}
	for _, s := range x.pk.from {
		x.top[s.attribute] = true
	}
	return x, x.checkIdentities()
}

// checkIdentities requires that the keys of the items in one partition identify their entity. Each key
// has in full the fields that the root's key has beyond the partition key.
func (x *Layout) checkIdentities() error {
	if x.top[x.Version] {
		return fmt.Errorf("%s: the field %s has the name of the library's version of monoliths: rename it",
			x.Model, x.Version)
	}
	names, _ := x.identities()
	for _, name := range names {
		if x.pk.names(name) {
			continue
		}
		for _, k := range x.Kinds {
			if k.key == nil || !k.key.names(name) {
				return fmt.Errorf("%s: the value of %[3]s cannot be read back from the keys of %[2]s, so that its "+
					"entity is unknown: write it in full there", x.Model, k.Name, name)
			}
		}
	}
	return nil
}

// names reports whether a key gives a field of the model back in full.
func (t *template) names(attribute string) bool {
	for i, s := range t.from {
		if s.from == "model" && s.attribute == attribute && t.lossless(i) {
			return true
		}
	}
	return false
}

// supported refuses what a monolith cannot become by data alone.
func (x *Layout) supported() error {
	switch {
	case len(x.Delim) != 1 || len(x.Tables) == 0 || len(x.Items) == 0:
		return errors.New("the layout is incomplete: run itemize gen")
	case x.Version == "":
		return errors.New("the model has noversion, but a migration needs versions: remove it")
	case x.Shards != nil:
		return errors.New("the model is sharded, which a migration does not support: load its entities with BulkLoad")
	case slices.ContainsFunc(x.Tables, func(t schema.LayoutTable) bool { return strings.Contains(t.Name, "{") }):
		return errors.New("the model has rotating tables, which a migration does not support: load its entities " +
			"with BulkLoad")
	case len(x.Unique) > 0:
		return fmt.Errorf("the model has unique values (%s), whose guards a migration does not write: add unique "+
			"after "+
			"the migration, and run itemize unique run", x.Unique[0].Name)
	case slices.ContainsFunc(x.Items, func(it schema.LayoutItem) bool {
		return slices.ContainsFunc(it.Attributes, schema.LayoutAttribute.IsLarge)
	}):
		return errors.New("the model has large values (compress, chunk, s3=), which a migration does not support: " +
			"add these tags after the migration")
	case !slices.ContainsFunc(x.Items, func(it schema.LayoutItem) bool { return it.Root }):
		return errors.New("the layout has no root: run itemize gen")
	}
	return nil
}

func readTemplate(k *schema.LayoutKey, attributeType string, delim byte) (*template, error) {
	t, err := k.Read(attributeType, delim)
	if err != nil {
		return nil, err
	}
	x := &template{Template: t}
	n := 0
	for _, p := range t.Parts {
		if p.Format.Kind == key.Literal {
			continue
		}
		l := k.Placeholders[n]
		s := source{
			from: l.From, attribute: cmp.Or(l.Attribute, l.Field), field: l.Field, kind: p.Format.Value, len: l.Len,
		}
		s.unix, s.text = slices.Contains(l.Options, "unixtime"), slices.Contains(l.Options, "string")
		x.from = append(x.from, s)
		n++
	}
	return x, nil
}

// claim notes which attributes of a monolith the items of a kind take.
func (x *Layout) claim(k *Kind) {
	if k.key != nil {
		for _, s := range k.key.from {
			if s.from == "model" {
				x.top[s.attribute] = true
			}
		}
	}
	for _, a := range k.Attributes {
		for _, name := range append([]string{a.Name}, a.Was...) {
			k.listed[name] = true
		}
	}
	if k.element() {
		x.top[k.From] = true
		return
	}
	for i, a := range k.Attributes {
		if i == 0 {
			k.in = a.In
		}
		if a.In != k.in {
			k.in = ""
		}
		if a.In != "" {
			x.top[a.In] = true
			continue
		}
		for _, name := range append([]string{a.Name}, a.Was...) {
			x.top[name] = true
		}
	}
}

func (k *Kind) element() bool { return k.Kind != "fixed" }

// structs are the structs of the monolith whose attributes are on items of the kind, in their order.
func (k *Kind) structs() []string {
	var all []string
	for _, a := range k.Attributes {
		if a.In != "" && !slices.Contains(all, a.In) {
			all = append(all, a.In)
		}
	}
	return all
}

// Item is an item of a collection.
type Item struct {
	Kind       *Kind
	PK, SK     key.Scalar
	Attributes item.Attributes
}

// Match returns the kind of the item with a sort key in a table, nil for none.
func (x *Layout) Match(table int, sk key.Scalar) *Kind {
	for _, k := range x.Kinds {
		if k.Table == table && (k.key == nil || k.key.Parse(sk, make([]key.Value, len(k.key.from)))) {
			return k
		}
	}
	return nil
}

// problem says what of a monolith cannot be moved.
func problem(attribute, format string, args ...any) error {
	return &Problem{Attribute: attribute, Reason: fmt.Sprintf(format, args...)}
}

// Problem is why a monolith cannot be moved.
type Problem struct {
	// Attribute is an attribute of the monolith, with the path inside it: Wishes[3].AddedAt.
	Attribute, Reason string
	// More is the number of further elements with the same problem.
	More int
}

// Error returns the attribute, the number of further elements with the same problem, and the reason.
func (p *Problem) Error() string {
	if p.More > 0 {
		return fmt.Sprintf("%s and %d more: %s", p.Attribute, p.More, p.Reason)
	}
	return p.Attribute + ": " + p.Reason
}

// position matches the position of an element in the path of an attribute, or its key.
var position = regexp.MustCompile(`\[(\d+|"(\\.|[^"\\])*")\]`)

// Summary shortens an error of [Layout.Split]: elements with the same problem are counted, and the first one is named.
func Summary(err error) error {
	all, several := err.(interface{ Unwrap() []error })
	if !several {
		return err
	}
	var out []error
	first := map[string]*Problem{}
	seen := map[string]bool{}
	for _, err := range all.Unwrap() {
		p, ok := err.(*Problem)
		if !ok {
			out = append(out, err)
			continue
		}
		if seen[p.Error()] {
			continue
		}
		seen[p.Error()] = true
		all := position.ReplaceAllString(p.Attribute, "[]") + ": " + p.Reason
		if same := first[all]; same != nil {
			same.More++
			continue
		}
		one := &Problem{Attribute: p.Attribute, Reason: p.Reason}
		first[all] = one
		out = append(out, one)
	}
	return errors.Join(out...)
}

func null(v types.AttributeValue) bool {
	_, ok := v.(*types.AttributeValueMemberNULL)
	return ok
}

// Claims reports whether a field of the model claims an attribute of the monolith.
func (x *Layout) Claims(name string) bool { return x.top[name] }

// Tops are the attributes of a monolith that fields claim, in no order.
func (x *Layout) Tops() []string { return slices.Collect(maps.Keys(x.top)) }

// identities returns the fields of the model in the keys of the root, as attributes of a monolith, and
// which of them the keys have in full.
func (x *Layout) identities() (names []string, identifies map[string]bool) {
	identifies = map[string]bool{}
	for _, t := range []*template{&x.pk, x.Root.key} {
		if t == nil {
			continue
		}
		for i := range t.from {
			name := t.from[i].attribute
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
			identifies[name] = identifies[name] || t.lossless(i)
		}
	}
	return names, identifies
}
