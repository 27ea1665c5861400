package cost

import "github.com/itemize/itemize/internal/attr"

// Limits of the service (Developer Guide, "Quotas in Amazon DynamoDB").
const (
	// MaxItem is the size of an item, in bytes, names and values included.
	MaxItem = 409_600
	// MaxPartitionKey and MaxSortKey are the sizes of key values, in bytes.
	MaxPartitionKey = 2048
	MaxSortKey      = 1024
	// MaxDepth is how deep lists and maps may be nested.
	MaxDepth = attr.MaxDepth
	// MaxExpression is the length of an expression, in bytes.
	MaxExpression = 4096
	// MaxOperators is the number of operators in an update expression.
	MaxOperators = 300
	// MaxTransactItems and MaxTransactBytes bound a transaction.
	MaxTransactItems = 100
	MaxTransactBytes = 4 << 20
	// MaxBatchWrite and MaxBatchGet are the numbers of items in a batch.
	MaxBatchWrite = 25
	MaxBatchGet   = 100
	// MaxPage is what one Query or Scan reads at most, in bytes.
	MaxPage = 1 << 20
)
