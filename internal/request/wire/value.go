package wire

import (
	"unsafe"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Value is an attribute value as it came.
type Value struct {
	page *Page
	cell cell
}

// Value returns the value of an attribute, by its place in the item's shape.
func (it Item) Value(i int) Value { return Value{it.page, it.page.cells[int(it.first)+i]} }

// Size returns the size of an attribute in bytes: its name's and its value's.
func (it Item) Size(i int) int {
	return len(it.Shape.Names[i]) + int(it.page.cells[int(it.first)+i].size)
}

// Bytes returns the item's size in bytes.
func (it Item) Bytes() int { return it.Shape.bytes + int(it.size) }

// Get returns the value of the attribute of a name; ok is false where there is none.
func (it Item) Get(name string) (v Value, ok bool) {
	if it.Shape == nil {
		return Value{}, false
	}
	i := it.Shape.Index(name)
	if i < 0 {
		return Value{}, false
	}
	return it.Value(i), true
}

// Attributes returns the whole item, as the SDK decodes it.
func (it Item) Attributes() map[string]types.AttributeValue {
	if it.Shape == nil {
		return nil
	}
	m := make(map[string]types.AttributeValue, len(it.Shape.Names))
	for i, name := range it.Shape.Names {
		m[name] = it.Value(i).Attribute()
	}
	return m
}

// Kind returns the value's type.
func (v Value) Kind() Kind { return v.cell.kind &^ deferred }

// Copy is Attributes with strings that are copies, whatever those of the page are.
func (it Item) Copy() map[string]types.AttributeValue {
	p := *it.page
	p.share, p.blocks, p.texts = false, false, nil
	it.page = &p
	return it.Attributes()
}

// Peek returns the text of a string or number, or bytes, in the page's memory: to look at, not to keep.
func (v Value) Peek() string {
	from := v.page.body
	if v.cell.kind&deferred != 0 {
		from = v.page.side
	}
	b := from[v.cell.at : v.cell.at+v.cell.n]
	return unsafe.String(unsafe.SliceData(b), len(b)) // the bytes do not change any more
}

// String returns the text of a string or number, to keep.
func (v Value) String() string {
	if v.page.share {
		return v.Peek()
	}
	return v.page.copied(v.Peek())
}

// Bytes returns a copy of the value, of kind B.
func (v Value) Bytes() []byte { return append(make([]byte, 0, v.cell.n), v.Peek()...) }

// Bool returns what a value of the kind BOOL or NULL holds.
func (v Value) Bool() bool { return v.cell.n == uint32(len("true")) }

// Len returns the number of elements of a list, set or map.
func (v Value) Len() int {
	if v.cell.kind == M {
		return int(v.cell.n / 2)
	}
	return int(v.cell.n)
}

// At returns an element of a list or set.
func (v Value) At(i int) Value { return Value{v.page, v.page.nested[int(v.cell.at)+i]} }

// Entry returns an entry of a map: its name, a string, and its value.
func (v Value) Entry(i int) (name, value Value) { return v.At(2 * i), v.At(2*i + 1) }

// Attribute returns the value as the SDK decodes it.
func (v Value) Attribute() types.AttributeValue {
	switch v.Kind() {
	case S:
		return &types.AttributeValueMemberS{Value: v.String()}
	case N:
		return &types.AttributeValueMemberN{Value: v.String()}
	case B:
		return &types.AttributeValueMemberB{Value: v.Bytes()}
	case BOOL:
		return &types.AttributeValueMemberBOOL{Value: v.Bool()}
	case NULL:
		return &types.AttributeValueMemberNULL{Value: v.Bool()}
	case L:
		return &types.AttributeValueMemberL{Value: collect(v, Value.Attribute)}
	case SS:
		return &types.AttributeValueMemberSS{Value: collect(v, Value.String)}
	case NS:
		return &types.AttributeValueMemberNS{Value: collect(v, Value.String)}
	case BS:
		return &types.AttributeValueMemberBS{Value: collect(v, Value.Bytes)}
	case M:
		m := make(map[string]types.AttributeValue, v.Len())
		for i := range v.Len() {
			name, e := v.Entry(i)
			m[name.String()] = e.Attribute()
		}
		return &types.AttributeValueMemberM{Value: m}
	}
	return nil
}

// collect returns the elements of a list or set.
func collect[T any](v Value, of func(Value) T) []T {
	all := make([]T, v.Len())
	for i := range all {
		all[i] = of(v.At(i))
	}
	return all
}
