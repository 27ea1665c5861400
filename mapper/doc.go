// Package mapper maps a struct to the items of one DynamoDB item collection, and
// saves only the items that changed.
package mapper
