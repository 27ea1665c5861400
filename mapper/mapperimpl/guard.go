package mapperimpl

// NoMethods makes a generated file fail to compile where a type gains a method by which attributevalue
// encodes or decodes it: embedded beside the type, its methods of these names are ambiguous then.
// NoMarshaler does so for a type that decodes itself, but does not encode itself, and NoText for the
// method by which a key of a map becomes text.
type (
	NoMethods   = noMethods
	NoMarshaler = noMarshaler
	NoText      = noText
)

// LacksMethods is implemented by what embeds NoMethods and a type without such methods, LacksMarshaler by what embeds
// NoMarshaler and a type without a marshaler.
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
