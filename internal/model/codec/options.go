package codec

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/request/wire"
)

// Options are the options of a dynamodbav tag, and the properties of the value's place. They have the
// same meaning as in attributevalue.
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
	// pointee reports that the value is the target of a pointer: it exists even if it is empty.
	pointee
)

var optionsByName = map[string]Options{
	"omitempty": OmitEmpty, "omitemptyelem": OmitEmptyElem, "nullempty": NullEmpty, "nullemptyelem": NullEmptyElem,
	"string": AsString, "stringset": StringSet, "numberset": NumberSet, "binaryset": BinarySet, "unixtime": UnixTime,
}

// OptionsOf returns the options of a tag by their words.
func OptionsOf(words []string) Options {
	var o Options
	for _, w := range words {
		o |= optionsByName[w]
	}
	return o
}

// Elem returns the options of a slice's or map's elements.
func (o Options) Elem() Options {
	var e Options
	if o&OmitEmptyElem != 0 {
		e = OmitEmpty | OmitEmptyElem
	}
	if o&NullEmptyElem != 0 {
		e |= NullEmpty
	}
	return e
}

// empty decides about an empty value. done says that the value is decided: left out, or
// NULL. nullable says that it is NULL without being asked, as nil is.
func (o Options) empty(nullable bool) (v types.AttributeValue, done bool) {
	switch {
	case o&pointee != 0:
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

// isNumber reports whether a kind of value is read as a number.
func (o Options) isNumber(k wire.Kind) bool { return k == wire.N || k == wire.S && o&AsString != 0 }

// digits returns the text of a number; ok is false for another type of value.
func (o Options) digits(av types.AttributeValue) (text string, ok bool) {
	k, text := leafOf(av)
	return text, o.isNumber(k)
}

// words returns the options as a tag has them.
func (o Options) words() []string {
	var words []string
	for w, bit := range optionsByName {
		if o&bit != 0 {
			words = append(words, w)
		}
	}
	slices.Sort(words)
	return words
}
