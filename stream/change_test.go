package stream_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/examples/wishlist/store"
	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/stream"
)

// binary returns a value of 8 bytes, as incarnations and versions have them.
func binary(c byte) *types.AttributeValueMemberB {
	return &types.AttributeValueMemberB{Value: []byte(strings.Repeat(string(c), 8))}
}

// stage is the state of a root item.
func stage(state string) *types.AttributeValueMemberM {
	return &types.AttributeValueMemberM{Value: kit.Item{
		"state": kit.S(state), "since": &types.AttributeValueMemberN{Value: "1"},
	}}
}

// account is an item of kit.Account with more attributes.
func account(sk string, incarnation byte, more kit.Item) kit.Item {
	out := kit.Item{"PK": kit.S("ACCOUNT#1"), "SK": kit.S(sk), "_v": binary('v')}
	if incarnation != 0 {
		out["_a"] = binary(incarnation)
	}
	for name, v := range more {
		out[name] = v
	}
	return out
}

// events handles records, and returns the changes in short.
func events(t *testing.T, records ...*stream.Record) []string {
	t.Helper()
	m := kit.Must(mapper.New[kit.Account](kit.Failing{}))(t)
	var out []string
	r := stream.NewRouter()
	stream.On(r, m, func(_ context.Context, c *stream.Change[kit.Account]) error {
		text := fmt.Sprintf("%s %s/%s", c.Key.Sort, c.EntityEvent, c.ItemEvent)
		if c.Old != nil {
			text += " old"
		}
		if c.New != nil {
			text += " new"
		}
		out = append(out, text)
		return nil
	})
	r.Unmatched(func(_ context.Context, rec *stream.Record) error {
		out = append(out, "unmatched")
		return nil
	})
	if _, err := stream.HandleAll(context.Background(), r, records); err != nil {
		t.Fatal(err)
	}
	return out
}

func record(old, now kit.Item) *stream.Record {
	keys := kit.Item{}
	for _, image := range []kit.Item{old, now} {
		for _, name := range []string{"PK", "SK"} {
			if v := image[name]; v != nil {
				keys[name] = v
			}
		}
	}
	return &stream.Record{Table: "accounts", Keys: keys, Old: old, New: now, View: "NEW_AND_OLD_IMAGES"}
}

func TestEventsOfRecords(t *testing.T) {
	t.Parallel()
	mark := kit.Item{"_s": &types.AttributeValueMemberBOOL{Value: true}}
	one, two := kit.Item{"Counter": kit.N("1")}, kit.Item{"Counter": kit.N("2")}
	text := kit.Item{"Text": kit.S("x")}
	byTTL := func(r *stream.Record) *stream.Record { r.Expired = true; return r }
	type records = []*stream.Record
	for name, c := range map[string]struct {
		records records
		want    []string
	}{
		"an insert": {
			records{record(nil, account("HEAD", 'a', one)), record(nil, account("ENTRY#0001", 'a', text))},
			[]string{"HEAD created/created new", "ENTRY#0001 /created new"},
		},
		"a change of the root item": {
			records{record(account("HEAD", 'a', one), account("HEAD", 'a', two))},
			[]string{"HEAD /changed old new"},
		},
		"a new version alone": {
			records{record(account("HEAD", 'a', one), account("HEAD", 'a',
				kit.Item{"Counter": kit.N("1"), "_v": binary('w')}))},
			nil,
		},
		"an attribute that the model does not know": {
			records{record(account("HEAD", 'a', one), account("HEAD", 'a',
				kit.Item{"Counter": kit.N("1"), "More": kit.S("x")}))},
			[]string{"HEAD /changed old new"},
		},
		"a delete": {
			records{record(account("HEAD", 'a', one), nil), record(account("ENTRY#0001", 'a', text), nil)},
			[]string{"HEAD deleted/deleted old"},
		},
		"an element": {
			records{
				record(nil, account("ENTRY#0001", 'a', text)),
				record(account("ENTRY#0001", 'a', text), account("ENTRY#0001", 'a', kit.Item{"Text": kit.S("y")})),
				record(account("ENTRY#0001", 'a', text), nil),
			},
			[]string{"ENTRY#0001 /created new", "ENTRY#0001 /changed old new", "ENTRY#0001 /deleted old"},
		},
		"a staged insert": {
			records{
				record(nil, account("HEAD", 'a', kit.Item{"_s": stage("inserting")})),
				record(nil, account("ENTRY#0001", 'a', mark)),
				record(account("HEAD", 'a', kit.Item{"_s": stage("inserting")}),
					account("HEAD", 'a', kit.Item{"_s": stage("live"), "Counter": kit.N("1")})),
			},
			[]string{"HEAD created/created new"},
		},
		"a staged item that is changed, and one that is deleted": {
			records{
				record(account("ENTRY#0001", 'a', mark), account("ENTRY#0001", 'a', text)),
				record(account("ENTRY#0002", 'a', mark), nil),
			},
			[]string{"ENTRY#0001 /changed old new", "ENTRY#0002 /deleted old"},
		},
		"the mark of a staged insert is removed": {
			records{record(account("ENTRY#0001", 'a', mark), account("ENTRY#0001", 'a', nil))},
			nil,
		},
		"a staged insert that is given up": {
			records{
				record(nil, account("HEAD", 'a', kit.Item{"_s": stage("inserting")})),
				record(nil, account("ENTRY#0001", 'a', mark)),
				record(account("HEAD", 'a', kit.Item{"_s": stage("inserting")}), nil),
				record(account("ENTRY#0001", 'a', mark), nil),
			},
			nil,
		},
		"a staged insert that another one takes over": {
			records{
				record(nil, account("HEAD", 'a', kit.Item{"_s": stage("inserting")})),
				record(nil, account("ENTRY#0001", 'a', mark)),
				record(account("HEAD", 'a', kit.Item{"_s": stage("inserting")}),
					account("HEAD", 'b', kit.Item{"_s": stage("inserting")})),
				record(account("ENTRY#0001", 'a', mark), account("ENTRY#0001", 'b', mark)),
				record(account("HEAD", 'b', kit.Item{"_s": stage("inserting")}), account("HEAD", 'b', one)),
			},
			[]string{"HEAD created/created new"},
		},
		"a staged delete": {
			records{
				record(account("HEAD", 'a', one), account("HEAD", 'a', kit.Item{"_s": stage("deleting")})),
				record(account("ENTRY#0001", 'a', text), nil),
				record(account("HEAD", 'a', kit.Item{"_s": stage("deleting")}), nil),
			},
			[]string{"HEAD deleted/deleted old"},
		},
		"a late write to a leftover item": {
			records{
				record(account("HEAD", 'a', one), nil),
				record(account("ENTRY#0001", 'a', text), account("ENTRY#0001", 'a', kit.Item{"Text": kit.S("y")})),
			},
			[]string{"HEAD deleted/deleted old"},
		},
		"an insert replaces leftover items": {
			records{
				record(account("ENTRY#0001", 'a', text), account("ENTRY#0001", 'b', text)),
				record(account("HEAD", 'a', kit.Item{"_s": stage("deleting")}), account("HEAD", 'b', one)),
			},
			[]string{"ENTRY#0001 /created new", "HEAD created/created new"},
		},
		"an insert replaces an entity": {
			records{record(account("HEAD", 'a', one), account("HEAD", 'b', two))},
			[]string{"HEAD deleted/deleted old", "HEAD created/created new"},
		},
		"a staged insert replaces an entity": {
			records{record(account("HEAD", 'a', one), account("HEAD", 'b', kit.Item{"_s": stage("inserting")}))},
			[]string{"HEAD deleted/deleted old"},
		},
		"items without incarnations": {
			records{
				record(nil, account("HEAD", 0, one)),
				record(account("HEAD", 0, one), account("HEAD", 0, two)),
				record(account("HEAD", 0, two), account("HEAD", 'a', two)),
				record(account("HEAD", 0, one), nil),
				record(account("ENTRY#0001", 0, text), nil),
			},
			[]string{
				"HEAD created/created new", "HEAD /changed old new", "HEAD deleted/deleted old",
				"ENTRY#0001 /deleted old",
			},
		},
		"the time to live": {
			records{
				byTTL(record(account("HEAD", 'a', one), nil)),
				byTTL(record(account("ENTRY#0001", 'b', text), nil)),
			},
			[]string{"HEAD expired/expired old", "ENTRY#0001 /expired old"},
		},
		"an unfinished delete of nothing": {
			records{
				record(nil, account("HEAD", 'a', kit.Item{"_s": stage("deleting")})),
				record(account("HEAD", 'a', kit.Item{"_s": stage("deleting")}), nil),
			},
			nil,
		},
		"items of the library": {
			records{
				record(nil, kit.Item{
					"PK": kit.S("~unique#Account#Left#x"), "SK": kit.S("guard"),
					"~pk": kit.S("ACCOUNT#1"),
				}),
				record(nil, kit.Item{"PK": kit.S("~unique#Account#Left"), "SK": kit.S("note"), "note": kit.S("{}")}),
				record(nil, kit.Item{"PK": kit.S("~migrate#Account#old"), "SK": kit.S("phase"), "note": kit.S("{}")}),
				record(nil, kit.Item{
					"PK": kit.S("ACCOUNT#1#~01ARZ3NDEKTSV4RRFFQ69G5FAV"), "SK": kit.S("000000"),
					"~d": binary('x'),
				}),
			},
			nil,
		},
		"an item of no model": {
			records{
				record(nil, kit.Item{"PK": kit.S("OTHER"), "SK": kit.S("HEAD")}),
				record(nil, account("MORE", 'a', nil)),
			},
			[]string{"unmatched", "unmatched"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, events(t, c.records...)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// Handles of the model, of elements and of structs with an item of their own report changes.
func TestChangedFields(t *testing.T) {
	t.Parallel()
	m := kit.Must(mapper.New[store.User](kit.Failing{}))(t)
	user := func(sk string, more kit.Item) kit.Item {
		out := kit.Item{"PK": kit.S("1"), "SK": kit.S(sk), "_a": binary('a')}
		for name, v := range more {
			out[name] = v
		}
		return out
	}
	u, w, a := store.UserFields, store.WishFields, store.AddressFields
	wish := "M#WishList#Public#2021-11-14T00:00:00.000000000Z"
	for name, c := range map[string]struct {
		old, now  kit.Item
		yes, none []field.Handle
	}{
		"an attribute of the root item": {
			user("U#Information", kit.Item{"email": kit.S("a"), "name": kit.S("n")}),
			user("U#Information", kit.Item{"email": kit.S("b"), "name": kit.S("n")}),
			[]field.Handle{u.Email, field.Named[store.User]("email")},
			[]field.Handle{u.Name, u.Home, w.Title, a.City, field.Named[store.User]("name")},
		},
		"a new root item": {
			nil, user("U#Information", kit.Item{"email": kit.S("a")}),
			[]field.Handle{u.Email},
			[]field.Handle{u.Name, w.Price},
		},
		"an item of one struct": {
			user("U#Address#Home", kit.Item{"City": kit.S("a"), "Street": kit.S("s")}),
			user("U#Address#Home", kit.Item{"City": kit.S("b"), "Street": kit.S("s")}),
			[]field.Handle{u.Home, a.City},
			[]field.Handle{u.Delivery, u.Email, a.Street},
		},
		"an element": {
			user(wish, kit.Item{"Title": kit.S("t"), "Price": kit.N("1")}),
			user(wish, kit.Item{"Title": kit.S("t"), "Price": kit.N("2")}),
			[]field.Handle{w.Price},
			[]field.Handle{w.Title, u.Email, a.City},
		},
		"a deleted element": {
			user(wish, kit.Item{
				"Title": kit.S("t"), "Price": kit.N("1"),
				"Notes": &types.AttributeValueMemberNULL{Value: true},
			}), nil,
			[]field.Handle{w.Price, w.Title},
			[]field.Handle{w.Notes, w.SKU},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			called := false
			r := stream.NewRouter()
			stream.On(r, m, func(_ context.Context, ch *stream.Change[store.User]) error {
				called = true
				for i, h := range c.yes {
					if !ch.Changed(h) {
						t.Errorf("field %d has not changed", i)
					}
				}
				if ch.Changed(c.none...) {
					t.Errorf("one of the others has changed")
				}
				return nil
			})
			rec := record(c.old, c.now)
			rec.Table = "users"
			if err := r.Handle(context.Background(), rec); err != nil || !called {
				t.Fatal(err, called)
			}
		})
	}
}

// A stream without images gives an error that names the missing ones.
func TestStreamsWithoutImagesAreRefused(t *testing.T) {
	t.Parallel()
	m := kit.Must(mapper.New[kit.Account](kit.Failing{}))(t)
	r := stream.NewRouter()
	stream.On(r, m, func(context.Context, *stream.Change[kit.Account]) error { return errors.New("called") })
	for view, missing := range map[string]string{
		"KEYS_ONLY": "old and new images", "NEW_IMAGE": "old images", "OLD_IMAGE": "new images",
	} {
		rec := record(nil, account("HEAD", 'a', nil))
		rec.View = view
		var e *stream.ViewError
		if err := r.Handle(context.Background(), rec); !errors.As(err, &e) || e.Missing != missing {
			t.Errorf("%s: %v", view, err)
		}
	}
	rec := record(nil, account("HEAD", 'a', nil))
	rec.Table = "others"
	if err := r.Handle(context.Background(), rec); err == nil || !strings.Contains(err.Error(), "mapper.Table") {
		t.Errorf("another table: %v", err)
	}
}
