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
	// MaxIn is the number of values that IN compares with in an expression.
	MaxIn = 100
	// MaxTransactItems and MaxTransactBytes bound a transaction.
	MaxTransactItems = 100
	MaxTransactBytes = 4 << 20
	// MaxBatchWrite and MaxBatchGet are the numbers of items in a batch, and MaxBatchBytes
	// bounds either: DynamoDB refuses a BatchWriteItem beyond it, and answers a BatchGetItem
	// up to it, the rest as unprocessed keys.
	MaxBatchWrite = 25
	MaxBatchGet   = 100
	MaxBatchBytes = 16 << 20
	// MaxPage is the size in bytes at which an answer of a Query or Scan ends, with the item
	// that reaches it.
	MaxPage = 1 << 20
	// MaxCollection is the size in bytes of an item collection, the items of one partition
	// key value and their entries in local secondary indexes, in a table that has such an
	// index; without one it has no limit.
	MaxCollection = 10 << 30

	// PartitionRCU and PartitionWCU are what one partition serves in a second (Developer Guide, "Guidelines for Working
	// with Tables", Understand Partition Behavior).
	PartitionRCU = 3000
	PartitionWCU = 1000
)
