package schema

import (
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/grammar"
	"github.com/itemize/itemize/internal/model/key"
)

// Periods is how tables follow the time: each holds the entities of one period, which is part of its
// name. All tables of such a model do, so that all items of an entity are in the tables of one period.
type Periods struct {
	// Kind is the period: a date, a month, a week or a year.
	Kind key.FormatKind
	// Field is the key field that has the time.
	Field int
	// Placeholder is how the declared names have the period, such as {At:month}.
	Placeholder string
}

// Of returns the period of a time.
func (p *Periods) Of(v key.Value) (string, error) {
	text, err := key.Format{Kind: p.Kind, Value: key.Time}.Append(nil, v, 0)
	return string(text), err
}

// Named returns the real name of a period's table, of its name with the placeholder.
func (p *Periods) Named(template, period string) string {
	return strings.Replace(template, p.Placeholder, period, 1)
}

// In returns the period that a real name has where a template has the placeholder; ok is false for the
// name of another table.
func (p *Periods) In(template, name string) (period string, ok bool) {
	before, behind, ok := strings.Cut(template, p.Placeholder)
	if !ok || len(name) < len(before)+len(behind) || !strings.HasPrefix(name, before) ||
		!strings.HasSuffix(name, behind) {
		return "", false
	}
	period = name[len(before) : len(name)-len(behind)]
	_, ok = key.PeriodStart(p.Kind, period)
	return period, ok
}

// timedTable is a table whose name has a placeholder, before it is known what that names.
type timedTable struct {
	m    *taggedField
	t    *Table
	part *grammar.Part // nil after a fault
}

// tableName checks the name of a table, and notes the placeholder that it may have.
func (b *builder) tableName(m *taggedField, o grammar.Option, t *Table) {
	at, n, text := m.option(o.Word), len(o.Value), o.Value
	if strings.ContainsAny(o.Value, "{}") {
		x := timedTable{m, t, b.periodIn(at, o.Value)}
		if b.timed = append(b.timed, x); x.part == nil {
			return
		}
		width, _ := (&key.Format{Kind: timeFormats[x.part.Format]}).Fixed()
		n += width - len(x.part.String())
		text = strings.Replace(text, x.part.String(), "", 1)
	}
	b.checkTableName(at, o.Value, text, n)
}

// checkTableName refuses a name that no table has: of n characters, of which text is without a placeholder.
func (b *builder) checkTableName(at place, name, text string, n int) {
	if i := strings.IndexFunc(text, NotInTableName); i >= 0 && !strings.HasPrefix(text, "arn:") {
		b.fault(at, "DynamoDB takes letters, digits, '_', '-' and '.'", "the table name %q contains %q", name,
			[]rune(text[i:])[0])
	}
	if n < 3 || n > 255 {
		b.fault(at, "DynamoDB takes 3 to 255 characters", "the length of the table name %q is %d", name, n)
	}
}

// NotInTableName reports whether no table's name has a rune (Developer Guide, "Naming rules").
func NotInTableName(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.')
}

// periodIn returns the placeholder in the name of a table, nil after a fault.
func (b *builder) periodIn(at place, text string) *grammar.Part {
	template, errs := grammar.ParseTemplate(text)
	for _, err := range errs {
		b.fault(at, "write {Field:date}, :week, :month or :year", "the table name %q: %s", text, err.Msg)
	}
	if len(errs) > 0 {
		return nil
	}
	var found *grammar.Part
	for i := range template.Parts {
		switch p := &template.Parts[i]; {
		case p.Name == "":
		case found != nil:
			b.fault(at, "keep one", "the table name %q has two placeholders, but a table is of one period", text)
			return nil
		default:
			found = p
		}
	}
	if found == nil {
		b.fault(at, "write a field and a period, as in events_{At:month}",
			"the table name %q has braces, but no placeholder", text)
		return nil
	}
	if f := timeFormats[found.Format]; f < key.Date || f > key.Year || found.KeyField {
		b.fault(at, "write {"+found.Name+":month}, or date, week or year",
			"%s in the name of a table is not a period", found)
		return nil
	}
	return found
}

// periods finds the field whose time the tables follow, and checks that keys tell the table.
func (b *builder) periods() {
	for i, x := range b.timed {
		switch first := b.timed[0]; {
		case x.part == nil || first.part == nil:
			return
		case i == 0:
		case x.part.String() != first.part.String():
			b.fault(x.m.option("table"), "write "+first.part.String(),
				"the tables of a model rotate by one time, but those of %s rotate by %s", first.t.Name, first.part)
			return
		}
	}
	if len(b.timed) == 0 || b.badPK {
		return
	}
	first := b.timed[0]
	for _, t := range b.e.Tables {
		if !slices.ContainsFunc(b.timed, func(x timedTable) bool { return x.t == t }) {
			b.fault(first.m.option("table"), "write "+first.part.String()+" into the names of all tables",
				"the table %s does not rotate, and would keep items of entities in dropped tables", t.Name)
			return
		}
	}
	p := &Periods{Kind: timeFormats[first.part.Format], Placeholder: first.part.String()}
	p.Field = slices.IndexFunc(b.e.KeyFields, func(o *KeyField) bool { return o.Name == first.part.Name && o.Identity })
	at := first.m.option("table")
	switch {
	case find(b.fields, first.part.Name) == nil:
		b.missing(at, cureOf(*first.part, b.fields, "the fields are "), "%s does not name a field of %s", first.part,
			b.e.Type.Name)
		return
	case p.Field < 0:
		b.fault(at, "name it in pk=, or in the key of the root", "%s in the name of a table is not part of the "+
			"entity's key, from which its table could not be derived", first.part)
		return
	case !b.e.KeyFields[p.Field].Type.Time:
		b.fault(at, "use a time.Time", "%s in the name of a table is a %[2]s, not a time", first.part,
			b.e.KeyFields[p.Field].Type.Name)
		return
	}
	b.e.Periods = p
	for _, it := range b.e.Items {
		if !b.badKey[it] && !b.identifiesPeriod(b.e.PK) && (it.Key == nil || !b.identifiesPeriod(it.Key)) {
			b.fault(b.at(it), "name "+first.part.Name+" as finely there",
				"the table cannot be derived from the key of %s: its name has %s", it.label(), first.part)
			return
		}
	}
}

// identifiesPeriod reports whether a key has the time in a format fine enough to determine the period
// of a table.
func (b *builder) identifiesPeriod(k *Key) bool {
	p := b.e.Periods
	for i, s := range k.Sources {
		if s.From == FromModel && s.KeyField == p.Field && key.Determines(k.Format(i).Kind, p.Kind) {
			return true
		}
	}
	return false
}
