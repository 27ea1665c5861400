package mapper_test

import "time"

// The models that tests of several files share. A test declares a model of its own to test its tags,
// or the methods of its types.

// account is the model of the tests about failures: a counter that shows lost
// and doubled changes, and two items that a torn change would leave unlike.
type account struct {
	_       struct{}        `ddb:"table=accounts"`
	ID      string          `ddb:"pk=ACCOUNT#{ID}"`
	Counter int             `ddb:"sk=HEAD"`
	Left    string          `ddb:"sk=LEFT"`
	Right   string          `ddb:"sk=RIGHT"`
	Entries []part          `ddb:"sk=ENTRY#{N:04}"`
	Flags   map[string]bool `ddb:"sk=FLAG#{key}"`
}

// part is an element of many models' lists.
type part struct {
	N    int
	Text string
}

// user is the model of the documentation: structs, a pointer, two lists, and a map.
type user struct {
	_        struct{}        `ddb:"table=users"`
	ID       string          `ddb:"pk=USER#{ID}"`
	Email    string          `ddb:"sk=U#Information" dynamodbav:"email"`
	Name     string          `ddb:"sk=U#Information" dynamodbav:"name,omitempty"`
	Home     address         `ddb:"sk=U#Address#Home"`
	Delivery *address        `ddb:"sk=U#Address#Delivery"`
	Public   []wish          `ddb:"sk=M#WishList#Public#{AddedAt}"`
	Private  []wish          `ddb:"sk=M#WishList#Private#{AddedAt}"`
	Cards    map[string]card `ddb:"sk=M#Card#{key}"`
}

type address struct{ Street, City string }

type wish struct {
	AddedAt time.Time
	SKU     string
	Title   string
	Price   float64
}

type card struct{ Last4 string }

// board has a field of each kind on its root, on another item, and on its elements.
type board struct {
	_     struct{} `ddb:"table=boards"`
	ID    string   `ddb:"pk=BOARD#{ID}"`
	Main  cells    `ddb:"sk=A"`
	Other cells    `ddb:"sk=OTHER"`
	Rows  []cells  `ddb:"sk=ROW#{N:02}"`
}

type cells struct {
	N      int
	State  string
	Text   string         `ddb:"was='old-Text,older-Text'"`
	Small  int8           `ddb:"was='old-Small,older-Small'"`
	Count  int            `ddb:"was='old-Count,older-Count'"`
	Share  float64        `ddb:"was='old-Share,older-Share'"`
	Done   bool           `ddb:"was='old-Done,older-Done'"`
	Seen   time.Time      `ddb:"was='old-Seen,older-Seen'" dynamodbav:",unixtime"`
	Data   []byte         `ddb:"was='old-Data,older-Data'"`
	Note   *string        `ddb:"was='old-Note,older-Note'"`
	Tags   []string       `ddb:"was='old-Tags,older-Tags'" dynamodbav:",stringset"`
	Primes []int          `ddb:"was='old-primes,older-primes'" dynamodbav:"primes,numberset"`
	Lines  []string       `ddb:"was='old-Lines,older-Lines'"`
	Counts map[string]int `ddb:"was='old-Counts,older-Counts'"`
	Inner  inner          `ddb:"was='old-Inner,older-Inner'"`
	Far    *inner         `ddb:"was='old-Far,older-Far'"`
	Left   string         `ddb:"was='old-Left,older-Left'" dynamodbav:",omitempty"`
}

type inner struct {
	City string `dynamodbav:"city"`
	N    int
	Deep map[string]string
}

// lease expires with its root; its other items have no time to live.
type lease struct {
	_     struct{}  `ddb:"table=leases,ttl=exp"`
	ID    string    `ddb:"pk=E#{ID}"`
	Until time.Time `ddb:"sk=HEAD,ttl"`
	Log   []string  `ddb:"sk=HEAD"`
	Left  string    `ddb:"sk=LEFT"`
	Parts []part    `ddb:"sk=PART#{N:02}"`
}

// memo is one of many entities of two items in a partition.
type memo struct {
	_    struct{} `ddb:"table=notes"`
	List string   `ddb:"pk=LIST#{List}"`
	ID   string
	Head string `ddb:"sk=NOTE#{ID}#HEAD"`
	Text string `ddb:"sk=NOTE#{ID}#TEXT"`
}

// issue has four indexes. A GSI on its root has a key of its own. A sparse GSI on an ordinary attribute
// projects a list. A GSI on its elements projects keys. The last one is an LSI.
type issue struct {
	_      struct{}    `ddb:"table=tickets"`
	_      struct{}    `ddb:"index=byState,hash=GSI1PK,range=GSI1SK,pk=STATE#{State},sk={Opened:millis}"`
	_      struct{}    `ddb:"index=byOwner,pk={Owner},project='State'"`
	_      struct{}    `ddb:"index=byAuthor,hash=Author,range=AuthorAt,pk=BY#{By},sk={At},on=Texts,project=keys"`
	_      struct{}    `ddb:"index=byWeight,local,range=Weight,sk={Weight},on=HEAD"`
	ID     string      `ddb:"pk=TICKET#{ID}"`
	State  string      `ddb:"sk=HEAD"`
	Owner  string      `ddb:"sk=HEAD"`
	Weight int         `ddb:"sk=HEAD"`
	Opened time.Time   `ddb:"sk=HEAD"`
	Text   string      `ddb:"sk=HEAD"`
	Texts  []issueText `ddb:"sk=TEXT#{At}"`
}

type issueText struct {
	At    time.Time
	By    string
	Words string
}

// regional names a field of its root in the keys of its elements.
type regional struct {
	_      struct{} `ddb:"table=regional"`
	ID     string   `ddb:"pk=R#{ID}"`
	Region string   `ddb:"sk=HEAD"`
	Notes  string   `ddb:"sk=NOTES"`
	Stock  []stock  `ddb:"sk=STOCK#{^Region}#{SKU}"`
}

type stock struct {
	SKU string
	N   int
}

// counter has no version.
type counter struct {
	_     struct{} `ddb:"table=counters,noversion"`
	ID    string   `ddb:"pk={ID}"`
	Count int      `ddb:"sk=HEAD"`
	Notes string   `ddb:"sk=HEAD"`
}

// open holds a value of any shape.
type open struct {
	_   struct{} `ddb:"table=open"`
	ID  string   `ddb:"pk=O#{ID}"`
	Any any      `ddb:"sk=HEAD"`
}

// parcel is an entity of several items.
type parcel struct {
	_    struct{} `ddb:"table=parcels"`
	ID   string   `ddb:"pk=P#{ID}"`
	To   string   `ddb:"sk=HEAD"`
	Note string   `ddb:"sk=NOTE"`
	Item []part   `ddb:"sk=ITEM#{N:02}"`
}

// reading is an entity of one item, of which many share a partition.
type reading struct {
	_      struct{} `ddb:"table=readings"`
	Sensor string   `ddb:"pk=S#{Sensor}"`
	N      int      `ddb:"sk={N:08}"`
	Text   string   `ddb:"sk={N:08}"`
}

// A shop in each phase of a change of its number of shards from 20 to 40. It knows 20; it writes 20 and
// knows 40; it writes 40 and knows 20; it knows 40.
type (
	shopOld struct {
		_    struct{} `ddb:"table=depots,shards=20,shardby=N"`
		Shop string   `ddb:"pk=S#{Shop}#{shard}"`
		N    int      `ddb:"sk=O#{N:06}#HEAD"`
		By   string   `ddb:"sk=O#{N:06}#HEAD"`
		Line []part   `ddb:"sk=O#{^N:06}#L#{N:02}"`
	}
	shopExpected struct {
		_    struct{} `ddb:"table=depots,shards='20,40',shardby=N"`
		Shop string   `ddb:"pk=S#{Shop}#{shard}"`
		N    int      `ddb:"sk=O#{N:06}#HEAD"`
		By   string   `ddb:"sk=O#{N:06}#HEAD"`
		Line []part   `ddb:"sk=O#{^N:06}#L#{N:02}"`
	}
	shopNew struct {
		_    struct{} `ddb:"table=depots,shards='40,20',shardby=N"`
		Shop string   `ddb:"pk=S#{Shop}#{shard}"`
		N    int      `ddb:"sk=O#{N:06}#HEAD"`
		By   string   `ddb:"sk=O#{N:06}#HEAD"`
		Line []part   `ddb:"sk=O#{^N:06}#L#{N:02}"`
	}
	shopAfter struct {
		_    struct{} `ddb:"table=depots,shards=40,shardby=N"`
		Shop string   `ddb:"pk=S#{Shop}#{shard}"`
		N    int      `ddb:"sk=O#{N:06}#HEAD"`
		By   string   `ddb:"sk=O#{N:06}#HEAD"`
		Line []part   `ddb:"sk=O#{^N:06}#L#{N:02}"`
	}
)
