// Package condition holds conditions on the attributes of an item, as they are rendered
// into an expression of DynamoDB.
package condition

import (
	"errors"
	"strings"

	"github.com/itemize/itemize/internal/attr"
)

// Field is a field that a condition is about.
type Field struct {
	// Name is the field's name in Go, "" where only its attribute is known.
	Name string
	// Attribute is the name of the attribute.
	Attribute string
}

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
	render func(x *attr.Expression) string
}

// New returns the condition on a field, which render gives with the placeholder of its
// attribute.
func New(f Field, render func(x *attr.Expression, name string) string) Condition {
	return Condition{Fields: []Field{f}, render: func(x *attr.Expression) string { return render(x, x.Name(f.Attribute)) }}
}

// Failed returns a condition that something is wrong with.
func Failed(err error) Condition { return Condition{Err: err} }

// Checked returns the condition, or a failed one for the zero Condition.
func (c Condition) Checked() Condition {
	if c.render == nil && c.Err == nil {
		return Failed(errEmpty)
	}
	return c
}

var errEmpty = errors.New("the condition is empty: make conditions with the fields' handles")

// Text renders the condition as it stands alone. It is not asked of one with an Err.
func (c Condition) Text(x *attr.Expression) string { return c.render(x) }

// Term renders the condition as it stands beside others.
func (c Condition) Term(x *attr.Expression) string {
	if c.joined {
		return "(" + c.render(x) + ")"
	}
	return c.render(x)
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
	c.render = func(x *attr.Expression) string {
		terms := make([]string, len(all))
		for i, o := range all {
			terms[i] = o.Term(x)
		}
		return strings.Join(terms, word)
	}
	return c
}

// Not returns the condition that c does not hold.
func Not(c Condition) Condition {
	n := c
	n.joined = false
	n.render = func(x *attr.Expression) string { return "NOT (" + c.Text(x) + ")" }
	return n
}
