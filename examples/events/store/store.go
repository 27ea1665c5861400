// Package store holds the model of events that many devices write at once: more than one partition key
// takes, and of which the latest matter most.
package store

import "time"

//go:generate go run github.com/itemize/itemize/cmd/itemize gen

// Event is one item. Those of a month are in a table of their own, so that the older ones can be given
// less, and dropped at once; those of a site are spread over 200 partition keys, by their ID: each takes
// 1,000 writes a second, and an event is found by its site, its time and its ID with one read all the
// same.
type Event struct {
	_      struct{}  `ddb:"table=events_{At:month},shards=200,shardby=ID"`
	Site   string    `ddb:"pk=SITE#{Site}#{shard}"`
	At     time.Time `ddb:"sk={At}#{ID}"`
	ID     string    `ddb:"sk={At}#{ID}"`
	Device string    `ddb:"sk={At}#{ID}"`
	Text   string    `ddb:"sk={At}#{ID}"`
}
