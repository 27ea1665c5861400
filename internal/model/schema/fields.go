package schema

import (
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/grammar"
)

// taggedField is a field as seen from outside: declared, or promoted from an
// embedded struct.
type taggedField struct {
	*Field
	in    *Type // the struct that declares it
	path  []int
	outer string // the embedded structs around it: "Base."
	tag   *grammar.Tag
	// hidden reports that its name in Go selects another field, or none, although it is stored.
	hidden bool
}

func (m *taggedField) at() place { return place{in: m.in, field: m.Field} }

// option is the place of an option in the field's tag.
func (m *taggedField) option(word string) place {
	o, _ := m.tag.Option(word)
	return place{m.in, m.Field, o.Pos, o.End}
}

// avAt is the place of the dynamodbav value.
func (m *taggedField) avAt() place { return place{m.in, m.Field, m.tag.AV.Pos, m.tag.AV.End} }

// avName returns the attribute's name.
func (m *taggedField) avName() string {
	if m.tag.AV.Name != "" {
		return m.tag.AV.Name
	}
	return m.Name
}

// goName returns the name that selects the field.
func (m *taggedField) goName() string {
	if m.hidden {
		return m.outer + m.Name
	}
	return m.Name
}

func (m *taggedField) value() Value {
	return Value{Name: m.goName(), Path: m.path, Type: m.Type, Word: m.tag.Value("name")}
}

// valueIn returns the value of a field of the struct in outer, which is spread over its item.
func (m *taggedField) valueIn(outer *taggedField) Value {
	return Value{
		Name: outer.Name + "." + m.goName(), Path: slices.Concat(outer.path, m.path), Type: m.Type,
		Word: m.tag.Value("name"),
	}
}

// spreadOptions are the options of fields, in addition to those of large values, in a struct that is spread over an
// item.
var spreadOptions = []string{"stored", "was", "ttl", "name", "unique", "as", "guards"}

// parse parses a field's tag and reports its faults, once for each field.
func (b *builder) parse(in *Type, f *Field) *grammar.Tag {
	if t, ok := b.parsed[f]; ok {
		return t
	}
	where := grammar.OnField
	if f.Name == "_" {
		where = grammar.OnBlank
	}
	t, errs := grammar.Parse(f.Raw, where)
	for _, e := range errs {
		b.fault(place{in, f, e.Pos, e.End}, e.Cure, "%s", e.Msg)
	}
	b.parsed[f] = t
	if len(errs) > 0 {
		b.badTag[f] = true
	}
	return t
}

// expands reports whether an embedded field gives its fields to the struct around
// it: a struct without a place or a name of its own.
func expands(f *Field, t *grammar.Tag, placed bool) bool {
	return f.Embedded && f.Type.Spreads() && t.AV.Name == "" && !t.AV.Ignore && !t.Skip && !placed
}

// taggedFields lists the fields of a struct, with those of embedded structs, level
// by level. Inside a model an embedded field with a ddb tag has a place of its
// own; inside a spread struct only a name keeps it together.
func (b *builder) taggedFields(t *Type, model bool) (fields, blanks []*taggedField) {
	type level struct {
		t     *Type
		path  []int
		outer string
	}
	seen := map[*Type]bool{}
	for next := []level{{t, nil, ""}}; len(next) > 0; {
		current := next
		next = nil
		for _, l := range current {
			if seen[l.t] {
				continue
			}
			seen[l.t] = true
			for _, f := range l.t.Fields {
				m := &taggedField{
					Field: f, in: l.t, path: append(slices.Clone(l.path), f.Index), outer: l.outer,
					tag: b.parse(l.t, f),
				}
				switch {
				case f.Name == "_":
					if m.tag.Present {
						blanks = append(blanks, m)
					}
				case expands(f, m.tag, model && m.tag.Present) && l.t.embeds(l.t, map[*Type]bool{}):
					b.embedsItself(l.t, f)
				case expands(f, m.tag, model && m.tag.Present):
					if f.Type.Kind == Pointer && !f.Exported {
						b.badTag[f] = true // its fields may be those of keys
						b.fault(m.at(), "embed the struct, or export its type",
							"an embedded pointer to an unexported struct cannot be loaded")
						continue
					}
					if len(b.exported(f.Type.deref())) == 0 && len(f.Type.deref().Fields) > 0 {
						b.fault(m.at(), `tag it ddb:"-"`,
							"the embedded %s has no exported fields, so that nothing would be stored",
							f.Type.Name)
						continue
					}
					next = append(next, level{f.Type.deref(), m.path, l.outer + f.Name + "."})
				case f.Exported:
					fields = append(fields, m)
				case m.tag.Present && !m.tag.Skip:
					b.fault(m.at(), "export the field, or remove the tag", "an unexported field cannot be stored")
				}
			}
		}
	}
	return fields, blanks
}

// embedsItself refuses a struct that embeds itself, at the embedded field.
func (b *builder) embedsItself(t *Type, f *Field) {
	if b.badTag[f] {
		return // reported already
	}
	b.badTag[f] = true
	b.fault(place{in: t, field: f}, "add a name to the field", "%s embeds itself", t.Name)
}

// exported lists the exported names of a struct, promoted ones included.
func (b *builder) exported(t *Type) []string {
	var names []string
	for _, f := range t.Fields {
		switch {
		case f.Embedded && f.Type.Spreads() && !f.Type.deref().embeds(f.Type.deref(), map[*Type]bool{}):
			names = append(names, b.exported(f.Type.deref())...)
		case f.Exported:
			names = append(names, f.Name)
		}
	}
	return names
}

// visible keeps of the members that share a name the one that Go sees: the
// shallowest. Two of them at one depth hide each other; Go and attributevalue
// would drop both.
func (b *builder) visible(all []*taggedField, name func(*taggedField) string) []*taggedField {
	byName := map[string][]*taggedField{}
	for _, m := range all {
		byName[name(m)] = append(byName[name(m)], m)
	}
	var out []*taggedField
	for _, m := range all {
		same := byName[name(m)]
		least := same[0]
		var level []*taggedField
		for _, s := range same {
			if len(s.path) == len(least.path) {
				level = append(level, s)
			}
		}
		if len(level) > 1 {
			if m == level[1] {
				b.fault(m.at(), "rename one of them, or tag one ddb:\"-\"",
					"%s is also a field of %s at the same depth: each hides the other", name(m), level[0].in.Name)
			}
			continue
		}
		if m == least {
			out = append(out, m)
		} else if m.Name != least.Name {
			b.fault(m.at(), "rename one of the attributes", "the attribute %q of %s.%s hides it", name(m),
				least.in.Name, least.Name)
		}
	}
	slices.SortStableFunc(out, func(x, y *taggedField) int { return slices.Compare(x.path, y.path) })
	return out
}

// spread lists the fields of a struct that is spread over an item.
func (b *builder) spread(t *Type) []*taggedField {
	if m, ok := b.spreads[t]; ok {
		return m
	}
	b.spreads[t] = nil
	all, blanks := b.taggedFields(t, false)
	for _, m := range blanks {
		b.fault(m.at(), "move it to the model", "options of tables and items have no effect inside %s", t.Name)
	}
	all = slices.DeleteFunc(all, func(m *taggedField) bool { return m.tag.Skip })
	out := b.visible(all, (*taggedField).avName)
	for _, m := range out {
		m.hidden = slices.ContainsFunc(all, func(o *taggedField) bool {
			return o != m && o.Name == m.Name && len(o.path) <= len(m.path)
		})
	}
	for _, m := range out {
		for _, o := range m.tag.Options {
			switch {
			case slices.Contains(spreadOptions, o.Word), slices.Contains(largeOptions, o.Word),
				o.Word == "table" && m.tag.Has("chunk"):
			default:
				b.fault(place{m.in, m.Field, o.Pos, o.End}, "move it to the field of the model",
					"the option %s has no effect inside %s, whose fields are spread over an item", o.Word, t.Name)
			}
		}
	}
	b.spreads[t] = out
	return out
}

// find returns the member that Go selects by that name.
func find(all []*taggedField, name string) *taggedField {
	i := slices.IndexFunc(all, func(m *taggedField) bool { return m.Name == name && !m.hidden })
	if i < 0 {
		return nil
	}
	return all[i]
}

func isGeneric(name string) bool { return strings.Contains(name, "[") }
