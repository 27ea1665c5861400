// Package cost computes what DynamoDB meters: the sizes of items in bytes, and the write and read
// capacity units (WCU, RCU) of requests. It does no I/O and does not depend on models.
//
// Sizes and units are exact, as DynamoDB reports them in ConsumedCapacity, except for numbers. DynamoDB
// does not document their size to the byte, so the rule used here can be off by one byte for each
// number (see NumberSize).
//
// The rules come from the Developer Guide, "DynamoDB item sizes and formats" and "DynamoDB read and
// write operations", and from measurements. A KB is 1,024 bytes.
package cost
