package mapper_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/examples/packages/registry"
	"github.com/itemize/itemize/mapper"
)

// failingClient fails every call: for input that must be refused before any.
type failingClient struct{ mapper.Client }

var errCalled = errors.New("a request was sent")

func (failingClient) GetItem(context.Context, *dynamodb.GetItemInput,
	...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	return nil, errCalled
}

func (failingClient) PutItem(context.Context, *dynamodb.PutItemInput,
	...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	return nil, errCalled
}

func (failingClient) UpdateItem(context.Context, *dynamodb.UpdateItemInput,
	...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	return nil, errCalled
}

func (failingClient) DeleteItem(context.Context, *dynamodb.DeleteItemInput,
	...func(*dynamodb.Options),
) (*dynamodb.DeleteItemOutput, error) {
	return nil, errCalled
}

func (failingClient) Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput,
	error,
) {
	return nil, errCalled
}

func (failingClient) TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput,
	...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	return nil, errCalled
}

// unwatched is a client that does not pass options on, as a DAX client does not.
type unwatched struct{ c *dynamodb.Client }

func (d unwatched) GetItem(ctx context.Context, in *dynamodb.GetItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	return d.c.GetItem(ctx, in)
}

func (d unwatched) PutItem(ctx context.Context, in *dynamodb.PutItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	return d.c.PutItem(ctx, in)
}

func (d unwatched) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	return d.c.UpdateItem(ctx, in)
}

func (d unwatched) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.DeleteItemOutput, error) {
	return d.c.DeleteItem(ctx, in)
}

func (d unwatched) Query(ctx context.Context, in *dynamodb.QueryInput,
	_ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput,
	error,
) {
	return d.c.Query(ctx, in)
}

func (d unwatched) Scan(ctx context.Context, in *dynamodb.ScanInput,
	_ ...func(*dynamodb.Options)) (*dynamodb.ScanOutput,
	error,
) {
	return d.c.Scan(ctx, in)
}

func (d unwatched) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.BatchGetItemOutput, error) {
	return d.c.BatchGetItem(ctx, in)
}

func (d unwatched) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.BatchWriteItemOutput, error) {
	return d.c.BatchWriteItem(ctx, in)
}

func (d unwatched) TransactGetItems(ctx context.Context, in *dynamodb.TransactGetItemsInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.TransactGetItemsOutput, error) {
	return d.c.TransactGetItems(ctx, in)
}

func (d unwatched) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	return d.c.TransactWriteItems(ctx, in)
}

// conflicting is a client as a user's unit test has one: it answers every write that its condition
// failed, as the SDK's types say it.
type conflicting struct{ failingClient }

func (conflicting) UpdateItem(context.Context, *dynamodb.UpdateItemInput,
	...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	return nil, &types.ConditionalCheckFailedException{}
}

func (conflicting) TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput,
	...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	return nil, &types.TransactionCanceledException{
		CancellationReasons: []types.CancellationReason{
			{Code: aws.String("ConditionalCheckFailed")},
			{Code: aws.String("None")},
		},
	}
}

// The answer of a stub is a conflict if the mapper knows that the stub sends each request once.
// Otherwise it is unknown, because it may be caused by the mapper's own write.
func TestClientNeverRetries(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	insert := func(options ...mapper.Option) error {
		m := must(mapper.New[account](conflicting{}, options...))(t)
		_, err := m.Save(ctx, m.New(account{ID: "1", Counter: 1, Left: "x"}))
		return err
	}
	patch := func(options ...mapper.Option) error {
		m := must(mapper.New[registry.Package](conflicting{}, options...))(t)
		_, err := registry.PackageByName("p").Root().Patch(registry.PackageFields.License.Set("x")).Exec(ctx, m)
		return err
	}
	var unknown *mapper.OutcomeUnknownError
	for name, c := range map[string]struct {
		do   func(...mapper.Option) error
		want error
	}{"insert": {insert, mapper.ErrExists}, "patch": {patch, mapper.ErrNotFound}} {
		if err := c.do(); !errors.As(err, &unknown) {
			t.Errorf("%s: %v", name, err)
		}
		if err := c.do(mapper.ClientNeverRetries()); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
