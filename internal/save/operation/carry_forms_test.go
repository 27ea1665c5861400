package operation_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// dated is a model whose elements have keys with less of a field than its attribute.
type dated struct {
	_       struct{}   `ddb:"table=dated"`
	ID      string     `ddb:"pk={ID}"`
	At      time.Time  `ddb:"sk=HEAD,root"`
	Entries []kit.Part `ddb:"sk=E#{^At:date}#{N:02}"`
}

// The same, if the root item has a value outside of it.
func TestAdditionsUnderAnOldValueOfLargeRoots(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type book struct {
		_       struct{}   `ddb:"table=books"`
		ID      string     `ddb:"pk=B#{ID}"`
		Year    string     `ddb:"sk=HEAD,root"`
		Text    string     `ddb:"sk=HEAD,chunk,inline=1KB"`
		Entries []kit.Part `ddb:"sk=E#{^Year}#{N:02}"`
	}
	m := kit.Must(mapper.New[book](testengine.Start(t).Client(), mapper.Table(testengine.Table(t, "PK:S", "SK:S"))))(t)
	kit.Must(m.Save(ctx, m.New(book{ID: "1", Year: "2020", Text: strings.Repeat("x", 5000)})))(t)
	stale, mover := kit.Must(m.Load(ctx, m.Key("1")))(t), kit.Must(m.Load(ctx, m.Key("1")))(t)
	mover.Value.Year = "2021"
	kit.Must(m.Save(ctx, mover, mapper.Move()))(t)
	stale.Value.Entries = []kit.Part{{N: 2}}
	_, err := m.Save(ctx, stale)
	if e := kit.Must(m.Load(ctx, m.Key("1"), mapper.Strong()))(t); err == nil && len(e.Value.Entries) == 0 {
		t.Error("acknowledged, hidden:", e.Unknown())
	}
}

// A refused addition does not take back an item that another program has updated, after the field has its old value
// again.
func TestTakeBackLeavesUpdates(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
	other := kit.Must(mapper.New[book](testengine.Start(t).Client(), table))(t)
	f := &kit.Faulty{At: -1}
	m := kit.Must(mapper.New[book](kit.Client(t, f, 1), table))(t)
	kit.Must(other.Save(ctx, other.New(book{ID: "1", Year: "2020"})))(t)
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	move := func(year string) {
		x := kit.Must(other.Load(ctx, other.Key("1"), mapper.Strong()))(t)
		x.Value.Year = year
		kit.Must(other.Save(ctx, x, mapper.Move()))(t)
	}
	f.Log, f.Pick = nil, func() kit.Fault {
		switch f.Log[len(f.Log)-1] {
		case "GetItem": // it has put the element, and reads the root item
			move("2021") // carries the element
		case "DeleteItem": // it takes the element back
			move("2020")
			x := kit.Must(other.Load(ctx, other.Key("1"), mapper.Strong()))(t)
			x.Value.Entries[0].Text = "updated"
			kit.Must(other.Save(ctx, x))(t)
		}
		return kit.None
	}
	e.Value.Entries = []kit.Part{{N: 2}}
	_, err := m.Save(ctx, e)
	if x := kit.Must(other.Load(ctx, other.Key("1"), mapper.Strong()))(t); len(x.Value.Entries) == 0 {
		t.Error("an acknowledged update is lost:", err)
	}
}

// An addition to a part without the root item is not refused because its key has less than the attribute.
func TestAdditionsOfPartsWithFormats(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	at := time.Date(2021, 11, 14, 9, 30, 0, 0, time.UTC)
	m := kit.Must(mapper.New[dated](testengine.Start(t).Client(), mapper.Table(testengine.Table(t, "PK:S", "SK:S"))))(t)
	kit.Must(m.Save(ctx, m.New(dated{ID: "1", At: at, Entries: []kit.Part{{N: 1}}})))(t)
	for i, save := range []func(e *mapper.Entity[dated]) error{
		func(e *mapper.Entity[dated]) error { _, err := m.Save(ctx, e); return err },
		func(e *mapper.Entity[dated]) error { _, err := m.Save(ctx, e, mapper.CheckLoaded()); return err },
		func(e *mapper.Entity[dated]) error {
			_, err := mapper.Transact(ctx, m.SavePart(e), m.SavePart(m.New(dated{ID: "o", At: at})))
			return err
		},
	} {
		for range 2 {
			e := kit.Must(m.Load(ctx, m.Key("1").Prefix("E#2021-11-14#")))(t)
			e.Value.Entries = append(e.Value.Entries, kit.Part{N: 10 + i})
			if err := save(e); err != nil {
				t.Error(i, err)
			} else {
				break
			}
		}
	}
}

// An item is carried, though the field has changed within the same date since the move.
func TestCarriesAfterChangeOfSameKey(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	at := time.Date(2021, 11, 14, 9, 30, 0, 0, time.UTC)
	table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
	other := kit.Must(mapper.New[dated](testengine.Start(t).Client(), table))(t)
	f := &kit.Faulty{At: -1}
	m := kit.Must(mapper.New[dated](kit.Client(t, f, 1), table))(t)
	kit.Must(other.Save(ctx, other.New(dated{ID: "1", At: at})))(t)
	e, adder := kit.Must(m.Load(ctx, m.Key("1")))(t), kit.Must(other.Load(ctx, other.Key("1")))(t)
	adder.Value.Entries = []kit.Part{{N: 2}}
	kit.Must(other.Save(ctx, adder))(t)
	f.Log, f.Pick = nil, func() kit.Fault {
		if len(f.Log) == 2 { // the move is done: the query of the old key
			x := kit.Must(other.Load(ctx, other.Key("2"), mapper.Strong()))(t)
			x.Value.At = at.Add(time.Minute)
			kit.Must(other.Save(ctx, x))(t)
		}
		return kit.None
	}
	e.Value.ID = "2"
	for range 2 {
		if _, err := m.Save(ctx, e, mapper.Move()); err != nil {
			t.Error(len(f.Log), err)
		}
	}
	x := kit.Must(other.Load(ctx, other.Key("2"), mapper.Strong()))(t)
	_, err := other.Save(ctx, x, mapper.Move())
	if x = kit.Must(other.Load(ctx, other.Key("2"), mapper.Strong()))(t); len(x.Value.Entries) == 0 {
		t.Error("lost, and a fresh move says:", err)
	}
}

// With drawn shards, an item without an incarnation does not go to another entity with the same key.
func TestDrawnShardsMixNoEntities(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	type fewer struct {
		_    struct{}   `ddb:"table=logs,shards='100,120',shardby=random"`
		Log  string     `ddb:"pk=L#{Log}#{shard}"`
		N    int        `ddb:"sk={N:06}#H"`
		To   string     `ddb:"sk={N:06}#H"`
		Rows []kit.Part `ddb:"sk={^N:06}#R#{N:02}"`
	}
	name := testengine.Table(t, "PK:S", "SK:S")
	b := kit.Must(mapper.New[fewer](testengine.Start(t).Client(), mapper.Table(name)))(t)
	f := &kit.Faulty{At: -1}
	m := kit.Must(mapper.New[fewer](kit.Client(t, f, 1), mapper.Table(name)))(t)
	putPlain(t, name, map[string]types.AttributeValue{"PK": kit.S("L#l#1"), "SK": kit.S("000005#H"), "To": kit.S("A")})
	putPlain(t, name, map[string]types.AttributeValue{
		"PK": kit.S("L#l#107"), "SK": kit.S("000005#H"),
		"To": kit.S("B"),
	})
	mine, theirs := map[string]*mapper.Entity[fewer]{}, map[string]*mapper.Entity[fewer]{}
	for e, err := range m.Scan(ctx) {
		mine[kit.Must(e, err)(t).Value.To] = e
	}
	for e, err := range b.Scan(ctx) {
		theirs[kit.Must(e, err)(t).Value.To] = e
	}
	theirs["B"].Value.Rows = []kit.Part{{N: 1}}
	kit.Must(b.Save(ctx, theirs["B"]))(t)
	f.Log, f.Pick = nil, func() kit.Fault {
		if len(f.Log) == 2 { // B has moved: another scan saves A, which is on its shard
			kit.Must(b.Save(ctx, theirs["A"], mapper.Move()))(t)
		}
		return kit.None
	}
	kit.Must(m.Save(ctx, mine["B"], mapper.Move()))(t)
	for e, err := range query.Of[fewer](b.Key("l")).All(ctx, b) {
		if kit.Must(e, err)(t); (e.To == "A") != (len(e.Rows) == 0) {
			t.Errorf("%+v", e)
		}
	}
}

// noted is a book with a note in an item of its own.
type noted struct {
	_       struct{}   `ddb:"table=books"`
	ID      string     `ddb:"pk={ID}"`
	Year    string     `ddb:"sk=HEAD,root"`
	Note    string     `ddb:"sk=NOTE"`
	Entries []kit.Part `ddb:"sk=E#{^Year}#{N:02}"`
}

// If an addition is refused after its transaction, the error names the items that were written with it.
func TestRefusedAdditionNamesWhatWasWritten(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.Must(mapper.New[noted](testengine.Start(t).Client(), mapper.Table(testengine.Table(t, "PK:S", "SK:S"))))(t)
	kit.Must(m.Save(ctx, m.New(noted{ID: "1", Year: "2020", Note: "old"})))(t)
	stale, mover := kit.Must(m.Load(ctx, m.Key("1")))(t), kit.Must(m.Load(ctx, m.Key("1")))(t)
	mover.Value.Year = "2021"
	kit.Must(m.Save(ctx, mover, mapper.Move()))(t)
	stale.Value.Note, stale.Value.Entries = "new", []kit.Part{{N: 2}}
	_, err := m.Save(ctx, stale)
	x := kit.Must(m.Load(ctx, m.Key("1"), mapper.Strong()))(t)
	var partial *mapper.PartialError
	if !errors.As(err, new(*mapper.ConflictError)) || !errors.As(err, &partial) || len(partial.Written) != 1 ||
		len(partial.Rest) != 1 || x.Value.Note != "new" {
		t.Errorf("%v, but the note is %q", err, x.Value.Note)
	}
}

// Another program moves the elements back before the mover looks for additions.
func TestElementsThatCameBackStay(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
	other := kit.Must(mapper.New[book](testengine.Start(t).Client(), table))(t)
	f := &kit.Faulty{At: -1}
	m := kit.Must(mapper.New[book](kit.Client(t, f, 1), table))(t)
	kit.Must(other.Save(ctx, other.New(book{ID: "1", Year: "2020", Entries: []kit.Part{{N: 1}}})))(t)
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	e.Value.Year = "2021"
	f.Log, f.Pick = nil, func() kit.Fault {
		if len(f.Log) == 2 {
			x := kit.Must(other.Load(ctx, other.Key("1"), mapper.Strong()))(t)
			x.Value.Year = "2020"
			kit.Must(other.Save(ctx, x, mapper.Move()))(t)
		}
		return kit.None
	}
	if _, err := m.Save(ctx, e, mapper.Move()); err != nil {
		t.Error(len(f.Log), err)
	}
}

// An entity that moves back after an interrupted move does not carry its own items.
func TestMoveBackCarriesNothingOfItsOwn(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	f := &kit.Faulty{At: -1}
	m := kit.Must(mapper.New[book](kit.Client(t, f, 1), mapper.Table(testengine.Table(t, "PK:S", "SK:S"))))(t)
	kit.Must(m.Save(ctx, m.New(book{ID: "1", Year: "2020", Entries: []kit.Part{{N: 1}}})))(t)
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	e.Value.Year = "2021"
	f.Log, f.Pick = nil, func() kit.Fault {
		if len(f.Log) == 2 {
			return kit.Deny
		}
		return kit.None
	}
	if _, err := m.Save(ctx, e, mapper.Move()); err == nil {
		t.Fatal("no error")
	}
	e.Value.Year = "2020"
	if r := kit.Must(m.Save(ctx, e, mapper.Move()))(t); len(r.Carried) > 0 {
		t.Error("carried:", r.Carried)
	}
	e.Value.Entries[0].Text = "x"
	if _, err := m.Save(ctx, e); err != nil {
		t.Error("nobody else writes:", err)
	}
}

// Without versions, a change within the same date refuses no addition.
func TestFormatsWithoutVersions(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type dated struct {
		_       struct{}   `ddb:"table=dated,noversion"`
		ID      string     `ddb:"pk={ID}"`
		At      time.Time  `ddb:"sk=HEAD,root"`
		Text    string     `ddb:"sk=HEAD"`
		Entries []kit.Part `ddb:"sk=E#{^At:date}#{N:02}"`
	}
	at := time.Date(2021, 11, 14, 9, 30, 0, 0, time.UTC)
	m := kit.Must(mapper.New[dated](testengine.Start(t).Client(), mapper.Table(testengine.Table(t, "PK:S", "SK:S"))))(t)
	kit.Must(m.Save(ctx, m.New(dated{ID: "1", At: at})))(t)
	stale, o := kit.Must(m.Load(ctx, m.Key("1")))(t), kit.Must(m.Load(ctx, m.Key("1")))(t)
	o.Value.At = at.Add(time.Hour)
	kit.Must(m.Save(ctx, o))(t)
	stale.Value.Text, stale.Value.Entries = "t", []kit.Part{{N: 2}}
	if _, err := m.Save(ctx, stale); err != nil {
		t.Error(err)
	}
}
