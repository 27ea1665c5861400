package read

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// explain adds to an error of a request what to do about it.
func (r *Reader) explain(err error, table int) error {
	return Explain(r.Schema.Label(), r.Tables[table], err)
}

// Explain adds the model, the table and a cure to an error of DynamoDB.
func Explain(model, table string, err error) error {
	var missing *types.ResourceNotFoundException
	var api smithy.APIError
	switch {
	case errors.As(err, &missing):
		return fmt.Errorf("%s: the table %q does not exist in this account and Region: create it, or name the right one with mapper.Table: %w", model, table, err)
	case !errors.As(err, &api):
	case api.ErrorCode() == "AccessDeniedException":
		return fmt.Errorf("%s: access to the table %q is denied: allow the operation in the caller's IAM policy: %w", model, table, err)
	case api.ErrorCode() == "ValidationException" && keySchema(api.ErrorMessage()):
		return fmt.Errorf("%s: the key attributes of the table %q are not those of the model: declare them with hash= and range=, and with the same types: %w", model, table, err)
	}
	return fmt.Errorf("%s: table %q: %w", model, table, err)
}

// keySchema tells of the messages that DynamoDB has for keys that do not fit a
// table.
func keySchema(message string) bool {
	m := strings.ToLower(message)
	return strings.Contains(m, "key") && strings.Contains(m, "schema") || strings.Contains(m, "missing the key") ||
		strings.Contains(m, "type mismatch for key") || strings.Contains(m, "number of conditions on the keys") ||
		strings.Contains(m, "does not match schema type")
}

func (r *Reader) wrongKey(table int, attribute string) error {
	return fmt.Errorf("%s: an item of the table %q has no key attribute %q: declare the table's own with hash= and range=",
		r.Schema.Label(), r.Tables[table], attribute)
}
