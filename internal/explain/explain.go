// Package explain adds to errors of DynamoDB what to do about them.
package explain

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// Error adds a prefix (the model, and what was done), the request's tables and a
// cure to an error of DynamoDB.
func Error(prefix string, tables []string, err error) error {
	which := fmt.Sprintf("the table %q", tables[0])
	if len(tables) > 1 {
		which = fmt.Sprintf("one of the tables %q", tables)
	}
	var missing *types.ResourceNotFoundException
	var api smithy.APIError
	switch {
	case errors.As(err, &missing):
		return fmt.Errorf("%s: %s does not exist in this account and Region: create it, or name the right one with mapper.Table or mapper.Tables: %w", prefix, which, err)
	case !errors.As(err, &api):
	case api.ErrorCode() == "AccessDeniedException":
		return fmt.Errorf("%s: access to %s is denied: allow the operation in the caller's IAM policy: %w", prefix, which, err)
	case api.ErrorCode() == "ValidationException" && keySchema(api.ErrorMessage()), wrongKeys(err):
		return fmt.Errorf("%s: the key attributes of %s are not those of the model: declare them with hash= and range=, and with the same types: %w", prefix, which, err)
	}
	return fmt.Errorf("%s: %s: %w", prefix, which, err)
}

// keySchema tells of the messages that DynamoDB has for keys that do not fit a
// table.
func keySchema(message string) bool {
	m := strings.ToLower(message)
	return strings.Contains(m, "key") && strings.Contains(m, "schema") || strings.Contains(m, "missing the key") ||
		strings.Contains(m, "type mismatch for key") || strings.Contains(m, "number of conditions on the keys") ||
		strings.Contains(m, "does not match schema type")
}

// wrongKeys tells of a transaction that was canceled because of key attributes.
func wrongKeys(err error) bool {
	var canceled *types.TransactionCanceledException
	if !errors.As(err, &canceled) {
		return false
	}
	for _, r := range canceled.CancellationReasons {
		if aws.ToString(r.Code) == "ValidationError" && keySchema(aws.ToString(r.Message)) {
			return true
		}
	}
	return false
}
