// Package models holds the models of docs/models.md: one of each kind.
package models

import "time"

//go:generate go run github.com/itemize/itemize/cmd/itemize gen

// Player is one item collection for each player: a root, a small item for the score, which changes
// often, one item for each match, and one for each friend.
type Player struct {
	_       struct{}          `ddb:"table=players,ttl=expires"`
	ID      string            `ddb:"pk=PLAYER#{ID}"`
	Name    string            `ddb:"sk=PROFILE"` // the first fixed item: the root
	Joined  time.Time         `ddb:"sk=PROFILE"`
	Badges  []string          `ddb:"sk=PROFILE" dynamodbav:"badges,omitempty,stringset"`
	Score   Score             `ddb:"sk=STAT#Score"`               // spread: its fields are the item's attributes
	Avatar  *Avatar           `ddb:"sk=AVATAR"`                   // nil: no item
	Matches []Match           `ddb:"sk=MATCH#{Start}#{ID}"`       // one item for each element
	Friends map[string]Friend `ddb:"sk=FRIEND#{key}"`             // one item for each entry
	Titles  []string          `ddb:"sk=TITLE#{.}"`                // one item for each string, all in its key
	Session *Session          `ddb:"sk=SESSION"`                  // expires by itself
	Notes   map[string]string `ddb:"sk=NOTES"`                    // no placeholder of an entry: the map is one attribute
	Home    Address           `ddb:"sk=PROFILE,nested"`           // one attribute, a map
	Cache   []byte            `ddb:"-"`                           // not stored
	Rank    int               `ddb:"sk=STAT#Rank,name=WorldRank"` // generated code calls it WorldRank
	Results map[int]Result    `ddb:"sk=RESULT#{key:sortable}"`    // keys of any sign, in order
}

// Score is an item's attributes.
type Score struct {
	Points int `dynamodbav:"points"`
	Level  int `dynamodbav:"level"`
}

// Avatar is an item that may not be there.
type Avatar struct {
	Image []byte
	Type  string
}

// Match is an element. Start and ID are in its key, and are not stored a second time.
type Match struct {
	Start  time.Time
	ID     string
	Points int
}

// Friend is the value of an entry.
type Friend struct {
	Since time.Time `dynamodbav:"since,unixtime"`
}

// Session expires with its field Until.
type Session struct {
	Token string
	Until time.Time `ddb:"ttl" dynamodbav:"until"`
}

// Address is one attribute where its field says nested.
type Address struct{ Street, City string }

// Result has the wins and losses of a season.
type Result struct{ Wins, Losses int }
