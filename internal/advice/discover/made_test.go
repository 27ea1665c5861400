package discover

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/itemize/itemize/cost/forecast"
	"github.com/itemize/itemize/internal/model/schema"
)

type (
	madeTicket struct {
		_        struct{}      `ddb:"table=tickets"`
		_        struct{}      `ddb:"index=byState,hash=GSI1PK,range=GSI1SK,pk=STATE#{State},sk={Opened}"`
		_        struct{}      `ddb:"index=byOwner,pk={Owner},sk={Points},project='State,Title'"`
		_        struct{}      `ddb:"index=byAuthor,hash=GSI1PK,range=GSI1SK,pk=BY#{By},sk={At},on=Comments"`
		_        struct{}      `ddb:"index=byPoints,local,range=Points,sk={Points}"`
		ID       string        `ddb:"pk=TICKET#{ID}"`
		State    string        `ddb:"sk=HEAD"`
		Owner    string        `ddb:"sk=HEAD"`
		Points   int           `ddb:"sk=HEAD"`
		Title    string        `ddb:"sk=HEAD"`
		Opened   time.Time     `ddb:"sk=HEAD"`
		Comments []madeComment `ddb:"sk=COMMENT#{At}"`
	}
	madeComment struct {
		At   time.Time
		By   string
		Text string
	}
	madeNote struct {
		_       struct{}  `ddb:"table=notes,ttl=expires"`
		_       struct{}  `ddb:"index=byOwner,pk={Listed},range=GSI1SK,sk={Changed}"`
		ID      string    `ddb:"pk=NOTE#{ID}"`
		Owner   string    `ddb:"sk=HEAD"`
		Listed  string    `ddb:"sk=HEAD"`
		Changed time.Time `ddb:"sk=HEAD"`
		Text    string    `ddb:"sk=TEXT"`
		Purge   time.Time `ddb:"sk=HEAD,ttl,all"`
	}
	// madeHive has a time in the key of an index, and elements that expire.
	madeHive struct {
		_         struct{}  `ddb:"table=bees,ttl=expires"`
		_         struct{}  `ddb:"index=byKeeper,pk={Keeper},range=KeeperSK,sk={Installed}"`
		_         struct{}  `ddb:"index=byDay,hash=DayPK,range=DaySK,pk={Installed:date},sk={Installed:month}"`
		_         struct{}  `ddb:"index=byWeek,hash=WeekPK,range=WeekSK,pk={Installed:week},sk={Installed:unix}"`
		ID        string    `ddb:"pk=HIVE#{ID}"`
		Keeper    string    `ddb:"sk=HEAD"`
		Installed time.Time `ddb:"sk=HEAD"`
		Weights   []struct {
			At      time.Time
			Grams   int
			Expires time.Time `ddb:"ttl"`
		} `ddb:"sk=WEIGHT#{At}"`
		Years []struct {
			At    time.Time
			Honey float64
		} `ddb:"sk=YEAR#{At:year}"`
		Weeks []struct {
			At time.Time
			N  int8
		} `ddb:"sk=WEEK#{At:week}#{N:03}"`
	}
	madeKinds struct {
		_        struct{}                `ddb:"table=kinds,ttl=expires"`
		_        struct{}                `ddb:"index=byaa,pk={Seen:unix},sk={Small},project=keys"`
		_        struct{}                `ddb:"index=bybb,pk={Money},sk={Hash}"`
		_        struct{}                `ddb:"index=bycc,hash=CPK,range=CSK,pk=W#{Small:04},sk={Large:sortable}"`
		_        struct{}                `ddb:"index=bydd,hash=DPK,range=DSK,pk=I#{From},sk={Until:seconds}"`
		_        struct{}                `ddb:"index=byee,hash=EPK,range=ESK,pk=S#{Street},sk={Moved:seconds},on=HOME"`
		_        struct{}                `ddb:"index=byff,pk={Street};{Number},sk={Big},on=HOME"`
		ID       [16]byte                `ddb:"pk={ID}"`
		Seen     time.Time               `ddb:"sk=HEAD" dynamodbav:",unixtime"`
		Until    time.Time               `ddb:"sk=HEAD" dynamodbav:",unixtime"`
		Small    uint8                   `ddb:"sk=HEAD"`
		Large    int64                   `ddb:"sk=HEAD" dynamodbav:",string"`
		Money    attributevalue.Number   `ddb:"sk=HEAD"`
		Hash     []byte                  `ddb:"sk=HEAD"`
		From     madeText                `ddb:"sk=HEAD"`
		Home     madeHome                `ddb:"sk=HOME"`
		Quits    attributevalue.UnixTime `ddb:"sk=QUIT,ttl"`
		Visits   map[time.Time]madeVisit `ddb:"sk=VISIT#{key}"`
		Counts   map[int16]string        `ddb:"sk=COUNT#{key:sortable}"`
		Scores   []int                   `ddb:"sk=SCORE#{.:06}"`
		Names    []string                `ddb:"sk=NAME#{.}"`
		Readings []madeReading           `ddb:"sk=READING#{Sensor}#{At:unix}"`
	}
	madeHome struct {
		Street string
		Number uint16
		Moved  time.Time
		Big    attributevalue.Number
	}
	// madeText writes itself as text.
	madeText  string
	madeVisit struct {
		Who json.Number
	}
	madeReading struct {
		Sensor madeText
		At     time.Time `dynamodbav:",unixtime"`
		Until  time.Time `ddb:"ttl" dynamodbav:",unixtime"`
		Text   string
	}
)

func (m madeText) MarshalText() ([]byte, error) { return []byte(m), nil }

func (m *madeText) UnmarshalText(b []byte) error {
	*m = madeText(b)
	return nil
}

// madeWorkload is a workload with all attributes of a model, each of one size, and with some elements of each list.
func madeWorkload(e *schema.Entity, size, elements int) forecast.Workload {
	w := forecast.Workload{Operations: []forecast.Operation{{Name: "open", All: true, PerMonth: 1}}}
	seen := map[string]bool{}
	add := func(name string) *forecast.Attribute {
		if seen[name] {
			return nil
		}
		seen[name] = true
		w.Attributes = append(w.Attributes, forecast.Attribute{Name: name, Sizes: []int{len(name) + size}})
		return &w.Attributes[len(w.Attributes)-1]
	}
	l := e.Layout()
	for _, p := range l.PartitionKey.Placeholders {
		add(firstOf(p.Attribute, p.Field))
	}
	for _, it := range l.Items {
		if it.From == "" {
			for _, a := range it.Attributes {
				add(firstOf(a.In, a.Name))
			}
			continue
		}
		of := &forecast.Elements{Counts: []int{elements}}
		if it.Kind == "map" {
			of.Keys = []int{size}
		}
		names := map[string]bool{}
		for _, a := range it.Attributes {
			names[a.Name] = true
		}
		for _, p := range it.SortKey.Placeholders {
			if p.From == "element" {
				names[firstOf(p.Attribute, p.Field)] = true
			}
		}
		if of.Sizes = []int{size}; !it.Scalar {
			of.Sizes = nil
			for name := range names {
				of.Attributes = append(of.Attributes, forecast.Attribute{Name: name, Sizes: []int{len(name) + size}})
			}
		}
		a := add(it.From)
		a.Sizes, a.Elements = nil, of
	}
	return w
}

func TestMadeValuesAreValidForEachKindOfKeyAndExpiry(t *testing.T) {
	for _, model := range []reflect.Type{
		reflect.TypeFor[madeTicket](), reflect.TypeFor[madeNote](), reflect.TypeFor[madeHive](),
		reflect.TypeFor[madeKinds](),
	} {
		e, err := schema.Of(model)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{1, 3, 5, 10, 17, 20, 21, 24, 30, 35, 60} {
			for _, elements := range []int{0, 1, 100} {
				_, _, err := LayoutOf(e, madeWorkload(e, size, elements))
				if err != nil {
					t.Errorf("%v of size %d, %d elements: %s", model, size, elements, firstLines(err, 8))
				}
			}
		}
	}
}

func firstLines(err error, n int) string {
	lines := strings.Split(err.Error(), "\n")
	if len(lines) > n {
		lines = append(lines[:n], fmt.Sprintf("... %d more", len(lines)-n))
	}
	return strings.Join(lines, "\n")
}
