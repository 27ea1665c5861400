package request

import (
	"errors"
	"regexp"
	"strings"

	"github.com/aws/smithy-go"

	"github.com/itemize/itemize/internal/model/redact"
)

// Messages of DynamoDB quote values: a number that it cannot read, a set with duplicates, the bounds of BETWEEN, keys
// of maps in paths. New messages can quote others. So a message is shown only as far as it matches one of these
// expressions. They have names of tables, indexes, attributes and placeholders, and no values.
var quotable = compile(
	`(The )?[Cc]onditional request failed`,
	`Transaction cancelled, please refer cancellation reasons for specific reasons \[[A-Za-z, ]*\]`,
	`Transaction (is ongoing for the item|request cannot include multiple operations on one item)`,
	`Requested resource not found(: (Table|Stream): [\w.:/-]+ not found)?`,
	`Cannot do operations on a non-existent table`,
	`(Attempt to access|The) table .{0,10}non-existent`,
	`The table does not have the specified index(: [\w.-]+)?`,
	`The provided (key element does not match the schema|starting key is (invalid|outside query boundaries[\w ]*))`,
	`The number of conditions on the keys is invalid`,
	`The (document path provided in the update expression is invalid for update|provided expression refers to `+
		`an attribute `+
		`that does not exist in the item)`,
	`An operand in the update expression has an incorrect data type`,
	`Exclusive Start Key must have same size as table's key schema`,
	`Query (condition missed key schema element(: [\w.-]+)?|key condition not supported|filter not supported)`,
	`Item (size( to update)?|collection( size)?) (has exceeded the maximum allowed size|too large|[\w ]*limit [\w ]*)`,
	`Collection size exceeded`,
	`Attempting to store more than 38 significant digits in a Number`,
	`Number (overflow|underflow)\. Attempting to store a number with magnitude (larger|smaller) than supported range`,
	`(The parameter|A value provided) cannot be converted (in)?to a (numeric value|number)`,
	`Supplied AttributeValue (is empty|has more than one datatypes set), must contain exactly one of the `+
		`supported datatypes`,
	`Input collection`,
	`(The )?(BETWEEN|between) operator requires`,
	`(An|The|One) (or more parameter values|AttributeValue)( `+
		`(is|may|for|were|was|not|contain|an?|key|attribute|cannot|empty|`+
		`string|set|value|invalid))*`,
	`Too many items requested for the Batch(Get|Write)Item call`,
	`Provided list of item keys contains duplicates`,
	`Member must have length (less|greater) than or equal to \d+`,
	`The level of configured provisioned throughput for (the table|one or more global secondary indexes of the `+
		`table) was `+
		`exceeded`,
	`Throughput exceeds the current (capacity|throughput limit) (of|for) your (table or index|account)`,
	`Request rate [\w ]*|Rate (of requests )?exceed(s|ed)[\w ]*`,
	`[Tt]oo [Mm]any [Rr]equests`,
	`(User: [\w:/.@+=,*-]+ is )?not authorized to perform:? [\w:*]+( on resource: [\w:/.*-]+)?`,
	`The security token included in the request is (invalid|expired)`,
	`The request signature we calculated does not match the signature you provided`,
	`Signature (expired|not yet current)`,
	`(The )?[Ii]nternal (server )?error`,
	`(The )?[Ss]ervice (is )?(currently )?[Uu]navailable`,
	`(Value provided|ExpressionAttribute(Names|Values)) in ExpressionAttribute(Names|Values) unused in `+
		`expressions: keys: `+
		`\{[#:\w, ]*\}`,
	`(Hash|Range) primary key values must[\w ]*`,
	`TableName must be [\w ,-]*`,
	`The parameter '\w+'[\w ]*`,
)

// inside are the beginnings after which another of these messages follows.
var inside = regexp.MustCompile(
	`^(\d+ validation errors? detected: |One or more parameter values (were|are) (invalid|not valid)[.:] ?|` +
		`Invalid (Update|Condition|Filter|KeyCondition|Projection)Expression: |ExpressionAttributeValues ` +
		`contains invalid value: )`,
)

// parts are the messages that follow such a beginning.
var parts = compile(
	`Expression size has exceeded the maximum allowed size`,
	`The expression (has redundant parentheses|can not be empty|contains too many operators)`,
	`Syntax error`,
	`Incorrect operand type for operator or function; operator or function: [\w<>= ]+, operand type: \w+`,
	`The (first|second|left|right)[\w ]* operand[\w ]*`,
	`An expression attribute (name|value) used in (the document path|expression) is not defined; attribute `+
		`(name|value): [#:]\w+`,
	`Two document paths (overlap|conflict) with each other`,
	`Attribute name is a reserved keyword; reserved keyword: \w+`,
	`(Filter Expression|KeyConditionExpressions?) (can only|must only|contains?)[\w -]*(: Primary key `+
		`attribute: [\w.-]+)?`,
	`Missing the key [\w.-]+ in the item`,
	`Type mismatch for (key|Index Key)( attribute)? [\w.-]+,? [Ee]xpected: [A-Z]+,? [Aa]ctual: [A-Z]+( `+
		`IndexName: [\w.-]+)?`,
	`Condition parameter type does not match schema type`,
	`The AttributeValue for a key attribute cannot contain an empty (string|binary) value\. `+
		`(Key|IndexKey|IndexName): [\w.-]+`,
	`One of the required keys was not given a value`,
	`(Size of hashkey|Aggregated size of all range keys) has exceeded the (maximum )?size limit ?of ?\d+ ?bytes`,
	`An (AttributeValue|string set|number set|binary set) +may not be empty`,
	`An string set  may not have a empty string as a member`,
	`Nesting Levels have exceeded supported limits`,
	`Value '.*' at '[\w.]+' failed to satisfy constraint`,
)

func compile(all ...string) *regexp.Regexp {
	return regexp.MustCompile(`(?s)^(` + strings.Join(all, "|") + `)`)
}

// value is the quotation in a validation of the service.
var value = regexp.MustCompile(`(?s)^Value '.*' at `)

// unknown replaces a message that is not known.
const unknown = "(a message that can have values: mapper.Detail returns it)"

// Private returns a message without values.
func Private(message string) string {
	shown, rest := "", message
	for {
		in := inside.FindString(rest)
		if in == "" {
			break
		}
		shown, rest = shown+in, rest[len(in):]
	}
	match := quotable.FindString(rest)
	if part := parts.FindString(rest); len(part) > len(match) {
		match = part
	}
	if rest = rest[len(match):]; match == "" {
		return strings.TrimSpace(shown + unknown)
	}
	shown += value.ReplaceAllString(match, "a value at ")
	if strings.Trim(rest, ".; ") != "" {
		shown += "..."
	}
	return shown
}

// unread is an answer that the SDK cannot read, which its error quotes.
var unread = regexp.MustCompile(`(?s)(deserialization failed).*`)

// Service returns an error of the SDK without values. It replaces all errors of the chain, because some
// have fields with stored items or the answer, which loggers print as JSON. errors.Is and errors.As
// still find them.
func Service(err error) error {
	var sdk *smithy.OperationError
	var api smithy.APIError
	if errors.As(err, new(*redact.Error)) || !errors.As(err, &sdk) && !errors.As(err, &api) {
		return err
	}
	text := err.Error()
	if api != nil || errors.As(err, &api) {
		if m := api.ErrorMessage(); m != "" {
			text = strings.ReplaceAll(text, m, Private(m))
		}
	}
	return redact.Mask(err, unread.ReplaceAllString(text, "$1"))
}
