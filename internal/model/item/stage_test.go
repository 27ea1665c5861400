package item

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
)

// A root is live without a stage, or with the stage Live; every other stage says which write is
// unfinished. Each stage is decoded as it was stored.
func TestStages(t *testing.T) {
	since := time.Unix(7, 0)
	for state, c := range map[State]struct {
		live    bool
		pending string
	}{
		Inserting: {
			false,
			"an insert that began at 1970-01-01T00:00:07Z is not finished: insert again to take it over",
		},
		Deleting: {
			false,
			"a delete that began at 1970-01-01T00:00:07Z is not finished: delete again to finish it, or insert",
		},
		Live:    {true, "its root is not live"},
		"other": {false, "its root item has a state of a later version: update the library"},
	} {
		s := NewStage(state, since)
		h := Header{Stage: s.Value()}
		back := h.ReadStage()
		if back.State != state || !back.Since.Equal(since) || (back.By == nil) != (s.By == nil) || h.Live() != c.live ||
			s.Pending() != c.pending {
			t.Errorf("%s comes back as %+v, live %v: %s", state, back, h.Live(), s.Pending())
		}
		if got := h.LiveSince(); c.live != got.Equal(since) {
			t.Errorf("%s is live since %v", state, got)
		}
	}
	if !(Header{}).Live() || !(Header{}).LiveSince().IsZero() {
		t.Error("a root that was not staged is not live, or since some time")
	}
}

// Each delete has its own By; an insert is identified by its incarnation and not by its stage.
func TestDeletesAreReported(t *testing.T) {
	a, b := NewStage(Deleting, time.Unix(7, 0)), NewStage(Deleting, time.Unix(7, 0))
	back := Header{Stage: a.Value()}.ReadStage()
	if attr.Same(a.By, b.By) || !attr.Same(back.By, a.By) {
		t.Errorf("%v, %v, read as %v", a.By, b.By, back.By)
	}
	if NewStage(Inserting, a.Since).By != nil {
		t.Error("an insert's stage has what tells deletes")
	}
}

// A stage in an unknown format is still a stage: its root is not live. The same holds for the mark of a
// part.
func TestStageOfAnotherForm(t *testing.T) {
	for _, v := range []types.AttributeValue{text("x"), &types.AttributeValueMemberM{}, Reserved{}.MarkStaged().Value} {
		h := Header{Stage: v}
		if h.Live() || !h.LiveSince().IsZero() || h.ReadStage().Pending() != "its root is not live" {
			t.Errorf("%v: %+v", v, h.ReadStage())
		}
	}
}

// The conditions on what the library reserves, as they are written.
func TestReservedConditions(t *testing.T) {
	r := Reserved{Version: "_v", TTL: "ttl"}
	for want, condition := range map[string]attr.Condition{
		"(attribute_not_exists(#0) OR #0.#1 = :0) _s state": Reserved{}.LiveRoot,
		"attribute_not_exists(#0) _s":                       Reserved{}.Unstaged,
		"#0 = :0 _a": func(x *attr.Expression) string {
			return Reserved{}.IncarnationIs(x, bytesOf("x"))
		},
		"(attribute_not_exists(#0) OR #0 > :0 OR #0 = :1) ttl": func(x *attr.Expression) string {
			return r.Unexpired(x, time.Unix(7, 0))
		},
		"#0 <= :0 AND #0 <> :1 ttl": func(x *attr.Expression) string {
			return r.ReplaceableBy(x, time.Unix(7, 0))
		},
	} {
		var x attr.Expression
		got := condition(&x)
		var names []string
		for _, name := range x.Names() {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			got += " " + name
		}
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
