package item

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/schema"
)

// A staged write makes an entity of any size appear, or disappear, at once:
//
//   - The root carries a stage as long as it is not live: what is being done, by which
//     attempt, and since when. A root with a stage is not found.
//   - The items that an insert puts carry its attempt. They are there if the live root
//     carries the same attempt, with the time since when; the next write of an item drops
//     it.
//   - Attempts are random, not numbered: a number would start over once a root is deleted,
//     and a slow writer's late put could join the next entity.

// State is what is being done to an entity whose root is not live.
type State string

// The states.
const (
	Inserting State = "inserting"
	Deleting  State = "deleting"
)

// Stage is the stage of a root that is not live.
type Stage struct {
	State   State
	Attempt types.AttributeValue
	Since   time.Time
}

// NewStage returns a stage with an attempt of its own.
func NewStage(s State, now time.Time) Stage { return Stage{s, NewToken(), now} }

// Value returns the stage as it is stored.
func (s Stage) Value() types.AttributeValue {
	return &types.AttributeValueMemberM{Value: Attributes{
		"state":   &types.AttributeValueMemberS{Value: string(s.State)},
		"attempt": s.Attempt,
		"since":   Epoch(s.Since),
	}}
}

// Assign returns the assignment of the stage to its attribute.
func (s Stage) Assign() Assignment { return Assignment{schema.State, Unlisted, s.Value()} }

// Is reports whether two stages are of one attempt.
func (s Stage) Is(o Stage) bool { return attr.Same(s.Attempt, o.Attempt) }

// ReadStage returns the stage of a root; ok is false for a live one.
func (h Header) ReadStage() (s Stage, ok bool) {
	m, ok := h.Stage.(*types.AttributeValueMemberM)
	if !ok {
		return Stage{}, h.Stage != nil
	}
	if state, ok := m.Value["state"].(*types.AttributeValueMemberS); ok {
		s.State = State(state.Value)
	}
	s.Since = readEpoch(m.Value["since"])
	s.Attempt = m.Value["attempt"]
	return s, true
}

// Pending describes the stage in messages.
func (s Stage) Pending() string {
	switch s.State {
	case Inserting:
		return "an insert that began at " + s.Since.UTC().Format(time.RFC3339) + " is not finished: insert again to take it over"
	case Deleting:
		return "a delete that began at " + s.Since.UTC().Format(time.RFC3339) + " is not finished: delete again to finish it, or insert"
	}
	return "its root is not live"
}

// Liveness is what a live root of a staged insert carries.
type Liveness struct {
	// Attempt is the insert's, nil for a root that is not live or was not staged.
	Attempt types.AttributeValue
	// Since is when it went live, by the writer's clock.
	Since time.Time
}

// Assign returns the assignment of the liveness to its attribute.
func (l Liveness) Assign() Assignment {
	return Assignment{schema.Attempt, Unlisted, &types.AttributeValueMemberM{Value: Attributes{"attempt": l.Attempt, "since": Epoch(l.Since)}}}
}

// LivenessOf returns the liveness of a root; root is nil for none.
func LivenessOf(root *Image) Liveness {
	if root == nil || root.Header.Stage != nil || root.Expired {
		return Liveness{}
	}
	m, ok := root.Header.Attempt.(*types.AttributeValueMemberM)
	if !ok {
		return Liveness{}
	}
	return Liveness{m.Value["attempt"], readEpoch(m.Value["since"])}
}

// AssignAttempt returns the assignment of an attempt to a part that a staged insert puts.
func AssignAttempt(attempt types.AttributeValue) Assignment {
	return Assignment{schema.Attempt, Unlisted, attempt}
}

// DropAttempt is the removal of the attempt, which the next write of a part makes.
var DropAttempt = Assignment{Name: schema.Attempt, Index: Unlisted}

// EndStage is the removal of the stage, with which a root goes live.
var EndStage = Assignment{Name: schema.State, Index: Unlisted}

// Set notes in a header the new value of a reserved attribute; it reports whether the
// assignment is to one.
func (h *Header) Set(a Assignment) bool {
	switch a.Name {
	case schema.State:
		h.Stage = a.Value
	case schema.Attempt:
		h.Attempt = a.Value
	default:
		return false
	}
	return true
}

// Conditions on reserved attributes, rendered into an expression.

// NoStage requires a root that is live.
func NoStage(x *attr.Expression) string { return "attribute_not_exists(" + x.Name(schema.State) + ")" }

// NoAttempt requires an item that no staged insert has put, or that was written since.
func NoAttempt(x *attr.Expression) string {
	return "attribute_not_exists(" + x.Name(schema.Attempt) + ")"
}

// AttemptIs requires the attempt of an item.
func AttemptIs(x *attr.Expression, attempt types.AttributeValue) string {
	return x.Name(schema.Attempt) + " = " + x.Value(attempt)
}

// StageIs requires the stage of a root.
func StageIs(x *attr.Expression, stage types.AttributeValue) string {
	return x.Name(schema.State) + " = " + x.Value(stage)
}

// Unexpired requires that an item's time to live is not over.
func (r Reserved) Unexpired(x *attr.Expression, now time.Time) string {
	return "(attribute_not_exists(" + x.Name(r.TTL) + ") OR " + x.Name(r.TTL) + " > " + x.Value(Epoch(now)) + ")"
}

// ExpiredBy requires that it is.
func (r Reserved) ExpiredBy(x *attr.Expression, now time.Time) string {
	return x.Name(r.TTL) + " <= " + x.Value(Epoch(now))
}
