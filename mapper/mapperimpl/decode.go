package mapperimpl

import (
	"encoding"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Decoder sets a value from an attribute value. The decoders read what their
// encoders write; whatever else comes, they leave to attributevalue, so that it is
// read, or refused, as that does.
type Decoder[E any] func(av types.AttributeValue, v *E, o Options) error

var decoder = attributevalue.NewDecoder()

// fallback decodes with attributevalue.
func fallback[E any](av types.AttributeValue, v *E, o Options) (err error) {
	defer recovered(&err)
	if o&AsString == 0 {
		return decoder.Decode(av, v)
	}
	// The option is read from the tag of a struct's field only.
	var h struct {
		F E `dynamodbav:"F,string"`
	}
	m := &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"F": av}}
	if err := decoder.Decode(m, &h); err != nil {
		return err
	}
	*v = h.F
	return nil
}

// digits returns the text of a number; ok is false for another type of value.
func digits(av types.AttributeValue, o Options) (text string, ok bool) {
	switch av := av.(type) {
	case *types.AttributeValueMemberN:
		return av.Value, true
	case *types.AttributeValueMemberS:
		return av.Value, o&AsString != 0
	}
	return "", false
}

// DecodeString decodes strings.
func DecodeString[S ~string](av types.AttributeValue, v *S, o Options) error {
	if s, ok := av.(*types.AttributeValueMemberS); ok && o&AsString == 0 {
		*v = S(s.Value)
		return nil
	}
	return fallback(av, v, o)
}

// DecodeNumber decodes strings that are numbers.
func DecodeNumber[S ~string](av types.AttributeValue, v *S, o Options) error {
	if n, ok := av.(*types.AttributeValueMemberN); ok {
		*v = S(n.Value)
		return nil
	}
	return fallback(av, v, o)
}

// DecodeBool decodes bools.
func DecodeBool[B ~bool](av types.AttributeValue, v *B, o Options) error {
	if b, ok := av.(*types.AttributeValueMemberBOOL); ok {
		*v = B(b.Value)
		return nil
	}
	return fallback(av, v, o)
}

// DecodeInt decodes signed integers.
func DecodeInt[I Signed](av types.AttributeValue, v *I, o Options) error {
	if text, ok := digits(av, o); ok {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && int64(I(n)) == n {
			*v = I(n)
			return nil
		}
	}
	return fallback(av, v, o)
}

// DecodeUint decodes unsigned integers.
func DecodeUint[U Unsigned](av types.AttributeValue, v *U, o Options) error {
	if text, ok := digits(av, o); ok {
		if n, err := strconv.ParseUint(text, 10, 64); err == nil && uint64(U(n)) == n {
			*v = U(n)
			return nil
		}
	}
	return fallback(av, v, o)
}

// DecodeFloat32 decodes floats of 32 bits.
func DecodeFloat32[F ~float32](av types.AttributeValue, v *F, o Options) error {
	if text, ok := digits(av, o); ok {
		if f, err := strconv.ParseFloat(text, 64); err == nil && f >= -maxFloat32 && f <= maxFloat32 {
			*v = F(f)
			return nil
		}
	}
	return fallback(av, v, o)
}

const maxFloat32 = 0x1p127 * (1 + (1 - 0x1p-23))

// DecodeFloat64 decodes floats of 64 bits.
func DecodeFloat64[F ~float64](av types.AttributeValue, v *F, o Options) error {
	if text, ok := digits(av, o); ok {
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			*v = F(f)
			return nil
		}
	}
	return fallback(av, v, o)
}

// DecodeTime decodes times, from RFC 3339 text or epoch seconds.
func DecodeTime(av types.AttributeValue, v *time.Time, o Options) error {
	switch av := av.(type) {
	case *types.AttributeValueMemberS:
		if t, err := time.Parse(time.RFC3339, av.Value); err == nil && o&AsString == 0 {
			*v = t
			return nil
		}
	case *types.AttributeValueMemberN:
		if n, err := strconv.ParseInt(av.Value, 10, 64); err == nil {
			*v = time.Unix(n, 0)
			return nil
		}
	}
	return fallback(av, v, o)
}

// DecodeBytes decodes slices of bytes.
func DecodeBytes[B ~[]byte](av types.AttributeValue, v *B, o Options) error {
	if b, ok := av.(*types.AttributeValueMemberB); ok {
		*v = append(make(B, 0, len(b.Value)), b.Value...)
		return nil
	}
	return fallback(av, v, o)
}

// DecodeByteArray decodes an array of bytes, given with a slice of it.
func DecodeByteArray[A any](av types.AttributeValue, v *A, bytes []byte, o Options) error {
	if b, ok := av.(*types.AttributeValueMemberB); ok && len(b.Value) == len(bytes) {
		copy(bytes, b.Value)
		return nil
	}
	return fallback(av, v, o)
}

// DecodeSlice decodes slices from lists.
func DecodeSlice[S ~[]E, E any](av types.AttributeValue, v *S, o Options, dec Decoder[E]) error {
	l, ok := av.(*types.AttributeValueMemberL)
	if !ok {
		return fallback(av, v, o)
	}
	s := make(S, len(l.Value))
	for i := range s {
		if err := dec(l.Value[i], &s[i], 0); err != nil {
			return err
		}
	}
	*v = s
	return nil
}

// DecodeArray decodes an array from a list; elements is a slice of it. As in
// attributevalue, what is too long or too short for the array is no error.
func DecodeArray[A, E any](av types.AttributeValue, v *A, elements []E, o Options, dec Decoder[E]) error {
	l, ok := av.(*types.AttributeValueMemberL)
	if !ok {
		return fallback(av, v, o)
	}
	for i := range min(len(elements), len(l.Value)) {
		if err := dec(l.Value[i], &elements[i], 0); err != nil {
			return err
		}
	}
	return nil
}

// DecodeMap decodes maps. key reads the text of a key; what it does not take is
// left to attributevalue.
func DecodeMap[M ~map[K]E, K comparable, E any](av types.AttributeValue, v *M, o Options, key func(string) (K, bool), dec Decoder[E]) error {
	m, ok := av.(*types.AttributeValueMemberM)
	if !ok {
		return fallback(av, v, o)
	}
	out := make(M, len(m.Value))
	for name, av := range m.Value {
		k, ok := key(name)
		if !ok {
			return fallback(m, v, o)
		}
		var e E
		if err := dec(av, &e, 0); err != nil {
			return err
		}
		out[k] = e
	}
	*v = out
	return nil
}

// DecodePointer decodes what a pointer points to; NULL is nil.
func DecodePointer[E any](av types.AttributeValue, v **E, o Options, dec Decoder[E]) error {
	if _, ok := av.(*types.AttributeValueMemberNULL); ok {
		*v = nil
		return nil
	}
	if *v == nil {
		*v = new(E)
	}
	return dec(av, *v, o)
}

// DecodeStruct decodes a struct from a map; field sets one of its fields by the
// exact name of its attribute, and passes over names that it does not know.
func DecodeStruct[E any](av types.AttributeValue, v *E, o Options, field func(name string, av types.AttributeValue, v *E) error) error {
	m, ok := av.(*types.AttributeValueMemberM)
	if !ok {
		return fallback(av, v, o)
	}
	for name, av := range m.Value {
		if err := field(name, av, v); err != nil {
			return err
		}
	}
	return nil
}

// DecodeOpaque decodes with attributevalue: v is a pointer to the field.
func DecodeOpaque(av types.AttributeValue, v any) (err error) {
	defer recovered(&err)
	return decoder.Decode(av, v)
}

// DecodeOpaqueField decodes as a field of a struct, whose tag has options: holder is a
// pointer to a struct with the field "F".
func DecodeOpaqueField(av types.AttributeValue, holder any) (err error) {
	defer recovered(&err)
	return decoder.Decode(&types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"F": av}}, holder)
}

// The keys of maps, by type; ok is false for a text that is none.

// ParseStringKey reads a string key.
func ParseStringKey[S ~string](s string) (S, bool) { return S(s), true }

// ParseBoolKey reads a bool key.
func ParseBoolKey[B ~bool](s string) (B, bool) {
	b, err := strconv.ParseBool(s)
	return B(b), err == nil
}

// ParseIntKey reads an integer key.
func ParseIntKey[I Signed](s string) (I, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return I(n), err == nil && int64(I(n)) == n
}

// ParseUintKey reads an integer key.
func ParseUintKey[U Unsigned](s string) (U, bool) {
	n, err := strconv.ParseUint(s, 10, 64)
	return U(n), err == nil && uint64(U(n)) == n
}

// ParseFloatKey reads a float key.
func ParseFloatKey[F ~float32 | ~float64](s string) (F, bool) {
	f, err := strconv.ParseFloat(s, 64)
	return F(f), err == nil
}

// ParseTextKey reads a key that has a text form.
func ParseTextKey[K any, P interface {
	*K
	encoding.TextUnmarshaler
}](s string) (k K, ok bool) {
	return k, P(&k).UnmarshalText([]byte(s)) == nil
}
