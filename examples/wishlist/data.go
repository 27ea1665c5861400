package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/itemize/itemize/examples/wishlist/store"
)

const userID = "6297D15"

// kb is 1,024 bytes, as DynamoDB counts.
const kb = 1024

// theUser returns the article's user with ten items. Its cart and its history make it 150 KB as one
// item, as the article assumes.
func theUser() store.User {
	return store.User{
		ID: userID, Email: "ann@example.com", Name: "Ann",
		Home:     store.Address{Street: "1 Home Street", City: "Seattle", Country: "US"},
		Delivery: &store.Address{Street: "2 Office Street", City: "Seattle", Country: "US"},
		Cart:     store.Cart{Lines: filler(90 * kb)},
		History:  store.History{Pages: filler(44*kb + 74)},
		Display:  store.Display{Theme: "dark", Language: "en"},
		Mail:     store.Mail{Offers: true},
		Public: []store.Wish{
			{
				AddedAt: date(2021, time.October, 3), SKU: "B-100", Title: "A red bicycle", Price: 125,
				Notes: filler(5 * kb),
			},
			{
				AddedAt: date(2021, time.November, 14), SKU: "C-200", Title: "A tent for two", Price: 80,
				Notes: filler(5 * kb),
			},
		},
		Private: []store.Wish{
			{
				AddedAt: date(2021, time.June, 21), SKU: "D-300", Title: "A book of maps", Price: 30,
				Notes: filler(5 * kb),
			},
		},
	}
}

// document returns a user as one item.
func document(u store.User) store.Document {
	return store.Document{
		ID: u.ID, Email: u.Email, Name: u.Name, Home: u.Home, Delivery: u.Delivery,
		Cart: u.Cart, History: u.History, Display: u.Display, Mail: u.Mail, Public: u.Public, Private: u.Private,
	}
}

// theProfile returns 100 values, 50 KB together.
func theProfile() store.Profile {
	p := store.Profile{ID: "1", Email: "ann@example.com", Values: map[string]string{}}
	for i := range 99 {
		p.Values[fmt.Sprintf("value%02d", i)] = filler(502)
	}
	return p
}

func filler(bytes int) string { return strings.Repeat("x", bytes) }

func date(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 12, 0, 0, 0, time.UTC)
}
