// Package mapperimpl is what generated code needs of the library. It is for code
// that itemize gen writes, and may change with it: a constant in each generated
// file stops the compiler where the two do not fit.
package mapperimpl

// The versions of generated code that this package works with.
const (
	MinVersion = 1
	MaxVersion = 1
)

// EnforceVersion makes a generated file fail to compile where its version is not
// between MinVersion and MaxVersion: a negative constant does not fit.
//
//	const (
//		_ = mapperimpl.EnforceVersion(1 - mapperimpl.MinVersion)
//		_ = mapperimpl.EnforceVersion(mapperimpl.MaxVersion - 1)
//	)
type EnforceVersion uint

// NoMarshaler makes a generated file fail to compile where a type gains a method by
// which attributevalue encodes it: embedded beside the type, its method of that name
// is ambiguous then.
type NoMarshaler struct{}

// MarshalDynamoDBAttributeValue is no marshaler.
func (NoMarshaler) MarshalDynamoDBAttributeValue() {}

// NoUnmarshaler does the same for the method by which attributevalue decodes.
type NoUnmarshaler struct{}

// UnmarshalDynamoDBAttributeValue is no unmarshaler.
func (NoUnmarshaler) UnmarshalDynamoDBAttributeValue() {}

// NoText does the same for the method by which a key of a map becomes text.
type NoText struct{}

// MarshalText is no text.
func (NoText) MarshalText() {}
