// Package nodes has a model with a key of each time format, for tests of typed
// queries.
package generated

import (
	"math/big"
	"time"
)

//go:generate go run github.com/itemize/itemize/cmd/itemize gen

// Log holds the same events under each format.
type Log struct {
	_       struct{}    `ddb:"table=logs"`
	ID      string      `ddb:"pk=LOG#{ID}"`
	Name    string      `ddb:"sk=HEAD"`
	Count   int         `ddb:"sk=HEAD"`
	Nanos   []Event     `ddb:"sk=NANOS#{At}"`
	Millis  []Event     `ddb:"sk=MILLIS#{At:millis}#{K}"`
	Seconds []Event     `ddb:"sk=SECONDS#{At:seconds}#{K}"`
	Unix    []Event     `ddb:"sk=UNIX#{At:unix}#{K}"`
	Dates   []Event     `ddb:"sk=DATES#{At:date}#{K}"`
	Months  []Event     `ddb:"sk=MONTHS#{At:month}#{K}"`
	Weeks   []Event     `ddb:"sk=WEEKS#{At:week}#{K}"`
	Years   []Event     `ddb:"sk=YEARS#{At:year}#{K}"`
	Address []Event     `ddb:"sk=U#Address#{K}"`
	Book    []Event     `ddb:"sk=U#AddressBook#{K}"`
	Lists   []ListEvent `ddb:"sk=LIST#{List}#{At}"`
	Extra   *Extra      `ddb:"sk=EXTRA"`
}

// Event is something that happened.
type Event struct {
	At time.Time
	K  string
}

// ListEvent is an event of one of several lists.
type ListEvent struct {
	List string
	At   time.Time
	N    int
}

// Extra is an item that may not be there.
type Extra struct {
	A int
	B string
}

// Visit is a flat model: a site's visits by their time, to the second.
type Visit struct {
	_    struct{}  `ddb:"table=visits"`
	Site string    `ddb:"pk=SITE#{Site}"`
	At   time.Time `ddb:"sk={At:seconds}#{User}"`
	User string    `ddb:"sk={At:seconds}#{User}"`
	Page string    `ddb:"sk={At:seconds}#{User}"`
}

// Ticket is a flat model of several items.
type Ticket struct {
	_     struct{} `ddb:"table=tickets"`
	Queue string   `ddb:"pk=QUEUE#{Queue}"`
	N     int      `ddb:"sk=T#{N:04}"`
	Title string   `ddb:"sk=T#{N:04}"`
	Notes []Note   `ddb:"sk=T#{^N:04}#NOTE#{Line:02}"`
}

// Note is a line of a ticket.
type Note struct {
	Line int
	Text string
}

// Happening is flat, with a time in both keys: of the day in one, in full in the other.
type Happening struct {
	_    struct{}  `ddb:"table=happenings"`
	At   time.Time `ddb:"pk=DAY#{At:date}"`
	ID   string    `ddb:"sk={At}#{ID}"`
	Text string    `ddb:"sk={At}#{ID}"`
}

// Shelf has a time that another placeholder follows at once, and items that expire.
type Shelf struct {
	_       struct{} `ddb:"table=shelves,ttl=gone"`
	ID      string   `ddb:"pk=SHELF#{ID}"`
	Name    string   `ddb:"sk=HEAD"`
	Level   uint     `ddb:"sk=HEAD"`
	Books   []Event  `ddb:"sk=BOOK#{At:date}{K}"`
	Session *Session `ddb:"sk=SESSION"`
	Notes   *Extra   `ddb:"sk=NOTES"`
}

// Session expires.
type Session struct {
	Token string
	Until time.Time `ddb:"ttl"`
}

// Score has indexes whose sort keys are numbers, texts, times and several of them.
type Score struct {
	_      struct{}  `ddb:"table=scores"`
	_      struct{}  `ddb:"index=byGame,pk={Game},sk={Points}"`
	_      struct{}  `ddb:"index=byGameAndPlayer,pk={Game},sk={Player}"`
	_      struct{}  `ddb:"index=byDay,hash=Day,range=Rest,pk=DAY#{At:date},sk={Game}#{Player}#{Points:06},name=Daily"`
	_      struct{}  `ddb:"index=bySeries,hash=Series,range=Won,pk=S#{Series},sk={At:week},on=Wins"`
	_      struct{}  `ddb:"index=byPlayer,local,range=Player,sk={Player}"`
	ID     string    `ddb:"pk=SCORE#{ID}"`
	Game   string    `ddb:"sk=HEAD"`
	Player string    `ddb:"sk=HEAD"`
	Points int       `ddb:"sk=HEAD"`
	At     time.Time `ddb:"sk=HEAD"`
	Wins   []Win     `ddb:"sk=WIN#{At}"`
}

// Win is an element that an index has.
type Win struct {
	At     time.Time
	Series string `dynamodbav:"series"`
}

// Ledger holds big numbers in every place that an attribute has.
type Ledger struct {
	_       struct{}             `ddb:"table=ledgers"`
	ID      string               `ddb:"pk=LEDGER#{ID}"`
	Sum     *big.Int             `ddb:"sk=HEAD,root"`
	Rate    big.Float            `ddb:"sk=HEAD" dynamodbav:",omitempty"`
	Last    []*big.Int           `ddb:"sk=HEAD"`
	By      map[string]big.Float `ddb:"sk=HEAD"`
	Limits  Limits               `ddb:"sk=LIMITS"`
	Entries []LedgerEntry        `ddb:"sk=E#{N:04}"`
}

// Limits is a struct of big numbers.
type Limits struct {
	Least, Most big.Int
	Share       *big.Float
}

// LedgerEntry is an element with one.
type LedgerEntry struct {
	N      int
	Amount big.Int
}
