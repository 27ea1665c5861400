package main

import "time"

//go:generate go run github.com/itemize/itemize/cmd/itemize gen

// Event is one item. The events of a month are in a table of their own, so that an old table can have
// less capacity and be dropped as a whole. The events of a site are spread over 200 partition keys by
// their ID, and each key accepts 1,000 writes per second. One request reads an event by its site, its
// time and its ID.
type Event struct {
	_      struct{}  `ddb:"table=events_{At:month},shards=200,shardby=ID"`
	Site   string    `ddb:"pk=SITE#{Site}#{shard}"`
	At     time.Time `ddb:"sk={At}#{ID}"`
	ID     string    `ddb:"sk={At}#{ID}"`
	Device string    `ddb:"sk={At}#{ID}"`
	Text   string    `ddb:"sk={At}#{ID}"`
}
