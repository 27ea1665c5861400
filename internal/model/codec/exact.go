package codec

import (
	"strconv"
	"time"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/request/wire"
)

// A stored value is exact if the Go value that it was decoded into encodes to the same value again. A
// value with an unknown nested attribute is not exact, for instance, and neither is a number with more
// digits than a float64 has. A condition on a value that was read must compare with the stored value,
// and not with the encoded one.
//
// Most forms compare without encoding. A form without the function exact encodes the value.

// Exact reports whether the value at p, which was decoded from v, encodes to v.
func (f *Form) Exact(p any, v wire.Value, o Options) bool {
	if f.exact != nil {
		return f.exact(p, v, o)
	}
	av, err := f.encode(p, o, 0)
	return err == nil && av != nil && attr.Same(av, v.Attribute())
}

// keepsEmpty reports whether an empty value is encoded as it is. It is left out, or NULL, if an option asks for that.
func (o Options) keepsEmpty() bool {
	_, decided := o.empty(false)
	return !decided
}

func exactString(_ any, v wire.Value, o Options) bool {
	return v.Kind() == wire.S && (v.Peek() != "" || o.keepsEmpty())
}

// exactInteger compares an integer. A number that was read as an integer has no other digits.
func exactInteger(zero bool, text []byte, v wire.Value, o Options) bool {
	if zero && !o.keepsEmpty() {
		return false
	}
	if o&AsString != 0 {
		return v.Kind() == wire.S && string(text) == v.Peek()
	}
	return v.Kind() == wire.N
}

// Numbers of so many digits or fewer are read and written by floats without a change.
const (
	exactDigits64 = 15
	exactDigits32 = 6
)

func exactFloat(n float64, bits int, v wire.Value, o Options) bool {
	switch {
	case n == 0 && !o.keepsEmpty():
		return false
	case o&AsString == 0 && v.Kind() != wire.N, o&AsString != 0 && v.Kind() != wire.S:
		return false
	}
	most, text := exactDigits64, v.Peek()
	if bits == 32 {
		most = exactDigits32
	}
	if o&AsString == 0 && len(text) <= most {
		return true
	}
	var room [64]byte
	own := string(strconv.AppendFloat(room[:0], n, 'f', -1, bits))
	return own == text || o&AsString == 0 && attr.Canonical(own) == attr.Canonical(text)
}

func exactTime(t *time.Time, v wire.Value, o Options) bool {
	if o&UnixTime != 0 {
		return v.Kind() == wire.N
	}
	var room [64]byte
	return v.Kind() == wire.S && string(writable(*t).AppendFormat(room[:0], time.RFC3339Nano)) == v.Peek()
}

func (l *List) exact(f *Form) func(any, wire.Value, Options) bool {
	return func(p any, v wire.Value, o Options) bool {
		if o&(StringSet|NumberSet|BinarySet) != 0 || f.Type == byteSlices {
			av, err := f.encode(p, o, 0)
			return err == nil && av != nil && attr.Same(av, v.Attribute())
		}
		n := l.len(p)
		if v.Kind() != wire.L || v.Len() != n || l.isNil == nil && n == 0 && !o.keepsEmpty() {
			return false
		}
		for i := range n {
			if !l.Elem.Exact(l.at(p, i), v.At(i), o.Elem()) {
				return false
			}
		}
		return true
	}
}

func (m *Entries) exact(p any, v wire.Value, o Options) bool {
	if v.Kind() != wire.M || v.Len() != m.len(p) {
		return false
	}
	if v.Len() == 0 {
		return true
	}
	k, e := m.Key.New(), m.Elem.New()
	for i := range v.Len() {
		name, av := v.Entry(i)
		text := name.Peek()
		m.Key.Clear(k)
		if !m.text.set(k, text) || !m.at(p, k, e) || !m.Elem.Exact(e, av, o.Elem()) {
			return false
		}
		if own, err := m.text.of(k); err != nil || own != text {
			return false
		}
	}
	return true
}

func (x *Pointer) exact(p any, v wire.Value, o Options) bool {
	e := x.load(p)
	switch {
	case v.Kind() == wire.NULL && o&pointee == 0:
		return e == nil && o&OmitEmpty == 0
	case v.Kind() == wire.NULL:
		return e == nil && (o&OmitEmpty == 0 || o&OmitEmptyElem == 0)
	case e == nil:
		return false
	}
	return x.Elem.Exact(e, v, o^pointee)
}

func (t *Table) exactOf(f *Form) func(any, wire.Value, Options) bool {
	return func(p any, v wire.Value, _ Options) bool {
		fields := t.resolve(f)
		if v.Kind() != wire.M || v.Len() > len(fields) {
			return false
		}
		for i := range v.Len() {
			name, av := v.Entry(i)
			n, ok := t.byName[name.Peek()]
			if !ok {
				return false
			}
			e := &fields[n]
			if at := e.path.At(p); at == nil || !e.form.Exact(at, av, e.options) {
				return false
			}
		}
		if v.Len() == len(fields) {
			return true
		}
		return t.omits(fields, p, v)
	}
}

// omits reports whether the fields that a stored map does not have are left out when the struct is encoded.
func (t *Table) omits(fields []encoded, p any, v wire.Value) bool {
	for i := range fields {
		e := &fields[i]
		at := e.path.At(p)
		if at == nil || hasEntry(v, e.name) {
			continue
		}
		if e.options&OmitEmpty == 0 {
			return false
		}
		if av, err := e.form.encode(at, e.options, 0); err != nil || av != nil {
			return false
		}
	}
	return true
}

func hasEntry(v wire.Value, name string) bool {
	for i := range v.Len() {
		if n, _ := v.Entry(i); n.Peek() == name {
			return true
		}
	}
	return false
}
