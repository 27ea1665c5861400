package change_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/change"
	. "github.com/itemize/itemize/internal/testing/fakedynamo"
)

// The expiry that a field sets is stored with its item, whatever else changes; an insert
// takes an expired item for none.
func TestExpiry(t *testing.T) {
	m := Of[Session](t)
	until := func(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }
	v := &Session{ID: "1", User: "u", Until: until(100), Steps: []Step{{N: 1, Until: until(50)}, {N: 2}}}
	s := snapshot.New(m, v)
	d := diff(t, s, v, change.Options{})
	for _, ch := range d.Changes {
		want := map[string]string{"HEAD": "100", "STEP#001": "50", "STEP#002": ""}[ch.SK.Text]
		if got := ch.Put["expires"]; (got == nil) != (want == "") || got != nil && Show(got) != want || !ch.Unread {
			t.Errorf("%s expires at %v", ch.Place, got)
		}
	}
	apply(s, d)
	v.Until, v.Steps[0].Until, v.Steps[1].Until = until(200), time.Time{}, until(70)
	d = diff(t, s, v, change.Options{})
	for i, want := range []string{"expires=200", "-expires", "expires=70"} {
		if got := show(d.Changes[i : i+1]); !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	apply(s, d)
	unchanged(t, "expired", s, v)
}

// With ttl,all every item has the root's expiry: changing it changes them all, and needs
// all of them.
func TestExpiryOfAll(t *testing.T) {
	m := Of[Lease](t)
	v := &Lease{ID: "1", User: "u", Until: time.Unix(100, 0).UTC(), Terms: []Note{{N: 1}, {N: 2}}}
	s := snapshot.New(m, v)
	d := diff(t, s, v, change.Options{})
	for _, ch := range d.Changes {
		if Show(ch.Put["expires"]) != "100" {
			t.Errorf("%s: %v", ch.Place, ch.Put)
		}
	}
	apply(s, d)
	v.Until = v.Until.Add(time.Hour)
	if d = diff(t, s, v, change.Options{}); len(d.Changes) != 3 {
		t.Fatal(show(d.Changes))
	}
	for _, ch := range d.Changes {
		if !strings.Contains(show([]*change.Change{ch}), "expires=3700") {
			t.Error(show([]*change.Change{ch}))
		}
	}
	half, w := load[Lease](t, m, part(m, "1", "TERM#"),
		Item("1", "TERM#001", item.Attributes{"_v": B("v"), "expires": N("100"), "Text": S("x")}))
	w.Terms[0].Text = "y"
	if got := show(diff(t, half, w, change.Options{}).Changes); got != "update 1 TERM#001 Text='y' if b'v'" {
		t.Error("a part of it:", got)
	}
	w.Terms = append(w.Terms, Note{N: 2})
	var missing *change.NotLoaded
	if _, err := change.Of(half, nil, w, change.Options{}); !errors.As(err, &missing) {
		t.Errorf("an element whose expiry is not known: %v", err)
	}
}
