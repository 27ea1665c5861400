package change

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/expr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
)

// ops are the operations of the kinds of changes.
var ops = map[expr.Kind]item.Op{
	expr.Set: item.OpSet, expr.SetIfAbsent: item.OpSetIfAbsent, expr.Remove: item.OpRemove,
	expr.Increment:   item.OpIncrement,
	expr.AddElements: item.OpAddElements, expr.DeleteElements: item.OpDeleteElements, expr.Append: item.OpAppend,
}

// operate adds a change of an attribute, or of a value inside it, that depends on the stored value.
func (x *Patch) operate(ch *PatchItem, p expr.Change, i int) error {
	a := ch.Item.Attributes[i]
	name := p.Field.Shown()
	o := item.Operation{
		Op: ops[p.Kind], Path: append([]string{a.Name}, x.below(ch.Item, &p)...), Value: p.Value,
		Was: a.Was, Field: name,
	}
	switch {
	case p.Unstorable != nil:
		return x.m.ValueErrorf(name, "%w", p.Unstorable)
	case a.Large != nil:
		return x.m.FieldErrorf(a.Value.Name, schema.LargeText, "replace it as a whole, or change it", "with Update")
	case x.expires(ch.Item, a):
		return x.m.FieldErrorf(a.Value.Name, "it is when the item expires: replace it as a whole")
	case p.Kind == expr.Increment:
		if len(o.Path) == 1 && (a.AV.Has("string") || a.AV.Has("nullempty")) {
			return x.m.FieldErrorf(name,
				"the stored value may not be a number, which DynamoDB would not increment: use Update")
		}
		o.Value, o.Low, o.High = &types.AttributeValueMemberN{Value: p.By}, p.Least, p.Most
		if err := attr.Check(o.Value); err != nil {
			return x.m.ValueErrorf(name, "%w", err)
		}
	case p.Kind == expr.Set && p.Value == nil:
		o.Op = item.OpRemove // the value is left out when it is stored
	case p.Kind != expr.Remove && p.Value == nil:
		return x.m.FieldErrorf(name, "the value would not be stored (omitempty): remove the field instead")
	case p.Kind == expr.AddElements || p.Kind == expr.DeleteElements:
		if t := attr.TypeName(o.Value); t != "SS" && t != "NS" && t != "BS" {
			return x.m.FieldErrorf(name, "it is stored as %s, not as a set: use Set", t)
		}
	}
	if err := x.join(ch, name, o.Path, &o); err != nil || o.Path == nil {
		return err
	}
	ch.Operations = append(ch.Operations, o)
	ch.dropFormer(a)
	return nil
}

// expires reports whether an attribute is the time to live of its item.
func (x *Patch) expires(it *schema.Item, a *schema.Attribute) bool {
	return it.Expiry != nil && slices.Equal(it.Expiry.Path, a.Value.Path)
}

// join combines an operation with an earlier one of the patch on the same path, if both have the effect
// of one, and then registers its path. o is nil for the set of a whole attribute. Other changes of one
// value, or of values inside it, exclude each other.
func (x *Patch) join(ch *PatchItem, field string, path []string, o *item.Operation) error {
	twice := func() error {
		return x.m.FieldErrorf(field, "the patch changes it twice, or it and the value around it: use one of them, "+
			"or two patches, "+
			"each with an Exec of its own")
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
