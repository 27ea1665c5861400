// Package store has the models that the benchmarks store: a user of 20 items with a wish list, and a ride ledger.
package store

import "time"

//go:generate go run github.com/itemize/itemize/cmd/itemize gen

// User is an item collection: four fixed items, and one for each wish.
type User struct {
	_      struct{} `ddb:"table=bench"`
	ID     string   `ddb:"pk=USER#{ID}"`
	Email  string   `ddb:"sk=INFO"`
	Name   string   `ddb:"sk=INFO"`
	Home   Address  `ddb:"sk=ADDRESS#HOME"`
	Office Address  `ddb:"sk=ADDRESS#OFFICE"`
	Cart   Cart     `ddb:"sk=CART"`
	Wishes []Wish   `ddb:"sk=WISH#{AddedAt}"`
}

// Session is a small entity: one item.
type Session struct {
	_       struct{} `ddb:"table=bench"`
	ID      string   `ddb:"pk=SESSION#{ID}"`
	User    string   `ddb:"sk=SESSION"`
	Agent   string   `ddb:"sk=SESSION"`
	Started int64    `ddb:"sk=SESSION"`
	Hits    int      `ddb:"sk=SESSION"`
}

// Address is where a user lives or works.
type Address struct {
	Street  string
	City    string
	Country string
}

// Cart has the things in a shopping cart.
type Cart struct {
	SKUs  []string
	Total float64
}

// Wish is a thing on the wish list.
type Wish struct {
	AddedAt time.Time
	SKU     string
	Title   string
	Notes   string
	Price   float64
	Qty     int
	Tags    []string
}
