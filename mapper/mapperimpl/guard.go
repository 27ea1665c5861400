package mapperimpl

// NoMethods makes a generated file fail to compile if a type gains a method with which attributevalue
// encodes or decodes it. Embedded next to the type, its methods of these names become ambiguous.
// NoMarshaler does the same for a type that has only an unmarshaler, and NoText for the method that
// turns map keys into text.
type (
	NoMethods   = noMethods
	NoMarshaler = noMarshaler
	NoText      = noText
)

// LacksMethods is implemented by a struct that embeds NoMethods and a type without such methods.
// LacksMarshaler is implemented by one that embeds NoMarshaler and a type without a marshaler.
type (
	LacksMethods   = lacksMethods
	LacksMarshaler = lacksMarshaler
)

type (
	noMethods   struct{}
	noMarshaler struct{}
	noText      struct{}

	lacksMethods interface {
		MarshalDynamoDBAttributeValue()
		UnmarshalDynamoDBAttributeValue()
	}
	lacksMarshaler interface{ MarshalDynamoDBAttributeValue() }
)

func (noMethods) MarshalDynamoDBAttributeValue() {}

func (noMethods) UnmarshalDynamoDBAttributeValue() {}

func (noMarshaler) MarshalDynamoDBAttributeValue() {}

func (noText) MarshalText() {}
