package kit

import (
	"fmt"
	"time"
)

// Visited has a counter on an item that is not the root.
type Visited struct {
	_    struct{} `ddb:"table=visited"`
	ID   string   `ddb:"pk=ACCOUNT#{ID}"`
	Name string   `ddb:"sk=HEAD"`
	Hits int      `ddb:"sk=STATS"`
}

// Desk has an index on an item that is not the root, of which it holds a part.
type Desk struct {
	_     struct{} `ddb:"table=desks"`
	_     struct{} `ddb:"index=byRoom,hash=RPK,pk=R#{Room},on=PLACE,project='Note'"`
	ID    string   `ddb:"pk=DESK#{ID}"`
	Name  string   `ddb:"sk=HEAD"`
	Room  string   `ddb:"sk=PLACE"`
	Note  string   `ddb:"sk=PLACE"`
	Extra string   `ddb:"sk=PLACE"`
}

// Part is an element of many models' lists.
type Part struct {
	N    int
	Text string
}

// Lease expires with its root; its other items have no time to live.
type Lease struct {
	_     struct{}  `ddb:"table=leases,ttl=exp"`
	ID    string    `ddb:"pk=E#{ID}"`
	Until time.Time `ddb:"sk=HEAD,ttl"`
	Log   []string  `ddb:"sk=HEAD"`
	Left  string    `ddb:"sk=LEFT"`
	Parts []Part    `ddb:"sk=PART#{N:02}"`
}

// Memo is one of many entities of two items in a partition.
type Memo struct {
	_    struct{} `ddb:"table=notes"`
	List string   `ddb:"pk=LIST#{List}"`
	ID   string
	Head string `ddb:"sk=NOTE#{ID}#HEAD"`
	Text string `ddb:"sk=NOTE#{ID}#TEXT"`
}

// Regional names a field of its root in the keys of its elements.
type Regional struct {
	_      struct{} `ddb:"table=regional"`
	ID     string   `ddb:"pk=R#{ID}"`
	Region string   `ddb:"sk=HEAD"`
	Notes  string   `ddb:"sk=NOTES"`
	Stock  []Stock  `ddb:"sk=STOCK#{^Region}#{SKU}"`
}

// Stock is an element of a Regional.
type Stock struct {
	SKU string
	N   int
}

// Counter has no version.
type Counter struct {
	_     struct{} `ddb:"table=counters,noversion"`
	ID    string   `ddb:"pk={ID}"`
	Count int      `ddb:"sk=HEAD"`
	Notes string   `ddb:"sk=HEAD"`
}

// Open holds a value of any shape.
type Open struct {
	_   struct{} `ddb:"table=open"`
	ID  string   `ddb:"pk=O#{ID}"`
	Any any      `ddb:"sk=HEAD"`
}

// Parcel is an entity of several items.
type Parcel struct {
	_    struct{} `ddb:"table=parcels"`
	ID   string   `ddb:"pk=P#{ID}"`
	To   string   `ddb:"sk=HEAD"`
	Note string   `ddb:"sk=NOTE"`
	Item []Part   `ddb:"sk=ITEM#{N:02}"`
}

// Reading is an entity of one item, of which many share a partition.
type Reading struct {
	_      struct{} `ddb:"table=readings"`
	Sensor string   `ddb:"pk=S#{Sensor}"`
	N      int      `ddb:"sk={N:08}"`
	Text   string   `ddb:"sk={N:08}"`
}

// Expiring has all of its items expire with the root.
type Expiring struct {
	_     struct{}  `ddb:"table=expiring,ttl=exp"`
	ID    string    `ddb:"pk=E#{ID}"`
	Until time.Time `ddb:"sk=HEAD,ttl,all"`
	Parts []Part    `ddb:"sk=PART#{N:02}"`
}

// Filled sets a field after each load.
type Filled struct {
	_     struct{}       `ddb:"table=filled"`
	ID    string         `ddb:"pk=F#{ID}"`
	Name  string         `ddb:"sk=HEAD"`
	Seat  Seat           `ddb:"sk=SEAT"`
	Deep  int            `ddb:"sk=HEAD"`
	Marks map[string]int `ddb:"sk=MARK#{key}"`
}

// Seat is a struct of Filled.
type Seat struct{ Row string }

// AfterLoad fills the fields.
func (f *Filled) AfterLoad() {
	if f.Seat.Row == "" {
		f.Seat.Row = fmt.Sprint("none ", time.Now().UnixNano()) // another value for each load
	}
}
