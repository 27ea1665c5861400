package mapperimpl

import (
	"encoding"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/codec"
)

// Options are the options of a dynamodbav tag, and what an encoder is told of the
// value's place. The encoders give just what attributevalue gives.
type Options uint16

// The options.
const (
	OmitEmpty Options = 1 << iota
	OmitEmptyElem
	NullEmpty
	NullEmptyElem
	AsString
	StringSet
	NumberSet
	BinarySet
	UnixTime
	// Pointee tells that the value is what a pointer points to: it is there, even
	// if it is empty.
	Pointee
)

// Encoder encodes a value; a nil result is left out.
type Encoder[E any] func(v *E, o Options) (types.AttributeValue, error)

// elem returns the options of a slice's or map's elements.
func (o Options) elem() Options {
	var e Options
	if o&OmitEmptyElem != 0 {
		e = OmitEmpty | OmitEmptyElem
	}
	if o&NullEmptyElem != 0 {
		e |= NullEmpty
	}
	return e
}

// empty decides about an empty value. done tells that the value is decided: left
// out, or NULL. nullable tells that it is NULL without being asked, as nil is.
func (o Options) empty(nullable bool) (v types.AttributeValue, done bool) {
	switch {
	case o&Pointee != 0:
		return nil, false
	case o&OmitEmpty != 0:
		return nil, true
	case nullable || o&NullEmpty != 0:
		return null(), true
	}
	return nil, false
}

func null() types.AttributeValue { return &types.AttributeValueMemberNULL{Value: true} }

// number returns a number, as a string if asked.
func (o Options) number(text string) types.AttributeValue {
	if o&AsString != 0 {
		return &types.AttributeValueMemberS{Value: text}
	}
	return &types.AttributeValueMemberN{Value: text}
}

// EncodeString encodes strings.
func EncodeString[S ~string](v *S, o Options) (types.AttributeValue, error) {
	if *v == "" {
		if av, done := o.empty(false); done {
			return av, nil
		}
	}
	return &types.AttributeValueMemberS{Value: string(*v)}, nil
}

// EncodeNumber encodes strings that are numbers.
func EncodeNumber[S ~string](v *S, o Options) (types.AttributeValue, error) {
	if *v == "" {
		if av, done := o.empty(false); done {
			return av, nil
		}
	}
	return o.number(string(*v)), nil
}

// EncodeBool encodes bools.
func EncodeBool[B ~bool](v *B, o Options) (types.AttributeValue, error) {
	if !*v {
		if av, done := o.empty(false); done {
			return av, nil
		}
	}
	return &types.AttributeValueMemberBOOL{Value: bool(*v)}, nil
}

// Signed and Unsigned are the integer types.
type (
	Signed interface {
		~int | ~int8 | ~int16 | ~int32 | ~int64
	}
	Unsigned interface {
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
	}
)

// EncodeInt encodes signed integers.
func EncodeInt[I Signed](v *I, o Options) (types.AttributeValue, error) {
	if *v == 0 {
		if av, done := o.empty(false); done {
			return av, nil
		}
	}
	return o.number(strconv.FormatInt(int64(*v), 10)), nil
}

// EncodeUint encodes unsigned integers.
func EncodeUint[U Unsigned](v *U, o Options) (types.AttributeValue, error) {
	if *v == 0 {
		if av, done := o.empty(false); done {
			return av, nil
		}
	}
	return o.number(strconv.FormatUint(uint64(*v), 10)), nil
}

// EncodeFloat32 encodes floats of 32 bits.
func EncodeFloat32[F ~float32](v *F, o Options) (types.AttributeValue, error) {
	return encodeFloat(float64(*v), 32, o), nil
}

// EncodeFloat64 encodes floats of 64 bits.
func EncodeFloat64[F ~float64](v *F, o Options) (types.AttributeValue, error) {
	return encodeFloat(float64(*v), 64, o), nil
}

func encodeFloat(f float64, bits int, o Options) types.AttributeValue {
	if f == 0 {
		if av, done := o.empty(false); done {
			return av
		}
	}
	return o.number(strconv.FormatFloat(f, 'f', -1, bits))
}

// EncodeTime encodes times: as RFC 3339 text, or as epoch seconds.
func EncodeTime(v *time.Time, o Options) (types.AttributeValue, error) {
	if o&UnixTime != 0 {
		return &types.AttributeValueMemberN{Value: strconv.FormatInt(v.Unix(), 10)}, nil
	}
	return &types.AttributeValueMemberS{Value: v.Format(time.RFC3339Nano)}, nil
}

// EncodeBytes encodes slices of bytes.
func EncodeBytes[B ~[]byte](v *B, o Options) (types.AttributeValue, error) {
	if *v == nil {
		if av, done := o.empty(true); done {
			return av, nil
		}
	}
	return &types.AttributeValueMemberB{Value: append([]byte{}, *v...)}, nil
}

// EncodeByteArray encodes an array of bytes, given as a slice of it.
func EncodeByteArray(v []byte, o Options) (types.AttributeValue, error) {
	if len(v) == 0 {
		if av, done := o.empty(false); done {
			return av, nil
		}
	}
	return &types.AttributeValueMemberB{Value: append([]byte{}, v...)}, nil
}

// EncodeSlice encodes slices as lists, or as sets.
func EncodeSlice[S ~[]E, E any](v *S, o Options, enc Encoder[E]) (types.AttributeValue, error) {
	if *v == nil {
		if av, done := o.empty(true); done {
			return av, nil
		}
	}
	return encodeElements(*v, o, enc)
}

// EncodeArray encodes an array, given as a slice of it.
func EncodeArray[E any](v []E, o Options, enc Encoder[E]) (types.AttributeValue, error) {
	if len(v) == 0 {
		if av, done := o.empty(false); done {
			return av, nil
		}
	}
	return encodeElements(v, o, enc)
}

func encodeElements[E any](v []E, o Options, enc Encoder[E]) (types.AttributeValue, error) {
	if o&(StringSet|NumberSet|BinarySet) != 0 {
		return encodeSet(v, o, enc)
	}
	l := make([]types.AttributeValue, 0, len(v))
	for i := range v {
		av, err := enc(&v[i], o.elem())
		if err != nil {
			return nil, err
		}
		if av != nil {
			l = append(l, av)
		}
	}
	return &types.AttributeValueMemberL{Value: l}, nil
}

func encodeSet[E any](v []E, o Options, enc Encoder[E]) (types.AttributeValue, error) {
	if len(v) == 0 {
		return null(), nil
	}
	set := &setBuilder{o: o}
	for i := range v {
		av, err := enc(&v[i], o.elem())
		if err == nil && av != nil {
			err = set.add(av)
		}
		if err != nil {
			return nil, err
		}
	}
	return set.value(), nil
}

// setBuilder collects the members of a set. As in attributevalue, binary goes
// before number, and number before string.
type setBuilder struct {
	o     Options
	bytes [][]byte
	texts []string
}

func (s *setBuilder) add(av types.AttributeValue) error {
	switch av := av.(type) {
	case *types.AttributeValueMemberB:
		if s.o&BinarySet != 0 && av.Value != nil {
			s.bytes = append(s.bytes, av.Value)
			return nil
		}
	case *types.AttributeValueMemberN:
		if s.o&(BinarySet|NumberSet) == NumberSet {
			s.texts = append(s.texts, av.Value)
			return nil
		}
	case *types.AttributeValueMemberS:
		if s.o&(BinarySet|NumberSet|StringSet) == StringSet {
			s.texts = append(s.texts, av.Value)
			return nil
		}
	}
	switch {
	case s.o&BinarySet != 0:
		return errors.New("marshal failed, binary set must only contain non-nil byte slices")
	case s.o&NumberSet != 0:
		return errors.New("marshal failed, number set must only contain non-nil string numbers")
	}
	return errors.New("marshal failed, string set must only contain non-nil strings")
}

func (s *setBuilder) value() types.AttributeValue {
	switch {
	case s.o&BinarySet != 0:
		return &types.AttributeValueMemberBS{Value: s.bytes}
	case s.o&NumberSet != 0:
		return &types.AttributeValueMemberNS{Value: s.texts}
	}
	return &types.AttributeValueMemberSS{Value: s.texts}
}

// EncodeMap encodes maps. key returns the text of a key.
func EncodeMap[M ~map[K]E, K comparable, E any](v *M, o Options, key func(K) (string, error), enc Encoder[E]) (types.AttributeValue, error) {
	if *v == nil {
		if av, done := o.empty(true); done {
			return av, nil
		}
	}
	m := make(map[string]types.AttributeValue, len(*v))
	for k, e := range *v {
		name, err := key(k)
		if err == nil && name == "" {
			err = errors.New("marshal failed, map key cannot be empty")
		}
		if err != nil {
			return nil, err
		}
		av, err := enc(&e, o.elem())
		if err != nil {
			return nil, err
		}
		if av != nil {
			m[name] = av
		}
	}
	return &types.AttributeValueMemberM{Value: m}, nil
}

// EncodePointer encodes what a pointer points to.
func EncodePointer[E any](v **E, o Options, enc Encoder[E]) (types.AttributeValue, error) {
	if o&Pointee == 0 {
		if *v == nil {
			av, _ := o.empty(true)
			return av, nil
		}
		return enc(*v, o|Pointee)
	}
	// A pointer behind a pointer.
	if *v == nil {
		if o&OmitEmpty != 0 && o&OmitEmptyElem != 0 {
			return nil, nil
		}
		return null(), nil
	}
	return enc(*v, o&^Pointee)
}

// EncodeOpaque encodes with attributevalue: field is a pointer to a struct of one
// field, whose tag names it "F".
func EncodeOpaque(field any) (_ types.AttributeValue, err error) {
	defer recovered(&err)
	if err := codec.CheckDynamic(field); err != nil {
		return nil, err
	}
	m, err := encoder.Encode(field)
	if err != nil {
		return nil, err
	}
	return m.(*types.AttributeValueMemberM).Value["F"], nil
}

var encoder = attributevalue.NewEncoder()

func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("panic: %v", r)
	}
}

// Struct collects the attributes of a struct inside an attribute.
type Struct struct {
	m    map[string]types.AttributeValue
	name string
	err  error
}

// NewStruct returns a Struct with room for n attributes.
func NewStruct(n int) *Struct { return &Struct{m: make(map[string]types.AttributeValue, n)} }

// At names the attribute that Set adds next.
func (s *Struct) At(name string) *Struct {
	s.name = name
	return s
}

// Set adds an attribute, unless it is left out.
func (s *Struct) Set(v types.AttributeValue, err error) {
	switch {
	case err != nil && s.err == nil:
		s.err = err
	case v != nil:
		s.m[s.name] = v
	}
}

// Value returns the map.
func (s *Struct) Value() (types.AttributeValue, error) {
	if s.err != nil {
		return nil, s.err
	}
	return &types.AttributeValueMemberM{Value: s.m}, nil
}

// The texts of map keys, by type.

// StringKey returns a string key.
func StringKey[S ~string](k S) (string, error) { return string(k), nil }

// BoolKey returns the text of a bool key.
func BoolKey[B ~bool](k B) (string, error) { return strconv.FormatBool(bool(k)), nil }

// IntKey returns the text of an integer key.
func IntKey[I Signed](k I) (string, error) { return fmt.Sprint(k), nil }

// UintKey returns the text of an integer key.
func UintKey[U Unsigned](k U) (string, error) { return fmt.Sprint(k), nil }

// FloatKey returns the text of a float key.
func FloatKey[F ~float32 | ~float64](k F) (string, error) { return fmt.Sprint(k), nil }

// TextKey returns the text of a key that has a text form.
func TextKey[K encoding.TextMarshaler](k K) (string, error) {
	b, err := k.MarshalText()
	if err != nil {
		return "", fmt.Errorf("failed to marshal text, %w", err)
	}
	return string(b), nil
}
