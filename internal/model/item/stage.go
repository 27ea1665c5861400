package item

import (
	"bytes"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
)

// An entity has a random incarnation, which its root and its items carry (_a). An item belongs to the
// entity if it carries the root's incarnation, or none. A staged write makes an entity of any size
// appear or disappear at once (_s):
//
//   - The root carries a stage: the state of the staged write, and its start. The entity is live if its
//     root has no stage, or the stage Live. An entity that is not live is not found.
//   - A staged insert marks the items that it puts. The next save of such an item, which knows that the
//     entity is live, removes the mark.

// State is the state of a staged write.
type State string

// The states.
const (
	Inserting State = "inserting"
	Deleting  State = "deleting"
	Live      State = "live"
	// Migrating and RollingBack are those of an entity that becomes the items of a monolith, or a
	// monolith again: package migrate alone takes such a root over.
	Migrating   State = "migrating"
	RollingBack State = "rollingback"
	// Restored is the state of a rollback that has written the monolith. The rollback records it before
	// it deletes the first item.
	Restored State = "back"
)

// Stage is the stage of a root.
type Stage struct {
	State State
	// By distinguishes one delete, or rollback, from another; nil in other states.
	By    types.AttributeValue
	Since time.Time
	// Took are the incarnations of the claims that a migration's claim took over, and From the state that
	// a rollback began in.
	Took []types.AttributeValue
	From State
	// Whole is the hash of the monolith whose parts a claim has, put in bulk before the table was used.
	// Sum is the sum of the parts' versions. Both are nil in other states.
	Whole, Sum []byte
	// Origin identifies the migration of a claim; nil in other states.
	Origin []byte
	// Digest is the digest of the content that a rollback copies into a monolith ([ContentDigest]); nil
	// in other states.
	Digest []byte
}

// NewStage returns a stage that begins now.
func NewStage(s State, now time.Time) Stage {
	st := Stage{State: s, Since: now}
	if s == Deleting || s == RollingBack {
		st.By = NewToken()
	}
	return st
}

// Value returns the stage as it is stored.
func (s Stage) Value() types.AttributeValue {
	m := Attributes{stateName: &types.AttributeValueMemberS{Value: string(s.State)}, "since": Epoch(s.Since)}
	if s.By != nil {
		m["by"] = s.By
	}
	if len(s.Took) > 0 {
		m["took"] = &types.AttributeValueMemberL{Value: s.Took}
	}
	if s.Whole != nil {
		m["whole"], m["sum"] = &types.AttributeValueMemberB{Value: s.Whole}, &types.AttributeValueMemberB{Value: s.Sum}
	}
	if s.Origin != nil {
		m["of"] = &types.AttributeValueMemberB{Value: s.Origin}
	}
	if s.Digest != nil {
		m["d"] = &types.AttributeValueMemberB{Value: s.Digest}
	}
	if s.From != "" {
		m["from"] = &types.AttributeValueMemberS{Value: string(s.From)}
	}
	return &types.AttributeValueMemberM{Value: m}
}

const stateName = "state"

// AssignStage returns the assignment of a stage to its attribute.
func (r Reserved) AssignStage(s Stage) Assignment {
	return Assignment{r.StateName(), Unlisted, s.Value()}
}

// ReadStage returns the stage of a root, the zero Stage for one without.
func (h Header) ReadStage() Stage {
	var s Stage
	m, ok := h.Stage.(*types.AttributeValueMemberM)
	if !ok {
		return s
	}
	if state, ok := m.Value[stateName].(*types.AttributeValueMemberS); ok {
		s.State = State(state.Value)
	}
	if took, ok := m.Value["took"].(*types.AttributeValueMemberL); ok {
		s.Took = took.Value
	}
	whole, _ := m.Value["whole"].(*types.AttributeValueMemberB)
	sum, _ := m.Value["sum"].(*types.AttributeValueMemberB)
	if whole != nil && sum != nil {
		s.Whole, s.Sum = whole.Value, sum.Value
	}
	if of, ok := m.Value["of"].(*types.AttributeValueMemberB); ok {
		s.Origin = of.Value
	}
	if d, ok := m.Value["d"].(*types.AttributeValueMemberB); ok {
		s.Digest = d.Value
	}
	if from, ok := m.Value["from"].(*types.AttributeValueMemberS); ok {
		s.From = State(from.Value)
	}
	s.By, s.Since = m.Value["by"], readEpoch(m.Value["since"])
	return s
}

// Moving reports whether a root belongs to a migration, or has a state of a later version, so that no other writer may
// take it over.
func (h Header) Moving() bool {
	switch h.ReadStage().State {
	case "", Live, Inserting, Deleting:
		return false
	}
	return true
}

// Live reports whether a root is live, as far as its stage decides it.
func (h Header) Live() bool { return h.Stage == nil || h.ReadStage().State == Live }

// LiveSince returns when a root went live, by the clock of who did that; the zero time for
// one that was not staged.
func (h Header) LiveSince() time.Time {
	if s := h.ReadStage(); s.State == Live {
		return s.Since
	}
	return time.Time{}
}

// Pending describes the stage in messages.
func (s Stage) Pending() string {
	switch s.State {
	case Inserting:
		return "an insert that began at " + s.Since.UTC().Format(time.RFC3339) +
			" is not finished: insert again to take it over"
	case Deleting:
		return "a delete that began at " + s.Since.UTC().Format(time.RFC3339) +
			" is not finished: delete again to finish it, or insert"
	case Migrating:
		return "a migration that began at " + s.Since.UTC().Format(time.RFC3339) +
			" moves it: run itemize migrate run, or use migrate.Wrap, to finish it"
	case RollingBack:
		if s.From == Migrating {
			return "a rollback or a settle that began at " + s.Since.UTC().Format(time.RFC3339) +
				" is not finished: repeat itemize migrate settle -keep monolith, or itemize migrate rollback"
		}
		return "a rollback of a migration that began at " + s.Since.UTC().Format(time.RFC3339) +
			" is not finished: run itemize migrate rollback to finish it"
	}
	if s.State != "" && s.State != Live {
		return "its root item has a state of a later version: update the library"
	}
	return "its root is not live"
}

// AssignIncarnation returns the assignment of an incarnation. It changes no attribute of the model.
func (r Reserved) AssignIncarnation(a types.AttributeValue) Assignment {
	return Assignment{r.IncarnationName(), Unlisted, a}
}

// IncarnationSize returns the number of bytes that an incarnation takes in an item.
func (r Reserved) IncarnationSize() int { return len(r.IncarnationName()) + TokenSize }

// MarkStaged returns the mark of an item that a staged insert puts, and DropMark its removal.
func (r Reserved) MarkStaged() Assignment {
	return Assignment{r.StateName(), Unlisted, &types.AttributeValueMemberBOOL{Value: true}}
}

// DropMark is described at MarkStaged.
func (r Reserved) DropMark() Assignment { return Assignment{Name: r.StateName(), Index: Unlisted} }

// Frozen returns the mark of an item that a rollback has copied. The mark has this version and a digest
// of the content. A later write of the item changes the version, removes the mark or changes the
// content.
func (r Reserved) Frozen(version types.AttributeValue, content Attributes) Assignment {
	return Assignment{r.StateName(), Unlisted, &types.AttributeValueMemberM{Value: Attributes{
		stateName: &types.AttributeValueMemberS{Value: string(RollingBack)}, "by": version,
		"d": &types.AttributeValueMemberB{Value: r.ContentDigest(content)},
	}}}
}

// ContentDigest is a digest of an item without its version and its stage.
func (r Reserved) ContentDigest(a Attributes) []byte {
	return attr.Hash(a, r.StateName(), r.Version)[:TokenSize]
}

// IsFrozen reports whether an item is as a rollback has copied it.
func (r Reserved) IsFrozen(a Attributes) bool {
	h := r.Header(a)
	s := h.ReadStage()
	return s.State == RollingBack && s.By != nil && attr.Same(s.By, h.Version) &&
		bytes.Equal(s.Digest, r.ContentDigest(a))
}

// Set notes in a header the new value of a reserved attribute; it reports whether the
// assignment is to one.
func (r Reserved) Set(h *Header, a Assignment) bool {
	switch a.Name {
	case r.StateName():
		h.Stage = a.Value
	case r.IncarnationName():
		h.Incarnation = a.Value
	default:
		return false
	}
	return true
}

// Conditions on reserved attributes, rendered into an expression.

// LiveRoot requires a root that is live.
func (r Reserved) LiveRoot(x *attr.Expression) string {
	name := x.Name(r.StateName())
	return "(attribute_not_exists(" + name + ") OR " + name + "." + x.Name(stateName) + " = " +
		x.Value(&types.AttributeValueMemberS{Value: string(Live)}) + ")"
}

// NoLiveRoot requires that no live root is at a place: nothing, one that is staged or is being
// deleted, or one whose time to live is over by every writer's clock.
func (r Reserved) NoLiveRoot(at Place, now func() time.Time) attr.Condition {
	return func(x *attr.Expression) string {
		state := x.Name(r.StateName()) + "." + x.Name(stateName)
		text := "(attribute_not_exists(" + x.Name(at.Table.Hash) + ") OR attribute_exists(" + state + ") AND NOT " +
			state + " = " +
			x.Value(&types.AttributeValueMemberS{Value: string(Live)})
		if r.Expires() {
			text += " OR " + r.ReplaceableBy(x, now())
		}
		return text + ")"
	}
}

// Unstaged requires an item that no staged insert has put, or that was saved since.
func (r Reserved) Unstaged(x *attr.Expression) string {
	return "attribute_not_exists(" + x.Name(r.StateName()) + ")"
}

// IncarnationIs requires the incarnation of an item, nil for an item without one.
func (r Reserved) IncarnationIs(x *attr.Expression, incarnation types.AttributeValue) string {
	if incarnation == nil {
		return "attribute_not_exists(" + x.Name(r.IncarnationName()) + ")"
	}
	return x.Name(r.IncarnationName()) + " = " + x.Value(incarnation)
}

// OwnedBy requires an item of an entity: it has the incarnation, or none.
func (r Reserved) OwnedBy(x *attr.Expression, incarnation types.AttributeValue) string {
	if incarnation == nil {
		return r.IncarnationIs(x, nil)
	}
	return "(" + r.IncarnationIs(x, nil) + " OR " + r.IncarnationIs(x, incarnation) + ")"
}

// Unexpired requires that an item's time to live is not over.
func (r Reserved) Unexpired(x *attr.Expression, now time.Time) string {
	return "(attribute_not_exists(" + x.Name(r.TTL) + ") OR " + x.Name(r.TTL) + " > " + x.Value(Epoch(now)) + " OR " +
		x.Name(r.TTL) + " = " + x.Value(Epoch(time.Time{})) + ")"
}

// NotExpired is Unexpired by a clock.
func (r Reserved) NotExpired(now func() time.Time) attr.Condition {
	return func(x *attr.Expression) string { return r.Unexpired(x, now()) }
}

// NotRollingBack requires of a root that no rollback of a migration has marked it.
func (r Reserved) NotRollingBack(x *attr.Expression) string {
	return "NOT " + x.Name(r.StateName()) + "." + x.Name(stateName) + " = " +
		x.Value(&types.AttributeValueMemberS{Value: string(RollingBack)})
}

// ReplaceableBy requires that it is, by every writer's clock.
func (r Reserved) ReplaceableBy(x *attr.Expression, now time.Time) string {
	return x.Name(
		r.TTL,
	) + " <= " + x.Value(
		Epoch(now.Add(-r.Margin)),
	) + " AND " + x.Name(
		r.TTL,
	) + " <> " + x.Value(
		Epoch(time.Time{}),
	)
}
