package explain

import (
	"errors"
	"regexp"
	"strings"

	"github.com/aws/smithy-go"

	"github.com/itemize/itemize/internal/redact"
)

// DynamoDB's validation messages quote values in these places: a number that it cannot read, a set with duplicates, and the bounds
// of BETWEEN.
var quoted = regexp.MustCompile(`(numeric value: ).+|(Input collection )\[.*\]|(AttributeValue: )\{[^}]*\}`)

// Private returns a message of DynamoDB without the values in it.
func Private(message string) string { return quoted.ReplaceAllString(message, "$1$2$3...") }

// Service returns an error of DynamoDB without the values in its message.
func Service(err error) error {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return err
	}
	message := api.ErrorMessage()
	private := Private(message)
	if private == message {
		return err
	}
	return redact.Mask(err, strings.ReplaceAll(err.Error(), message, private))
}
