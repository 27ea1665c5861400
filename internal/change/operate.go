package change

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/condition"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/patch"
	"github.com/itemize/itemize/internal/schema"
)

// ops are the operations of the kinds of changes.
var ops = map[patch.Kind]item.Op{
	patch.Set: item.OpSet, patch.SetIfAbsent: item.OpSetIfAbsent, patch.Remove: item.OpRemove, patch.Increment: item.OpIncrement,
	patch.AddMembers: item.OpAddMembers, patch.DeleteMembers: item.OpDeleteMembers, patch.Append: item.OpAppend,
}

// operate adds a change of an attribute by what is stored in it, or of what lies in it.
func (x *Patch) operate(ch *PatchItem, p patch.Change, i int) error {
	a := ch.Item.Attributes[i]
	name := p.Field.Name()
	o := item.Operation{Op: ops[p.Kind], Path: append([]string{a.Name}, x.below(ch.Item, &p)...), Value: p.Value, Was: a.Was}
	switch {
	case p.Unstorable != nil:
		return x.m.ValueErrorf(name, "%w", p.Unstorable)
	case x.expires(ch.Item, a):
		return x.m.FieldErrorf(a.Value.Name, "it is when the item expires: set it as a whole")
	case p.Kind == patch.Increment:
		if len(o.Path) == 1 && (a.AV.Has("string") || a.AV.Has("nullempty")) {
			return x.m.FieldErrorf(name, "what is stored of it may be no number, which DynamoDB would not increment: use Update")
		}
		o.Value = &types.AttributeValueMemberN{Value: p.By}
		if err := attr.Check(o.Value); err != nil {
			return x.m.ValueErrorf(name, "%w", err)
		}
	case p.Kind == patch.Set && p.Value == nil:
		o.Op = item.OpRemove // the value is left out when it is stored
	case p.Kind != patch.Remove && p.Value == nil:
		return x.m.FieldErrorf(name, "the value is left out when it is stored (omitempty): remove the field instead")
	case p.Kind == patch.AddMembers || p.Kind == patch.DeleteMembers:
		if t := attr.TypeName(o.Value); t != "SS" && t != "NS" && t != "BS" {
			return x.m.FieldErrorf(name, "it is stored as %s, and no set: use Set", t)
		}
	}
	if err := x.apart(ch, name, o.Path, &o); err != nil || o.Path == nil {
		return err
	}
	ch.Operations = append(ch.Operations, o)
	ch.dropFormer(a)
	if p.Kind != patch.Increment {
		return nil
	}
	within, err := inRange(p, o)
	if err != nil {
		return x.m.FieldErrorf(name, "%w", err)
	}
	if within != nil {
		ch.where = append(ch.where, where{within, func(stored item.Attributes) string { return overflow(p, &o, stored) }})
	}
	return nil
}

// overflow says that an increment would take a number out of the bounds of its type, "" where
// it would not.
func overflow(p patch.Change, o *item.Operation, stored item.Attributes) string {
	after := item.Attributes{}
	maps.Copy(after, attr.CopyItem(stored))
	if err := o.Apply(after); err != nil {
		return ""
	}
	v := condition.At(after, o.Path)
	n, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		return ""
	}
	low, _ := item.Sum(n.Value, negated(p.Least))
	high, _ := item.Sum(p.Most, negated(n.Value))
	if !strings.HasPrefix(low, "-") && !strings.HasPrefix(high, "-") {
		return ""
	}
	return p.Field.Name() + " would be " + n.Value + ", and its type holds " + p.Least + " to " + p.Most
}

func negated(n string) string {
	if rest, ok := strings.CutPrefix(n, "-"); ok {
		return rest
	}
	return "-" + n
}

// expires reports whether an attribute tells when an item expires.
func (x *Patch) expires(it *schema.Item, a *schema.Attribute) bool {
	return it.Expiry != nil && slices.Equal(it.Expiry.Path, a.Value.Path)
}

// apart joins an operation to one that the patch has already on the same path, where that is one
// in effect, and then takes its path; o is nil for the set of a whole attribute. Other changes of
// one value, or of what lies in it, exclude each other.
func (x *Patch) apart(ch *PatchItem, field string, path []string, o *item.Operation) error {
	twice := func() error {
		return x.m.FieldErrorf(field, "the patch changes it twice, or it and what it lies in: use two patches")
	}
	for i := range ch.Operations {
		before := &ch.Operations[i]
		switch {
		case !overlap(before.Path, path):
		case o == nil || len(before.Path) != len(path):
			return twice()
		default:
			joined, err := before.Join(o)
			if err != nil || !joined {
				return twice()
			}
			o.Path = nil
			return nil
		}
	}
	if o == nil {
		return nil
	}
	whole := func(a item.Assignment) bool { return a.Name == path[0] }
	if slices.ContainsFunc(ch.Set, whole) || slices.ContainsFunc(ch.Remove, whole) {
		return twice()
	}
	return nil
}

// overlap reports whether one path leads to the other's value, or into it.
func overlap(a, b []string) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[:n], b[:n])
}

// inRange requires that an integer stays one that its Go type can hold: what is stored may be
// at most the greatest less what is added, or at least the least and what is taken away.
func inRange(p patch.Change, o item.Operation) (attr.Condition, error) {
	limit, operator, by := p.Most, " <= ", "-"+p.By
	if less, ok := strings.CutPrefix(p.By, "-"); ok {
		limit, operator, by = p.Least, " >= ", less
	}
	if limit == "" {
		return nil, nil
	}
	rest, err := item.Sum(limit, by)
	counts := rest == "0" || strings.HasPrefix(rest, "-") == (operator == " >= ") // from 0, where nothing is
	return func(e *attr.Expression) string {
		bounded := func(path string) string { return path + operator + e.Value(&types.AttributeValueMemberN{Value: rest}) }
		path := e.Path(o.Path)
		text, absent := bounded(path), "attribute_not_exists("+path+")"
		if len(o.Was) == 0 || len(o.Path) > 1 {
			if counts {
				text = "(" + absent + " OR " + text + ")"
			}
			return text
		}
		for _, name := range o.Was { // the number is under one of its names
			old := e.Name(name)
			text = "(" + text + " OR " + absent + " AND " + bounded(old) + ")"
			absent += " AND attribute_not_exists(" + old + ")"
		}
		if counts {
			text = "(" + text + " OR " + absent + ")"
		}
		return text
	}, err
}
