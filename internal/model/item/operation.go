package item

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/redact"
)

// Op is the way in which an operation changes the stored value at its path.
type Op uint8

// The operations. On an absent attribute they start with 0, an empty set or an empty list.
const (
	OpSet Op = iota
	OpSetIfAbsent
	OpRemove
	OpIncrement
	OpAddElements
	OpDeleteElements
	OpAppend
)

// Operation is a change of an attribute, or of a value inside it, that depends on the stored value.
type Operation struct {
	Op Op
	// Path is the name of the attribute, and those in the maps below it.
	Path  []string
	Value types.AttributeValue
	// Was are the names that the attribute had before, one of which it may be stored under.
	Was []string
	// Field is the field's name in messages. Low and High are the limits of the Go type of an
	// incremented number, "" for no limit.
	Field     string
	Low, High string
}

// Repeatable reports that the operation may be applied twice.
func (o *Operation) Repeatable() bool { return o.Op != OpIncrement && o.Op != OpAppend }

// Clause returns the keyword of the operation in an update expression.
func (o *Operation) Clause() string {
	switch o.Op {
	case OpRemove:
		return "REMOVE"
	case OpAddElements:
		return "ADD"
	case OpDeleteElements:
		return "DELETE"
	}
	return "SET"
}

// Text returns the operation as it follows the keyword.
func (o *Operation) Text(x *attr.Expression) string {
	path := x.Path(o.Path)
	or := func(v types.AttributeValue) string {
		text := x.Value(v)
		for _, name := range slices.Backward(o.Was) {
			text = "if_not_exists(" + x.Name(name) + ", " + text + ")"
		}
		return "if_not_exists(" + path + ", " + text + ")"
	}
	switch o.Op {
	case OpSetIfAbsent:
		return path + " = " + or(o.Value)
	case OpRemove:
		return path
	case OpIncrement:
		return path + " = " + or(zero) + " + " + x.Value(o.Value)
	case OpAppend:
		return path + " = list_append(" + or(&types.AttributeValueMemberL{Value: []types.AttributeValue{}}) + ", " +
			x.Value(o.Value) + ")"
	case OpAddElements, OpDeleteElements:
		return path + " " + x.Value(o.Value)
	}
	return path + " = " + x.Value(o.Value)
}

var zero = &types.AttributeValueMemberN{Value: "0"}

// sees reports whether the operation, as DynamoDB applies it, finds the attribute under the names
// that it had before as well.
func (o *Operation) sees() bool {
	return len(o.Path) == 1 && o.Op != OpAddElements && o.Op != OpDeleteElements
}

// Needs returns the condition under which the operation can be applied: the value is absent or of the
// right type, and its parent is a map. It is nil if there is no condition.
func (o *Operation) Needs() attr.Condition {
	var terms []attr.Condition
	if len(o.Path) > 1 {
		terms = append(terms, func(x *attr.Expression) string {
			return "attribute_type(" + x.Path(o.Path[:len(o.Path)-1]) + ", " + x.Value(typeText("M")) + ")"
		})
	}
	ofType := func(path []string, name string) {
		terms = append(terms, func(x *attr.Expression) string {
			path := x.Path(path)
			return "(attribute_not_exists(" + path + ") OR attribute_type(" + path + ", " + x.Value(typeText(name)) +
				"))"
		})
	}
	if name := o.typeName(); name != "" {
		ofType(o.Path, name)
	}
	if o.Op == OpSetIfAbsent {
		for _, path := range o.paths() {
			terms = append(terms, func(x *attr.Expression) string { return "NOT " + IsNull(x, x.Path(path)) })
		}
	}
	for _, old := range o.Was {
		if name := o.typeName(); name != "" && o.sees() {
			ofType([]string{old}, name)
		}
		if !o.sees() {
			terms = append(terms,
				func(x *attr.Expression) string { return "attribute_not_exists(" + x.Name(old) + ")" })
		}
	}
	if o.Op == OpIncrement && o.High != "" {
		terms = append(terms, o.inLimits)
	}
	if terms == nil {
		return nil
	}
	return func(x *attr.Expression) string {
		all := make([]string, len(terms))
		for i, t := range terms {
			all[i] = t(x)
		}
		return strings.Join(all, " AND ")
	}
}

// paths returns the paths under which the value may be stored.
func (o *Operation) paths() [][]string {
	all := [][]string{o.Path}
	for _, old := range o.Was {
		if len(o.Path) == 1 {
			all = append(all, []string{old})
		}
	}
	return all
}

// IsNull returns the condition that the value at a path is NULL.
func IsNull(x *attr.Expression, path string) string {
	return "attribute_type(" + path + ", " + x.Value(typeText("NULL")) + ")"
}

func isNull(v types.AttributeValue) bool {
	_, null := v.(*types.AttributeValueMemberNULL)
	return null
}

// inLimits returns the condition that an incremented integer fits its Go type. The stored value must be
// at most the maximum less the increment, or at least the minimum plus the decrement.
func (o *Operation) inLimits(x *attr.Expression) string {
	by := o.Value.(*types.AttributeValueMemberN).Value
	limit, operator := o.High, " <= "
	if strings.HasPrefix(by, "-") {
		limit, operator = o.Low, " >= "
	}
	rest, _ := Sum(limit, negated(by))
	counts := rest == "0" || strings.HasPrefix(rest, "-") == (operator == " >= ") // from 0, where nothing is
	bounded := func(path string) string {
		return path + operator + x.Value(&types.AttributeValueMemberN{Value: rest})
	}
	path := x.Path(o.Path)
	text, absent := bounded(path), "attribute_not_exists("+path+")"
	if o.sees() {
		for _, name := range o.Was { // the number is under one of its names
			old := x.Name(name)
			text = "(" + text + " OR " + absent + " AND " + bounded(old) + ")"
			absent += " AND attribute_not_exists(" + old + ")"
		}
	}
	if counts {
		text = "(" + text + " OR " + absent + ")"
	}
	return text
}

// Overflow says that an increment would take a stored number out of the bounds of its type, "" where
// it would not.
func (o *Operation) Overflow(stored Attributes) error {
	if o.Op != OpIncrement || o.High == "" {
		return nil
	}
	after := Attributes(attr.CopyItem(stored))
	if after == nil {
		after = Attributes{}
	}
	if o.Apply(after) != nil {
		return nil
	}
	at := after
	for _, name := range o.Path[:len(o.Path)-1] {
		at = at[name].(*types.AttributeValueMemberM).Value
	}
	n := at[o.Path[len(o.Path)-1]].(*types.AttributeValueMemberN).Value
	low, _ := Sum(n, negated(o.Low))
	high, _ := Sum(o.High, negated(n))
	if !strings.HasPrefix(low, "-") && !strings.HasPrefix(high, "-") {
		return nil
	}
	return redact.Errorf("the new value%v of %s is out of the range of its type: it takes %s to %s", redact.Of(n),
		o.Field, o.Low, o.High)
}

func negated(n string) string {
	if rest, ok := strings.CutPrefix(n, "-"); ok {
		return rest
	}
	return "-" + n
}

func typeText(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// typeName is the type that the value has to have, "" for any.
func (o *Operation) typeName() string {
	switch o.Op {
	case OpIncrement, OpAppend, OpAddElements, OpDeleteElements:
		return attr.TypeName(o.Value)
	}
	return ""
}

// Least returns the fewest bytes that the item's attribute holds after the operation.
func (o *Operation) Least() int {
	if o.Op == OpSetIfAbsent || o.Op == OpRemove || o.Op == OpDeleteElements {
		return 0
	}
	n := attr.ValueSize(o.Value)
	for _, name := range o.Path {
		n += len(name)
	}
	return n
}

// Fits reports whether the operation can be applied to an item as DynamoDB applies it.
func (o *Operation) Fits(stored Attributes) bool {
	at := stored
	for _, old := range o.Was {
		switch v := stored[old]; {
		case v == nil:
		case !o.sees(), o.typeName() != "" && attr.TypeName(v) != o.typeName(), o.Op == OpSetIfAbsent && isNull(v):
			return false
		}
	}
	for _, name := range o.Path[:len(o.Path)-1] {
		m, ok := at[name].(*types.AttributeValueMemberM)
		if !ok {
			return false
		}
		at = m.Value
	}
	name, v := o.typeName(), at[o.Path[len(o.Path)-1]]
	if o.Op == OpSetIfAbsent {
		return !isNull(v)
	}
	return name == "" || v == nil || attr.TypeName(v) == name
}

// Apply applies the operation to a copy of an item. NULL, and a value whose parent is no map, count as
// absent. A stored value of another type is an error.
func (o *Operation) Apply(to Attributes) error {
	o.rename(to)
	at := to
	for i, name := range o.Path[:len(o.Path)-1] {
		switch m := at[name].(type) {
		case *types.AttributeValueMemberM:
			at = m.Value
			continue
		case nil, *types.AttributeValueMemberNULL:
		default:
			return redact.Errorf("%s%v is stored as %s: its type must be a map", o.Path[0], pathBelow(o.Path[:i+1]),
				attr.TypeName(m))
		}
		if o.Op == OpRemove || o.Op == OpDeleteElements {
			return nil // nothing is stored
		}
		m := &types.AttributeValueMemberM{Value: Attributes{}}
		at[name], at = m, m.Value
	}
	name := o.Path[len(o.Path)-1]
	v, err := o.result(at[name])
	switch {
	case err != nil:
		return redact.Errorf("%s%v %w", o.Path[0], pathBelow(o.Path), err)
	case v == nil:
		delete(at, name)
	default:
		at[name] = v
	}
	return nil
}

// pathBelow is a path in an attribute, which can have keys of maps in it.
func pathBelow(path []string) redact.Value {
	if len(path) == 1 {
		return redact.Value{}
	}
	return redact.Of(strings.Join(path[1:], "."))
}

// rename stores the operation's attribute under its name of now.
func (o *Operation) rename(a Attributes) {
	for _, old := range o.Was {
		if v := a[old]; v != nil && a[o.Path[0]] == nil {
			a[o.Path[0]] = v
		}
		delete(a, old)
	}
}

// result returns what the operation makes of a value, nil for none.
func (o *Operation) result(v types.AttributeValue) (types.AttributeValue, error) {
	if isNull(v) {
		v = nil
	}
	switch {
	case o.Op == OpSet, o.Op == OpSetIfAbsent && v == nil:
		return o.Value, nil
	case o.Op == OpSetIfAbsent:
		return v, nil
	case o.Op == OpRemove, o.Op == OpDeleteElements && v == nil:
		return nil, nil
	case v == nil:
		return attr.Copy(o.Value), nil
	case attr.TypeName(v) != attr.TypeName(o.Value):
		return nil, fmt.Errorf("the stored type is %s: it must be %s", attr.TypeName(v), attr.TypeName(o.Value))
	}
	return o.joined(v)
}

// joined returns what the operation makes of a value of its own type.
func (o *Operation) joined(v types.AttributeValue) (types.AttributeValue, error) {
	switch v := v.(type) {
	case *types.AttributeValueMemberN:
		sum, err := Sum(v.Value, o.Value.(*types.AttributeValueMemberN).Value)
		return &types.AttributeValueMemberN{Value: sum}, err
	case *types.AttributeValueMemberL:
		return &types.AttributeValueMemberL{Value: slices.Concat(v.Value,
			o.Value.(*types.AttributeValueMemberL).Value)}, nil
	}
	if o.Op == OpAddElements {
		return attr.Unite(v, o.Value), nil
	}
	return attr.Subtract(v, o.Value), nil
}

// Join makes the operation one that has the effect of it and then of another on the same path.
// joined is false where no single operation has it.
func (o *Operation) Join(next *Operation) (joined bool, err error) {
	sets := func(op Op) bool { return op == OpSet || op == OpRemove }
	switch {
	case sets(o.Op) && sets(next.Op):
		o.Op, o.Value = next.Op, next.Value // the last one counts
	case o.Op != next.Op, o.Op == OpSetIfAbsent, attr.TypeName(o.Value) != attr.TypeName(next.Value):
		return false, nil
	case o.Op == OpDeleteElements:
		o.Value = attr.Unite(o.Value, next.Value)
	default:
		before := *o
		before.Value, err = next.joined(o.Value)
		*o = before
	}
	return err == nil, err
}

// Sum adds two numbers as they are stored.
func Sum(a, b string) (string, error) {
	x, okX := new(big.Rat).SetString(a)
	y, okY := new(big.Rat).SetString(b)
	if !okX || !okY {
		return "", redact.Errorf("two numbers%v%v cannot be added", redact.Of(a), redact.Of(b))
	}
	sum := x.Add(x, y)
	digits, exact := sum.FloatPrec()
	if !exact {
		return "", redact.Errorf("two numbers%v%v have no exact sum", redact.Of(a), redact.Of(b))
	}
	n := &types.AttributeValueMemberN{Value: sum.FloatString(digits)}
	return n.Value, attr.Check(n)
}
