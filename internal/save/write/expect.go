package write

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
)

// Expect is the condition on a stored item under which a request is applied. The zero Expect is no
// condition.
type Expect struct {
	// Absent requires that no item exists, or that it may be replaced: it is expired, or equals
	// Instead.
	Absent  bool
	Instead *item.Hidden
	// Version requires the version that was read.
	Version types.AttributeValue
	// Old requires an item without a version, unless it was read in part, whose old values are these; an
	// assignment without a value requires that the attribute is absent.
	Old *Old
	// Values are values that were read together with the version, so that a program that does not write
	// the version is found out. An assignment without a value requires that the attribute is absent.
	// Sizes are those of values that are too large to be compared.
	Values []item.Assignment
	Sizes  []Attribute
	// Present requires that the item exists and is not expired.
	Present bool
	// Terms are further conditions. One that holds an OR is in parentheses of its own.
	Terms []attr.Condition
	// Blind reports that the item was not read, so that a changed item cannot be detected.
	Blind bool
}

// Old are values that were read. Partly reports that the item was read in part, without the version that it may have.
type Old struct {
	Values []item.Assignment
	Partly bool
}

// OldValues returns the values of these attributes in an item that was read, or of all
// but its keys where names is nil.
func OldValues(at item.Place, stored item.Attributes, names []string) *Old {
	if names == nil {
		for name := range stored {
			if name != at.Table.Hash && name != at.Table.Range {
				names = append(names, name)
			}
		}
		slices.Sort(names)
	}
	old := &Old{}
	for _, name := range names {
		old.Values = append(old.Values, item.Assignment{Name: name, Index: item.Unlisted, Value: stored[name]})
	}
	return old
}

// AsFound is the condition that an item is as it was found: by its version, or without one by its values, or as many of
// them as a condition can compare.
func AsFound(at item.Place, version types.AttributeValue, stored item.Attributes) Expect {
	if version != nil {
		return Expect{Version: version}
	}
	old := OldValues(at, stored, nil)
	old.Values = old.Values[:min(len(old.Values), MaxTerms-2)]
	return Expect{Old: old}
}

// MaxTerms is how many attributes a condition can compare: each takes an operator, and
// one joins it to the next.
const MaxTerms = cost.MaxOperators / 2

// render returns the condition of a request, "" for none.
func (r *Request) render(x *attr.Expression, now time.Time) string {
	e := &r.Expect
	switch {
	case e.Version != nil && len(e.Terms) == 0:
		return r.asRead(x)
	case e.Absent && len(e.Terms) == 0:
		return r.absent(x, now)
	}
	var terms []string
	switch {
	case e.Absent:
		terms = append(terms, "("+r.absent(x, now)+")")
	case e.Version != nil:
		terms = append(terms, r.asRead(x))
	case e.Old != nil:
		terms = append(terms, "attribute_exists("+x.Name(r.Table.Hash)+")")
		if r.Reserved.Versions() && !e.Old.Partly {
			terms = append(terms, r.Reserved.NoVersion(x))
		}
		for _, a := range e.Old.Values {
			terms = append(terms, equals(x, a))
		}
	case e.Present:
		terms = append(terms, "attribute_exists("+x.Name(r.Table.Hash)+")")
		if r.Reserved.Expires() {
			terms = append(terms, r.Reserved.Unexpired(x, now))
		}
	}
	for _, t := range e.Terms {
		terms = append(terms, t(x))
	}
	return strings.Join(terms, " AND ")
}

// asRead is the condition of a loaded item: its version, and the values that were read.
func (r *Request) asRead(x *attr.Expression) string {
	e := &r.Expect
	if len(e.Values)+len(e.Sizes) == 0 {
		return r.Reserved.VersionIs(x, e.Version)
	}
	var b strings.Builder
	b.Grow(16 * (1 + len(e.Values) + len(e.Sizes))) // most names take no more
	write := func(text ...string) {
		for _, t := range text {
			b.WriteString(t)
		}
	}
	write(x.Name(r.Reserved.Version), " = ", x.Value(e.Version))
	for _, a := range e.Values {
		if a.Value == nil {
			write(" AND attribute_not_exists(", x.Name(a.Name), ")")
		} else {
			write(" AND ", x.Name(a.Name), " = ", x.Value(a.Value))
		}
	}
	for _, a := range e.Sizes {
		write(" AND size(", x.Name(a.Name), ") = ", x.Value(&types.AttributeValueMemberN{Value: strconv.Itoa(a.Size)}))
	}
	return b.String()
}

// absent returns the condition of an insert: no item exists, or the stored item may be replaced.
func (r *Request) absent(x *attr.Expression, now time.Time) string {
	text := "attribute_not_exists(#0)" // as nearly always
	if hash := x.Name(r.Table.Hash); hash != "#0" {
		text = "attribute_not_exists(" + hash + ")"
	}
	if r.Reserved.Expires() {
		text += " OR " + r.Reserved.ReplaceableBy(x, now)
		if r.Root {
			text += " AND " + r.Reserved.NotRollingBack(x)
		}
	}
	if term := r.Reserved.Instead(x, r.Expect.Instead); term != "" {
		text += " OR " + term
	}
	return text
}

func equals(x *attr.Expression, a item.Assignment) string {
	if a.Value == nil {
		return "attribute_not_exists(" + x.Name(a.Name) + ")"
	}
	return x.Name(a.Name) + " = " + x.Value(a.Value)
}

// Values requires values; an assignment without one requires that the attribute is absent.
func Values(all []item.Assignment) attr.Condition {
	return func(x *attr.Expression) string {
		terms := make([]string, len(all))
		for i, a := range all {
			terms[i] = equals(x, a)
		}
		return strings.Join(terms, " AND ")
	}
}

// AtLeast requires that a number is as large.
func AtLeast(a item.Assignment) attr.Condition {
	return func(x *attr.Expression) string { return x.Name(a.Name) + " >= " + x.Value(a.Value) }
}

// Before reports whether a stored item is as it was before the request.
func (r *Request) Before(stored item.Attributes, now time.Time) bool {
	e := &r.Expect
	switch {
	case e.Blind, r.Counted && e.Version == nil:
		return false // it was not read, or can have been written and deleted
	case e.Absent:
		replaceable := r.Reserved.Replaceable(stored, now) &&
			!(r.Root && r.Reserved.Header(stored).ReadStage().State == item.RollingBack)
		return len(stored) == 0 || replaceable || e.Instead.Is(r.Reserved.Header(stored))
	case e.Version == nil && e.Old == nil:
		return true
	case len(stored) == 0:
		return false
	case e.Version != nil && !attr.Same(e.Version, r.Reserved.Header(stored).Version):
		return false
	case e.Version == nil && !e.Old.Partly && r.Reserved.Header(stored).Version != nil:
		return false
	}
	values := e.Values
	if e.Version == nil {
		values = e.Old.Values
	}
	for _, a := range values {
		if !attr.Same(a.Value, stored[a.Name]) {
			return false
		}
	}
	for _, a := range e.Sizes {
		if attr.ValueSize(stored[a.Name]) != a.Size {
			return false
		}
	}
	return true
}

// Wrote reports whether a stored item shows that the request was applied. It has the request's own
// version, or is deleted, or is the live root of the incarnation that the request created.
func (r *Request) Wrote(stored item.Attributes) bool {
	if r.Kind == Delete {
		return len(stored) == 0
	}
	h := r.Reserved.Header(stored)
	if r.Incarnation != nil && attr.Same(r.Incarnation, h.Incarnation) && h.Live() {
		return true
	}
	return r.Token != nil && attr.Same(r.Token, h.Version)
}

// IsIdentifiable reports whether a stored item shows that this request, and no other, wrote it: by its
// version or incarnation.
func (r *Request) IsIdentifiable() bool { return r.Token != nil || r.Incarnation != nil }

// Holds reports whether the stored item is the result of a write without a version.
func (r *Request) Holds(stored item.Attributes) bool {
	switch r.Kind {
	case Delete:
		return len(stored) == 0
	case Put:
		return attr.SameItem(r.Put, stored)
	}
	for _, a := range r.Set {
		if !attr.Same(a.Value, stored[a.Name]) {
			return false
		}
	}
	for _, a := range r.Remove {
		if stored[a.Name] != nil {
			return false
		}
	}
	return len(stored) > 0
}
