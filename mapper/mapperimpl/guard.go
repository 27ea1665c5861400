package mapperimpl

// NoMethods makes a generated file fail to compile where a type gains a method by which
// attributevalue encodes or decodes it: embedded beside the type, its methods of these
// names are ambiguous then.
type NoMethods struct{}

// MarshalDynamoDBAttributeValue is no marshaler.
func (NoMethods) MarshalDynamoDBAttributeValue() {}

// UnmarshalDynamoDBAttributeValue is no unmarshaler.
func (NoMethods) UnmarshalDynamoDBAttributeValue() {}

// LacksMethods is implemented by what embeds NoMethods and a type without such methods.
type LacksMethods interface {
	MarshalDynamoDBAttributeValue()
	UnmarshalDynamoDBAttributeValue()
}

// NoMarshaler is NoMethods for a type that decodes itself, but does not encode itself.
type NoMarshaler struct{}

// MarshalDynamoDBAttributeValue is no marshaler.
func (NoMarshaler) MarshalDynamoDBAttributeValue() {}

// LacksMarshaler is implemented by what embeds NoMarshaler and a type without a
// marshaler.
type LacksMarshaler interface{ MarshalDynamoDBAttributeValue() }

// NoText does the same for the method by which a key of a map becomes text.
type NoText struct{}

// MarshalText is no text.
func (NoText) MarshalText() {}
