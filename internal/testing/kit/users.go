package kit

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// User is the model of the documentation: structs, a pointer, two lists, and a map.
type User struct {
	_        struct{}        `ddb:"table=users"`
	ID       string          `ddb:"pk=USER#{ID}"`
	Email    string          `ddb:"sk=U#Information" dynamodbav:"email"`
	Name     string          `ddb:"sk=U#Information" dynamodbav:"name,omitempty"`
	Home     Address         `ddb:"sk=U#Address#Home"`
	Delivery *Address        `ddb:"sk=U#Address#Delivery"`
	Public   []Wish          `ddb:"sk=M#WishList#Public#{AddedAt}"`
	Private  []Wish          `ddb:"sk=M#WishList#Private#{AddedAt}"`
	Cards    map[string]Card `ddb:"sk=M#Card#{key}"`
}

// Address is a struct of User.
type Address struct{ Street, City string }

// Wish is an element of User.
type Wish struct {
	AddedAt time.Time
	SKU     string
	Title   string
	Price   float64
}

// Card is an entry of User.
type Card struct{ Last4 string }

// UserOptions compare users.
var UserOptions = cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreFields(User{}, "_")}

// Day is a day of 2021, at half past nine.
func Day(month time.Month, d int) time.Time { return time.Date(2021, month, d, 9, 30, 0, 0, time.UTC) }

// SomeUser returns a user that has each kind of item.
func SomeUser(id string) User {
	return User{
		ID: id, Email: "a@example.com", Name: "Ann", Home: Address{"Street 1", "Town"}, Delivery: &Address{
			"Street 2",
			"City",
		},
		Public: []Wish{
			{Day(time.October, 1), "p1", "P1", 1},
			{Day(time.November, 14), "p2", "P2", 2},
			{Day(time.November, 20), "p3", "P3", 3},
		},
		Private: []Wish{{Day(time.March, 1), "q1", "Q1", 1}},
		Cards:   map[string]Card{"visa": {"1111"}, "amex": {"2222"}},
	}
}

// NewUsers returns a mapper of users, and a foreign writer of its table.
func NewUsers(t testing.TB) (*mapper.Mapper[User], *Foreign) {
	t.Helper()
	table := testengine.Table(t, "PK:S", "SK:S")
	m, err := mapper.New[User](testengine.Start(t).Client(), mapper.Table(table))
	if err != nil {
		t.Fatal(err)
	}
	return m, NewForeign(t, table)
}
