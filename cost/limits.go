package cost

import "github.com/itemize/itemize/internal/model/attr"

// Limits of the service (Developer Guide, "Quotas in Amazon DynamoDB").
const (
	// MaxItem is the largest size of an item, in bytes, including names and values.
	MaxItem = 409_600
	// MaxPartitionKey and MaxSortKey are the largest sizes of key values, in bytes.
	MaxPartitionKey = 2048
	MaxSortKey      = 1024
	// MaxDepth is the largest nesting of lists and maps.
	MaxDepth = attr.MaxDepth
	// MaxExpression is the largest length of an expression, in bytes.
	MaxExpression = 4096
	// MaxOperators is the largest number of operators in an update expression.
	MaxOperators = 300
	// MaxIn is the largest number of values of IN in an expression.
	MaxIn = 100
	// MaxTransactItems and MaxTransactBytes limit a transaction.
	MaxTransactItems = 100
	MaxTransactBytes = 4 << 20
	// MaxBatchWrite and MaxBatchGet are the largest numbers of items in a batch. MaxBatchBytes limits
	// its bytes: DynamoDB refuses a larger BatchWriteItem, and returns the rest of a larger
	// BatchGetItem as unprocessed keys.
	MaxBatchWrite = 25
	MaxBatchGet   = 100
	MaxBatchBytes = 16 << 20
	// MaxPage is the size in bytes at which an answer of a Query or Scan ends. The item that reaches it
	// is included.
	MaxPage = 1 << 20
	// MaxCollection is the largest size in bytes of an item collection in a table with local secondary
	// indexes. It counts the items with one partition key and their index entries. Other tables have no
	// such limit.
	MaxCollection = 10 << 30

	// PartitionRCU and PartitionWCU are the limits of one partition in a second (Developer Guide,
	// "Guidelines for Working with Tables", Understand Partition Behavior).
	PartitionRCU = 3000
	PartitionWCU = 1000
)
