package kit

import (
	"slices"
	"testing"
	"time"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
)

// Board has a field of each kind on its root, on another item, and on its elements.
type Board struct {
	_     struct{} `ddb:"table=boards"`
	ID    string   `ddb:"pk=BOARD#{ID}"`
	Main  Cells    `ddb:"sk=A"`
	Other Cells    `ddb:"sk=OTHER"`
	Rows  []Cells  `ddb:"sk=ROW#{N:02}"`
}

// Cells are the fields of an item of a Board.
type Cells struct {
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
	Inner  Inner          `ddb:"was='old-Inner,older-Inner'"`
	Far    *Inner         `ddb:"was='old-Far,older-Far'"`
	Left   string         `ddb:"was='old-Left,older-Left'" dynamodbav:",omitempty"`
}

// Inner is a struct in an item.
type Inner struct {
	City string `dynamodbav:"city"`
	N    int
	Deep map[string]string
}

var innerForm = mapperimpl.Struct(mapperimpl.Funcs[Inner]{})

// InnerFields are handles of the fields of Inner.
var InnerFields = struct {
	City *field.String[*Inner, string]
	N    *field.Number[*Inner, int]
	Deep *field.Map[*Inner, map[string]string, string, *field.String[*Inner, string]]
}{
	handmade.String("City", "city", func(v *Inner) *string { return &v.City }),
	handmade.Number("N", "", func(v *Inner) *int { return &v.N }),
	handmade.Map[*field.String[*Inner, string]]("Deep", "", func(v *Inner) *map[string]string { return &v.Deep },
		mapperimpl.Map[map[string]string](mapperimpl.String[string]())),
}

// CellFields are handles of the fields of Cells.
var CellFields = struct {
	State  *field.String[*Cells, string]
	Text   *field.String[*Cells, string]
	Small  *field.Number[*Cells, int8]
	Count  *field.Number[*Cells, int]
	Share  *field.Number[*Cells, float64]
	Done   *field.Value[*Cells, bool]
	Seen   *field.Ordered[*Cells, time.Time]
	Data   *field.Ordered[*Cells, []byte]
	Note   *field.Value[*Cells, *string]
	Tags   *field.Set[*Cells, string]
	Primes *field.Set[*Cells, int]
	Lines  *field.List[*Cells, string]
	Counts *field.Map[*Cells, map[string]int, string, *field.Number[*Cells, int]]
	Inner  *field.Struct[*Cells, Inner]
	Far    *field.Struct[*Cells, Inner]
	Left   *field.String[*Cells, string]
}{
	handmade.String("State", "", func(v *Cells) *string { return &v.State }),
	handmade.String("Text", "", func(v *Cells) *string { return &v.Text }),
	handmade.Number("Small", "", func(v *Cells) *int8 { return &v.Small }),
	handmade.Number("Count", "", func(v *Cells) *int { return &v.Count }),
	handmade.Number("Share", "", func(v *Cells) *float64 { return &v.Share }),
	handmade.Bool("Done", "", func(v *Cells) *bool { return &v.Done }),
	handmade.Time("Seen", ",unixtime", func(v *Cells) *time.Time { return &v.Seen }),
	handmade.Bytes("Data", "", func(v *Cells) *[]byte { return &v.Data }),
	handmade.Value("Note", "", func(v *Cells) **string { return &v.Note },
		mapperimpl.Pointer(mapperimpl.String[string]())),
	handmade.Set("Tags", ",stringset", func(v *Cells) *[]string { return &v.Tags },
		mapperimpl.Slice[[]string](mapperimpl.String[string]())),
	handmade.Set("Primes", "primes,numberset", func(v *Cells) *[]int { return &v.Primes },
		mapperimpl.Slice[[]int](mapperimpl.Numeric[int]())),
	handmade.List("Lines", "", func(v *Cells) *[]string { return &v.Lines },
		mapperimpl.Slice[[]string](mapperimpl.String[string]())),
	handmade.Map[*field.Number[*Cells, int]]("Counts", "", func(v *Cells) *map[string]int { return &v.Counts },
		mapperimpl.Map[map[string]int](mapperimpl.Numeric[int]())),
	handmade.Struct("Inner", "", func(v *Cells) *Inner { return &v.Inner }, innerForm),
	handmade.StructPointer("Far", "", func(v *Cells) **Inner { return &v.Far }, innerForm),
	handmade.String("Left", ",omitempty", func(v *Cells) *string { return &v.Left }),
}

// Plain returns cells in a normal form: empty is nil, and sets have no order.
func (c Cells) Plain() Cells {
	slices.Sort(c.Tags)
	slices.Sort(c.Primes)
	if len(c.Tags) == 0 {
		c.Tags = nil
	}
	if len(c.Primes) == 0 {
		c.Primes = nil
	}
	if len(c.Lines) == 0 {
		c.Lines = nil
	}
	if len(c.Counts) == 0 {
		c.Counts = nil
	}
	if len(c.Inner.Deep) == 0 {
		c.Inner.Deep = nil
	}
	if c.Far != nil {
		far := *c.Far
		if len(far.Deep) == 0 {
			far.Deep = nil
		}
		c.Far = &far
	}
	if len(c.Data) == 0 {
		c.Data = nil
	}
	if c.Seen.Equal(time.Time{}) {
		c.Seen = time.Time{}
	}
	c.Seen = c.Seen.UTC()
	return c
}

// NewBoards returns a mapper of boards, and its table.
func NewBoards(t *testing.T) (*mapper.Mapper[Board], string) {
	t.Helper()
	table := testengine.Table(t, "PK:S", "SK:S")
	return Must(mapper.New[Board](Client(t, &Faulty{At: -1}, 1), mapper.Table(table)))(t), table
}

// BoardMain is the node of the root item of board 1.
func BoardMain(m *mapper.Mapper[Board]) *mapper.ItemNode[Board, *Cells] {
	return mapperimpl.Item[Board, Cells](handmade.Node(m.Key("1")), 0)
}
