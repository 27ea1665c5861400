// Package charge computes what DynamoDB charges for single requests, by the items that they write and
// read, and what partitions serve. Package cost has the rules of sizes and units.
package charge
