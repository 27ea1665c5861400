package models

import (
	"encoding/json"
	"net/netip"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
)

// All has a pointer to each model of the family.
var All = []any{
	&User{}, &Scalars{}, &Sized{}, &Omitting{}, &Nulling{}, &Times{}, &Quoted{}, &Sets{}, &Slices{}, &Maps{},
	&Pointers{}, &Nested{}, &Embedding{}, &EmbeddedPointer{}, &Spread{}, &SharedSpread{}, &Interfaces{}, &Marshalers{},
	&Decimals{}, &NamedTypes{}, &TimeElements{}, &MapElements{}, &ScalarElements{}, &SetItems{}, &PointerElements{},
	&Composite{}, &OwnerKeys{}, &Product{}, &SecondaryItems{}, &Thread{}, &Reading{}, &Chunk{}, &Order{}, &Bare{},
	&OneTable{}, &NoVersion{}, &NamedVersion{}, &NamedAll{}, &Expiring{}, &ExpiringAll{}, &Slashes{}, &TextKeys{},
	&BinaryKey{},
	&Wide{}, &EmbeddedElements{}, &SameKeys{}, &Lossy{}, &Nothing{}, &Trees{}, &Ticket{}, &Page{},
	&Tenanted{}, &PointedBase{}, &GenericBase{},
}

// Indexes has those with secondary indexes, whose keys take no text of any length.
var Indexes = []any{&Indexed{}, &IndexedFlat{}, &Optionals{}}

// User is the model of the documentation.
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

// Scalars has one field of each basic kind.
type Scalars struct {
	ID      string    `ddb:"pk={ID}"`
	String  string    `ddb:"sk=A"`
	Bool    bool      `ddb:"sk=A"`
	Int     int       `ddb:"sk=A"`
	Uint    uint      `ddb:"sk=A"`
	Float   float64   `ddb:"sk=A"`
	Bytes   []byte    `ddb:"sk=B"`
	Array   [4]byte   `ddb:"sk=B"`
	Time    time.Time `ddb:"sk=B"`
	Rune    rune      `ddb:"sk=B"`
	Complex struct{}  `ddb:"-"`
}

// Sized has every size of number.
type Sized struct {
	ID  int64   `ddb:"pk={ID}"`
	I8  int8    `ddb:"sk=A"`
	I16 int16   `ddb:"sk=A"`
	I32 int32   `ddb:"sk=A"`
	I64 int64   `ddb:"sk=A"`
	U8  uint8   `ddb:"sk=A"`
	U16 uint16  `ddb:"sk=A"`
	U32 uint32  `ddb:"sk=A"`
	U64 uint64  `ddb:"sk=A"`
	F32 float32 `ddb:"sk=A"`
	F64 float64 `ddb:"sk=A"`
}

// Omitting leaves out empty values.
type Omitting struct {
	ID     string            `ddb:"pk={ID}"`
	String string            `ddb:"sk=A" dynamodbav:",omitempty"`
	Int    int               `ddb:"sk=A" dynamodbav:",omitempty"`
	Bool   bool              `ddb:"sk=A" dynamodbav:",omitempty"`
	Float  float32           `ddb:"sk=A" dynamodbav:",omitempty"`
	Bytes  []byte            `ddb:"sk=A" dynamodbav:",omitempty"`
	Slice  []string          `ddb:"sk=A" dynamodbav:",omitempty,omitemptyelem"`
	Map    map[string]string `ddb:"sk=A" dynamodbav:",omitempty,omitemptyelem"`
	Ptr    *string           `ddb:"sk=A" dynamodbav:",omitempty"`
	Time   time.Time         `ddb:"sk=A"`
	Any    any               `ddb:"sk=A" dynamodbav:",omitempty"`
}

// Nulling stores NULL for empty values.
type Nulling struct {
	ID     string            `ddb:"pk={ID}"`
	String string            `ddb:"sk=A" dynamodbav:",nullempty"`
	Int    int               `ddb:"sk=A" dynamodbav:",nullempty"`
	Bytes  []byte            `ddb:"sk=A" dynamodbav:",nullempty"`
	Slice  []string          `ddb:"sk=A" dynamodbav:",nullempty,nullemptyelem"`
	Map    map[string]string `ddb:"sk=A" dynamodbav:",nullempty,nullemptyelem"`
}

// Times has times in every form.
type Times struct {
	ID      string               `ddb:"pk={ID}"`
	Plain   time.Time            `ddb:"sk=A"`
	Unix    time.Time            `ddb:"sk=A" dynamodbav:",unixtime"`
	Ptr     *time.Time           `ddb:"sk=A"`
	UnixPtr *time.Time           `ddb:"sk=A" dynamodbav:"up,unixtime,omitempty"`
	List    []time.Time          `ddb:"sk=A"`
	Map     map[string]time.Time `ddb:"sk=A"`
	Stamp   Stamp                `ddb:"sk=A"`
	Wait    time.Duration        `ddb:"sk=A"`
	Month   time.Month           `ddb:"sk=A"`
}

// Quoted has numbers as strings.
type Quoted struct {
	ID    int64   `ddb:"pk={ID}" dynamodbav:",string"`
	Int   int     `ddb:"sk=A" dynamodbav:",string"`
	Uint  uint16  `ddb:"sk=A" dynamodbav:"u,string"`
	Float float64 `ddb:"sk=A" dynamodbav:",string,omitempty"`
	Ptr   *int    `ddb:"sk=A" dynamodbav:",string"`
	Color Color   `ddb:"sk=A" dynamodbav:",string"`
}

// Sets has sets.
type Sets struct {
	ID      string    `ddb:"pk={ID}"`
	Strings []string  `ddb:"sk=A" dynamodbav:",stringset"`
	Ints    []int     `ddb:"sk=A" dynamodbav:",numberset"`
	Floats  []float64 `ddb:"sk=A" dynamodbav:",numberset,omitempty"`
	Bytes   [][]byte  `ddb:"sk=A" dynamodbav:",binaryset"`
	Plain   [][]byte  `ddb:"sk=A"`
	Names   []Name    `ddb:"sk=A" dynamodbav:"n,stringset"`
}

// Slices has lists.
type Slices struct {
	ID      string           `ddb:"pk={ID}"`
	Strings []string         `ddb:"sk=A"`
	Nested  [][]string       `ddb:"sk=A"`
	Maps    []map[string]int `ddb:"sk=A"`
	Array   [3]int           `ddb:"sk=A"`
	Arrays  [][2]bool        `ddb:"sk=A"`
	Structs []Address        `ddb:"sk=A"`
	Ptrs    []*Address       `ddb:"sk=A"`
	Blobs   []Blob           `ddb:"sk=A"`
	Lines   Lines            `ddb:"sk=A"`
}

// Maps has maps.
type Maps struct {
	ID      string                      `ddb:"pk={ID}"`
	Strings map[string]string           `ddb:"sk=A"`
	Ints    map[int]bool                `ddb:"sk=A"`
	Floats  map[float64]string          `ddb:"sk=A"`
	Bools   map[bool]int                `ddb:"sk=A"`
	Text    map[UUID]string             `ddb:"sk=A"`
	Deep    map[string]map[string][]int `ddb:"sk=A"`
	Ptrs    map[uint8]*int              `ddb:"sk=A"`
	Structs map[Name]Address            `ddb:"sk=A"`
	Labels  Labels                      `ddb:"sk=A"`
}

// Pointers has pointers.
type Pointers struct {
	ID     string          `ddb:"pk={ID}"`
	String *string         `ddb:"sk=A"`
	Int    *int            `ddb:"sk=A"`
	Bool   *bool           `ddb:"sk=A" dynamodbav:",omitempty"`
	Bytes  *[]byte         `ddb:"sk=A"`
	Slice  *[]string       `ddb:"sk=A"`
	Map    *map[string]int `ddb:"sk=A"`
	Struct *Address        `ddb:"sk=A,nested"`
	Array  *[2]string      `ddb:"sk=A"`
	Double **int           `ddb:"sk=A"`
}

// Nested has structs as maps.
type Nested struct {
	ID   string                     `ddb:"pk={ID}"`
	Home Address                    `ddb:"sk=A,nested" dynamodbav:"home"`
	Work *Address                   `ddb:"sk=A,nested" dynamodbav:",omitempty"`
	Deep Deep                       `ddb:"sk=B,nested"`
	Anon struct{ X, Y int }         `ddb:"sk=B,nested"`
	Many []struct{ Name, V string } `ddb:"sk=B"`
	None struct{}                   `ddb:"sk=B,nested"`
}

// Embedding embeds a struct whose fields have places of their own.
type Embedding struct {
	Base
	ID       string `ddb:"pk={ID}"`
	Shadowed int    `ddb:"sk=OWN"`
}

// EmbeddedPointer embeds a pointer.
type EmbeddedPointer struct {
	*Audit
	ID   string `ddb:"pk={ID}"`
	Text string `ddb:"sk=OWN"`
}

// Tenanted has its keys in structs that it embeds, two levels down. A field of its own hides one of theirs.
type Tenanted struct {
	_ struct{} `ddb:"table=tenanted"`
	scoped
	ID    string          `ddb:"sk=HEAD"`
	Title string          `ddb:"sk=HEAD"`
	Parts []tenantedPart  `ddb:"sk=PART#{No:03}"`
	By    map[string]part `ddb:"sk=BY#{key}"`
}

type scoped struct {
	tenantPrefix
	Region string   `ddb:"sk=HEAD"`
	Title  []string `ddb:"sk=HEAD"`
	Zones  []string `ddb:"sk=ZONES"`
}

// tenantPrefix begins the keys of models with its {T}, and names a field of theirs.
type tenantPrefix struct {
	_ struct{} `ddb:"pk=T#{T}#{ID}"`
	T string
}

type part struct {
	No    uint8
	Note  string `dynamodbav:"note,omitempty"`
	Marks []int
	Cache []int `ddb:"-"`
}

type tenantedPart struct {
	part
	Marks map[string]bool `dynamodbav:"own"`
}

// PointedBase has its keys in a pointer that it embeds, and further pointers in that.
type PointedBase struct {
	_ struct{} `ddb:"table=pointedbase"`
	*PointedKeys
	Text  string        `ddb:"sk=HEAD"`
	Lines []pointedLine `ddb:"sk=LINE#{^ID}#{Line:03}"`
	Last  pointedLine   `ddb:"sk=HEAD,nested"`
}

// PointedKeys are embedded by pointer.
type PointedKeys struct {
	*Audit
	T    Level
	ID   string   `ddb:"pk=P#{T:03}#{ID}"`
	Tags []string `ddb:"sk=HEAD"`
}

type pointedLine struct {
	*Line
	By *Common
	*Common
}

// GenericBase has its keys in an instance of a generic struct.
type GenericBase struct {
	_ struct{} `ddb:"table=genericbase"`
	keysOf[Name, time.Time]
	Text string `ddb:"sk=HEAD"`
}

type keysOf[T, V any] struct {
	T    T
	ID   string `ddb:"pk=G#{T}#{ID}"`
	Held []V    `ddb:"sk=HEAD"`
}

// Spread has structs that are items.
type Spread struct {
	ID      string   `ddb:"pk={ID}"`
	Home    Address  `ddb:"sk=HOME"`
	Work    *Address `ddb:"sk=WORK"`
	Deep    Deep     `ddb:"sk=DEEP"`
	Deeper  *Deeper  `ddb:"sk=DEEPER"`
	Nothing *struct {
		Opt string `dynamodbav:",omitempty"`
	} `ddb:"sk=NOTHING"`
}

// SharedSpread has a struct's fields together with others in one item.
type SharedSpread struct {
	ID    string  `ddb:"pk={ID}"`
	Title string  `ddb:"sk=A"`
	Home  Address `ddb:"sk=A"`
	More  *Common `ddb:"sk=A"`
}

// Interfaces has values of any type.
type Interfaces struct {
	ID   string         `ddb:"pk={ID}"`
	Any  any            `ddb:"sk=A"`
	List []any          `ddb:"sk=A"`
	Map  map[string]any `ddb:"sk=B"`
	Omit any            `ddb:"sk=B" dynamodbav:",omitempty"`
}

// Marshalers has types that encode themselves.
type Marshalers struct {
	ID     string                  `ddb:"pk={ID}"`
	Point  Point                   `ddb:"sk=A"`
	Ptr    *Point                  `ddb:"sk=A"`
	Points []Point                 `ddb:"sk=A"`
	Map    map[string]Money        `ddb:"sk=A"`
	Money  Money                   `ddb:"sk=B"`
	Unix   attributevalue.UnixTime `ddb:"sk=B"`
	In     struct{ P Point }       `ddb:"sk=C"`
}

// Decimals has numbers of any precision.
type Decimals struct {
	ID     attributevalue.Number   `ddb:"pk={ID}"`
	Number attributevalue.Number   `ddb:"sk=A" dynamodbav:",omitempty"`
	JSON   json.Number             `ddb:"sk=A" dynamodbav:",omitempty"`
	List   []attributevalue.Number `ddb:"sk=A"`
	Set    []attributevalue.Number `ddb:"sk=A" dynamodbav:",numberset"`
}

// NamedTypes has named types of every kind.
type NamedTypes struct {
	ID     Name   `ddb:"pk=N#{ID}"`
	Color  Color  `ddb:"sk=A"`
	Level  Level  `ddb:"sk=A"`
	Blob   Blob   `ddb:"sk=A"`
	Ratio  Ratio  `ddb:"sk=A"`
	Flag   Flag   `ddb:"sk=A"`
	Stamp  Stamp  `ddb:"sk=A"`
	Labels Labels `ddb:"sk=A"`
	Lines  Lines  `ddb:"sk=A"`
	UUID   UUID   `ddb:"sk=A"`
	Size   Size   `ddb:"sk=A"`
}

// TimeElements has elements by time, in every format.
type TimeElements struct {
	ID      string `ddb:"pk={ID}"`
	Head    string `ddb:"sk=HEAD"`
	Nanos   []Wish `ddb:"sk=N#{AddedAt}"`
	Millis  []Wish `ddb:"sk=M#{AddedAt:millis}"`
	Seconds []Wish `ddb:"sk=S#{AddedAt:seconds}#{SKU}"`
	Unix    []Wish `ddb:"sk=U#{AddedAt:unix}#{SKU}"`
	Dates   []Wish `ddb:"sk=D#{AddedAt:date}#{SKU}"`
	Weeks   []Wish `ddb:"sk=W#{AddedAt:week}#{SKU}"`
}

// MapElements has entries as items.
type MapElements struct {
	ID     string             `ddb:"pk={ID}"`
	Head   string             `ddb:"sk=HEAD"`
	Cards  map[string]Card    `ddb:"sk=C#{key}"`
	Counts map[int]int        `ddb:"sk=N#{key:sortable}"`
	Levels map[Level]string   `ddb:"sk=L#{key:03}"`
	Times  map[UUID]time.Time `ddb:"sk=U#{key}" dynamodbav:"t,unixtime"`
	Lists  map[Name][]string  `ddb:"sk=S#{key}"`
	Anys   map[string]any     `ddb:"sk=A#{key}"`
	By     map[string]Wish    `ddb:"sk=B#{key}#{AddedAt}"`
}

// ScalarElements has scalars as items.
type ScalarElements struct {
	ID    string      `ddb:"pk={ID}"`
	Head  string      `ddb:"sk=HEAD"`
	Tags  []string    `ddb:"sk=T#{.}"`
	Raw   []string    `ddb:"sk=R#{.:raw}"`
	Ints  []int       `ddb:"sk=I#{.:sortable}"`
	Uints []uint64    `ddb:"sk=U#{.:020}"`
	Times []time.Time `ddb:"sk=A#{.}"`
	Days  []time.Time `ddb:"sk=D#{.:date}"`
	IDs   []UUID      `ddb:"sk=X#{.},stored"`
	Sizes []Size      `ddb:"sk=Z#{.}"`
}

// SetItems has a set as items.
type SetItems struct {
	ID      string              `ddb:"pk={ID}"`
	Head    string              `ddb:"sk=HEAD"`
	Entries map[string]struct{} `ddb:"sk=M#{key}"`
	Votes   map[string]bool     `ddb:"sk=V#{key}"`
}

// PointerElements has pointers to elements.
type PointerElements struct {
	ID     string             `ddb:"pk={ID}"`
	Head   string             `ddb:"sk=HEAD"`
	Wishes []*Wish            `ddb:"sk=W#{SKU}#{AddedAt}"`
	Cards  map[string]*Card   `ddb:"sk=C#{key}"`
	Ints   []*int             `ddb:"sk=I#{.:sortable}"`
	Texts  map[string]*string `ddb:"sk=T#{key}"`
}

// Composite has keys of several placeholders.
type Composite struct {
	Tenant string   `ddb:"sk=HEAD"`
	Region string   `ddb:"sk=HEAD"`
	_      struct{} `ddb:"pk={Tenant}#{Region}#{N:06}"`
	N      int
	Head   string  `ddb:"sk=HEAD"`
	Stats  []Entry `ddb:"sk=S#{List}#{At}{Seq:04}"`
	Tail   []Entry `ddb:"sk=T#{Seq:sortable}x{List}#{At:month}"`
}

// Entry is an element with several fields in its key.
type Entry struct {
	List  string
	At    time.Time
	Seq   uint16
	Value string `ddb:"-"`
	Text  string
	Kept  string `dynamodbav:"kept"`
}

// OwnerKeys has keys that name fields of the owner.
type OwnerKeys struct {
	ID    string         `ddb:"pk={ID}"`
	Shard Level          `ddb:"sk=HEAD"`
	Rows  []Entry        `ddb:"sk=R#{^ID}#{^Shard:02}#{Seq:05}#{List}"`
	Cells map[string]int `ddb:"sk=C#{^Shard:sortable}#{key}"`
}

// Product is in three tables without sort keys.
type Product struct {
	_      struct{} `ddb:"table=ProductCatalog,hash=Id,range=-"`
	_      struct{} `ddb:"table=ProductAvailability,name=Availability"`
	_      struct{} `ddb:"table=ExtendedProductCatalog,hash=Id,range=-,name=Extended"`
	ID     int64    `ddb:"pk={ID}"`
	Title  string
	Text   string            `dynamodbav:",omitempty"`
	Price  float64           `ddb:"table=ProductAvailability"`
	OnHand int               `ddb:"table=ProductAvailability"`
	Rating float64           `ddb:"table=ExtendedProductCatalog"`
	Tracks map[string]string `ddb:"table=ExtendedProductCatalog"`
	Cached map[string]string `ddb:"-"`
}

// SecondaryItems has items and elements in a further table.
type SecondaryItems struct {
	_       struct{} `ddb:"table=forums,hash=Name,range=-"`
	_       struct{} `ddb:"table=replies,hash=Forum,range=At,name=ReplyTable"`
	Name    string   `ddb:"pk={Name}"`
	About   string
	Count   int
	Replies []Reply `ddb:"table=replies,sk={Seq}"`
}

// Reply is an element by a number.
type Reply struct {
	Seq  int
	Text string
	By   Name
}

// Thread is flat, with two bare keys.
type Thread struct {
	_       struct{} `ddb:"table=threads,hash=ForumName,range=Subject"`
	Forum   string   `ddb:"pk={Forum}"`
	Title   string   `ddb:"sk={Title}"`
	Views   int      `ddb:"sk={Title}"`
	Answers []string `ddb:"sk={Title}"`
	Tags    []string `ddb:"sk={Title}" dynamodbav:",stringset,omitempty"`
}

// Reading is flat, with numbers as keys.
type Reading struct {
	_      struct{}  `ddb:"table=readings"`
	Sensor int       `ddb:"pk={Sensor}"`
	At     time.Time `ddb:"sk={At:unix}"`
	Value  float64   `ddb:"sk={At:unix}"`
}

// Chunk is flat, with bytes as keys.
type Chunk struct {
	_    struct{} `ddb:"table=chunks"`
	Hash []byte   `ddb:"pk={Hash}"`
	Part [4]byte  `ddb:"sk={Part}"`
	Data []byte   `ddb:"sk={Part}"`
}

// Order is flat, an entity of several items under its prefix.
type Order struct {
	_        struct{} `ddb:"table=orders"`
	Customer string   `ddb:"pk=CUSTOMER#{Customer}"`
	N        int      `ddb:"sk=ORDER#{N:06}#HEAD"`
	Status   string   `ddb:"sk=ORDER#{N:06}#HEAD"`
	Ship     *Address `ddb:"sk=ORDER#{N:06}#SHIP"`
	Lines    []Line   `ddb:"sk=ORDER#{^N:06}#LINE#{Line:03}"`
}

// Line is a line of an order.
type Line struct {
	Line  int
	SKU   string
	Count int
}

// Bare has a root whose key is the entity's prefix, and that holds no fields.
type Bare struct {
	_     struct{} `ddb:"table=bare,pk=BARE,sk=B#{Name},root"`
	Name  string
	Lines []Line `ddb:"sk=B#{^Name}#{Line:03}"`
}

// OneTable has no sort key and one item.
type OneTable struct {
	_     struct{} `ddb:"table=single,hash=Key,range=-"`
	ID    UUID     `ddb:"pk=ID#{ID}"`
	Text  string
	Count *int
	Words []string
}

// NoVersion has items without versions.
type NoVersion struct {
	_     struct{} `ddb:"table=noversion,noversion"`
	ID    string   `ddb:"pk={ID}"`
	Text  string   `ddb:"sk=A"`
	Count int      `ddb:"sk=A"`
	Home  Address  `ddb:"sk=B"`
	Lines []Line   `ddb:"sk=L#{Line:03}"`
}

// NamedVersion names its version attribute.
type NamedVersion struct {
	_     struct{} `ddb:"table=named,version=rev"`
	ID    string   `ddb:"pk={ID}"`
	Text  string   `ddb:"sk=A"`
	Lines []Line   `ddb:"sk=L#{Line:03}"`
}

// NamedAll names all attributes of the library, and has fields with the default names.
type NamedAll struct {
	_      struct{} `ddb:"table=namedall,version=rev,state=phase,incarnation=life,migration=moved"`
	ID     string   `ddb:"pk={ID}"`
	Text   string   `ddb:"sk=A"`
	State  string   `ddb:"sk=A" dynamodbav:"_s"`
	Author string   `ddb:"sk=A" dynamodbav:"_a"`
	Memo   string   `ddb:"sk=A" dynamodbav:"_m"`
	Value  int      `ddb:"sk=B" dynamodbav:"_v"`
	Lines  []Line   `ddb:"sk=L#{Line:03}"`
}

// Expiring has items that expire, each at its own time.
type Expiring struct {
	_        struct{}   `ddb:"table=expiring,ttl=gone"`
	ID       string     `ddb:"pk={ID}"`
	Text     string     `ddb:"sk=A"`
	Token    string     `ddb:"sk=T"`
	Until    *time.Time `ddb:"sk=T,ttl"`
	Unix     time.Time  `ddb:"sk=U,ttl" dynamodbav:"gone,unixtime"`
	Sessions []Session  `ddb:"sk=S#{Name}"`
}

// Session is an element that expires.
type Session struct {
	Name  string
	Until time.Time `ddb:"ttl"`
	Data  string
}

// ExpiringAll expires as a whole.
type ExpiringAll struct {
	_     struct{}  `ddb:"table=expiringall,ttl=gone"`
	ID    string    `ddb:"pk={ID}"`
	Text  string    `ddb:"sk=A"`
	Until time.Time `ddb:"sk=A,ttl,all"`
	Home  Address   `ddb:"sk=B"`
	Lines []Line    `ddb:"sk=L#{Line:03}"`
}

// Slashes has a delimiter of its own.
type Slashes struct {
	_     struct{} `ddb:"table=slashes,delim=/"`
	ID    string   `ddb:"pk=s/{ID}"`
	Text  string   `ddb:"sk='a,b/{{c}}'"`
	Lines []Wish   `ddb:"sk=l/{SKU}/{AddedAt:date}"`
}

// TextKeys has keys of types with a text form.
type TextKeys struct {
	ID    netip.Addr         `ddb:"pk=IP#{ID}"`
	Size  Size               `ddb:"sk=HEAD"`
	Nets  []Net              `ddb:"sk=N#{Prefix}#{Size}"`
	Addrs map[netip.Addr]int `ddb:"sk=A#{key}"`
}

// Net is an element with a text form in its key.
type Net struct {
	Prefix netip.Prefix
	Size   Size
	Name   string
}

// BinaryKey has bytes as its key.
type BinaryKey struct {
	ID   UUID   `ddb:"pk={ID}"`
	Text string `ddb:"sk=A"`
}

// Wide has many attributes on one item.
type Wide struct {
	ID                                     string `ddb:"pk={ID}"`
	A00, A01, A02, A03, A04, A05, A06, A07 string `ddb:"sk=W"`
	A08, A09, A10, A11, A12, A13, A14, A15 int    `ddb:"sk=W"`
	A16, A17, A18, A19, A20, A21, A22, A23 bool   `ddb:"sk=W"`
	A24, A25, A26, A27, A28, A29, A30, A31 string `ddb:"sk=W" dynamodbav:",omitempty"`
	A32, A33, A34, A35, A36, A37, A38, A39 []int  `ddb:"sk=W"`
	A40, A41, A42, A43, A44, A45, A46, A47 *int   `ddb:"sk=W"`
	A48, A49, A50, A51, A52, A53, A54, A55 any    `ddb:"sk=W"`
	A56, A57, A58, A59, A60, A61, A62, A63 []byte `ddb:"sk=W"`
	A64, A65, A66, A67, A68, A69, A70, A71 string `ddb:"sk=W"`
}

// EmbeddedElements has elements that embed.
type EmbeddedElements struct {
	ID    string `ddb:"pk={ID}"`
	Head  string `ddb:"sk=HEAD"`
	Notes []struct {
		Common
		Seq int
	} `ddb:"sk=N#{Note}#{Seq:sortable}"`
	By map[string]struct {
		*Common
		Text string
	} `ddb:"sk=B#{key}"`
}

// SameKeys repeats the partition key in the sort key.
type SameKeys struct {
	ID   string   `ddb:"pk=USER#{ID}"`
	Text string   `ddb:"sk=USER#{ID}"`
	Tags []string `ddb:"sk=TAG#{.}"`
}

// Lossy has a partition key that holds less than its field.
type Lossy struct {
	_      struct{}  `ddb:"table=lossy"`
	Day    time.Time `ddb:"pk=DAY#{Day:date}"`
	Text   string    `ddb:"sk=HEAD"`
	Events []Wish    `ddb:"sk=E#{AddedAt:millis}#{SKU}"`
}

// Nothing has nothing but its keys.
type Nothing struct {
	_  struct{} `ddb:"table=nothing,sk=HEAD,root"`
	ID string   `ddb:"pk={ID},stored"`
}

// Trees has types that contain themselves.
type Trees struct {
	_     struct{} `ddb:"table=trees"`
	ID    string   `ddb:"pk=TREE#{ID}"`
	Root  Node     `ddb:"sk=HEAD,nested"`
	List  []*Node  `ddb:"sk=HEAD" dynamodbav:",omitempty"`
	Paths Paths    `ddb:"sk=HEAD"`
	Nodes []Node   `ddb:"sk=NODE#{Name}"`
}

// Node is a node of a tree.
type Node struct {
	Name     string
	Children []Node `dynamodbav:"children,omitempty"`
	Next     *Node
	By       map[string]Node
}

// Paths are paths that part.
type Paths map[string]Paths

// Ticket is flat, with its heads side by side: the texts and comments are under prefixes of their
// own.
type Ticket struct {
	_        struct{} `ddb:"table=tickets"`
	Project  string   `ddb:"pk=PROJECT#{Project}"`
	At       time.Time
	ID       string
	Title    string          `ddb:"sk=TICKET#{At}#{ID}"`
	Status   string          `ddb:"sk=TICKET#{At}#{ID}"`
	Text     string          `ddb:"sk=TEXT#{At}#{ID}"`
	Comments []TicketComment `ddb:"sk=COMMENT#{^At}#{^ID}#{N:03}"`
}

// TicketComment is a comment of a ticket.
type TicketComment struct {
	N    int
	Text string
}

// Page is flat, and its entities' items are in two tables.
type Page struct {
	_    struct{} `ddb:"table=pages"`
	_    struct{} `ddb:"table=bodies,name=Bodies"`
	Site string   `ddb:"pk=SITE#{Site}"`
	Path string
	Name string `ddb:"sk=PAGE#{Path}"`
	Body []byte `ddb:"table=bodies,sk=PAGE#{Path},name=Body"`
}

// Indexed has all kinds of indexes. Their keys are computed or are ordinary attributes, of the root, an
// element, a map's entry or another item. Some are local, and one is shared by two kinds of items.
type Indexed struct {
	_      struct{}        `ddb:"table=indexed,ttl=gone"`
	_      struct{}        `ddb:"index=shared,hash=G1PK,range=G1SK,pk=STATE#{State},sk={Opened:millis}#{Weight:06}"`
	_      struct{}        `ddb:"index=shared,hash=G1PK,range=G1SK,pk=SKU#{SKU},sk={AddedAt}#{^ID},on=Wishes"`
	_      struct{}        `ddb:"index=byOwner,pk={Owner},sk={Weight},project='State,Opened'"`
	_      struct{}        `ddb:"index=byWord,hash=Word,pk=W#{key},on=Words,project=keys"`
	_      struct{}        `ddb:"index=byCity,hash=City,range=PK,pk=CITY#{City},on=Home"`
	_      struct{}        `ddb:"index=inverted,hash=SK,range=PK,project=keys"`
	_      struct{}        `ddb:"index=byAge,local,range=Age,sk={Opened:unix}"`
	ID     string          `ddb:"pk=INDEXED#{ID}"`
	State  string          `ddb:"sk=HEAD"`
	Owner  string          `ddb:"sk=HEAD" dynamodbav:"owner,omitempty"`
	Weight int             `ddb:"sk=HEAD"`
	Opened time.Time       `ddb:"sk=HEAD"`
	Until  time.Time       `ddb:"sk=HEAD,ttl"`
	Home   *Address        `ddb:"sk=HOME"`
	Words  map[string]Line `ddb:"sk=WORD#{key}"`
	Wishes []Wish          `ddb:"sk=WISH#{AddedAt}"`
}

// IndexedFlat is flat, with a local index.
type IndexedFlat struct {
	_    struct{}  `ddb:"table=indexedflat"`
	_    struct{}  `ddb:"index=byRank,local,range=Rank,sk={Rank}"`
	_    struct{}  `ddb:"index=byDay,hash=Day,range=Name,pk={At:date},sk={Name}"`
	Site string    `ddb:"pk=SITE#{Site}"`
	Path string    `ddb:"sk=PAGE#{Path}"`
	Name string    `ddb:"sk=PAGE#{Path}"`
	Rank int64     `ddb:"sk=PAGE#{Path}"`
	At   time.Time `ddb:"sk=PAGE#{Path}"`
}

// Optionals has pointers in the keys of its indexes: an item whose pointer is nil is not in the index.
type Optionals struct {
	_      struct{}   `ddb:"table=optionals"`
	_      struct{}   `ddb:"index=byDone,hash=O1PK,range=O1SK,pk=DONE#{Shelf:05},sk={Done}"`
	_      struct{}   `ddb:"index=byDay,hash=O2PK,pk=DAY#{Done:date}#{Alias}"`
	_      struct{}   `ddb:"index=byAlias,pk={Alias},sk={Rank}"`
	_      struct{}   `ddb:"index=byCode,hash=O3PK,range=O3SK,pk={Code},sk={Shelf:05},project=keys"`
	_      struct{}   `ddb:"index=byEnd,hash=O4PK,range=End,pk=E#{Tag},sk={End:unix},on=Steps"`
	ID     string     `ddb:"pk=OPT#{ID}"`
	Done   *time.Time `ddb:"sk=HEAD"`
	Alias  *string    `ddb:"sk=HEAD" dynamodbav:",omitempty"`
	Rank   *int       `ddb:"sk=HEAD"`
	Shelf  *uint16    `ddb:"sk=HEAD"`
	Code   *UUID      `ddb:"sk=HEAD"`
	Steps  []Step     `ddb:"sk=S#{N:03}"`
	Titles []string   `ddb:"sk=HEAD"`
}

// Step is an element with pointers in the key of an index.
type Step struct {
	N    uint8
	Tag  *Name
	End  *time.Time `dynamodbav:",unixtime"`
	Note string
}
