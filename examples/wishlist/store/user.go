// Package store holds the models of the example: a user as an item collection,
// and the same user as one large item.
package store

import "time"

//go:generate go run github.com/itemize/itemize/cmd/itemize gen

// User is one item collection: the user of the article "Use vertical partitioning
// to scale data efficiently in Amazon DynamoDB". Seven items are fixed, and each
// wish is one more.
type User struct {
	_        struct{} `ddb:"table=users"` // with the keys PK and SK
	ID       string   `ddb:"pk={ID}"`
	Email    string   `ddb:"sk=U#Information" dynamodbav:"email"`
	Name     string   `ddb:"sk=U#Information" dynamodbav:"name"`
	Home     Address  `ddb:"sk=U#Address#Home"`
	Delivery *Address `ddb:"sk=U#Address#Delivery"`
	Cart     Cart     `ddb:"sk=M#Cart"`
	History  History  `ddb:"sk=M#History"`
	Display  Display  `ddb:"sk=P#Display"`
	Mail     Mail     `ddb:"sk=P#Mail"`
	Public   []Wish   `ddb:"sk=M#WishList#Public#{AddedAt}"`
	Private  []Wish   `ddb:"sk=M#WishList#Private#{AddedAt}"`
}

// Address is where a user lives, or wants things to be sent.
type Address struct {
	Street  string
	City    string
	Country string
}

// Cart is what a user is about to buy.
type Cart struct {
	Lines string
}

// History is what a user has looked at.
type History struct {
	Pages string
}

// Display is how a user wants the site to look.
type Display struct {
	Theme    string
	Language string
}

// Mail is which mails a user wants to have.
type Mail struct {
	Offers bool
	News   bool
}

// Wish is a thing on a wish list.
type Wish struct {
	AddedAt time.Time // in the sort key, and so stored nowhere else
	SKU     string
	Title   string
	Price   float64
	Notes   string
}

// Document is the same user as one item, the way it grows by itself.
type Document struct {
	_        struct{} `ddb:"table=documents,hash=ID,range=-"`
	ID       string   `ddb:"pk={ID}"`
	Email    string   `dynamodbav:"email"`
	Name     string   `dynamodbav:"name"`
	Home     Address  `ddb:"nested"`
	Delivery *Address `ddb:"nested"`
	Cart     Cart     `ddb:"nested"`
	History  History  `ddb:"nested"`
	Display  Display  `ddb:"nested"`
	Mail     Mail     `ddb:"nested"`
	Public   []Wish
	Private  []Wish
}

// Profile is the article's second user: an e-mail address and 99 more values,
// 50 KB in all, each in an item of its own.
type Profile struct {
	_      struct{}          `ddb:"table=users"`
	ID     string            `ddb:"pk=PROFILE#{ID}"`
	Email  string            `ddb:"sk=EMAIL"`
	Values map[string]string `ddb:"sk=VALUE#{key}"`
}

// ProfileDocument is that user as one item.
type ProfileDocument struct {
	_      struct{} `ddb:"table=profiles,hash=ID,range=-"`
	ID     string   `ddb:"pk=PROFILE#{ID}"`
	Email  string
	Values map[string]string
}
