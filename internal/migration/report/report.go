// Package report has what migrations tell of their work in full: the command itemize shows it, and
// package migrate the parts that programs decide by.
package report

import "time"

// Plan is what a migration will do and cost. It is of all monoliths, or, with a sample, of as many.
type Plan struct {
	// Entities were read; Of is about how many there are, as DynamoDB told within six hours. Scale is what the sums
	// of a sample are multiplied with.
	Entities int     `json:"entities"`
	Of       int     `json:"of"`
	Sampled  bool    `json:"sampled"`
	Scale    float64 `json:"scale"`
	// Foreign are items of the source that are no monoliths.
	Foreign int `json:"foreign,omitempty"`
	// Marked are monoliths that were already moved or deleted.
	Marked int `json:"marked"`
	// Bytes is the size of the monoliths. Items is the number of items that replace them, and ItemBytes
	// their size; Kinds counts them by kind.
	Bytes     float64         `json:"bytes"`
	Items     float64         `json:"items"`
	ItemBytes float64         `json:"itemBytes"`
	Kinds     map[string]Kind `json:"kinds"`
	// WCU is what the run writes: Parts are the units of the items, Marks those of the marks of the
	// monoliths, Claims those of claims, each with those of the secondary indexes of its table, which
	// Indexes is the sum of. RCU is what its scan reads. Checkpoints are a WCU or two for each page,
	// and not in it.
	WCU     float64 `json:"wcu"`
	Parts   float64 `json:"parts"`
	Marks   float64 `json:"marks"`
	Claims  float64 `json:"claims"`
	Indexes float64 `json:"indexes,omitempty"`
	RCU     float64 `json:"rcu"`
	// Removals are the units of removing the monoliths (Replace), in WCU.
	Removals float64 `json:"removals,omitempty"`
	// Price is that of both, Back what a rollback of all would cost, Verify a verification, in dollars on demand.
	Price  float64 `json:"price"`
	Back   float64 `json:"back"`
	Verify float64 `json:"verify"`
	// Time is what the run takes at the rate that was given, 0 for none.
	Time time.Duration `json:"time,format:nano"`
	// Residue are attributes of which the root notes what keys do not tell, Unclaimed those that no
	// field claims, which stay on the root: of how many entities each.
	Residue   map[string]int `json:"residue,omitempty"`
	Unclaimed map[string]int `json:"unclaimed,omitempty"`
	// Dead is how many entities cannot be moved.
	Dead int `json:"dead"`
	// Largest is the largest monolith in bytes: reading both layouts of one entity (Both) costs up to BothRCU more.
	Largest int     `json:"largest"`
	BothRCU float64 `json:"bothRCU"`
	// Before and After are what the stated updates cost, in WCU a month; PaidFor is the number of
	// updates after which the run is paid for, 0 where nothing tells.
	Before  float64 `json:"before,omitempty"`
	After   float64 `json:"after,omitempty"`
	PaidFor float64 `json:"paidFor,omitempty"`
	// Means are other ways to do parts of it.
	Means []Mean `json:"means,omitempty"`
	// Advice is what to know before the run.
	Advice []string `json:"advice,omitempty"`
}

// Kind are the items of one kind.
type Kind struct {
	Items float64 `json:"items"`
	Bytes float64 `json:"bytes"`
}

// Mean is one of DynamoDB's own means, in place of a part of the run.
type Mean struct {
	// Name is that of the operation, InPlaceOf the part of the run, at so many dollars.
	Name      string  `json:"name"`
	InPlaceOf string  `json:"inPlaceOf"`
	Costs     float64 `json:"costs"`
	// Price is what it costs for the same data, nil where that is not known.
	Price *float64 `json:"price,omitempty"`
}

// Progress is how far a run is.
type Progress struct {
	// Entities were looked at, of which Moved were moved; Dead cannot be, and Conflicts were left.
	Entities  int `json:"entities"`
	Moved     int `json:"moved"`
	Dead      int `json:"dead"`
	Conflicts int `json:"conflicts"`
	// Items were put.
	Items int `json:"items"`
	// WCU and RCU are as predicted from what was written and read.
	WCU float64 `json:"wcu"`
	RCU float64 `json:"rcu"`
	// Of is about how many entities there are, as DynamoDB told when the migration began; it tells every six hours.
	Of      int           `json:"of"`
	Elapsed time.Duration `json:"elapsed,format:nano"`
	// EntitiesPerSecond and WCUPerSecond are those of the last seconds; Left is the time that the rest takes at that
	// rate, 0 where nothing tells.
	EntitiesPerSecond float64       `json:"entitiesPerSecond"`
	WCUPerSecond      float64       `json:"wcuPerSecond"`
	Left              time.Duration `json:"left,format:nano"`
	// Spent is the price of the units so far, in dollars on demand.
	Spent float64 `json:"spent"`
	// Ended reports that it is the last.
	Ended bool `json:"ended"`
}
