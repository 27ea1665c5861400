package query

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/selection"
)

// Key selects a whole entity by its key. Its methods select parts of it.
type Key[T any] struct {
	node[T]
	model *model.Model
	table int
}

// Items selects the elements of a field, or in a flat model the entities, by the values of the first
// placeholders in their keys. The entity's key gives some already: these are left out. The methods of the
// result narrow the next placeholder:
//
//	docs.Key("a").Items("Versions").Between(5, 10)
func (k *Key[T]) Items(name string, values ...any) *Items[T] {
	if k.model == nil {
		return &Items[T]{node: k.node}
	}
	return &Items[T]{Node[T]{k.model.SelectItems(k.spec, name, values)}, k.model}
}

// scope returns the key without its type, whose methods do the work.
func (k *Key[T]) scope() scope { return scope{&k.spec, k.model.Schema, k.table} }

// Table selects the items in a secondary table of the model, by the name in table= or name=. Its
// methods continue with these items.
func (k *Key[T]) Table(name string) *Key[T] {
	if k.model == nil {
		return k
	}
	s, table := k.scope().inTable(name)
	return &Key[T]{Node[T]{s}, k.model, table}
}

// Prefix selects the items whose sort keys begin with p. p must end at a delimiter, or inside a time
// after a year, month, day or hour ("...#2021-11-"). So the result has no items of other templates that
// begin alike.
func (k *Key[T]) Prefix(p string) *Node[T] {
	if k.model == nil {
		return &k.node
	}
	return &Node[T]{k.scope().prefix(p)}
}

// Item selects the item with a sort key: a string, an integer for a sort key of type N, or []byte.
func (k *Key[T]) Item(sk any) *Node[T] {
	if k.model == nil {
		return &k.node
	}
	return &Node[T]{k.scope().item(sk)}
}

// scope selects an entity in one of its tables. The parts of a key narrow it.
type scope struct {
	spec   *selection.Selection
	schema *schema.Entity
	table  int
}

// fail returns a selection that reports an error when it is used.
func (k scope) fail(format string, args ...any) selection.Selection {
	s := *k.spec
	if s.Err == nil {
		s.Err = model.Usagef("%s: %s", k.schema.Label(), fmt.Sprintf(format, args...))
	}
	return s
}

// narrow returns the selection of one range in the key's table.
func (k scope) narrow(r selection.Range) selection.Selection {
	return k.spec.Narrow(k.schema, k.table, r)
}

// inTable is described at [Key.Table].
func (k scope) inTable(name string) (s selection.Selection, table int) {
	for _, t := range k.schema.Tables {
		if t.Name != name && t.Word != name {
			continue
		}
		s = *k.spec
		s.Parts, s.Whole = nil, false
		for _, p := range k.spec.Parts {
			if p.Table == t.Index {
				s.Parts = append(s.Parts, p)
			}
		}
		return s, t.Index
	}
	var names []string
	for _, t := range k.schema.Tables {
		names = append(names, t.Name)
	}
	return k.fail("no table %q: the model's tables are %s", name, strings.Join(names, ", ")), 0
}

// prefix is described at [Key.Prefix].
func (k scope) prefix(p string) selection.Selection {
	t := k.schema.Tables[k.table]
	switch {
	case t.Range == "":
		return k.fail("the table %q has no sort key, so that the prefix %q selects nothing: use the key alone",
			t.Name, p)
	case t.RangeType != 'S':
		return k.fail("the sort key of the table %q is of type %c, but only strings have prefixes: use Item", t.Name,
			t.RangeType)
	case !utf8.ValidString(p):
		return k.fail("the prefix %q is not valid UTF-8, as all keys are", p)
	case !k.schema.IsPrefix(t, p):
		return k.fail("the prefix %q ends within a segment, and would also select keys with a longer segment: end "+
			"it with the delimiter %c", p, k.schema.Delim)
	}
	if !k.begins(t, p) {
		return k.fail("no item's sort key begins with %q: the templates are %s", p, k.beginnings(t))
	}
	return k.narrow(selection.Range{Kind: selection.Prefix, Low: key.Scalar{Type: 'S', Text: p}})
}

// unstorable is fail for a value that cannot be a key.
func (k scope) unstorable(err error) selection.Selection {
	s := k.fail("")
	s.Err = &schema.Unstorable{Label: k.schema.Label(), Field: k.schema.Tables[k.table].Range, Err: err}
	return s
}

// item is described at [Key.Item].
func (k scope) item(sk any) selection.Selection {
	t := k.schema.Tables[k.table]
	s, ok := scalarOf(sk)
	switch {
	case t.Range == "":
		return k.fail("the table %q has no sort key: use the key alone", t.Name)
	case !ok || s.Type != t.RangeType:
		return k.fail("the sort key of the table %q is of type %c, and the value %v is of type %[3]T", t.Name,
			t.RangeType, sk)
	}
	if s.Type == 'S' && !utf8.ValidString(s.Text) {
		return k.unstorable(errors.New("the sort key is not valid UTF-8, as all keys are: pass valid text"))
	}
	if err := s.CheckSize(key.MaxSort); err != nil {
		return k.unstorable(fmt.Errorf("sort key %.40s: %w", s, err))
	}
	if it, _ := k.schema.Match(k.table, s); it == nil {
		return k.fail("no item has the sort key %s: the templates are %s", s, k.beginnings(t))
	}
	return k.narrow(selection.Range{Kind: selection.One, Low: s})
}

// begins reports whether the key of an item in the table can begin with p.
func (k scope) begins(t *schema.Table, p string) bool {
	for _, it := range k.schema.Items {
		if it.Table == t && strings.HasPrefix(it.Key.Template.LiteralPrefix(), p) {
			return true
		}
	}
	return slices.ContainsFunc(k.schema.Items, func(it *schema.Item) bool {
		return it.Table == t && it.Key.Template.CanBegin(p)
	})
}

// beginnings lists the templates of a table's sort keys.
func (k scope) beginnings(t *schema.Table) string {
	var texts []string
	for _, it := range k.schema.Items {
		if it.Table == t && !slices.Contains(texts, it.Key.Text) {
			texts = append(texts, it.Key.Text)
		}
	}
	return strings.Join(texts, ", ")
}

func scalarOf(sk any) (key.Scalar, bool) {
	switch v := sk.(type) {
	case string:
		return key.Scalar{Type: 'S', Text: v}, true
	case []byte:
		return key.Scalar{Type: 'B', Text: string(v)}, true
	case int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return key.Scalar{Type: 'N', Text: fmt.Sprint(v)}, true
	case fmt.Stringer: // attributevalue.Number, json.Number
		c, ok := key.Canonical(v.String())
		return key.Scalar{Type: 'N', Text: c}, ok
	}
	return key.Scalar{}, false
}
