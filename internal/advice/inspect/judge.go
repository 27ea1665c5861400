package inspect

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
)

// judge returns the findings about an item, whose root item was read after it: nil for a missing one.
func (x *Inspector) judge(s *subject, root *item.Image) []Finding {
	var all []Finding
	add := func(rule Rule, what, cure string) { all = append(all, s.found(rule, what, cure)) }
	h := s.img.Header
	if h.Incarnation != nil && !item.IsToken(h.Incarnation) {
		add(Incarnation, fmt.Sprintf("%s is not 8 bytes", s.m.Reserved.IncarnationName()),
			"copy the value of the root item, or remove it from all items of the entity")
	} else if !s.img.Expired {
		s.belongs(root, add)
	}
	if s.isRoot() {
		x.state(s, add)
	} else if h.Stage != nil && !isMark(h) {
		add(State, fmt.Sprintf("%s is not a mark", s.m.Reserved.StateName()), "remove the attribute")
	}
	s.expiry(add)
	s.types(add)
	s.indexKeys(root, add)
	return all
}

// belongs compares the incarnation of an item with that of its root item.
func (s *subject) belongs(root *item.Image, add func(Rule, string, string)) {
	own := s.img.Header.Incarnation
	switch {
	case s.isRoot():
	case root == nil && own == nil:
		add(Orphan, "the root item is missing", "write the root item, or delete this item: the next entity with "+
			"this key would show it")
	case root == nil:
		add(Leftover, "the root item is missing", "delete the entity by its key, which removes the item")
	case own == nil || attr.Same(own, root.Header.Incarnation):
	case root.Header.Incarnation != nil && !item.IsToken(root.Header.Incarnation): // a finding about the root item
	case root.Header.Incarnation == nil && root.Header.Live():
		name := s.m.Reserved.IncarnationName()
		add(Hidden, fmt.Sprintf("the item has %[1]s, but its root item has none: loads hide the item", name),
			fmt.Sprintf("copy %s to the root item", name))
	case root.Header.Live() || !s.isClaimed(root):
		add(Leftover, "it belongs to a deleted entity with this key", "delete and insert the entity, or delete "+
			"the item: loads ignore it")
	}
}

// isClaimed reports whether the item may belong to an unfinished operation of its root item.
func (s *subject) isClaimed(root *item.Image) bool {
	st := root.Header.ReadStage()
	return slices.ContainsFunc(st.Took, func(a types.AttributeValue) bool {
		return attr.Same(a, s.img.Header.Incarnation)
	})
}

// state judges the state of a root item.
func (x *Inspector) state(s *subject, add func(Rule, string, string)) {
	h := s.img.Header
	if h.Stage == nil {
		return
	}
	st := h.ReadStage()
	switch st.State {
	case item.Live:
	case item.Inserting, item.Deleting, item.Migrating, item.RollingBack:
		if age := x.Now().Sub(st.Since); age >= x.Pending {
			add(Pending, fmt.Sprintf("state %s for %s", st.State, age.Round(time.Minute)), cureOf[st.State])
		}
	default:
		add(State, fmt.Sprintf("%s has no known state: the entity is not found", s.m.Reserved.StateName()),
			"remove the attribute if the entity is complete")
	}
}

var cureOf = map[item.State]string{
	item.Inserting:   "insert or delete the entity again: a program died",
	item.Deleting:    "delete the entity again: a program died",
	item.Migrating:   "run itemize migrate run: a program died",
	item.RollingBack: "run itemize migrate rollback: a program died",
}

// isMark reports whether the state of an item that is no root item is a mark.
func isMark(h item.Header) bool {
	if b, ok := h.Stage.(*types.AttributeValueMemberBOOL); ok {
		return b.Value
	}
	return h.ReadStage().State == item.RollingBack
}

// latest is the largest time to live in epoch seconds that is not one in milliseconds: the year 5138.
const latest = 100_000_000_000

// expiry judges the TTL attribute of an item.
func (s *subject) expiry(add func(Rule, string, string)) {
	name, v := s.m.Reserved.TTL, s.img.Header.Expiry
	if name == "" || v == nil {
		return
	}
	n, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		add(Expiry, fmt.Sprintf("%s is of type %s, so that the item never expires", name, attr.TypeName(v)),
			"write epoch seconds as a number")
		return
	}
	if at, err := strconv.ParseFloat(n.Value, 64); err == nil && at > latest {
		add(Expiry, fmt.Sprintf("%s is not in seconds, so that the item does not expire", name),
			"write epoch seconds, not milliseconds")
	}
}
