package request

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/redact"
)

// Each error of DynamoDB that a user can do something about says what, and all of them
// name the table and keep the cause.
func TestExplain(t *testing.T) {
	invalid := func(message string) error {
		return &smithy.GenericAPIError{Code: "ValidationException", Message: message}
	}
	const keys = `P: the key attributes of the table "t" differ from the model's (the model has PK and SK): declare ` +
		`them with hash= and range=, and with the same types: `
	for _, c := range []struct {
		name   string
		tables []string
		err    error
		want   string
	}{
		{
			"a missing table",
			[]string{"t"},
			&types.ResourceNotFoundException{},
			`P: the table "t" does not exist in this account and Region: create it, or set the right name with ` +
				`mapper.Table or mapper.Tables: `,
		},
		{
			"one of several",
			[]string{"t", "u"},
			&types.ResourceNotFoundException{},
			`P: one of the tables ["t" "u"] does not exist in this account and Region: create it, or set the right ` +
				`name with mapper.Table or mapper.Tables: `,
		},
		{
			"denied",
			[]string{"t"},
			&smithy.GenericAPIError{Code: "AccessDeniedException"},
			`P: access to the table "t" is denied: allow the operation in the caller's IAM policy: `,
		},
		{"other keys", []string{"t"}, invalid("The provided key element does not match the schema"), keys},
		{
			"a key without its attribute",
			[]string{"t"},
			invalid("One or more parameter values were invalid: Missing the key SK in the item"), keys,
		},
		{
			"a key of another type",
			[]string{"t"},
			invalid("One or more parameter values were invalid: Type mismatch for key PK expected: N actual: S"), keys,
		},
		{"a range key too few", []string{"t"}, invalid("The number of conditions on the keys is invalid"), keys},
		{
			"another invalid request",
			[]string{"t"},
			invalid("Invalid UpdateExpression: Syntax error"),
			`P: the table "t": `,
		},
		{"no error of DynamoDB", []string{"t"}, errors.New("broken"), `P: the table "t": `},
		{
			"a transaction with other keys",
			[]string{"t"},
			&types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{
				{Code: aws.String("None")}, {
					Code:    aws.String("ValidationError"),
					Message: aws.String("The provided key element does not match the schema"),
				},
			}}, keys,
		},
		{
			"a transaction canceled for something else",
			[]string{"t"},
			&types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{
				{Code: aws.String("ConditionalCheckFailed"), Message: aws.String("the key schema")},
			}}, `P: the table "t": `,
		},
	} {
		var tables []*item.Table
		for _, name := range c.tables {
			tables = append(tables, &item.Table{Name: name, Hash: "PK", Range: "SK"})
		}
		err := Explain(context.Background(), nil, "P", tables, c.err)
		if !errors.Is(err, c.err) || err.Error() != c.want+c.err.Error() {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Only the known beginnings of messages are shown, which have no values.
func TestMessagesHaveNoValues(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"The conditional request failed": "The conditional request failed",
		"One or more parameter values were invalid: Input collection [secret, secret] contains " +
			"duplicates.": "One or more " +
			"parameter values were invalid: Input collection...",
		"The parameter cannot be converted to a numeric value: secret": "The parameter cannot be converted to a " +
			"numeric value...",
		"1 validation error detected: Value 'secret' at 'item' failed to satisfy constraint: secret": "1 " +
			"validation error " +
			"detected: a value at 'item' failed to satisfy constraint...",
		"1 validation error detected: Invalid ConditionExpression: The expression has redundant " +
			"parentheses;": "1 validation " +
			"error detected: Invalid ConditionExpression: The expression has redundant parentheses",
		"Invalid ConditionExpression: The BETWEEN operator requires upper bound to be greater than or equal to " +
			"lower bound; " +
			"lower bound operand: AttributeValue: {S:secret}": "Invalid ConditionExpression: The BETWEEN " +
			"operator requires...",
		"Invalid UpdateExpression: Two document paths overlap with each other; must remove one; path one: [a, " +
			"secret]": "Invalid " +
			"UpdateExpression: Two document paths overlap with each other...",
		"One or more parameter values were invalid: The AttributeValue for a key attribute cannot contain an " +
			"empty string " +
			"value. Key: PK": "One or more parameter values were invalid: The AttributeValue for a key " +
			"attribute cannot contain " +
			"an empty string value. Key: PK",
		"Invalid UpdateExpression: a new fault of secret": "Invalid UpdateExpression: " + unknown,
		"A message of next year about secret":             unknown,
		"secret":                                          unknown,
	} {
		if got := Private(message); got != want {
			t.Errorf("%s\n%s, not\n%s", message, got, want)
		}
		err := Service(
			&smithy.OperationError{Err: &smithy.GenericAPIError{Code: "ValidationException", Message: message}},
		)
		if strings.Contains(err.Error(), "secret") {
			t.Error(err)
		}
		if full := redact.Detail(err); !strings.Contains(full, message) {
			t.Errorf("the details of %q are %q", message, full)
		}
	}
	decoding := Service(&smithy.OperationError{Err: &smithy.DeserializationError{Err: errors.New("secret")}})
	if strings.Contains(decoding.Error(), "secret") {
		t.Error(decoding)
	}
}
