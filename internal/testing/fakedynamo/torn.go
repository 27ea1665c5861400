package fakedynamo

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Torn is a client on which one Query is no snapshot, as DynamoDB allows: it reads the items up to a
// sort key, calls a function, and reads the others.
type Torn struct {
	*dynamodb.Client
	// At is the number of the Query, from 1.
	At int
	// Last is the sort key (SK) of the last item that is read before Between.
	Last    string
	Between func()

	n int
}

// Query reads the items of a page.
func (c *Torn) Query(ctx context.Context, in *dynamodb.QueryInput,
	options ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	c.n++
	if c.n != c.At {
		return c.Client.Query(ctx, in, options...)
	}
	early := func(a map[string]types.AttributeValue) bool {
		sk := a["SK"].(*types.AttributeValueMemberS).Value
		return sk <= c.Last
	}
	before, err := c.Client.Query(ctx, in, options...)
	if err != nil {
		return nil, err
	}
	c.Between()
	out, err := c.Client.Query(ctx, in, options...)
	if err != nil {
		return nil, err
	}
	late := func(a map[string]types.AttributeValue) bool { return !early(a) }
	out.Items = append(slices.DeleteFunc(before.Items, late), slices.DeleteFunc(out.Items, early)...)
	out.Count, out.ScannedCount = int32(len(out.Items)), int32(len(out.Items))
	return out, nil
}
