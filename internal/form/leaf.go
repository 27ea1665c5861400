package form

import (
	"math"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/key"
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
	f.decode = func(p any, av types.AttributeValue, o Options) error {
		if b, ok := av.(*types.AttributeValueMemberBOOL); ok {
			x.set(p, b.Value)
			return nil
		}
		return fallback(p, av, o)
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
	f.decode = func(p any, av types.AttributeValue, o Options) error {
		if text, ok := o.digits(av); ok {
			if n, err := strconv.ParseInt(text, 10, bits); err == nil {
				x.set(p, n)
				return nil
			}
		}
		return fallback(p, av, o)
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
	f.decode = func(p any, av types.AttributeValue, o Options) error {
		if text, ok := o.digits(av); ok {
			if n, err := strconv.ParseUint(text, 10, bits); err == nil {
				x.set(p, n)
				return nil
			}
		}
		return fallback(p, av, o)
	}
	f.same = func(a, b any, _ Options) bool { return x.get(a) == x.get(b) }
	f.isZero = func(p any) bool { return x.get(p) == 0 }
	f.inKey = inKey{
		func(p any, _ key.Kind) key.Value { return key.OfUint(x.get(p)) },
		func(p any, v key.Value) error { x.set(p, v.Uint); return nil },
	}
	return f.copies()
}

const maxFloat32 = 0x1p127 * (1 + (1 - 0x1p-23))

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
	f.decode = func(p any, av types.AttributeValue, o Options) error {
		if text, ok := o.digits(av); ok {
			n, err := strconv.ParseFloat(text, 64)
			if err == nil && (bits == 64 || n >= -maxFloat32 && n <= maxFloat32) {
				x.set(p, n)
				return nil
			}
		}
		return fallback(p, av, o)
	}
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
		return &types.AttributeValueMemberS{Value: at(p).Format(time.RFC3339Nano)}, nil
	}
	f.decode = func(p any, av types.AttributeValue, o Options) error {
		switch av := av.(type) {
		case *types.AttributeValueMemberS:
			if t, err := time.Parse(time.RFC3339, av.Value); err == nil && o&AsString == 0 {
				*at(p) = t
				return nil
			}
		case *types.AttributeValueMemberN:
			if n, err := strconv.ParseInt(av.Value, 10, 64); err == nil {
				*at(p) = time.Unix(n, 0)
				return nil
			}
		}
		return fallback(p, av, o)
	}
	f.same = func(a, b any, o Options) bool { return SameTime(at(a), at(b), o&UnixTime != 0) }
	f.isZero = func(p any) bool { return at(p).IsZero() }
	f.inKey = inKey{
		func(p any, _ key.Kind) key.Value { return key.OfTime(*at(p)) },
		func(p any, v key.Value) error { *at(p) = v.Time; return nil },
	}
	f.time = at
	return f.copies()
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
	_, x := a.Zone()
	_, y := b.Zone()
	return x/60 == y/60
}
