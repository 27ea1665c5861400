package large

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/itemize/itemize/internal/model/codec"
)

// encoding/json and encoding/gob have no context, so encoding a Value never sends a request.

// MarshalJSON encodes the value as its T, and an empty Value as null. A value that is not in memory is
// an error: an external value, or one from a reader. Call Get first, or tag the field json:"-".
func (x Value[T]) MarshalJSON() ([]byte, error) {
	v, ok, err := x.exists()
	if err != nil || !ok {
		return []byte("null"), err
	}
	return json.Marshal(v)
}

// UnmarshalJSON sets a new value, which the next save of the item stores. null clears it.
func (x *Value[T]) UnmarshalJSON(data []byte) error {
	if string(bytes.TrimSpace(data)) == "null" {
		x.Clear()
		return nil
	}
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	x.Set(v)
	return nil
}

// GobEncode is MarshalJSON for encoding/gob.
func (x Value[T]) GobEncode() ([]byte, error) {
	v, ok, err := x.exists()
	if err != nil || !ok {
		return nil, err
	}
	var b bytes.Buffer
	err = gob.NewEncoder(&b).Encode(&v)
	return b.Bytes(), err
}

// GobDecode is UnmarshalJSON for encoding/gob.
func (x *Value[T]) GobDecode(data []byte) error {
	if len(data) == 0 {
		x.Clear()
		return nil
	}
	var v T
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&v); err != nil {
		return err
	}
	x.Set(v)
	return nil
}

// exists returns the value if it is in memory. ok is false if there is none.
func (x Value[T]) exists() (v T, ok bool, err error) {
	if x.IsZero() {
		return v, false, nil
	}
	av, exists, err := x.cell.Current()
	switch {
	case err != nil:
		return v, false, err
	case !exists:
		return v, false, fmt.Errorf("a large.Value[%s] that is not in memory cannot be encoded: call Get, and "+
			"encode its result, or leave the field out", reflect.TypeFor[T]())
	}
	return v, true, codec.Unmarshal(av, &v)
}
