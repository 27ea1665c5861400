// Package report has what migrations tell of their work in full: the command itemize shows it, and
// package migrate the parts that programs decide by.
package report

import "time"

// Plan is the forecast of a migration: of all monoliths, or, with a sample, of a part of them.
type Plan struct {
	// Entities is the number of monoliths that were read. Of is the approximate number of items, which DynamoDB
	// updates every six hours; of a sample it is 0 if fewer than were read. Scale is the factor for the sums of a
	// sample.
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
	// WCU are the units that the run writes. Parts are those of the items, Marks those of the marks of
	// the monoliths, and Claims those of claims. Each includes the secondary indexes of its table, and
	// Indexes is the sum of these. RCU are the units of the run's scan. Checkpoints cost a WCU or two
	// for each page, and are not included.
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
	// Time is the duration of the run at the given rate, 0 without a rate.
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
	// Before and After are the costs of the given updates, in WCU a month. PaidFor is the number of
	// updates after which the run has paid for itself, 0 if it is unknown.
	Before  float64 `json:"before,omitempty"`
	After   float64 `json:"after,omitempty"`
	PaidFor float64 `json:"paidFor,omitempty"`
	// Means are other ways to do parts of it.
	Means []Mean `json:"means,omitempty"`
	// Advice has remarks for the time before the run.
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
	// Price is its price for the same data, nil if it is unknown.
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
	// WCU and RCU are predicted from the items that were written and read.
	WCU float64 `json:"wcu"`
	RCU float64 `json:"rcu"`
	// Of is the approximate number of items when the step began. It is 0 if DynamoDB's count, which it updates every
	// six hours, is smaller than the number of items read.
	Of int `json:"of"`
	// Done are the items that were looked at, by this run and those that it continues: entities, and items that are
	// none.
	Done    int           `json:"done"`
	Elapsed time.Duration `json:"elapsed,format:nano"`
	// EntitiesPerSecond and WCUPerSecond are means over the latter half of the step, without pauses. The former counts
	// Done. Left is the remaining time at that rate, 0 if it is unknown.
	EntitiesPerSecond float64       `json:"entitiesPerSecond"`
	WCUPerSecond      float64       `json:"wcuPerSecond"`
	Left              time.Duration `json:"left,format:nano"`
	// Spent is the price of the units so far, in dollars on demand.
	Spent float64 `json:"spent"`
	// Ended reports that it is the last.
	Ended bool `json:"ended"`
}
