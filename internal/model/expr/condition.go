// Package expr has conditions and changes of stored fields as data. A [Condition] is rendered into an
// expression of DynamoDB, a [Change] is a part of a patch. The handles of package field and the nodes
// of package mapper make them; package change turns them into requests.
package expr

import (
	"errors"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/attr"
)

// Step is a step on the path from a record to a field: a field of a struct, or an entry of a map.
type Step struct {
	// Name is the field's name in Go, "" for an entry, or if only the attribute is known.
	Name string
	// Attribute is the name of the attribute, or the entry's key.
	Attribute string
}

// Field is the path to a field.
type Field []Step

// Name returns the field's name in Go, "" if only its attribute is known.
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

// Shown returns the name for error texts. The key of a map entry is a value, so it is left out.
func (f Field) Shown() string {
	shown := slices.Clone(f)
	for i := range shown {
		if i > 0 && shown[i].Name == "" {
			shown[i].Name = "[...]"
		}
	}
	return strings.ReplaceAll(shown.Name(), ".[", "[")
}

// Attributes returns the names on the path.
func (f Field) Attributes() []string {
	names := make([]string, len(f))
	for i, s := range f {
		names[i] = s.Attribute
	}
	return names
}

// Under returns the path through another field.
func (f Field) Under(outer Field) Field { return slices.Concat(outer, f) }

// Paths returns the path at which an item stores a field. The attributes of a spread struct are
// attributes of the item.
type Paths func(Field) []string

// Condition is a condition on the attributes of one item.
type Condition struct {
	Fields []Field
	// Raw reports that it was built as an SDK expression.
	Raw bool
	// Err is the fault of the condition.
	Err error
	// joined reports that its text has several terms, which need parentheses next to others.
	joined bool
	render func(x *attr.Expression, paths Paths) string
}

// New returns a condition on a field. render gets its path.
func New(f Field, render func(x *attr.Expression, path string) string) Condition {
	return Condition{
		Fields: []Field{f},
		render: func(x *attr.Expression, paths Paths) string { return render(x, x.Path(paths(f))) },
	}
}

// ComparesEmpty reports whether the condition compares with an empty string or empty bytes.
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

// Failed returns a condition with a fault.
func Failed(err error) Condition { return Condition{Err: err} }

// Under turns a condition on a record into one on the record that holds it in a field.
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

// Text renders the condition by itself. The condition must not have an Err.
func (c Condition) Text(x *attr.Expression, paths Paths) string { return c.render(x, paths) }

// Term renders the condition as one of several terms.
func (c Condition) Term(x *attr.Expression, paths Paths) string {
	if c.joined {
		return "(" + c.render(x, paths) + ")"
	}
	return c.render(x, paths)
}

// And returns the condition that all conditions hold.
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
