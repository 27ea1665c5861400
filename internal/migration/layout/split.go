package layout

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
)

// Collection is the items of an entity, the root first.
type Collection struct {
	PK    key.Scalar
	Items []*Item
}

// Root is the root.
func (c *Collection) Root() *Item { return c.Items[0] }

// splitter is a monolith on its way.
type splitter struct {
	*Layout
	doc     item.Attributes
	out     *Collection
	residue item.Attributes
	errs    []error
}

func (s *splitter) fault(attribute, format string, args ...any) {
	s.errs = append(s.errs, problem(attribute, format, args...))
}

// Split returns the items of a monolith, which it does not change. They lack the keys of the monolith's
// table that belong to no field, and the library's reserved attributes. The error joins a *[Problem]
// for each obstacle. [Layout.Join] of the result is exactly the monolith.
func (x *Layout) Split(doc item.Attributes) (*Collection, error) {
	s := &splitter{Layout: x, doc: doc, out: &Collection{}, residue: item.Attributes{}}
	s.partition()
	if s.errs != nil {
		return nil, errors.Join(s.errs...)
	}
	root := s.single(x.Root)
	if root == nil {
		return nil, errors.Join(s.errs...)
	}
	s.out.Items = append(s.out.Items, root)
	for _, k := range x.Kinds {
		switch {
		case k == x.Root:
		case k.element():
			s.elements(k)
		default:
			if it := s.single(k); it != nil {
				s.out.Items = append(s.out.Items, it)
			}
		}
	}
	s.rest(root)
	s.check()
	if s.errs != nil {
		return nil, errors.Join(s.errs...)
	}
	return s.out, nil
}

// Expired reports whether the time to live of a monolith's root is over, also of a monolith that cannot
// be split as a whole.
func (x *Layout) Expired(doc item.Attributes, now time.Time) bool {
	s := &splitter{Layout: x, doc: doc, out: &Collection{}, residue: item.Attributes{}}
	if s.partition(); s.errs != nil {
		return false
	}
	root := s.single(x.Root)
	return root != nil && item.Reserved{TTL: x.TTL}.Expired(root.Attributes, now)
}

// partition makes the partition key.
func (s *splitter) partition() {
	values := s.values(&s.pk, nil, nil, "")
	if values == nil {
		return
	}
	pk, err := s.pk.Render(values)
	if err == nil {
		err = pk.CheckSize(key.MaxPartition)
	}
	if err != nil {
		s.fault(s.pk.name(err, ""), "%v", err)
		return
	}
	s.out.PK = pk
}

// name is the attribute of the placeholder that an error of a key is about, in the element of a name.
func (t *template) name(err error, in string) string {
	i := 0
	var of *key.Error
	if errors.As(err, &of) && of.Index >= 0 {
		i = of.Index
	}
	switch {
	case i >= len(t.from):
		return "the key"
	case t.from[i].from == "model" || in == "":
		return t.from[i].attribute
	case t.from[i].from == "key":
		return in
	}
	return under(in, t.from[i].attribute)
}

// values returns what a key's placeholders take of the monolith and of an element: its attributes, or the
// element itself, and its key in a map. It is nil if that is impossible.
func (s *splitter) values(t *template, elem item.Attributes, self types.AttributeValue, mapKey string) []key.Value {
	values := make([]key.Value, len(t.from))
	bad := false
	for i := range t.from {
		from := &t.from[i]
		v, name := s.source(from, elem, self, mapKey)
		var err error
		if values[i], err = from.value(v); err != nil {
			bad = true
			s.fault(name, "%v", err)
		}
	}
	if bad {
		return nil
	}
	return values
}

// source returns what one placeholder takes, and its place in the monolith or the element.
func (s *splitter) source(from *source, elem item.Attributes, self types.AttributeValue,
	mapKey string,
) (v types.AttributeValue, name string) {
	switch from.from {
	case "element", "item":
		return elem[from.attribute], from.attribute
	case "self":
		return self, ""
	case "key":
		if from.kind != key.String && from.kind != key.Time {
			return &types.AttributeValueMemberN{Value: mapKey}, "its key"
		}
		return &types.AttributeValueMemberS{Value: mapKey}, "its key"
	}
	return s.doc[from.attribute], from.attribute
}

// place gives an item its sort key. in names the element, "" for a singleton.
func (s *splitter) place(it *Item, values []key.Value, in string) bool {
	it.PK = s.out.PK
	if it.Kind.key == nil {
		return true
	}
	sk, err := it.Kind.key.Render(values)
	if err == nil {
		err = sk.CheckSize(key.MaxSort)
	}
	if err != nil {
		s.fault(it.Kind.key.name(err, in), "%v", err)
		return false
	}
	it.SK = sk
	return true
}

// single makes the item of a singleton, nil where there is nothing to store.
func (s *splitter) single(k *Kind) *Item {
	it := &Item{Kind: k, Attributes: item.Attributes{}}
	var values []key.Value
	if k.key != nil {
		if values = s.values(k.key, nil, nil, ""); values == nil {
			return nil
		}
	}
	present := k == s.Root
	for _, a := range k.Attributes {
		if a.In == "" {
			present = s.take(it, s.doc, append([]string{a.Name}, a.Was...)) || present
		}
	}
	for _, name := range k.structs() {
		present = s.spread(it, name) || present
	}
	if !present || !s.place(it, values, "") {
		return nil
	}
	s.loads(it, "")
	s.add(it, it.Attributes, nil, "", "")
	return it
}

// take moves the first of several names.
func (s *splitter) take(it *Item, from item.Attributes, names []string) bool {
	for _, name := range names {
		if v := from[name]; v != nil {
			it.Attributes[name] = v
			return true
		}
	}
	return false
}

// spread puts the fields of a struct of the monolith on an item. It reports whether that gives the item
// something to store.
func (s *splitter) spread(it *Item, name string) bool {
	v := s.doc[name]
	m, ok := v.(*types.AttributeValueMemberM)
	switch {
	case v == nil:
		return false
	case null(v), ok && len(m.Value) == 0 && !it.Kind.Pointer:
		s.note(name, "was", v)
		return false
	case !ok:
		s.fault(name, "it is a %s, but its fields are attributes of an item: it must be a map", attr.TypeName(v))
		return false
	}
	var more item.Attributes
	for n, value := range m.Value {
		switch {
		case it.Kind.listed[n], it.Kind.in == name && it.Kind != s.Root && !s.reserved(it.Kind, n):
			it.Attributes[n] = value
		default:
			if more == nil {
				more = item.Attributes{}
			}
			more[n] = value
		}
	}
	if more != nil {
		s.note(name, "more", &types.AttributeValueMemberM{Value: more})
	}
	return true
}

// reserved reports whether an attribute of an item has another meaning than the monolith's.
func (x *Layout) reserved(k *Kind, name string) bool {
	t := x.Tables[k.Table]
	return name == t.Hash || name == t.Range || name == x.Version || name == x.Reserved.StateName() ||
		name == x.Reserved.IncarnationName() || name == x.Reserved.MovedName() || x.adds(k, name) ||
		name == x.TTL && name != "" && !k.listed[name] || x.forIndexes(k, name)
}

// note adds to the residue.
func (s *splitter) note(name, what string, v types.AttributeValue) {
	m, ok := s.residue[name].(*types.AttributeValueMemberM)
	if !ok {
		m = &types.AttributeValueMemberM{Value: item.Attributes{}}
		s.residue[name] = m
	}
	m.Value[what] = v
}

// elements makes the items of a slice or map.
func (s *splitter) elements(k *Kind) {
	first := len(s.out.Items)
	switch v := s.doc[k.From].(type) {
	case nil:
		return
	case *types.AttributeValueMemberNULL:
		s.note(k.From, "was", v)
		return
	case *types.AttributeValueMemberL:
		if k.LayoutItem.Kind == "map" {
			s.fault(k.From, "it is a list, but the model has a map")
			return
		}
		for i, e := range v.Value {
			s.element(k, fmt.Sprintf("%s[%d]", k.From, i), "", e)
		}
	case *types.AttributeValueMemberM:
		if k.LayoutItem.Kind != "map" {
			s.fault(k.From, "it is a map, but the model has a list")
			return
		}
		for _, name := range slices.Sorted(maps.Keys(v.Value)) {
			s.element(k, k.From+"["+strconv.Quote(name)+"]", name, v.Value[name])
		}
	default:
		s.fault(k.From, "it is a %s, but its elements are items: it must be a list or a map", attr.TypeName(v))
		return
	}
	made := s.out.Items[first:]
	if len(made) == 0 && s.errs == nil {
		s.note(k.From, "was", s.doc[k.From])
		return
	}
	s.collisions(k, made)
	if k.LayoutItem.Kind != "map" {
		s.order(k, made)
	}
}

// element makes the item of one element.
func (s *splitter) element(k *Kind, name, mapKey string, v types.AttributeValue) {
	it := &Item{Kind: k, Attributes: item.Attributes{}}
	m, isMap := v.(*types.AttributeValueMemberM)
	var fields item.Attributes
	switch {
	case k.Scalar:
		for _, a := range k.Attributes {
			it.Attributes[a.Name] = v
		}
	case null(v):
		s.fault(name, "it is NULL, but an item cannot be NULL")
		return
	case !isMap:
		s.fault(name, "it is a %s, but must be a map", attr.TypeName(v))
		return
	default:
		fields = m.Value
	}
	at := len(s.errs)
	values := s.values(k.key, fields, v, mapKey)
	for _, err := range s.errs[at:] {
		p := err.(*Problem)
		p.Attribute = under(name, p.Attribute)
	}
	if values == nil {
		return
	}
	for n, value := range fields {
		switch from := k.key.of(n); {
		case !k.listed[n] && s.reserved(k, n):
			s.fault(name+"."+n, "the item has another attribute of that name: rename it in the model (hash=, range=, "+
				"version=), or in the monolith")
		case k.listed[n] || from < 0 || !k.key.identifies(from, values[from], value):
			it.Attributes[n] = value
		}
	}
	s.loads(it, name)
	if s.place(it, values, name) {
		s.add(it, fields, v, mapKey, name)
		s.out.Items = append(s.out.Items, it)
	}
}

func under(name, attribute string) string {
	if attribute == "" {
		return name
	}
	return name + "." + attribute
}

// of returns the placeholder that names a field of the element, or -1.
func (t *template) of(name string) int {
	return slices.IndexFunc(t.from, func(s source) bool { return s.from == "element" && s.attribute == name })
}

// identifies reports whether a key gives back just the attribute value that it was made of.
func (t *template) identifies(i int, v key.Value, original types.AttributeValue) bool {
	if !t.lossless(i) {
		return false
	}
	return attr.Same(t.from[i].encode(v), original)
}

// lossless reports whether a key gives a placeholder's value back in full.
func (t *template) lossless(i int) bool {
	n := 0
	for _, p := range t.Parts {
		if p.Format.Kind == key.Literal {
			continue
		}
		if n == i {
			return !p.Format.IsTime() || p.Format.Kind == key.Nanos || t.from[i].unix &&
				(p.Format.Kind == key.Seconds || p.Format.Kind == key.Unix)
		}
		n++
	}
	return false
}

// collisions refuses elements with one key.
func (s *splitter) collisions(k *Kind, made []*Item) {
	seen := map[key.Scalar]int{}
	for i, it := range made {
		if first, ok := seen[it.SK]; ok {
			s.fault(k.From, "the elements %d and %d would have the same key %s: add a field to the key that differs",
				first, i, it.SK)
			continue
		}
		seen[it.SK] = i
	}
}

// rest keeps what no field claims on the root, with the residue.
func (s *splitter) rest(root *Item) {
	for name, v := range s.doc {
		switch {
		case s.top[name]:
		case s.adds(root.Kind, name) && attr.Same(v, root.Attributes[name]):
			s.note(name, kept, &types.AttributeValueMemberBOOL{Value: true})
		case name == s.TTL && s.reserved(root.Kind, name):
			s.fault(name, "it is the table's TTL attribute, but not a field of the model: add a time field (ttl, "+
				"unixtime), or rename the model's (ttl=)")
		case s.reserved(root.Kind, name):
			s.fault(name, "no field of the model has this name, but the root has another attribute with it: rename "+
				"that in the model (hash=, range=, version=)")
		case root.Kind.listed[name]:
			s.fault(name, "no field of the model has this name, but the root has another attribute with it")
		default:
			root.Attributes[name] = v
		}
	}
	for i := range s.pk.from {
		s.keepOriginal(root, &s.pk, i)
	}
	for _, k := range s.Kinds {
		for i := range k.sources() {
			s.keepOriginal(root, k.key, i)
		}
	}
	if m, ok := root.Attributes[s.Reserved.MovedName()].(*types.AttributeValueMemberM); ok {
		for name, note := range m.Value {
			s.note(name, leftOut, note.(*types.AttributeValueMemberM).Value[leftOut])
		}
	}
	if len(s.residue) > 0 {
		root.Attributes[s.Reserved.MovedName()] = &types.AttributeValueMemberM{Value: s.residue}
	}
}

// sources are those of a singleton's key.
func (k *Kind) sources() []source {
	if k.element() || k.key == nil {
		return nil
	}
	return k.key.from
}

// keepOriginal keeps on the root a field of the model that only keys hold, in another form.
func (s *splitter) keepOriginal(root *Item, t *template, i int) {
	from := &t.from[i]
	if from.from != "model" || s.onItem(from.attribute) {
		return
	}
	v := s.doc[from.attribute]
	if parsed, err := from.value(v); err == nil && !t.identifies(i, parsed, v) {
		root.Attributes[from.attribute] = v
	}
}

// onItem reports whether a field of the model is stored on an item.
func (x *Layout) onItem(name string) bool {
	return slices.ContainsFunc(x.Kinds, func(k *Kind) bool {
		return !k.element() &&
			slices.ContainsFunc(k.Attributes,
				func(a schema.LayoutAttribute) bool { return a.In == "" && a.Name == name })
	})
}

// check refuses items that are too large, and a monolith that would not come back as it is.
func (s *splitter) check() {
	if s.errs != nil {
		return
	}
	for _, it := range s.out.Items {
		if n := s.Size(it); n > cost.MaxItem {
			s.fault(it.Kind.Name, "the item %s would have %s (limit 400 KB): split it further",
				it.SK.Plain(), attr.Bytes(n))
		}
	}
	back, err := s.Join(s.out.Items)
	if err != nil {
		s.fault("", "%v", err)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.doc)) {
		if !attr.Same(s.doc[name], back[name]) {
			s.fault(name, "it would come back changed, a bug of itemize: please report it")
		}
	}
}

// loads refuses attributes that do not decode into their fields: another program has stored a value of
// another type in the monolith. in names the element, "" for a singleton.
func (s *splitter) loads(it *Item, in string) {
	for i := range it.Kind.Attributes {
		a := &it.Kind.Attributes[i]
		for _, name := range append([]string{a.Name}, a.Was...) {
			v := it.Attributes[name]
			if v == nil {
				continue
			}
			path := name
			switch {
			case it.Kind.Scalar:
				path = in
			case a.In != "":
				path = under(a.In, name)
			case in != "":
				path = under(in, name)
			}
			if m := schema.Misread(&a.Wire, v, path); m != nil {
				s.fault(m.Path, "it %s, so that a load of the field %s would fail: change the value, or the field's "+
					"type", m.Reason, a.Field)
			}
			break
		}
	}
}

// header returns the maximum size of the reserved attributes of an item, in bytes: version, incarnation
// and, on a root, stage.
func (x *Layout) header(root bool) int {
	n := x.Reserved.VersionSize() + x.Reserved.IncarnationSize()
	if root {
		n += 100 // its stage, and the sum of the versions
	}
	return n
}

// Size returns the size of an item in bytes, with its reserved attributes.
func (x *Layout) Size(it *Item) int {
	p := item.Place{Table: x.place(it.Kind), PK: it.PK, SK: it.SK}
	return attr.ItemSize(it.Attributes) + p.KeySize() + x.header(it.Kind == x.Root)
}

func (x *Layout) place(k *Kind) *item.Table {
	t := x.Tables[k.Table]
	return &item.Table{Name: t.Name, Hash: t.Hash, Range: t.Range, Index: k.Table}
}

// RootKey returns the key of the root of a monolith's entity.
func (x *Layout) RootKey(doc item.Attributes) (pk, sk key.Scalar, err error) {
	s := &splitter{Layout: x, doc: doc, out: &Collection{}}
	s.partition()
	it := &Item{Kind: x.Root}
	if s.errs == nil && x.Root.key != nil {
		if values := s.values(x.Root.key, nil, nil, ""); values != nil {
			s.place(it, values, "")
		}
	}
	return s.out.PK, it.SK, errors.Join(s.errs...)
}

// Fields returns the fields of the model that are in the keys of a root, as a monolith holds them.
func (x *Layout) Fields(pk, sk key.Scalar) (item.Attributes, error) {
	j := &joiner{Layout: x, doc: item.Attributes{}}
	err := j.fromKey(&x.pk, pk, true)
	if err == nil && x.Root.key != nil {
		err = j.fromKey(x.Root.key, sk, true)
	}
	return j.doc, err
}
