package codec

import (
	"math"
	"reflect"
	"strconv"
	"time"
	"unsafe"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/redact"
	"github.com/itemize/itemize/internal/request/wire"
)

// access is how a leaf's value is read and set.
type access[V any] struct {
	get func(p any) V
	set func(p any, v V)
}

// copies makes a form copy its values by assignment, as leaves do.
func (f *Form) copies() *Form {
	f.clone = f.assign
	return f
}

// reads gives a leaf its functions to decode. read sets the value at p from the text of a string or number, or from
// true or false. It must not keep the text. It returns false for text that it cannot read.
func (f *Form) reads(read func(p unsafe.Pointer, k wire.Kind, text string, o Options) bool) {
	f.decode = func(p any, av types.AttributeValue, o Options) error {
		if k, text := leafOf(av); read(address(p), k, text, o) {
			return nil
		}
		return fallback(p, av, o)
	}
	f.sets(func(p unsafe.Pointer, v wire.Value, o Options) bool { return read(p, v.Kind(), v.Peek(), o) })
}

// sets has a leaf scan values with set.
func (f *Form) sets(set func(p unsafe.Pointer, v wire.Value, o Options) bool) {
	f.set = set
	f.scan = func(p any, v wire.Value, o Options) (bool, error) { return set(address(p), v, o), nil }
}

// address returns where the value is that p points to. p is a pointer: the second word of such an interface is the
// pointer itself. This takes a fraction of the time of reflect.
func address(p any) unsafe.Pointer { return (*[2]unsafe.Pointer)(unsafe.Pointer(&p))[1] }

// leafOf returns an attribute value as one from the wire is, of no kind for one that is no string, number or
// bool.
func leafOf(av types.AttributeValue) (wire.Kind, string) {
	switch av := av.(type) {
	case *types.AttributeValueMemberS:
		return wire.S, av.Value
	case *types.AttributeValueMemberN:
		return wire.N, av.Value
	case *types.AttributeValueMemberBOOL:
		return wire.BOOL, strconv.FormatBool(av.Value)
	}
	return 0, ""
}

// stringForm completes the form of a string.
func stringForm(f *Form, x access[string]) *Form {
	f.encode = func(p any, o Options, _ int) (types.AttributeValue, error) {
		s := x.get(p)
		if s == "" {
			if av, done := o.empty(false); done {
				return av, nil
			}
		}
		return &types.AttributeValueMemberS{Value: s}, nil
	}
	f.decode = func(p any, av types.AttributeValue, o Options) error {
		if s, ok := av.(*types.AttributeValueMemberS); ok && o&AsString == 0 {
			x.set(p, s.Value)
			return nil
		}
		return fallback(p, av, o)
	}
	f.sets(func(p unsafe.Pointer, v wire.Value, o Options) bool {
		ok := v.Kind() == wire.S && o&AsString == 0
		if ok {
			*(*string)(p) = v.String()
		}
		return ok
	})
	f.text = true
	f.exact = exactString
	f.sameString(x)
	return f.copies()
}

func (f *Form) sameString(x access[string]) {
	f.same = func(a, b any, _ Options) bool { return x.get(a) == x.get(b) }
	f.isZero = func(p any) bool { return x.get(p) == "" }
	f.inKey = inKey{
		func(p any, kind key.Kind) key.Value { return key.Value{Kind: kind, Text: x.get(p)} },
		func(p any, v key.Value) error { x.set(p, v.Text); return nil },
	}
}

// numberForm completes the form of a string that is a number.
func numberForm(f *Form, x access[string]) *Form {
	f.encode = func(p any, o Options, _ int) (types.AttributeValue, error) {
		s := x.get(p)
		if s == "" {
			if av, done := o.empty(false); done {
				return av, nil
			}
		}
		return o.number(s), nil
	}
	f.decode = func(p any, av types.AttributeValue, o Options) error {
		if n, ok := av.(*types.AttributeValueMemberN); ok {
			x.set(p, n.Value)
			return nil
		}
		return fallback(p, av, o)
	}
	f.sets(func(p unsafe.Pointer, v wire.Value, _ Options) bool {
		ok := v.Kind() == wire.N
		if ok {
			*(*string)(p) = v.String()
		}
		return ok
	})
	f.exact = func(_ any, v wire.Value, o Options) bool { return v.Kind() == wire.N && o&AsString == 0 }
	f.sameString(x)
	return f.copies()
}

// boolForm completes the form of a bool.
func boolForm(f *Form, x access[bool]) *Form {
	f.encode = func(p any, o Options, _ int) (types.AttributeValue, error) {
		b := x.get(p)
		if !b {
			if av, done := o.empty(false); done {
				return av, nil
			}
		}
		return &types.AttributeValueMemberBOOL{Value: b}, nil
	}
	f.reads(func(p unsafe.Pointer, k wire.Kind, text string, _ Options) bool {
		if k == wire.BOOL {
			*(*bool)(p) = text == "true"
		}
		return k == wire.BOOL
	})
	f.exact = func(p any, v wire.Value, o Options) bool {
		return v.Kind() == wire.BOOL && (x.get(p) || o.keepsEmpty())
	}
	f.same = func(a, b any, _ Options) bool { return x.get(a) == x.get(b) }
	f.isZero = func(p any) bool { return !x.get(p) }
	return f.copies()
}

// intForm completes the form of a signed integer of so many bits.
func intForm(f *Form, bits int, x access[int64]) *Form {
	f.encode = func(p any, o Options, _ int) (types.AttributeValue, error) {
		n := x.get(p)
		if n == 0 {
			if av, done := o.empty(false); done {
				return av, nil
			}
		}
		return o.number(strconv.FormatInt(n, 10)), nil
	}
	f.reads(func(p unsafe.Pointer, k wire.Kind, text string, o Options) bool {
		if !o.isNumber(k) {
			return false
		}
		n, err := strconv.ParseInt(text, 10, bits)
		if err == nil {
			setInteger(p, bits, uint64(n))
		}
		return err == nil
	})
	f.exact = func(p any, v wire.Value, o Options) bool {
		var room [24]byte
		return exactInteger(x.get(p) == 0, strconv.AppendInt(room[:0], x.get(p), 10), v, o)
	}
	f.same = func(a, b any, _ Options) bool { return x.get(a) == x.get(b) }
	f.isZero = func(p any) bool { return x.get(p) == 0 }
	f.inKey = inKey{
		func(p any, _ key.Kind) key.Value { return key.OfInt(x.get(p)) },
		func(p any, v key.Value) error { x.set(p, v.Int); return nil },
	}
	return f.copies()
}

// uintForm completes the form of an unsigned integer of so many bits.
func uintForm(f *Form, bits int, x access[uint64]) *Form {
	f.encode = func(p any, o Options, _ int) (types.AttributeValue, error) {
		n := x.get(p)
		if n == 0 {
			if av, done := o.empty(false); done {
				return av, nil
			}
		}
		return o.number(strconv.FormatUint(n, 10)), nil
	}
	f.reads(func(p unsafe.Pointer, k wire.Kind, text string, o Options) bool {
		if !o.isNumber(k) {
			return false
		}
		n, err := strconv.ParseUint(text, 10, bits)
		if err == nil {
			setInteger(p, bits, n)
		}
		return err == nil
	})
	f.exact = func(p any, v wire.Value, o Options) bool {
		var room [24]byte
		return exactInteger(x.get(p) == 0, strconv.AppendUint(room[:0], x.get(p), 10), v, o)
	}
	f.same = func(a, b any, _ Options) bool { return x.get(a) == x.get(b) }
	f.isZero = func(p any) bool { return x.get(p) == 0 }
	f.inKey = inKey{
		func(p any, _ key.Kind) key.Value { return key.OfUint(x.get(p)) },
		func(p any, v key.Value) error { x.set(p, v.Uint); return nil },
	}
	return f.copies()
}

// setInteger sets an integer of so many bits. A negative one is given as its two's complement.
func setInteger(p unsafe.Pointer, bits int, n uint64) {
	switch bits {
	case 8:
		*(*uint8)(p) = uint8(n)
	case 16:
		*(*uint16)(p) = uint16(n)
	case 32:
		*(*uint32)(p) = uint32(n)
	default:
		*(*uint64)(p) = n
	}
}

// floatForm completes the form of a float of so many bits. Zero and minus zero are not
// the same.
func floatForm(f *Form, bits int, x access[float64]) *Form {
	f.encode = func(p any, o Options, _ int) (types.AttributeValue, error) {
		n := x.get(p)
		if n == 0 {
			if av, done := o.empty(false); done {
				return av, nil
			}
		}
		return o.number(strconv.FormatFloat(n, 'f', -1, bits)), nil
	}
	f.reads(func(p unsafe.Pointer, k wire.Kind, text string, o Options) bool {
		if !o.isNumber(k) {
			return false
		}
		n, err := strconv.ParseFloat(text, bits)
		switch {
		case err != nil:
			return false
		case bits == 64:
			*(*float64)(p) = n
		default:
			*(*float32)(p) = float32(n)
		}
		return true
	})
	f.exact = func(p any, v wire.Value, o Options) bool { return exactFloat(x.get(p), bits, v, o) }
	f.same = func(a, b any, _ Options) bool { return math.Float64bits(x.get(a)) == math.Float64bits(x.get(b)) }
	f.isZero = func(p any) bool { return math.Float64bits(x.get(p)) == 0 }
	return f.copies()
}

// timeForm completes the form of a type that converts to time.Time; at returns a value
// as one.
func timeForm(f *Form, at func(p any) *time.Time) *Form {
	f.encode = func(p any, o Options, _ int) (types.AttributeValue, error) {
		if o&UnixTime != 0 {
			return &types.AttributeValueMemberN{Value: strconv.FormatInt(at(p).Unix(), 10)}, nil
		}
		return encodeTime(*at(p))
	}
	f.reads(func(p unsafe.Pointer, k wire.Kind, text string, o Options) bool {
		var t time.Time
		var err error
		switch {
		case k == wire.S && o&AsString == 0:
			t, err = time.Parse(time.RFC3339, text)
		case k == wire.N:
			var n int64
			n, err = strconv.ParseInt(text, 10, 64)
			t = time.Unix(n, 0)
		default:
			return false
		}
		if err == nil {
			*(*time.Time)(p) = t
		}
		return err == nil
	})
	f.exact = func(p any, v wire.Value, o Options) bool { return exactTime(at(p), v, o) }
	f.same = func(a, b any, o Options) bool { return SameTime(at(a), at(b), o&UnixTime != 0) }
	f.isZero = func(p any) bool { return at(p).IsZero() }
	f.inKey = inKey{
		func(p any, _ key.Kind) key.Value { return key.OfTime(*at(p)) },
		func(p any, v key.Value) error { *at(p) = v.Time; return nil },
	}
	f.time = at
	if reflect.PointerTo(f.Type).Implements(reflect.TypeFor[attributevalue.Marshaler]()) {
		opaqueForm(f) // it encodes itself, as attributevalue.UnixTime does
		f.scan, f.set, f.exact = nil, nil, nil
	}
	return f.copies()
}

// encodeTime returns a time as text, the same instant in any zone.
func encodeTime(t time.Time) (types.AttributeValue, error) {
	t = writable(t)
	if y := t.Year(); y < 0 || y > 9999 {
		return nil, redact.Safe(redact.Errorf("the year%v is not one of 0 to 9999, so that the time could not be read "+
			"as RFC 3339: store a time of these years", redact.Of(y)))
	}
	return &types.AttributeValueMemberS{Value: t.Format(time.RFC3339Nano)}, nil
}

// writable returns a time in a zone that RFC 3339 can write, UTC if its own zone has seconds or is a day from UTC:
// RFC 3339 has offsets in minutes, so that the text would be of another instant.
func writable(t time.Time) time.Time {
	if _, offset := t.Zone(); offset%60 != 0 || offset <= -86400 || offset >= 86400 {
		return t.UTC()
	}
	return t
}

// SameTime reports whether two times encode alike: as text with nanoseconds and the
// zone's offset in minutes, or as epoch seconds.
func SameTime(a, b *time.Time, unixTime bool) bool {
	if unixTime {
		return a.Unix() == b.Unix()
	}
	if !a.Equal(*b) {
		return false
	}
	_, x := writable(*a).Zone()
	_, y := writable(*b).Zone()
	return x == y
}
