// Package patterns has four access patterns of a ride ledger, each written three times: with itemize, with
// github.com/guregu/dynamo, and with the SDK alone. All three store the same items. The tests run them on an engine,
// and count lines, requests and capacity units for docs/comparison.md.
//
// Register stores a driver and two claims in one transaction. Finish closes a trip if it is open. Events returns a page
// of the events of a trip and a cursor. Month returns the trips of a driver in a month, by an index.
package patterns

import "errors"

// Errors that all three return.
var (
	ErrTaken   = errors.New("the driver, the e-mail address or the phone number is taken")
	ErrNotOpen = errors.New("the trip is missing or not open")
)
