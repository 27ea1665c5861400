package kit

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/mapper"
)

// Failing fails every call: for input that must be refused before any.
type Failing struct{ mapper.Client }

// ErrCalled is the error of each call of a client that fails.
var ErrCalled = errors.New("a request was sent")

// GetItem is the client's.
func (Failing) GetItem(context.Context, *dynamodb.GetItemInput,
	...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	return nil, ErrCalled
}

// PutItem is the client's.
func (Failing) PutItem(context.Context, *dynamodb.PutItemInput,
	...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	return nil, ErrCalled
}

// UpdateItem is the client's.
func (Failing) UpdateItem(context.Context, *dynamodb.UpdateItemInput,
	...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	return nil, ErrCalled
}

// DeleteItem is the client's.
func (Failing) DeleteItem(context.Context, *dynamodb.DeleteItemInput,
	...func(*dynamodb.Options),
) (*dynamodb.DeleteItemOutput, error) {
	return nil, ErrCalled
}

// Query is the client's.
func (Failing) Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput,
	error,
) {
	return nil, ErrCalled
}

// TransactWriteItems is the client's.
func (Failing) TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput,
	...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	return nil, ErrCalled
}

// Unwatched is a client that does not pass options on, as a DAX client does not.
type Unwatched struct{ C *dynamodb.Client }

// GetItem is the client's.
func (d Unwatched) GetItem(ctx context.Context, in *dynamodb.GetItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	return d.C.GetItem(ctx, in)
}

// PutItem is the client's.
func (d Unwatched) PutItem(ctx context.Context, in *dynamodb.PutItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	return d.C.PutItem(ctx, in)
}

// UpdateItem is the client's.
func (d Unwatched) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	return d.C.UpdateItem(ctx, in)
}

// DeleteItem is the client's.
func (d Unwatched) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.DeleteItemOutput, error) {
	return d.C.DeleteItem(ctx, in)
}

// Query is the client's.
func (d Unwatched) Query(ctx context.Context, in *dynamodb.QueryInput,
	_ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput,
	error,
) {
	return d.C.Query(ctx, in)
}

// Scan is the client's.
func (d Unwatched) Scan(ctx context.Context, in *dynamodb.ScanInput,
	_ ...func(*dynamodb.Options)) (*dynamodb.ScanOutput,
	error,
) {
	return d.C.Scan(ctx, in)
}

// BatchGetItem is the client's.
func (d Unwatched) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.BatchGetItemOutput, error) {
	return d.C.BatchGetItem(ctx, in)
}

// BatchWriteItem is the client's.
func (d Unwatched) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.BatchWriteItemOutput, error) {
	return d.C.BatchWriteItem(ctx, in)
}

// TransactGetItems is the client's.
func (d Unwatched) TransactGetItems(ctx context.Context, in *dynamodb.TransactGetItemsInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.TransactGetItemsOutput, error) {
	return d.C.TransactGetItems(ctx, in)
}

// TransactWriteItems is the client's.
func (d Unwatched) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	return d.C.TransactWriteItems(ctx, in)
}

// Conflicting is a client as a user's unit test has one: it answers every write that its condition
// failed, as the SDK's types say it.
type Conflicting struct{ Failing }

// UpdateItem is the client's.
func (Conflicting) UpdateItem(context.Context, *dynamodb.UpdateItemInput,
	...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	return nil, &types.ConditionalCheckFailedException{}
}

// TransactWriteItems is the client's.
func (Conflicting) TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput,
	...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	return nil, &types.TransactionCanceledException{
		CancellationReasons: []types.CancellationReason{
			{Code: aws.String("ConditionalCheckFailed")},
			{Code: aws.String("None")},
		},
	}
}

// A client of a type that cannot be compared: a test's double with a map, by value. "Part 1 has another client than the
// first" of a transaction of one part; embedded in another, a panic. Breaks "All share one client".
type (
	Wrapped struct{ mapper.Client }
	Double  struct {
		Failing
		_ map[string]int
	}
)
