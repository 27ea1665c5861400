// Package cost computes what DynamoDB meters: the sizes of items in bytes, and
// the write and read capacity units (WCU, RCU) of operations on them. It does no
// I/O and knows nothing of models.
//
// Sizes and units are exact, as DynamoDB reports them in ConsumedCapacity, but
// for numbers: DynamoDB does not document their size to the byte, and the rule
// used here can be off by one byte a number (see NumberSize).
//
// The rules are those of the Developer Guide, "DynamoDB item sizes and formats"
// and "DynamoDB read and write operations", and of measurements where the guide
// says nothing. A KB is 1,024 bytes.
package cost
