package explain

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/itemize/itemize/internal/item"
)

// Each error of DynamoDB that a user can do something about says what, and all of them
// name the table and keep the cause.
func TestError(t *testing.T) {
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
		{"another invalid request", []string{"t"}, invalid("Invalid UpdateExpression"), `P: the table "t": `},
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
		err := Error(context.Background(), nil, "P", tables, c.err)
		if !errors.Is(err, c.err) || err.Error() != c.want+c.err.Error() {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
