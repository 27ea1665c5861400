package codec

import (
	"reflect"
	"strings"
	"sync"
	"unsafe"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/request/wire"
)

// Row is a field in the table of its struct.
type Row struct {
	// Name is the field's name in Go; of an embedded struct, its type's.
	Name string
	// Tag is the whole value of its dynamodbav tag.
	Tag string
	// At returns a pointer to the field of a struct.
	At   func(p any) any
	Form *Form
	// Record is the struct that declares the field or embeds the one that does, nil for none.
	Record reflect.Type
	// In is the row of the map of an entry with the key Key, nil for a field.
	In  *Row
	Key string
}

// Attribute returns the name of the attribute that the field is stored in.
func (r Row) Attribute() string {
	if name, _, _ := strings.Cut(r.Tag, ","); name != "" {
		return name
	}
	return r.Name
}

// Table is the way to the fields of a struct. What they are called when they are encoded,
// and their options, it takes from the struct's tags.
type Table struct {
	typ reflect.Type
	// Compared says that the form's Same and Clone are functions for the whole struct.
	Compared bool

	// forms are the forms of fields by their names. The other fields have the forms of their types.
	forms map[string]*Form
	// describe returns the struct's type; it is called once, when the table is used.
	describe func() *schema.Type
	once     sync.Once
	fields   []encoded
	byName   map[string]int
}

// encoded is a field that is encoded into the map of its struct.
type encoded struct {
	name    string
	options Options
	path    Path
	form    *Form
}

// structForm completes the form of a struct.
func structForm(f *Form, describe func() *schema.Type, fields []Field) *Form {
	t := &Table{typ: f.Type, forms: make(map[string]*Form, len(fields)), describe: describe}
	for _, x := range fields {
		t.forms[x.Name] = x.Form
	}
	f.Table = t
	f.encode, f.decode, f.scan, f.exact = t.encodeOf(f), t.decodeOf(f), t.scanOf(f), t.exactOf(f)
	f.same, f.clone = t.sameOf(f), t.cloneOf(f)
	return f
}

// Field is the form of a field of a struct.
type Field struct {
	Name string
	Form *Form
}

// Named returns the row of a declared field.
func (t *Table) Named(name string) (r Row, ok bool) {
	for i := range t.typ.NumField() {
		if t.typ.Field(i).Name == name {
			return t.row(i), true
		}
	}
	return Row{}, false
}

// row returns the row of a declared field.
func (t *Table) row(i int) Row {
	field := t.typ.Field(i)
	f := t.forms[field.Name]
	if f == nil {
		f = reflectedOf(field.Type)
	}
	at := func(p any) any { return f.at(unsafe.Add(address(p), field.Offset)) }
	return Row{field.Name, field.Tag.Get("dynamodbav"), at, f, t.typ, nil, ""}
}

// resolve lists the fields as attributevalue sees them.
func (t *Table) resolve(f *Form) []encoded {
	t.once.Do(func() {
		t.byName = map[string]int{}
		for i, e := range t.describe().EncodedFields() {
			path, form := f.Path(e.Path)
			t.fields = append(t.fields, encoded{e.Name, OptionsOf(e.AV.Options), path, form})
			t.byName[e.Name] = i
		}
	})
	return t.fields
}

// AttributeNames lists the attribute names of the fields of a struct, or of a pointer to one; nil for
// another type.
func (f *Form) AttributeNames() []string {
	if f.Pointer != nil {
		return f.Pointer.Elem.AttributeNames()
	}
	if f.Table == nil {
		return nil
	}
	var names []string
	for _, e := range f.Table.resolve(f) {
		names = append(names, e.name)
	}
	return names
}

func (t *Table) encodeOf(f *Form) func(any, Options, int) (types.AttributeValue, error) {
	return func(p any, _ Options, depth int) (types.AttributeValue, error) {
		if depth >= attr.MaxDepth {
			return nil, errDeep
		}
		fields := t.resolve(f)
		m := make(map[string]types.AttributeValue, len(fields))
		for i := range fields {
			e := &fields[i]
			v := e.path.At(p)
			if v == nil {
				continue
			}
			av, err := e.form.encode(v, e.options, depth+1)
			if err != nil {
				return nil, err
			}
			if av != nil {
				m[e.name] = av
			}
		}
		return &types.AttributeValueMemberM{Value: m}, nil
	}
}

// decodeOf returns the function that sets the fields by the exact names of their
// attributes, and passes over names that it does not know.
func (t *Table) decodeOf(f *Form) func(any, types.AttributeValue, Options) error {
	return func(p any, av types.AttributeValue, o Options) error {
		m, ok := av.(*types.AttributeValueMemberM)
		if !ok {
			return fallback(p, av, o)
		}
		fields := t.resolve(f)
		for name, av := range m.Value {
			i, ok := t.byName[name]
			if !ok {
				continue
			}
			e := &fields[i]
			if err := e.form.decode(e.path.Make(p), av, e.options); err != nil {
				return err
			}
		}
		AfterLoad(p)
		return nil
	}
}

// scanOf returns decode of a map from the wire.
func (t *Table) scanOf(f *Form) func(any, wire.Value, Options) (bool, error) {
	return func(p any, v wire.Value, _ Options) (bool, error) {
		if v.Kind() != wire.M {
			return false, nil
		}
		fields := t.resolve(f)
		for n := range v.Len() {
			name, av := v.Entry(n)
			i, ok := t.byName[name.Peek()]
			if !ok {
				continue
			}
			e := &fields[i]
			if err := e.form.Scan(e.path.Make(p), av, e.options); err != nil {
				return true, err
			}
		}
		AfterLoad(p)
		return true, nil
	}
}

func (t *Table) sameOf(f *Form) func(a, b any, _ Options) bool {
	return func(a, b any, _ Options) bool {
		fields := t.resolve(f)
		for i := range fields {
			e := &fields[i]
			x, y := e.path.At(a), e.path.At(b)
			if (x == nil) != (y == nil) || x != nil && !e.form.Same(x, y, e.options) {
				return false
			}
		}
		return true
	}
}

func (t *Table) cloneOf(f *Form) func(dst, src any) {
	return func(dst, src any) {
		f.Clear(dst) // embedded pointers that are nil in src are so in dst
		fields := t.resolve(f)
		for i := range fields {
			e := &fields[i]
			if x := e.path.At(src); x != nil {
				e.form.Clone(e.path.Make(dst), x)
			}
		}
	}
}
