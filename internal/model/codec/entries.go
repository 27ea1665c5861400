package codec

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/redact"
	"github.com/itemize/itemize/internal/request/wire"
)

// Entries is the way to the entries of a map. Keys and elements are given as pointers.
type Entries struct {
	// Key and Elem are the forms of the keys and the elements.
	Key, Elem *Form
	isNil     func(p any) bool
	len       func(p any) int
	// make sets the value to a map with room for n entries, nil for a negative n.
	make func(p any, n int)
	// each yields pointers to copies of the entries, the same ones each time.
	each func(p any, yield func(k, e any) bool)
	// at sets e to an entry's element, and reports whether there is one.
	at  func(p, k, e any) bool
	put func(p, k, e any)
	// box returns a pointer to a key that an any holds, unbox what a pointer points to.
	box   func(k any) any
	unbox func(k any) any
	text  keyText
}

// entriesForm completes the form of a map.
func entriesForm(f *Form, m *Entries) *Form {
	f.Entries = m
	m.text = keyTextOf(m.Key.Type)
	f.encode, f.decode, f.scan, f.exact = m.encode, m.decode, m.scan, m.exact
	f.same, f.clone = m.same, m.clone
	f.isZero = m.isNil
	return f
}

func (m *Entries) encode(p any, o Options, depth int) (types.AttributeValue, error) {
	if m.isNil(p) {
		if av, done := o.empty(true); done {
			return av, nil
		}
	}
	if depth >= attr.MaxDepth {
		return nil, errDeep
	}
	out := make(map[string]types.AttributeValue, m.len(p))
	var failed error
	m.each(p, func(k, e any) bool {
		name, err := m.text.of(k)
		if err == nil && name == "" {
			err = errors.New("marshal failed, map key cannot be empty")
		}
		if err != nil {
			failed = err
			return false
		}
		av, err := m.Elem.encode(e, o.Elem(), depth+1)
		if av != nil && err == nil {
			if out[name] != nil {
				err = redact.Errorf(
					"two keys have the same text%v, so that one entry would be dropped: use keys with different "+
						"texts",
					redact.Of(name),
				)
			}
			out[name] = av
		}
		failed = err
		return err == nil
	})
	if failed != nil {
		return nil, failed
	}
	return &types.AttributeValueMemberM{Value: out}, nil
}

func (m *Entries) decode(p any, av types.AttributeValue, o Options) error {
	from, ok := av.(*types.AttributeValueMemberM)
	if !ok {
		return fallback(p, av, o)
	}
	k := m.Key.New()
	for name := range from.Value {
		m.Key.Clear(k)
		if !m.text.set(k, name) {
			return fallback(p, av, o)
		}
	}
	m.make(p, len(from.Value))
	put := func(name string) error {
		e := m.Elem.New()
		if err := m.Elem.decode(e, from.Value[name], 0); err != nil {
			return err
		}
		m.Key.Clear(k)
		m.text.set(k, name)
		m.put(p, k, e)
		return nil
	}
	for name := range from.Value {
		if err := put(name); err != nil {
			return err
		}
	}
	if m.len(p) == len(from.Value) {
		return nil
	}
	for _, name := range chosen(m.Key.Type, from.Value) {
		if err := put(name); err != nil {
			return err
		}
	}
	return nil
}

// chosen returns for each key of a type, by its own text, the stored name whose entry a load takes: of several texts of
// one key the key's own text, or the first in order.
func chosen(t reflect.Type, stored map[string]types.AttributeValue) map[string]string {
	all := make(map[string]string, len(stored))
	for name := range stored {
		own, ok := ownText(t, name)
		if !ok {
			continue
		}
		if before, other := all[own]; !other || name == own || before != own && name < before {
			all[own] = name
		}
	}
	return all
}

// ownText returns the text of the key of a type that a name is a text of.
func ownText(t reflect.Type, name string) (own string, ok bool) {
	text, k := keyTextOf(t), reflect.New(t).Interface()
	if !text.set(k, name) {
		return "", false
	}
	own, err := text.of(k)
	return own, err == nil
}

// scan is decode of a map from the wire.
func (m *Entries) scan(p any, v wire.Value, _ Options) (bool, error) {
	if v.Kind() != wire.M || !m.takes(v) {
		return false, nil
	}
	m.make(p, v.Len())
	k := m.Key.New()
	for i := range v.Len() {
		name, av := v.Entry(i)
		e := m.Elem.New()
		if err := m.Elem.Scan(e, av, 0); err != nil {
			return true, err
		}
		m.Key.Clear(k)
		m.text.set(k, name.String())
		m.put(p, k, e)
	}
	return m.len(p) == v.Len(), nil // two texts of one key are for decode
}

// takes reports whether all names of a map can be keys.
func (m *Entries) takes(v wire.Value) bool {
	if m.text.any {
		return true
	}
	k := m.Key.New()
	for i := range v.Len() {
		name, _ := v.Entry(i)
		m.Key.Clear(k)
		if !m.text.set(k, name.String()) {
			return false
		}
	}
	return true
}

func (m *Entries) same(a, b any, _ Options) bool {
	return m.isNil(a) == m.isNil(b) && m.Equal(a, b, func(x, y any) bool { return m.Elem.Same(x, y, 0) })
}

// Equal reports whether two maps have the same keys, with elements that are the same.
func (m *Entries) Equal(a, b any, same func(x, y any) bool) bool {
	if m.len(a) != m.len(b) {
		return false
	}
	if m.len(a) == 0 {
		return true
	}
	equal, other := true, m.Elem.New()
	m.each(a, func(k, e any) bool {
		equal = m.at(b, k, other) && same(e, other)
		return equal
	})
	return equal
}

func (m *Entries) clone(dst, src any) {
	if m.isNil(src) {
		m.make(dst, -1)
		return
	}
	m.make(dst, m.len(src))
	m.each(src, func(k, e any) bool {
		c := m.Elem.New()
		m.Elem.Clone(c, e)
		m.put(dst, k, c)
		return true
	})
}

// Len returns the number of entries.
func (m *Entries) Len(p any) int { return m.len(p) }

// Each yields the entries: the key, and a pointer to a copy of the element.
func (m *Entries) Each(p any, yield func(k, e any) bool) {
	m.each(p, func(k, e any) bool {
		c := m.Elem.New()
		m.Elem.Assign(c, e)
		return yield(m.unbox(k), c)
	})
}

// At returns a pointer to a copy of the element at a key, a zero one for none.
func (m *Entries) At(p, k any) any {
	e := m.Elem.New()
	m.at(p, m.box(k), e)
	return e
}

// Put sets the element at a key.
func (m *Entries) Put(p, k, e any) {
	if m.isNil(p) {
		m.make(p, 0)
	}
	m.put(p, m.box(k), e)
}

// Reset makes the map empty, with room for n entries: nil for none.
func (m *Entries) Reset(p any, n int) {
	if n == 0 {
		n = -1
	}
	m.make(p, n)
}

// Text returns the text of a key, as it is stored.
func (m *Entries) Text(k any) (string, error) { return m.text.of(m.box(k)) }

// Box returns a pointer to a key that an any holds, Unbox what such a pointer points to.
func (m *Entries) Box(k any) any { return m.box(k) }

// Unbox is described at Box.
func (m *Entries) Unbox(k any) any { return m.unbox(k) }

// keyText turns a map's keys into text, and back; keys are given as pointers.
type keyText struct {
	of  func(k any) (string, error)
	set func(k any, text string) bool
	// any reports that set takes any text.
	any bool
}

// keyTextOf returns the texts of a key type, as attributevalue has them.
func keyTextOf(t reflect.Type) keyText {
	if t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return marshaledText
	}
	switch t.Kind() {
	case reflect.String:
		if t == reflect.TypeFor[string]() {
			return plainText
		}
		return keyText{
			func(k any) (string, error) { return reflect.ValueOf(k).Elem().String(), nil },
			func(k any, s string) bool { reflect.ValueOf(k).Elem().SetString(s); return true },
			true,
		}
	case reflect.Bool:
		return keyText{
			func(k any) (string, error) { return strconv.FormatBool(reflect.ValueOf(k).Elem().Bool()), nil },
			func(k any, s string) bool {
				b, err := strconv.ParseBool(s)
				reflect.ValueOf(k).Elem().SetBool(b)
				return err == nil
			},
			false,
		}
	}
	return numberText(t)
}

var plainText = keyText{
	func(k any) (string, error) { return *k.(*string), nil },
	func(k any, s string) bool { *k.(*string) = s; return true },
	true,
}

var marshaledText = keyText{
	func(k any) (string, error) {
		b, err := k.(encoding.TextMarshaler).MarshalText()
		if err != nil {
			return "", redact.Hide(err, "MarshalText of the map key failed")
		}
		return string(b), nil
	},
	func(k any, s string) bool { return k.(encoding.TextUnmarshaler).UnmarshalText([]byte(s)) == nil },
	false,
}

// numberText returns the texts of keys that are numbers.
func numberText(t reflect.Type) keyText {
	print := func(k any) (string, error) { return fmt.Sprint(reflect.ValueOf(k).Elem().Interface()), nil }
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return keyText{print, func(k any, s string) bool {
			n, err := strconv.ParseInt(s, 10, t.Bits())
			reflect.ValueOf(k).Elem().SetInt(n)
			return err == nil
		}, false}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return keyText{print, func(k any, s string) bool {
			n, err := strconv.ParseUint(s, 10, t.Bits())
			reflect.ValueOf(k).Elem().SetUint(n)
			return err == nil
		}, false}
	case reflect.Float32, reflect.Float64:
		return keyText{print, func(k any, s string) bool {
			n, err := strconv.ParseFloat(s, t.Bits())
			reflect.ValueOf(k).Elem().SetFloat(n)
			return err == nil
		}, false}
	}
	return keyText{ // the schema refuses other types inside attributes
		func(any) (string, error) {
			return "", fmt.Errorf("marshal failed, map keys of type %s have no text", t)
		},
		func(any, string) bool { return false },
		false,
	}
}
