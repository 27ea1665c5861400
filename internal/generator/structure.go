package generator

import (
	"fmt"
	"go/types"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/grammar"
	"github.com/itemize/itemize/internal/model/schema"
)

func goType(t *schema.Type) types.Type { return t.Go.(types.Type) }

// structure is a struct type whose table generated code has, and what the models of the
// package do with its fields, by their indexes.
type structure struct {
	t *schema.Type
	// uses say what the fields are for.
	uses []use
	// compared reports that its values are compared and copied as a whole: those of elements, and those
	// inside attributes.
	compared bool
	// in is the file that declares all about it.
	in *sourceFile
	// form, same, clone and handles are the names of the generated code, handles "" for a type without handles.
	form, same, clone, handles string
	model                      *Model           // whose type it is, or nil
	hint                       string           // what a struct without a name is called
	docs                       map[int][]string // where the fields are stored, for the comments of handles
}

// use says what a field is for.
type use uint8

const (
	// stored: it is an attribute, or a part of one.
	stored use = 1 << iota
	// keyed: keys name it, or an expiry does.
	keyed
	// text: keys hold its text.
	text
	// way: it is a struct through which ways to other fields lead.
	steps
	// items: it is a slice or map of items.
	items
	// settable: a patch can set it, since somewhere the keys of its item do not name it.
	settable
)

// name returns the name of a struct: its type's name, or, for a struct without one, the name of its
// field.
func (s *structure) name() string {
	if s.named() == nil {
		return s.hint
	}
	return typeWord(goType(s.t))
}

// structures are the structs of a package's models.
type structures struct {
	byKey map[string]*structure
	all   []*structure // in the order in which they were met
	// recursive are the named types that contain themselves, and are no structs.
	recursive  map[string]*recursion
	recursions []*recursion
	deep       map[string]bool // types inside attributes that were looked at
	file       *sourceFile
	hint       string // what a struct without a name is called
	conflicts  []*structure
}

// recursion is a named slice, map or the like that contains itself.
type recursion struct {
	t    *schema.Type
	form string
	in   *sourceFile
}

// typeKey is the same for identical types.
func typeKey(t types.Type) string { return types.TypeString(t, nil) }

// of returns the structure of a struct type.
func (s *structures) of(t *schema.Type) *structure {
	k := typeKey(goType(t))
	x := s.byKey[k]
	if x == nil {
		x = &structure{t: t, uses: make([]use, len(t.Fields)), in: s.file, hint: s.hint}
		s.byKey[k] = x
		s.all = append(s.all, x)
	}
	if len(x.uses) == 0 && len(t.Fields) > 0 {
		x.t, x.uses = t, make([]use, len(t.Fields))
	}
	x.in = s.visible(x)
	return x
}

// visible returns the file that declares a struct which the present file uses too: what
// a file declares has to be there wherever it is used.
func (s *structures) visible(x *structure) *sourceFile {
	there, here := constraints(x.in), constraints(s.file)
	test, testHere := isTest(x.in), isTest(s.file)
	switch {
	case there == here && test == testHere, there == "" && !test, there == "" && testHere:
		return x.in
	case here == "" && !testHere, here == "" && test, there == here && test:
		return s.file
	}
	if !slices.Contains(s.conflicts, x) {
		s.conflicts = append(s.conflicts, x)
	}
	return x.in
}

func isTest(f *sourceFile) bool { return strings.HasSuffix(f.path, "_test.go") }

// model notes what a model does with its structs.
func (s *structures) model(m *Model) {
	e := m.Schema
	s.of(e.Type).model = m
	for _, k := range e.KeyFields {
		s.keyed(e.Type, k.Path, schema.KeyText(k.Type, keyFieldKind(e, slices.Index(e.KeyFields, k))))
	}
	for _, it := range e.Items {
		s.item(e, it)
	}
}

func (s *structures) item(e *schema.Entity, it *schema.Item) {
	root := e.Type
	switch {
	case it.Element():
		s.mark(e.Type, it.Field.Path, items)
		root = it.Elem
		if it.Elem.Spreads() {
			s.of(root).compared = true
		} else {
			s.inside(root)
		}
		for i, src := range it.Key.Sources {
			if src.From == schema.FromElement {
				s.keyed(root, src.Value.Path, schema.KeyText(src.Value.Type, it.Key.Format(i).Value))
			}
		}
	case it.Field != nil:
		s.mark(e.Type, it.Field.Path, steps)
		s.describe(e.Type, it.Field.Path, "the item "+templateText(it))
		s.of(deref(it.Field.Type))
	}
	for _, a := range it.Attributes {
		if inKey(e, it, a) {
			s.mark(root, a.Value.Path, stored)
		} else {
			s.mark(root, a.Value.Path, stored|settable)
		}
		if len(a.Value.Path) > 0 {
			s.describe(root, a.Value.Path, storedAs(it, a))
		}
		if !a.Value.Type.Opaque() {
			s.inside(a.Value.Type)
		}
	}
	for _, k := range it.Derived {
		for i, src := range k.Sources {
			if src.From == schema.FromElement || src.From == schema.FromItem {
				s.keyed(root, src.Value.Path, schema.KeyText(src.Value.Type, k.Format(i).Value))
			}
		}
	}
	if x := it.Expiry; x != nil && (!it.Element() || !it.ExpiryOfRoot) {
		s.keyed(root, x.Path, false)
	}
}

// inKey reports whether keys name an attribute of an item, so that a patch cannot change it.
func inKey(e *schema.Entity, it *schema.Item, a *schema.Attribute) bool {
	if it.Element() {
		return slices.ContainsFunc(it.Key.Sources, func(src schema.Source) bool {
			return src.From == schema.FromElement && slices.Equal(src.Value.Path, a.Value.Path)
		})
	}
	return slices.ContainsFunc(e.KeyFields, func(o *schema.KeyField) bool { return slices.Equal(o.Path, a.Value.Path) })
}

func deref(t *schema.Type) *schema.Type {
	if t.Kind == schema.Pointer {
		return t.Elem
	}
	return t
}

func (s *structures) keyed(t *schema.Type, path []int, byText bool) {
	u := keyed
	if byText {
		u |= text
	}
	s.mark(t, path, u)
}

// mark notes the use of the field at a path, and that ways lead through those before.
func (s *structures) mark(t *schema.Type, path []int, u use) {
	for i, x := range path {
		t = deref(t)
		in := s.of(t)
		s.hint = in.name() + upperFirst(t.Fields[x].Name)
		if i == len(path)-1 {
			in.uses[x] |= u
			return
		}
		in.uses[x] |= steps
		t = t.Fields[x].Type
	}
}

// inside notes the structs in an attribute: all their fields are stored.
func (s *structures) inside(t *schema.Type) {
	if t == nil || t.Time || t.Opaque() {
		return
	}
	k := typeKey(goType(t)) + s.file.path
	if s.deep[k] {
		return
	}
	s.deep[k] = true
	if t.Kind != schema.Struct {
		if selfContaining(t) {
			s.recursion(t)
		}
		s.inside(t.Elem)
		return
	}
	s.of(t).compared = true
	for _, f := range t.EncodedFields() {
		s.mark(t, f.Path, stored|settable)
		s.describe(t, f.Path, fmt.Sprintf("the entry %q (%s) of a map", f.Name, wireWord(f.Type.Wire(f.AV.Options))))
		s.inside(f.Type)
	}
}

func (s *structures) recursion(t *schema.Type) {
	k := typeKey(goType(t))
	if s.recursive[k] == nil {
		s.recursive[k] = &recursion{t: t, in: s.file}
		s.recursions = append(s.recursions, s.recursive[k])
	}
}

// selfContaining reports whether a named type contains itself.
func selfContaining(t *schema.Type) bool {
	if _, ok := goType(t).(*types.Named); !ok {
		return false
	}
	return contains(t, t, map[*schema.Type]bool{})
}

func contains(t, what *schema.Type, seen map[*schema.Type]bool) bool {
	if t == nil || t.Time || t.Marshals || seen[t] {
		return false
	}
	seen[t] = true
	parts := []*schema.Type{t.Elem}
	for _, f := range t.Fields {
		if reached(f) {
			parts = append(parts, f.Type)
		}
	}
	return slices.ContainsFunc(parts, func(p *schema.Type) bool { return p == what || contains(p, what, seen) })
}

// reached reports whether generated code has to do with a field.
func reached(f *schema.Field) bool {
	return (f.Exported || f.Embedded) && !strings.Contains(f.Raw, `ddb:"-"`) &&
		!strings.Contains(f.Raw, `dynamodbav:"-"`)
}

// expanded reports whether a field is an embedded struct whose fields count as those of
// the struct around it.
func (s *structure) expanded(i int) bool {
	f := s.t.Fields[i]
	tag := tagOf(f)
	return f.Embedded && s.uses[i]&steps != 0 && tag.AV.Name == "" && (s.model == nil || !tag.Present)
}

func tagOf(f *schema.Field) *grammar.Tag {
	tag, _ := grammar.Parse(f.Raw, grammar.OnField)
	return tag
}

// named returns the struct's declared type, or nil.
func (s *structure) named() *types.Named {
	n, _ := goType(s.t).(*types.Named)
	return n
}

// handled reports whether the struct's fields have handles: those of types that the
// package declares.
func (s *structure) handled(p *types.Package) bool {
	n := s.named()
	if n == nil || n.Obj().Pkg() == nil || n.Obj().Pkg().Path() != p.Path() || n.TypeArgs().Len() > 0 {
		return false
	}
	return slices.ContainsFunc(s.uses, func(u use) bool { return u&(stored|steps) != 0 })
}

// byText are the fields whose text only keys hold.
func (u use) byText(t *schema.Type) bool {
	return u&text != 0 && u&stored == 0 && t.Kind == schema.Struct
}
