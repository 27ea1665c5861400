// Package bench compares this library with others that do the same work: the SDK by hand with attributevalue,
// github.com/guregu/dynamo, and gocloud.dev/docstore. See README.md.
package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/itemize/itemize/internal/bench/store"
)

// The user that the jobs are about: four fixed items and 16 wishes, 8 of them of one month.
const (
	userID = "6297D15"
	wishes = 16
)

var (
	month = time.Date(2021, time.November, 1, 10, 0, 0, 0, time.UTC)
	later = time.Date(2022, time.January, 1, 0, 0, 0, 0, time.UTC)
)

// notes is the size of a wish's notes in bytes: 1,000 wishes fill most of a page of 1 MB.
const notes = 600

// theUser returns a user of 20 items.
func theUser(id string) store.User {
	u := store.User{
		ID: id, Email: "ann@example.com", Name: "Ann Example",
		Home:   store.Address{Street: "1 High Street", City: "Springfield", Country: "US"},
		Office: store.Address{Street: "2 Low Street", City: "Springfield", Country: "US"},
		Cart:   store.Cart{SKUs: []string{"SKU-1", "SKU-2"}, Total: 25},
	}
	for i := range wishes {
		at := month.AddDate(0, 0, i)
		if i >= wishes/2 {
			at = month.AddDate(0, 1, i)
		}
		u.Wishes = append(u.Wishes, wish(at, i, 40))
	}
	return u
}

// wish returns a wish with notes of a size.
func wish(at time.Time, i, size int) store.Wish {
	return store.Wish{
		AddedAt: at, SKU: fmt.Sprint("SKU-", i), Title: "A very nice title of a thing",
		Notes: strings.Repeat("n", size),
		Price: 12.5, Qty: i, Tags: []string{"red", "blue"},
	}
}

// theSession returns a session, which is one item.
func theSession(id string) store.Session {
	return store.Session{
		ID: id, User: userID, Agent: "Mozilla/5.0 (X11; Linux x86_64)", Started: 1_635_760_800,
		Hits: 3,
	}
}

// page is the number of wishes of a full page.
const page = 1000

// pageID is the user whose wishes fill a page.
const pageID = "PAGE"

// pageWishes returns a page of wishes.
func pageWishes() []store.Wish {
	all := make([]store.Wish, page)
	for i := range all {
		all[i] = wish(month.Add(time.Duration(i)*time.Minute), i, notes)
	}
	return all
}

// bulk is the number of users of a bulk load, of 20 items each.
const bulk = 25
