package codec

import (
	"fmt"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/request/wire"
)

// bytesForm completes the form of a slice of bytes.
func bytesForm(f *Form, x access[[]byte]) *Form {
	f.encode = func(p any, o Options, _ int) (types.AttributeValue, error) {
		b := x.get(p)
		if b == nil {
			if av, done := o.empty(true); done {
				return av, nil
			}
		}
		return &types.AttributeValueMemberB{Value: append([]byte{}, b...)}, nil
	}
	f.decode = func(p any, av types.AttributeValue, o Options) error {
		if b, ok := av.(*types.AttributeValueMemberB); ok {
			x.set(p, append(make([]byte, 0, len(b.Value)), b.Value...))
			return nil
		}
		return fallback(p, av, o)
	}
	f.scan = func(p any, v wire.Value, _ Options) (bool, error) {
		if v.Kind() == wire.B {
			x.set(p, v.Bytes())
		}
		return v.Kind() == wire.B, nil
	}
	f.exact = func(_ any, v wire.Value, _ Options) bool { return v.Kind() == wire.B }
	f.same = func(a, b any, _ Options) bool {
		v, w := x.get(a), x.get(b)
		return (v == nil) == (w == nil) && string(v) == string(w)
	}
	f.clone = func(dst, src any) {
		b := x.get(src)
		if b == nil {
			x.set(dst, nil)
			return
		}
		x.set(dst, append(make([]byte, 0, len(b)), b...))
	}
	f.isZero = func(p any) bool { return x.get(p) == nil }
	f.inKey = inKey{
		func(p any, _ key.Kind) key.Value { return key.OfBytes(x.get(p)) },
		func(p any, v key.Value) error { x.set(p, []byte(v.Text)); return nil },
	}
	return f
}

// byteArrayForm completes the form of an array of bytes, which reflect reaches without
// allocating.
func byteArrayForm(f *Form) *Form {
	slice := func(p any) []byte { return reflect.ValueOf(p).Elem().Bytes() }
	typ := f.Type
	f.encode = func(p any, o Options, _ int) (types.AttributeValue, error) {
		b := slice(p)
		if len(b) == 0 {
			if av, done := o.empty(false); done {
				return av, nil
			}
		}
		return &types.AttributeValueMemberB{Value: append([]byte{}, b...)}, nil
	}
	f.decode = func(p any, av types.AttributeValue, o Options) error {
		if b, ok := av.(*types.AttributeValueMemberB); ok {
			if len(b.Value) != typ.Len() { // for which attributevalue panics
				return fmt.Errorf("the stored length is wrong: %d bytes are stored, but %s takes %d", len(b.Value),
					typ, typ.Len())
			}
			copy(slice(p), b.Value)
			return nil
		}
		return fallback(p, av, o)
	}
	f.same = func(a, b any, _ Options) bool { return string(slice(a)) == string(slice(b)) }
	f.inKey = inKey{
		func(p any, _ key.Kind) key.Value { return key.OfBytes(slice(p)) },
		func(p any, v key.Value) error {
			if len(v.Text) != typ.Len() {
				return fmt.Errorf("the length is wrong: %d bytes in a key of %s", len(v.Text), typ)
			}
			copy(slice(p), v.Text)
			return nil
		},
	}
	return f.copies()
}
