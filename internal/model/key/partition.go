package key

// Partition is the place of an item collection: a partition key, in the table of a period where
// tables follow the time of their items, and "" where they do not.
type Partition struct {
	PK     Scalar
	Period string
}
