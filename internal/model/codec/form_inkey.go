package codec

import (
	"encoding"

	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/redact"
)

// inKey is the form of a leaf in a key. It is empty for types that keys cannot hold.
type inKey struct {
	get func(p any, kind key.Kind) key.Value
	set func(p any, v key.Value) error
}

// KeyValue returns the value at p as a key holds it; text says that it does so by its
// MarshalText.
func (f *Form) KeyValue(p any, kind key.Kind, text bool) (key.Value, error) {
	if text {
		b, err := p.(encoding.TextMarshaler).MarshalText()
		if err != nil {
			return key.Value{}, redact.Hide(err, "MarshalText of %s failed", f.Type)
		}
		return key.OfString(string(b)), nil
	}
	return f.inKey.get(p, kind), nil
}

// SetKeyValue sets the value at p from that of a key.
func (f *Form) SetKeyValue(p any, v key.Value, text bool) error {
	if text {
		if err := p.(encoding.TextUnmarshaler).UnmarshalText([]byte(v.Text)); err != nil {
			return redact.Hide(err, "UnmarshalText of %s failed", f.Type)
		}
		return nil
	}
	return f.inKey.set(p, v)
}

// SameText compares two values by their text.
func (f *Form) SameText(a, b any) bool {
	v, errV := f.KeyValue(a, key.String, true)
	w, errW := f.KeyValue(b, key.String, true)
	return errV == nil && errW == nil && v.Text == w.Text
}

// CloneText copies a value by its text. One that has none is reported when its key is
// made.
func (f *Form) CloneText(dst, src any) {
	v, err := f.KeyValue(src, key.String, true)
	if err != nil || f.SetKeyValue(dst, v, true) != nil {
		f.Assign(dst, src)
	}
}
