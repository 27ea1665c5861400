// Package request has what all requests to DynamoDB share: pauses between retries ([Pause]), bounded parallelism
// ([AtOnce]), capacity units per second ([Limiter]), and the cure in an error of DynamoDB ([Explain]).
package request
