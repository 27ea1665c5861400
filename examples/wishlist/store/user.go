// Package store holds the models of the example: a user as an item collection,
// and the same user as one large item.
package store

import "time"

//go:generate go run github.com/itemize/itemize/cmd/itemize gen

// User is one item collection: the user of the article "Use vertical partitioning
// to scale data efficiently in Amazon DynamoDB". Seven items are fixed, and each
// wish is one more.
type User struct {
	_        struct{} `ddb:"table=users"` // the keys are PK and SK
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

// Address is a postal address.
type Address struct {
	Street  string
	City    string
	Country string
}

// Cart has the things in a shopping cart.
type Cart struct {
	Lines string
}

// History has the things that a user has looked at.
type History struct {
	Pages string
}

// Display has the settings of the user interface.
type Display struct {
	Theme    string
	Language string
}

// Mail has the kinds of mail that a user wants.
type Mail struct {
	Offers bool
	News   bool
}

// Wish is a thing on a wish list.
type Wish struct {
	AddedAt time.Time // in the sort key, and not stored a second time
	SKU     string
	Title   string
	Price   float64
	Notes   string
}

// Document is the same user as one item.
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

// Profile is the article's second user: an e-mail address and 99 more values, 50 KB in all, each in its
// own item.
type Profile struct {
	_      struct{}          `ddb:"table=users"`
	ID     string            `ddb:"pk=PROFILE#{ID}"`
	Email  string            `ddb:"sk=EMAIL"`
	Values map[string]string `ddb:"sk=VALUE#{key}"`
}

// ProfileDocument is the same profile as one item.
type ProfileDocument struct {
	_      struct{} `ddb:"table=profiles,hash=ID,range=-"`
	ID     string   `ddb:"pk=PROFILE#{ID}"`
	Email  string
	Values map[string]string
}
