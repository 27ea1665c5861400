package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/request"
)

// setupError is an error of a request that fails again until the program or its permissions are changed.
type setupError struct{ err error }

func (e *setupError) Error() string { return e.err.Error() }

func (e *setupError) Unwrap() error { return e.err }

// explained adds a cure to an error of a request to a stream or its table.
func explained(err error) error {
	if err == nil {
		return nil
	}
	var api smithy.APIError
	if !errors.As(err, &api) {
		switch text := err.Error(); { // errors without types of their own
		case strings.Contains(text, "Missing Region"):
			return &setupError{fmt.Errorf("the client has no region: load its configuration with "+
				"config.LoadDefaultConfig, or set Region: %w", err)}
		case strings.Contains(text, "get identity: "):
			return &setupError{fmt.Errorf("the client got no credentials: load its configuration with "+
				"config.LoadDefaultConfig, and see that it finds some: %w", err)}
		}
		return err
	}
	switch api.ErrorCode() {
	case "AccessDeniedException":
		return &setupError{fmt.Errorf("access is denied: allow the operation in the caller's IAM policy: %w", err)}
	case "ExpiredTokenException",
		"UnrecognizedClientException",
		"MissingAuthenticationToken",
		"MissingAuthenticationTokenException",
		"InvalidSignatureException",
		"IncompleteSignatureException":
		return &setupError{fmt.Errorf("the credentials are refused: check them, and the client's Region and "+
			"endpoint: %w", err)}
	}
	return err
}

// passing reports an error of the service or the network that passes by itself: no answer in time, a lost one, a
// throttle, or a fault of the service. An endpoint that cannot be reached may be a wrong one: its error does not pass.
func passing(err error) bool {
	if errors.As(err, new(*setupError)) {
		return false
	}
	for _, broken := range []error{
		io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE, syscall.ENETUNREACH,
		syscall.EHOSTUNREACH,
	} {
		if errors.Is(err, broken) {
			return true
		}
	}
	var timeout net.Error
	var name *net.DNSError
	var api smithy.APIError
	var answer interface{ HTTPStatusCode() int } // of the SDK's errors, 0 without an answer
	if errors.As(err, &answer) && answer.HTTPStatusCode() >= http.StatusInternalServerError {
		return answer.HTTPStatusCode() != http.StatusNotImplemented // which an endpoint of something else gives
	}
	return errors.As(err, &timeout) && timeout.Timeout() || errors.As(err, &name) && name.IsTemporary ||
		errors.As(err, &api) && api.ErrorFault() == smithy.FaultServer || request.IsThrottled(err)
}

// explaining is a client of streams whose errors have cures.
type explaining struct{ Streams }

func (e explaining) DescribeStream(ctx context.Context, in *dynamodbstreams.DescribeStreamInput,
	o ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.DescribeStreamOutput, error) {
	out, err := e.Streams.DescribeStream(ctx, in, o...)
	if errors.As(err, new(*streams.ResourceNotFoundException)) {
		err = fmt.Errorf("%w: pass a client of streams with the region, account and endpoint of the table's", err)
	}
	return out, explained(err)
}

func (e explaining) GetShardIterator(ctx context.Context, in *dynamodbstreams.GetShardIteratorInput,
	o ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.GetShardIteratorOutput, error) {
	out, err := e.Streams.GetShardIterator(ctx, in, o...)
	return out, explained(err)
}

func (e explaining) GetRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput,
	o ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.GetRecordsOutput, error) {
	out, err := e.Streams.GetRecords(ctx, in, o...)
	return out, explained(err)
}

func (e explaining) ListStreams(ctx context.Context, in *dynamodbstreams.ListStreamsInput,
	o ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.ListStreamsOutput, error) {
	out, err := e.Streams.ListStreams(ctx, in, o...)
	return out, explained(err)
}

// named adds the table and the group to an error that does not have them.
func (c *Consumer) named(err error) error {
	switch err.(type) {
	case *TrimmedError, *SlowError, *DeadLetterError:
		return err
	}
	return fmt.Errorf("stream of the table %s: group %s: %w", c.table, c.settings.group, err)
}

// textOfKeys returns the key of an item, such as PK=USER#1 SK=PROFILE.
func textOfKeys(keys map[string]types.AttributeValue) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		k, ok := attr.ScalarOf(keys[name])
		switch {
		case !ok:
			texts = append(texts, name)
		case k.Type == 'B':
			texts = append(texts, fmt.Sprintf("%s=%x", name, k.Text))
		default:
			texts = append(texts, name+"="+k.Text)
		}
	}
	return strings.Join(texts, " ")
}
