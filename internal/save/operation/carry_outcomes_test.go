package operation_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// A save that deletes an element gets no answer while another program moves the elements. A repeated save does not say
// that the element was deleted.
func TestRepeatedSaveAfterUnknownDelete(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
	other := kit.Must(mapper.New[book](testengine.Start(t).Client(), table))(t)
	for name, change := range map[string]func(*book){
		"elements": func(v *book) { v.Year = "2021" },
		"moved":    func(v *book) { v.ID += "moved" },
	} {
		f := &kit.Faulty{At: -1}
		m := kit.Must(mapper.New[book](kit.Client(t, f, 3), table))(t)
		kit.Must(other.Save(ctx, other.New(book{ID: name, Year: "2020", Entries: []kit.Part{{N: 1}, {N: 2}}})))(t)
		e := kit.Must(m.Load(ctx, m.Key(name)))(t)
		e.Value.Entries = e.Value.Entries[:1]
		lost := 0
		f.Pick = func() kit.Fault {
			if f.Log[len(f.Log)-1] != "DeleteItem" {
				return kit.None
			}
			if lost++; lost > 1 {
				return kit.None
			}
			next := kit.Must(other.Load(ctx, other.Key(name)))(t)
			change(&next.Value)
			kit.Must(other.Save(ctx, next, mapper.Move()))(t)
			return kit.DropRequest
		}
		_, err := m.Save(ctx, e)
		f.Pick = nil
		if !errors.As(err, new(*mapper.OutcomeUnknownError)) {
			t.Errorf("%s: first: %v", name, err)
		}
		_, err2 := m.Save(ctx, e)
		to := name
		if name == "moved" {
			to += "moved"
		}
		now := kit.Must(other.Load(ctx, other.Key(to), mapper.Strong()))(t)
		if err2 == nil && len(now.Value.Entries) == 2 {
			t.Errorf("%s: the repeated save says nil, but the element was not deleted: %+v", name, now.Value)
		}
	}
}

// Of two independent deletes, each can be the one without an answer while the elements move: its outcome is unknown.
func TestIndependentDeletesDuringMove(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
	other := kit.Must(mapper.New[book](testengine.Start(t).Client(), table))(t)
	for _, which := range []int{1, 2} {
		f := &kit.Faulty{At: -1}
		m := kit.Must(mapper.New[book](kit.Client(t, f, 3), table))(t)
		id := []string{"", "a", "b"}[which]
		kit.Must(other.Save(ctx, other.New(book{ID: id, Year: "2020", Entries: []kit.Part{{N: 1}, {N: 2}, {N: 3}}})))(t)
		e := kit.Must(m.Load(ctx, m.Key(id)))(t)
		e.Value.Entries = e.Value.Entries[:1]
		n := 0
		f.Pick = func() kit.Fault {
			if f.Log[len(f.Log)-1] != "DeleteItem" {
				return kit.None
			}
			if n++; n != which {
				return kit.None
			}
			next := kit.Must(other.Load(ctx, other.Key(id), mapper.Strong()))(t)
			next.Value.Year = "2021"
			kit.Must(other.Save(ctx, next, mapper.Move()))(t)
			return kit.DropRequest
		}
		_, err := m.Save(ctx, e, mapper.Independent())
		f.Pick = nil
		if !errors.As(err, new(*mapper.OutcomeUnknownError)) {
			t.Errorf("%d: %v", which, err)
		}
	}
}

// A delete never arrives, and the elements move afterwards. A repeated save does not say that they were deleted.
func TestRepeatedSaveAfterLaterMove(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
	other := kit.Must(mapper.New[book](testengine.Start(t).Client(), table))(t)
	for _, deletes := range []int{1, 2} { // a plain delete; a transaction of two
		id := []string{"", "one", "two"}[deletes]
		f := &kit.Faulty{At: -1}
		m := kit.Must(mapper.New[book](kit.Client(t, f, 1), table))(t)
		kit.Must(other.Save(ctx, other.New(book{ID: id, Year: "2020", Entries: []kit.Part{{N: 1}, {N: 2}, {N: 3}}})))(t)
		e := kit.Must(m.Load(ctx, m.Key(id)))(t)
		e.Value.Entries = e.Value.Entries[:3-deletes]
		f.Pick = func() kit.Fault { return kit.DropRequest }
		_, err := m.Save(ctx, e)
		f.Pick = nil
		if !errors.As(err, new(*mapper.OutcomeUnknownError)) {
			t.Errorf("%d: first: %v", deletes, err)
		}
		next := kit.Must(other.Load(ctx, other.Key(id), mapper.Strong()))(t)
		next.Value.Year = "2021"
		kit.Must(other.Save(ctx, next, mapper.Move()))(t)
		_, err = m.Save(ctx, e)
		now := kit.Must(other.Load(ctx, other.Key(id), mapper.Strong()))(t)
		if !errors.As(err, new(*mapper.OutcomeUnknownError)) || len(now.Value.Entries) != 3 {
			t.Errorf("%d: %v, but nothing was deleted: %+v", deletes, err, now.Value)
		}
		// The delete cannot arrive any more.
		door.Mapper.Model(m).Now = func() time.Time { return time.Now().Add(16 * time.Minute) }
		if _, err = m.Save(ctx, e); !errors.As(err, new(*mapper.ConflictError)) {
			t.Errorf("%d, later: %v", deletes, err)
		}
	}
}

// Two parts of a transaction write one entity, and one of them was loaded before a field changed that keys of elements
// name. One check of the root item stands for both, and requires the fields of both.
func TestCoveredChecksKeepTheirFields(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
	m := kit.Must(mapper.New[book](testengine.Start(t).Client(), table))(t)
	for name, change := range map[string]func(*book){
		"adds":         func(v *book) { v.Entries = append(v.Entries, kit.Part{N: 3}) },
		"updates root": func(v *book) { v.Text = "new" },
	} {
		for _, staleFirst := range []bool{true, false} {
			id := name + map[bool]string{true: "1", false: "2"}[staleFirst]
			kit.Must(m.Save(ctx, m.New(book{ID: id, Year: "2020", Entries: []kit.Part{{N: 1}}})))(t)
			stale, mover := kit.Must(m.Load(ctx, m.Key(id)))(t), kit.Must(m.Load(ctx, m.Key(id)))(t)
			mover.Value.Year = "2021"
			kit.Must(m.Save(ctx, mover, mapper.Move()))(t)
			fresh := kit.Must(m.Load(ctx, m.Key(id), mapper.Strong()))(t)
			stale.Value.Entries = append(stale.Value.Entries, kit.Part{N: 2})
			change(&fresh.Value)
			a, b := m.SavePart(stale), m.SavePart(fresh)
			if !staleFirst {
				a, b = b, a
			}
			_, err := mapper.Transact(ctx, a, b)
			x := kit.Must(m.Load(ctx, m.Key(id), mapper.Strong()))(t)
			if err == nil && x.Unknown() > 0 {
				t.Errorf("%s: acknowledged, and hidden: %+v, %d unknown", id, x.Value, x.Unknown())
			}
		}
	}
}

// What an independent save wrote before it was planned again is in the PartialError of an addition that is refused.
func TestRefusedAdditionAfterRetryIsPartial(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[noted](testengine.Start(t).Client(), mapper.Table(table)))(t)
	putPlain(t, table, map[string]types.AttributeValue{
		"PK": kit.S("1"), "SK": kit.S("E#2020#02"), "_a": bytesOf("deadbeef"), "_v": bytesOf("12345678"),
	})
	kit.Must(m.Save(ctx, m.New(noted{ID: "1", Year: "2020", Note: "old"})))(t)
	stale, mover := kit.Must(m.Load(ctx, m.Key("1")))(t), kit.Must(m.Load(ctx, m.Key("1")))(t)
	mover.Value.Year = "2021"
	kit.Must(m.Save(ctx, mover, mapper.Move()))(t)
	stale.Value.Note, stale.Value.Entries = "new", []kit.Part{{N: 2}}
	_, err := m.Save(ctx, stale, mapper.Independent())
	x := kit.Must(m.Load(ctx, m.Key("1"), mapper.Strong()))(t)
	var partial *mapper.PartialError
	if x.Value.Note == "new" && !errors.As(err, &partial) {
		t.Errorf("the note was written, but the error does not say so: %v", err)
	}
}

// A part of a transaction that writes nothing is not asked whether the deleted item of another part has moved.
func TestDeleteInTransactionWithIdlePart(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
	f := &kit.Faulty{At: -1}
	m := kit.Must(mapper.New[book](kit.Client(t, f, 3), table))(t)
	for _, idle := range []bool{false, true} {
		id := map[bool]string{true: "1", false: "2"}[idle]
		kit.Must(m.Save(ctx, m.New(book{ID: id, Year: "2020", Entries: []kit.Part{{N: 1}, {N: 2}}})))(t)
		kit.Must(m.Save(ctx, m.New(book{ID: "o" + id, Year: "2020"})))(t)
		e, o := kit.Must(m.Load(ctx, m.Key(id)))(t), kit.Must(m.Load(ctx, m.Key("o"+id)))(t)
		e.Value.Entries = e.Value.Entries[:1]
		f.Log = nil
		f.Pick = func() kit.Fault {
			if len(f.Log) == 1 {
				return kit.DropAnswer
			}
			return kit.None
		}
		parts := []mapper.Part{m.SavePart(e)}
		if idle {
			parts = append(parts, m.SavePart(o))
		}
		_, err := mapper.Transact(ctx, parts...)
		f.Pick = nil
		if err != nil {
			t.Errorf("idle %v: the delete was applied, nobody else writes: %v %v", idle, err, f.Log)
		}
	}
}

// Elements that move away before a delete is sent again, and come back before the root item is read, do not look
// deleted. They may move again before the item is read.
func TestDeleteAndMoveThereAndBack(t *testing.T) {
	t.Parallel()
	for _, years := range [][]string{{"2020"}, {"2020", "2021"}} { // before each read
		deleteDuringMoves(t, years)
	}
}

func deleteDuringMoves(t *testing.T, years []string) {
	t.Helper()
	ctx := request.WithoutPauses(context.Background())
	table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
	other := kit.Must(mapper.New[book](testengine.Start(t).Client(), table))(t)
	f := &kit.Faulty{At: -1}
	m := kit.Must(mapper.New[book](kit.Client(t, f, 3), table))(t)
	kit.Must(other.Save(ctx, other.New(book{ID: "1", Year: "2020", Entries: []kit.Part{{N: 1}, {N: 2}}})))(t)
	move := func(year string) {
		x := kit.Must(other.Load(ctx, other.Key("1"), mapper.Strong()))(t)
		x.Value.Year = year
		kit.Must(other.Save(ctx, x, mapper.Move()))(t)
	}
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	e.Value.Entries = e.Value.Entries[:1]
	f.Log = nil
	f.Pick = func() kit.Fault {
		switch f.Log[len(f.Log)-1] {
		case "DeleteItem":
			if len(f.Log) == 1 {
				move("2021")
				return kit.DropRequest
			}
		case "GetItem":
			if len(years) > 0 {
				move(years[0])
				years = years[1:]
			}
		}
		return kit.None
	}
	_, err := m.Save(ctx, e)
	x := kit.Must(other.Load(ctx, other.Key("1"), mapper.Strong()))(t)
	if err == nil && len(x.Value.Entries) == 2 {
		t.Errorf("nil, but the element was not deleted: %+v %v", x.Value, f.Log)
	}
}

// If another item than the root item stores the field that keys name, a missing element does not show that it was
// deleted.
func TestDeleteAndFieldOfAnotherItem(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	type meta struct {
		_       struct{}   `ddb:"table=books"`
		ID      string     `ddb:"pk={ID}"`
		Text    string     `ddb:"sk=HEAD,root"`
		Year    string     `ddb:"sk=META"`
		Entries []kit.Part `ddb:"sk=E#{^Year}#{N:02}"`
	}
	table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
	other := kit.Must(mapper.New[meta](testengine.Start(t).Client(), table))(t)
	f := &kit.Faulty{At: -1}
	m := kit.Must(mapper.New[meta](kit.Client(t, f, 3), table))(t)
	kit.Must(other.Save(ctx, other.New(meta{ID: "1", Year: "2020", Text: "t", Entries: []kit.Part{{N: 1}, {N: 2}}})))(t)
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	e.Value.Entries = e.Value.Entries[:1]
	f.Log = nil
	f.Pick = func() kit.Fault {
		if f.Log[len(f.Log)-1] == "DeleteItem" && len(f.Log) == 1 {
			x := kit.Must(other.Load(ctx, other.Key("1"), mapper.Strong()))(t)
			x.Value.Year = "2021"
			kit.Must(other.Save(ctx, x, mapper.Move()))(t)
			return kit.DropRequest
		}
		return kit.None
	}
	_, err := m.Save(ctx, e)
	x := kit.Must(other.Load(ctx, other.Key("1"), mapper.Strong()))(t)
	if err == nil && len(x.Value.Entries) == 2 {
		t.Errorf("nil, but the element was not deleted: %+v %v", x.Value, f.Log)
	}
}

// An addition that another program has updated is not taken back, also without versions.
func TestTakeBackLeavesUpdatesWithoutVersions(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
	other := kit.Must(mapper.New[unversioned](testengine.Start(t).Client(), table))(t)
	f := &kit.Faulty{At: -1}
	m := kit.Must(mapper.New[unversioned](kit.Client(t, f, 1), table))(t)
	kit.Must(other.Save(ctx, other.New(unversioned{ID: "1", Year: "2020"})))(t)
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	move := func(year string) {
		x := kit.Must(other.Load(ctx, other.Key("1"), mapper.Strong()))(t)
		x.Value.Year = year
		kit.Must(other.Save(ctx, x, mapper.Move()))(t)
	}
	f.Log, f.Pick = nil, func() kit.Fault {
		switch f.Log[len(f.Log)-1] {
		case "GetItem":
			move("2021")
		case "DeleteItem":
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
		t.Errorf("an acknowledged update is lost: %v %v", err, f.Log)
	}
}

// The outcome of an addition that is refused, and whose deletion fails, is unknown: it is seen once the field has its
// old value again.
func TestFailedTakeBackIsUnknown(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
	other := kit.Must(mapper.New[book](testengine.Start(t).Client(), table))(t)
	for name, fails := range map[string]kit.Fault{"denied": kit.Deny, "lost": kit.DropRequest} {
		f := &kit.Faulty{At: -1}
		m := kit.Must(mapper.New[book](kit.Client(t, f, 1), table))(t)
		kit.Must(other.Save(ctx, other.New(book{ID: name, Year: "2020", Entries: []kit.Part{{N: 1}}})))(t)
		e := kit.Must(m.Load(ctx, m.Key(name)))(t)
		move := func(year string) {
			x := kit.Must(other.Load(ctx, other.Key(name), mapper.Strong()))(t)
			x.Value.Year = year
			kit.Must(other.Save(ctx, x, mapper.Move()))(t)
		}
		move("2021")
		f.Log, f.Pick = nil, func() kit.Fault {
			if len(f.Log) >= 3 { // after PutItem and GetItem
				return fails
			}
			return kit.None
		}
		e.Value.Entries = append(e.Value.Entries, kit.Part{N: 2})
		_, err := m.Save(ctx, e)
		move("2020")
		x := kit.Must(other.Load(ctx, other.Key(name), mapper.Strong()))(t)
		if !errors.As(err, new(*mapper.OutcomeUnknownError)) && len(x.Value.Entries) == 2 {
			t.Errorf("%s: not written, says the error, but everyone sees it: %v: %+v", name, err, x.Value)
		}
	}
}

// If one part of a transaction of deletes cannot be finished, the next ones are.
func TestEachPartIsFinished(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	tableName := testengine.Table(t, "PK:S", "SK:S")
	table := mapper.Table(tableName)
	other := kit.Must(mapper.New[book](testengine.Start(t).Client(), table))(t)
	f := &kit.Faulty{At: -1}
	m := kit.Must(mapper.New[book](kit.Client(t, f, 1), table))(t)
	var both []*mapper.Entity[book]
	for _, id := range []string{"1", "2"} {
		kit.Must(other.Save(ctx, other.New(book{ID: id, Year: "2020", Entries: []kit.Part{{N: 1}}})))(t)
		both = append(both, kit.Must(m.Load(ctx, m.Key(id)))(t))
		o := kit.Must(other.Load(ctx, other.Key(id)))(t)
		o.Value.Entries = append(o.Value.Entries, kit.Part{N: 2})
		kit.Must(other.Save(ctx, o))(t)
	}
	queries := 0
	f.Log, f.Pick = nil, func() kit.Fault {
		if f.Log[len(f.Log)-1] == "Query" {
			if queries++; queries == 1 {
				return kit.Deny
			}
		}
		return kit.None
	}
	_, err := mapper.Transact(ctx, m.DeletePart(both[0]), m.DeletePart(both[1]))
	f.Pick = nil
	if !errors.As(err, new(*mapper.PartialError)) {
		t.Error(err)
	}
	left := 0
	out := kit.Must(testengine.Start(t).Client().Scan(ctx, &dynamodb.ScanInput{
		TableName: aws.String(tableName),
	}))(t)
	for _, a := range out.Items {
		if a["PK"].(*types.AttributeValueMemberS).Value == "2" {
			left++
		}
	}
	if left > 0 {
		t.Errorf("%d items of the second entity are left", left)
	}
	if _, err := m.Save(ctx, both[1]); err != nil {
		t.Error("the second entity was deleted, and a save inserts it again:", err)
	}
}

// A program without the library changes the field, and no version. An addition is refused, also if the save writes the
// root item.
func TestForeignChangeOfFieldRefusesAdditions(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	name := testengine.Table(t, "PK:S", "SK:S")
	m := kit.Must(mapper.New[book](testengine.Start(t).Client(), mapper.Table(name)))(t)
	for id, change := range map[string]func(v *book){
		"addition alone": func(*book) {}, "with the root item": func(v *book) { v.Text = "new" },
	} {
		kit.Must(m.Save(ctx, m.New(book{ID: id, Year: "2020"})))(t)
		e := kit.Must(m.Load(ctx, m.Key(id)))(t)
		kit.Must(testengine.Start(t).Client().UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: aws.String(name), Key: map[string]types.AttributeValue{"PK": kit.S(id), "SK": kit.S("HEAD")},
			UpdateExpression:          aws.String("SET #y = :y"),
			ExpressionAttributeNames:  map[string]string{"#y": "Year"},
			ExpressionAttributeValues: map[string]types.AttributeValue{":y": kit.S("2021")},
		}))(t)
		e.Value.Entries = []kit.Part{{N: 2}}
		change(&e.Value)
		_, err := m.Save(ctx, e)
		x := kit.Must(m.Load(ctx, m.Key(id), mapper.Strong()))(t)
		if err == nil && len(x.Value.Entries) == 0 {
			t.Errorf("%s: acknowledged, hidden: %+v, %d unknown", id, x.Value, x.Unknown())
		}
	}
}

// An entity moves away and back. An item without an incarnation, which it shows, is not left behind.
func TestMoveBackLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	f := &kit.Faulty{At: -1}
	m := boardsOf(t, table, kit.Client(t, f, 1))
	kit.Must(m.Save(ctx, m.New(kit.Board{ID: "1", Main: kit.Cells{Text: "x"}})))(t)
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	f.Log, f.Pick = nil, func() kit.Fault {
		if f.Log[len(f.Log)-1] == "Query" {
			return kit.Deny
		}
		return kit.None
	}
	e.Value.ID = "2"
	if _, err := m.Save(ctx, e, mapper.Move()); !errors.As(err, new(*mapper.PartialError)) {
		t.Fatal(err)
	}
	f.Pick = nil
	putPlain(t, table, map[string]types.AttributeValue{
		"PK": kit.S("BOARD#1"), "SK": kit.S("ROW#07"),
		"Text": kit.S("foreign"),
	})
	e.Value.ID = "1"
	r, err := m.Save(ctx, e, mapper.Move())
	got := loadBoard(t, m, "1").Rows
	if len(got) != 1 || len(r.LeftBehind) > 0 || err != nil {
		t.Errorf("the entity shows %v, and LeftBehind has %v: %v", got, r.LeftBehind, err)
	}
}

// An independent save that is refused after it has added an element takes the element back if nobody would see it.
func TestPartialErrorsListNoHiddenAdditions(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	m := kit.Must(mapper.New[book](testengine.Start(t).Client(), mapper.Table(testengine.Table(t, "PK:S", "SK:S"))))(t)
	kit.Must(m.Save(ctx, m.New(book{ID: "1", Year: "2020", Entries: []kit.Part{{N: 1}}})))(t)
	e, x := kit.Must(m.Load(ctx, m.Key("1")))(t), kit.Must(m.Load(ctx, m.Key("1")))(t)
	x.Value.Year = "2021"
	kit.Must(m.Save(ctx, x, mapper.Move()))(t)
	e.Value.Entries = []kit.Part{{N: 0}, {N: 1, Text: "new"}}
	_, err := m.Save(ctx, e, mapper.Independent())
	now := kit.Must(m.Load(ctx, m.Key("1"), mapper.Strong()))(t)
	var partial *mapper.PartialError
	if errors.As(err, &partial) && len(partial.Written) > 0 && len(now.Value.Entries) == 1 {
		t.Errorf("listed as written, and hidden: %v, %d unknown", partial.Written, now.Unknown())
	}
	if hidden := kit.Must(m.Load(ctx, m.Key("1"), mapper.Strong()))(t).Unknown(); hidden > 0 || err == nil {
		t.Errorf("%d items are hidden after %v", hidden, err)
	}
}

// The answer of a move is lost, and another program writes all that has moved. The repeated move is unknown: nothing
// shows who has moved the entity.
func TestRepeatedMoveOfChangedEntityIsUnknown(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := boardsOf(t, table, kit.Client(t, &kit.Faulty{At: -1}, 1))
	f := &kit.Faulty{At: -1}
	m := boardsOf(t, table, kit.Client(t, f, 1))
	kit.Must(clean.Save(ctx, clean.New(kit.Board{ID: "1", Main: kit.Cells{Text: "x"}})))(t)
	e, o := kit.Must(m.Load(ctx, m.Key("1")))(t), kit.Must(clean.Load(ctx, clean.Key("1")))(t)
	o.Value.Rows = []kit.Cells{{N: 1, Text: "late"}}
	kit.Must(clean.Save(ctx, o))(t)
	f.Log, f.Pick = nil, func() kit.Fault {
		if len(f.Log) == 1 {
			return kit.DropAnswer
		}
		return kit.DropRequest
	}
	e.Value.ID = "2"
	if _, err := m.Save(ctx, e, mapper.Move()); !errors.As(err, new(*mapper.OutcomeUnknownError)) {
		t.Error(err)
	}
	f.Pick = nil
	x := kit.Must(clean.Load(ctx, clean.Key("2"), mapper.Strong()))(t)
	x.Value.Main.Text = "changed"
	kit.Must(clean.Save(ctx, x))(t)
	for range 2 {
		if _, err := m.Save(ctx, e, mapper.Move()); !errors.As(err, new(*mapper.OutcomeUnknownError)) {
			t.Errorf("the move was applied, and the error says: %v", err)
		}
	}
}
