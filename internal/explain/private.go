package explain

import (
	"errors"
	"regexp"

	"github.com/aws/smithy-go"

	"github.com/itemize/itemize/internal/redact"
)

// Messages quote values after these words: a number that DynamoDB cannot read, a set with duplicates,
// the bounds of BETWEEN, and an answer that the SDK cannot read. A value can have brackets and line
// breaks, so everything up to the end is removed.
var quoted = regexp.MustCompile(`(?s)(numeric value: |Input collection |AttributeValue: |deserialization failed, .*?,` +
	` got ).+`)

// Private returns a message without values.
func Private(message string) string { return quoted.ReplaceAllString(message, "$1...") }

// Service returns an error of the SDK without values. It replaces all errors of the chain, because some
// have fields with stored items or the answer, which loggers print as JSON. errors.Is and errors.As
// still find them.
func Service(err error) error {
	var sdk *smithy.OperationError
	var api smithy.APIError
	if errors.As(err, new(*redact.Error)) || !errors.As(err, &sdk) && !errors.As(err, &api) {
		return err
	}
	return redact.Mask(err, Private(err.Error()))
}
