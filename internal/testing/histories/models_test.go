package histories

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
	"github.com/itemize/itemize/query"
)

// One entity in every layout: a root item, a fixed item, elements of a slice and of a map, and a text.

type part struct {
	Name, Value string
	N           int
}

// document is the value of each layout. Layouts differ in their tags only.
type document struct {
	_      struct{}
	_      struct{}
	_      struct{}
	_      struct{}
	Group  string
	ID     string
	Origin string
	Count  int
	Labels []string
	Until  time.Time
	Fixed  string
	Facts  map[string]string
	Parts  []part
	More   map[string]part // at most one entry: a save adds several in random order
	Body   string
}

// The root is the first item of the partition.
type first struct {
	_      struct{} `ddb:"table=docs"`
	_      struct{}
	_      struct{}
	_      struct{}
	Group  string            `ddb:"-"`
	ID     string            `ddb:"pk=DOC#{ID}"`
	Origin string            `ddb:"sk=A"`
	Count  int               `ddb:"sk=A"`
	Labels []string          `ddb:"sk=A"`
	Until  time.Time         `ddb:"sk=A"`
	Fixed  string            `ddb:"sk=F"`
	Facts  map[string]string `ddb:"sk=F"`
	Parts  []part            `ddb:"sk=M#{Name}"`
	More   map[string]part   `ddb:"sk=R#{key}"`
	Body   string            `ddb:"sk=T"`
}

// The root is the last item of the partition.
type last struct {
	_      struct{} `ddb:"table=docs"`
	_      struct{}
	_      struct{}
	_      struct{}
	Group  string            `ddb:"-"`
	ID     string            `ddb:"pk=DOC#{ID}"`
	Origin string            `ddb:"sk=Z"`
	Count  int               `ddb:"sk=Z"`
	Labels []string          `ddb:"sk=Z"`
	Until  time.Time         `ddb:"sk=Z"`
	Fixed  string            `ddb:"sk=F,was=Old"`
	Facts  map[string]string `ddb:"sk=F"`
	Parts  []part            `ddb:"sk=M#{Name}"`
	More   map[string]part   `ddb:"sk=R#{key}"`
	Body   string            `ddb:"sk=Z"`
}

// The parts are in another table.
type invoice struct {
	_      struct{} `ddb:"table=docs"`
	_      struct{} `ddb:"table=parts,hash=PK,range=SK,name=Parts"`
	_      struct{}
	_      struct{}
	Group  string            `ddb:"-"`
	ID     string            `ddb:"pk=DOC#{ID}"`
	Origin string            `ddb:"sk=A"`
	Count  int               `ddb:"sk=A"`
	Labels []string          `ddb:"sk=A"`
	Until  time.Time         `ddb:"sk=A"`
	Fixed  string            `ddb:"table=parts,sk=F"`
	Facts  map[string]string `ddb:"table=parts,sk=F"`
	Parts  []part            `ddb:"table=parts,sk=M#{Name}"`
	More   map[string]part   `ddb:"sk=R#{key}"`
	Body   string            `ddb:"sk=T"`
}

// A partition has many entities.
type flat struct {
	_      struct{} `ddb:"table=docs"`
	_      struct{}
	_      struct{}
	_      struct{}
	Group  string `ddb:"pk=GROUP#{Group}"`
	ID     string
	Origin string            `ddb:"sk=DOC#{ID}#A"`
	Count  int               `ddb:"sk=DOC#{ID}#A"`
	Labels []string          `ddb:"sk=DOC#{ID}#A"`
	Until  time.Time         `ddb:"sk=DOC#{ID}#A"`
	Fixed  string            `ddb:"sk=DOC#{ID}#F"`
	Facts  map[string]string `ddb:"sk=DOC#{ID}#F"`
	Parts  []part            `ddb:"sk=DOC#{^ID}#M#{Name}"`
	More   map[string]part   `ddb:"sk=DOC#{^ID}#R#{key}"`
	Body   string            `ddb:"sk=DOC#{ID}#T"`
}

// A partition has many entities, whose roots are next to each other, and whose parts have another prefix.
type separate struct {
	_      struct{} `ddb:"table=docs"`
	_      struct{}
	_      struct{}
	_      struct{}
	Group  string `ddb:"pk=APART#{Group}"`
	ID     string
	Origin string            `ddb:"sk=DOC#{ID}"`
	Count  int               `ddb:"sk=DOC#{ID}"`
	Labels []string          `ddb:"sk=DOC#{ID}"`
	Until  time.Time         `ddb:"sk=DOC#{ID}"`
	Fixed  string            `ddb:"sk=PART#{ID}#F"`
	Facts  map[string]string `ddb:"sk=PART#{ID}#F"`
	Parts  []part            `ddb:"sk=PART#{^ID}#M#{Name}"`
	More   map[string]part   `ddb:"sk=PART#{^ID}#R#{key}"`
	Body   string            `ddb:"sk=PART#{ID}#T"`
}

// The root item expires.
type mortal struct {
	_      struct{} `ddb:"table=docs,ttl=expires"`
	_      struct{}
	_      struct{}
	_      struct{}
	Group  string            `ddb:"-"`
	ID     string            `ddb:"pk=DOC#{ID}"`
	Origin string            `ddb:"sk=A"`
	Count  int               `ddb:"sk=A"`
	Labels []string          `ddb:"sk=A"`
	Until  time.Time         `ddb:"sk=A,ttl"`
	Fixed  string            `ddb:"sk=F"`
	Facts  map[string]string `ddb:"sk=F"`
	Parts  []part            `ddb:"sk=M#{Name}"`
	More   map[string]part   `ddb:"sk=R#{key}"`
	Body   string            `ddb:"sk=T"`
}

// The items expire with the root item.
type lasting struct {
	_      struct{} `ddb:"table=docs,ttl=expires"`
	_      struct{}
	_      struct{}
	_      struct{}
	Group  string            `ddb:"-"`
	ID     string            `ddb:"pk=DOC#{ID}"`
	Origin string            `ddb:"sk=A"`
	Count  int               `ddb:"sk=A"`
	Labels []string          `ddb:"sk=A"`
	Until  time.Time         `ddb:"sk=A,ttl,all"`
	Fixed  string            `ddb:"sk=F"`
	Facts  map[string]string `ddb:"sk=F"`
	Parts  []part            `ddb:"sk=M#{Name}"`
	More   map[string]part   `ddb:"sk=R#{key}"`
	Body   string            `ddb:"sk=T"`
}

// The items have no versions.
type bare struct {
	_      struct{} `ddb:"table=docs,noversion"`
	_      struct{}
	_      struct{}
	_      struct{}
	Group  string            `ddb:"-"`
	ID     string            `ddb:"pk=DOC#{ID}"`
	Origin string            `ddb:"sk=A"`
	Count  int               `ddb:"sk=A"`
	Labels []string          `ddb:"sk=A"`
	Until  time.Time         `ddb:"sk=A"`
	Fixed  string            `ddb:"sk=F"`
	Facts  map[string]string `ddb:"sk=F"`
	Parts  []part            `ddb:"sk=M#{Name}"`
	More   map[string]part   `ddb:"sk=R#{key}"`
	Body   string            `ddb:"sk=T"`
}

// The root and the parts are in indexes.
type indexed struct {
	_      struct{} `ddb:"table=indexed"`
	_      struct{}
	_      struct{}          `ddb:"index=byRoot,hash=Root,range=Rank,pk=ROOT#{Origin},sk={Count}"`
	_      struct{}          `ddb:"index=byPart,hash=Part,range=PartName,pk=PART#{^ID},sk={Name},on=Parts"`
	Group  string            `ddb:"-"`
	ID     string            `ddb:"pk=DOC#{ID}"`
	Origin string            `ddb:"sk=A"`
	Count  int               `ddb:"sk=A"`
	Labels []string          `ddb:"sk=A"`
	Until  time.Time         `ddb:"sk=A"`
	Fixed  string            `ddb:"sk=F"`
	Facts  map[string]string `ddb:"sk=F"`
	Parts  []part            `ddb:"sk=M#{Name}"`
	More   map[string]part   `ddb:"sk=R#{key}"`
	Body   string            `ddb:"sk=T"`
}

// The entities are in shards, whose number changes.
type sharded struct {
	_      struct{} `ddb:"table=docs,shards='3,5',shardby=ID"`
	_      struct{}
	_      struct{}
	_      struct{}
	Group  string `ddb:"pk=S#{Group}#{shard}"`
	ID     string
	Origin string            `ddb:"sk=DOC#{ID}#A"`
	Count  int               `ddb:"sk=DOC#{ID}#A"`
	Labels []string          `ddb:"sk=DOC#{ID}#A"`
	Until  time.Time         `ddb:"sk=DOC#{ID}#A"`
	Fixed  string            `ddb:"sk=DOC#{ID}#F"`
	Facts  map[string]string `ddb:"sk=DOC#{ID}#F"`
	Parts  []part            `ddb:"sk=DOC#{^ID}#M#{Name}"`
	More   map[string]part   `ddb:"sk=DOC#{^ID}#R#{key}"`
	Body   string            `ddb:"sk=DOC#{ID}#T"`
}

// The entities are in shards.
type spread struct {
	_      struct{} `ddb:"table=docs,shards=4,shardby=ID"`
	_      struct{}
	_      struct{}
	_      struct{}
	Group  string `ddb:"pk=P#{Group}#{shard}"`
	ID     string
	Origin string            `ddb:"sk=DOC#{ID}#A"`
	Count  int               `ddb:"sk=DOC#{ID}#A"`
	Labels []string          `ddb:"sk=DOC#{ID}#A"`
	Until  time.Time         `ddb:"sk=DOC#{ID}#A"`
	Fixed  string            `ddb:"sk=DOC#{ID}#F"`
	Facts  map[string]string `ddb:"sk=DOC#{ID}#F"`
	Parts  []part            `ddb:"sk=DOC#{^ID}#M#{Name}"`
	More   map[string]part   `ddb:"sk=DOC#{^ID}#R#{key}"`
	Body   string            `ddb:"sk=DOC#{ID}#T"`
}

// The text is in parts of its own.
type chunked struct {
	_      struct{} `ddb:"table=docs"`
	_      struct{}
	_      struct{}
	_      struct{}
	Group  string            `ddb:"-"`
	ID     string            `ddb:"pk=DOC#{ID}"`
	Origin string            `ddb:"sk=A"`
	Count  int               `ddb:"sk=A"`
	Labels []string          `ddb:"sk=A,compress=gzip"`
	Until  time.Time         `ddb:"sk=A"`
	Fixed  string            `ddb:"sk=F"`
	Facts  map[string]string `ddb:"sk=F"`
	Parts  []part            `ddb:"sk=M#{Name}"`
	More   map[string]part   `ddb:"sk=R#{key}"`
	Body   string            `ddb:"sk=T,chunk,inline=100"`
}

// The entity is in the table of its month, which another key may change.
type timed struct {
	_      struct{} `ddb:"table=timed_{Until:month}"`
	_      struct{}
	_      struct{}
	_      struct{}
	Group  string            `ddb:"-"`
	ID     string            `ddb:"pk=DOC#{ID}#{Until:date}"`
	Origin string            `ddb:"sk=A"`
	Count  int               `ddb:"sk=A"`
	Labels []string          `ddb:"sk=A"`
	Until  time.Time         `ddb:"sk=A"`
	Fixed  string            `ddb:"sk=F"`
	Facts  map[string]string `ddb:"sk=F"`
	Parts  []part            `ddb:"sk=M#{Name}"`
	More   map[string]part   `ddb:"sk=R#{key}"`
	Body   string            `ddb:"sk=T"`
}

type model interface {
	first | last | invoice | flat | separate | mortal | lasting | bare | indexed | sharded | spread | chunked |
		timed
}

// purse is a second model, for transactions.
type purse struct {
	_      struct{} `ddb:"table=docs"`
	ID     string   `ddb:"pk=PURSE#{ID}"`
	Amount int      `ddb:"sk=PURSE"`
}

// begin is the time at which each history begins.
var begin = time.Date(2026, time.December, 10, 12, 0, 0, 0, time.UTC)

// months are those of the tables of timed.
var months = []time.Time{begin, begin.AddDate(0, -1, 0)}

// is reports whether the layout T is one of the type L.
func is[L, T any]() bool { return reflect.TypeFor[T]() == reflect.TypeFor[L]() }

// grouped reports whether entities share partitions.
func grouped[T model]() bool {
	return is[flat, T]() || is[separate, T]() || is[sharded, T]() || is[spread, T]()
}

// monthOf returns the time of an entity in a layout of time: entities that have moved are in another month.
func monthOf(id string) time.Time {
	if strings.HasSuffix(id, "m") {
		return months[1]
	}
	return months[0]
}

func keyOf[T model](m *mapper.Mapper[T], group, id string) *query.Key[T] {
	switch {
	case grouped[T]():
		return m.Key(group, id)
	case is[timed, T]():
		return m.Key(id, monthOf(id))
	}
	return m.Key(id)
}

// The items of each layout, by their place in it.
const (
	fixedItem = 1 + iota
	partsItem
	moreItem
)

// elementOf returns the node of one part.
func elementOf[T model](k *query.Key[T], name string) *mapper.ItemNode[T, *part] {
	parts := 2
	if grouped[T]() {
		parts = 4
	}
	n := mapperimpl.Items(handmade.Node(k), partsItem, 1)
	return mapperimpl.Element[T, part](mapperimpl.Next(n, parts, mapperimpl.StringValue(name)), partsItem)
}

// partsOf returns the node of all parts.
func partsOf[T model](k *query.Key[T]) handmade.Elements[T, part] {
	return handmade.Elements[T, part]{Node: handmade.Node(k), Item: partsItem}
}

// put stores an entry of the map.
func put[T model](k *query.Key[T], name string, p part) *mapper.Patch[T] {
	return mapperimpl.Put(handmade.Node(k), moreItem, name, p)
}

func at[T, V any](name string) func(*T) *V {
	return func(v *T) *V { return reflect.ValueOf(v).Elem().FieldByName(name).Addr().Interface().(*V) }
}

func originOf[T any]() *field.String[*T, string] {
	return handmade.String("Origin", "", at[T, string]("Origin"))
}

func fixedOf[T any]() *field.String[*T, string] {
	return handmade.String("Fixed", "", at[T, string]("Fixed"))
}

func countOf[T any](name string) *field.Number[*T, int] {
	return handmade.Number(name, "", at[T, int](name))
}

func untilOf[T any]() *field.Ordered[*T, time.Time] {
	return handmade.Time("Until", "", at[T, time.Time]("Until"))
}

var valueOfPart = handmade.String("Value", "", func(p *part) *string { return &p.Value })

var numberOfPart = handmade.Number("N", "", func(p *part) *int { return &p.N })

// text returns a value as text, the same for the same value.
func (d document) text() string {
	var more []string
	for _, k := range slices.Sorted(maps.Keys(d.More)) {
		more = append(more, fmt.Sprint(k, d.More[k]))
	}
	return fmt.Sprintf("%q %q %q %d %q %s %q %q %v %q %d%.9q", d.Group, d.ID, d.Origin, d.Count, d.Labels,
		d.Until.Format(time.RFC3339), d.Fixed, d.Facts, d.Parts, more, len(d.Body), d.Body)
}
