// Package trace has the files of package record: what a program does to the entities of its tables, without values.
// Files of several processes merge, and become the workload of a forecast. [Replay] sends
// such operations to DynamoDB.
package trace
