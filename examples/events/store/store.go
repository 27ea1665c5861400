// Package store holds the model of events that many devices write at once: more a day than one
// partition key takes.
package store

import "time"

//go:generate go tool itemize gen

// Event is one item. The events of a day are spread over 200 partition keys, by their ID: each takes
// 1,000 writes a second, and an event is found by its time and its ID with one read all the same.
type Event struct {
	_      struct{}  `ddb:"table=events,shards=200,shardby=ID"`
	At     time.Time `ddb:"pk=EVENTS#{At:date}.{shard}"`
	ID     string    `ddb:"sk={At}#{ID}"`
	Device string    `ddb:"sk={At}#{ID}"`
	Text   string    `ddb:"sk={At}#{ID}"`
}
