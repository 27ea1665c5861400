package write

import "github.com/itemize/itemize/internal/model/item"

// State is the result of requests.
type State uint8

// The states. Written and Rejected are known for sure. Unknown says that they may have
// been applied, and Failed that they were not.
const (
	Written State = iota
	Rejected
	Unknown
	Failed
	// States is how many there are.
	States int = iota
)

// Outcome is the result of the requests of a step.
type Outcome struct {
	State State
	// Requests are those that it is about.
	Requests []*Request
	// Stored are the items of a Rejected outcome as they are, one for each request: nil if its
	// condition held, empty for an item that does not exist.
	Stored []item.Attributes
	// Unsure reports of Rejected that an earlier attempt may have been applied, and
	// overwritten since.
	Unsure bool
	// Assumed reports that an Unsure outcome is only an assumption: the client cannot be watched, and
	// may have made an earlier attempt.
	Assumed bool
	// Inferred reports of Written that only a missing item shows it: of a delete without an answer,
	// whose item another writer may have deleted or moved.
	Inferred bool
	// Err is the cause, nil of Written.
	Err error
}

// Lost reports that the requests failed, or that no answer says whether they were applied. Whoever may repeat them asks
// for this, and compares with Failed only if a request that was not applied needs something else.
func (o *Outcome) Lost() bool { return o.State == Unknown || o.State == Failed }

// OK reports whether the requests were applied.
func (o *Outcome) OK() bool { return o.State == Written }
