package request

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/request/wire"
)

// describer is a client that can describe tables.
type describer interface {
	DescribeTable(context.Context, *dynamodb.DescribeTableInput,
		...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
}

// Missing is the error of a request if one of its tables does not exist.
type Missing struct {
	Tables []*item.Table
	error
}

// Unwrap returns the error of the request.
func (m *Missing) Unwrap() error { return m.error }

// Throttled is the error of a batch of which DynamoDB throttled a part, or of requests that it throttled until they
// ended. It wraps the error of the last answer, if there is one.
type Throttled struct{ error }

// Throttling returns a *Throttled, as fmt.Errorf makes errors.
func Throttling(format string, args ...any) error { return &Throttled{fmt.Errorf(format, args...)} }

// Unwrap returns the error with the text.
func (t *Throttled) Unwrap() error { return t.error }

// IsThrottled reports whether DynamoDB throttled a request, or a part of a batch.
func IsThrottled(err error) bool { return errors.As(err, new(*Throttled)) || wire.Throttled(err) }

// Explain adds a prefix (the model and the operation), the tables of the request, and a cure to an error
// of DynamoDB. If keys do not fit a table, it describes the table to compare them.
func Explain(ctx context.Context, client any, prefix string, tables []*item.Table, err error) error {
	err = Service(err)
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = t.Name
	}
	which := fmt.Sprintf("the table %q", names[0])
	if len(names) > 1 {
		which = fmt.Sprintf("one of the tables %q", names)
	}
	var missing *types.ResourceNotFoundException
	var api smithy.APIError
	switch {
	case errors.As(err, &missing) && tables[0].Period != "":
		return &Missing{tables, fmt.Errorf("%s: %s does not exist in this account and Region: create it ahead of "+
			"time with tables.Maintain or tables.At, unless it was dropped: %w", prefix, which, err)}
	case errors.As(err, &missing):
		return &Missing{tables, fmt.Errorf("%s: %s does not exist in this account and Region: create it, or set "+
			"the right name with mapper.Table or mapper.Tables: %w", prefix, which, err)}
	case !errors.As(err, &api):
	case api.ErrorCode() == "ValidationException" && strings.Contains(api.ErrorMessage(), "specified index"):
		return fmt.Errorf("%s: an index of the model does not exist in %s: create it (tables.Of, tables.Check): %w",
			prefix, which, err)
	case api.ErrorCode() == "AccessDeniedException":
		return fmt.Errorf("%s: access to %s is denied: allow the operation in the caller's IAM policy: %w", prefix,
			which, err)
	case (api.ErrorCode() == "ValidationException" && keySchema(api.ErrorMessage()) || wrongKeys(err)) &&
		tables[0].Index < 0:
		need := "the partition key " + tables[0].Hash + " (S) alone"
		if sort := tables[0].Range; sort != "" {
			need = "the keys " + tables[0].Hash + " and " + sort + " (S)"
		}
		return fmt.Errorf("%s: %s, which has items of the library alone, has other keys: create it with %s: %w",
			prefix, which, need, err)
	case api.ErrorCode() == "ValidationException" && keySchema(api.ErrorMessage()), wrongKeys(err):
		return fmt.Errorf("%s: the key attributes of %s differ from the model's%s: declare them with hash= and "+
			"range=, and with the same types: %w", prefix, which, keys(ctx, client, tables), err)
	}
	return fmt.Errorf("%s: %s: %w", prefix, which, err)
}

// keys returns the keys of the model and of the tables.
func keys(ctx context.Context, client any, tables []*item.Table) string {
	d, ok := client.(describer)
	var text []string
	for _, t := range tables {
		has := "the model has " + list(t.Hash, t.Range)
		if len(tables) > 1 {
			has += " in " + t.Name
		}
		if ok && ctx.Err() == nil {
			if out, err := d.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &t.Name}); err == nil &&
				out.Table != nil {
				has += ", and the table " + described(out.Table)
			}
		}
		text = append(text, has)
	}
	return " (" + strings.Join(text, "; ") + ")"
}

func list(names ...string) string {
	return strings.Join(slices.DeleteFunc(names, func(s string) bool { return s == "" }), " and ")
}

// described lists a table's key attributes with their types.
func described(t *types.TableDescription) string {
	var names []string
	for _, k := range t.KeySchema {
		name := aws.ToString(k.AttributeName)
		for _, a := range t.AttributeDefinitions {
			if aws.ToString(a.AttributeName) == name {
				name += " (" + string(a.AttributeType) + ")"
			}
		}
		names = append(names, name)
	}
	return list(names...)
}

// keySchema reports whether a message of DynamoDB says that keys do not fit a table.
func keySchema(message string) bool {
	m := strings.ToLower(message)
	return strings.Contains(m, "key") && strings.Contains(m, "schema") || strings.Contains(m, "missing the key") ||
		strings.Contains(m, "type mismatch for key") || strings.Contains(m, "number of conditions on the keys") ||
		strings.Contains(m, "does not match schema type") ||
		strings.Contains(m, "one of the required keys was not given a value")
}

// wrongKeys reports whether a transaction was canceled because of key attributes.
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
