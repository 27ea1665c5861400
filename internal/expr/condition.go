// Package expr holds conditions and changes of stored fields as data: a [Condition] is rendered into an
// expression of DynamoDB, a [Change] is a part of a patch. The handles of package field and the nodes
// of package mapper make them; package change makes requests of them.
package expr

import (
	"errors"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/attr"
)

// Step is a step on the way from a record to a field: to a field of a struct, or to the
// entry of a map.
type Step struct {
	// Name is the field's name in Go, "" for an entry, or where only the attribute is known.
	Name string
	// Attribute is the name of the attribute, or the entry's key.
	Attribute string
}

// Field is a field that a condition or a change is about: the way to it.
type Field []Step

// Name returns the field's name in Go, "" where only its attribute is known.
func (f Field) Name() string {
	names := make([]string, len(f))
	for i, s := range f {
		names[i] = s.Name
		if s.Name == "" && i > 0 {
			names[i] = s.Attribute
		}
	}
	if len(f) == 0 || f[0].Name == "" {
		return ""
	}
	return strings.Join(names, ".")
}

// Shown is Name for the text of an error: the key of a map's entry is a value.
func (f Field) Shown() string {
	shown := slices.Clone(f)
	for i := range shown {
		if i > 0 && shown[i].Name == "" {
			shown[i].Name = "[...]"
		}
	}
	return strings.ReplaceAll(shown.Name(), ".[", "[")
}

// Attributes returns the names on the way.
func (f Field) Attributes() []string {
	names := make([]string, len(f))
	for i, s := range f {
		names[i] = s.Attribute
	}
	return names
}

// Under returns the field on the way through another.
func (f Field) Under(outer Field) Field { return slices.Concat(outer, f) }

// Way returns the path at which an item stores a field: attributes of a spread struct lie
// beside the others.
type Paths func(Field) []string

// Condition is a condition on the attributes of one item.
type Condition struct {
	Fields []Field
	// Raw says that it was given as an expression.
	Raw bool
	// Err is what is wrong with it.
	Err error
	// joined says that its text is several terms, which stand in parentheses beside
	// others.
	joined bool
	render func(x *attr.Expression, paths Paths) string
}

// New returns the condition on a field, which render gives with its path.
func New(f Field, render func(x *attr.Expression, path string) string) Condition {
	return Condition{Fields: []Field{f},
		render: func(x *attr.Expression, paths Paths) string { return render(x, x.Path(paths(f))) }}
}

// ComparesEmpty reports whether the condition compares with an empty text, or no bytes.
func (c Condition) ComparesEmpty(paths Paths) bool {
	var x attr.Expression
	c.Term(&x, paths)
	for _, v := range x.Values() {
		if s, ok := attr.ScalarOf(v); ok && s.Type != 'N' && s.Text == "" {
			return true
		}
	}
	return false
}

// Failed returns a condition that something is wrong with.
func Failed(err error) Condition { return Condition{Err: err} }

// Under returns the condition on a record as one on the record that holds it in a field.
func Under(outer Field, c Condition) Condition {
	u := c
	u.Fields = nil
	for _, f := range c.Fields {
		u.Fields = append(u.Fields, f.Under(outer))
	}
	u.render = func(x *attr.Expression, paths Paths) string {
		return c.render(x, func(f Field) []string { return paths(f.Under(outer)) })
	}
	if c.render == nil {
		u.render = nil
	}
	return u
}

// Checked returns the condition, or a failed one for the zero Condition.
func (c Condition) Checked() Condition {
	if c.render == nil && c.Err == nil {
		return Failed(errEmpty)
	}
	return c
}

var errEmpty = errors.New("the condition is empty: make conditions with the fields' handles")

// Text renders the condition as it stands alone. It is not asked of one with an Err.
func (c Condition) Text(x *attr.Expression, paths Paths) string { return c.render(x, paths) }

// Term renders the condition as it stands beside others.
func (c Condition) Term(x *attr.Expression, paths Paths) string {
	if c.joined {
		return "(" + c.render(x, paths) + ")"
	}
	return c.render(x, paths)
}

// And returns the condition that all hold.
func And(all ...Condition) Condition { return join(" AND ", all) }

// Or returns the condition that one of them holds.
func Or(all ...Condition) Condition { return join(" OR ", all) }

func join(word string, all []Condition) Condition {
	if len(all) == 1 {
		return all[0]
	}
	c := Condition{joined: true}
	for _, o := range all {
		c.Fields = append(c.Fields, o.Fields...)
		c.Raw = c.Raw || o.Raw
		if c.Err == nil {
			c.Err = o.Err
		}
	}
	c.render = func(x *attr.Expression, paths Paths) string {
		terms := make([]string, len(all))
		for i, o := range all {
			terms[i] = o.Term(x, paths)
		}
		return strings.Join(terms, word)
	}
	return c
}

// Not returns the condition that c does not hold.
func Not(c Condition) Condition {
	n := c
	n.joined = false
	n.render = func(x *attr.Expression, paths Paths) string { return "NOT (" + c.Text(x, paths) + ")" }
	return n
}
