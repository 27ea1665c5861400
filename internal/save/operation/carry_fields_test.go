package operation_test

import (
	"context"
	"errors"
	"testing"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// book has elements whose keys name a field of the root item that is in no key of the entity.
type book struct {
	_       struct{}   `ddb:"table=books"`
	ID      string     `ddb:"pk={ID}"`
	Year    string     `ddb:"sk=HEAD,root"`
	Text    string     `ddb:"sk=HEAD"`
	Entries []kit.Part `ddb:"sk=E#{^Year}#{N:02}"`
}

// unversioned is book without versions.
type unversioned struct {
	_       struct{}   `ddb:"table=books,noversion"`
	ID      string     `ddb:"pk={ID}"`
	Year    string     `ddb:"sk=HEAD,root"`
	Text    string     `ddb:"sk=HEAD"`
	Entries []kit.Part `ddb:"sk=E#{^Year}#{N:02}"`
}

// A program that has loaded an entity adds an element after another has changed the field that the keys of its
// elements name. Under the old value nobody would see the element: so the addition is refused.
func TestAdditionsUnderAnOldValue(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
	m := kit.Must(mapper.New[book](testengine.Start(t).Client(), table))(t)
	for name, write := range map[string]func(e *mapper.Entity[book]) error{
		"save": func(e *mapper.Entity[book]) error {
			e.Value.Entries = append(e.Value.Entries, kit.Part{N: 2})
			_, err := m.Save(ctx, e)
			return err
		},
		"part": func(e *mapper.Entity[book]) error {
			e.Value.Entries = append(e.Value.Entries, kit.Part{N: 2})
			_, err := m.Save(ctx, e)
			return err
		},
		"savetwo": func(e *mapper.Entity[book]) error {
			e.Value.Entries = append(e.Value.Entries, kit.Part{N: 2}, kit.Part{N: 3})
			_, err := m.Save(ctx, e)
			return err
		},
		"independent": func(e *mapper.Entity[book]) error {
			e.Value.Entries = append(e.Value.Entries, kit.Part{N: 2}, kit.Part{N: 3})
			_, err := m.Save(ctx, e, mapper.Independent())
			return err
		},
		"transaction": func(e *mapper.Entity[book]) error {
			e.Value.Entries = append(e.Value.Entries, kit.Part{N: 2})
			_, err := mapper.Transact(ctx, m.SavePart(e))
			return err
		},
		"transactionoftwo": func(e *mapper.Entity[book]) error {
			e.Value.Entries = append(e.Value.Entries, kit.Part{N: 2})
			_, err := mapper.Transact(ctx, m.SavePart(e), m.SavePart(m.New(book{ID: "other", Year: "1"})))
			return err
		},
		"checkloaded": func(e *mapper.Entity[book]) error {
			e.Value.Entries = append(e.Value.Entries, kit.Part{N: 2})
			_, err := m.Save(ctx, e, mapper.CheckLoaded())
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			kit.Must(m.Save(ctx, m.New(book{ID: name, Year: "2020", Entries: []kit.Part{{N: 1}}})))(t)
			stale, mover := kit.Must(m.Load(ctx, m.Key(name)))(t), kit.Must(m.Load(ctx, m.Key(name)))(t)
			if name == "part" {
				stale = kit.Must(m.Load(ctx, m.Key(name).Prefix("E#2020#")))(t)
			}
			mover.Value.Year = "2021"
			kit.Must(m.Save(ctx, mover, mapper.Move()))(t)
			if err := write(stale); !errors.As(err, new(*mapper.ConflictError)) {
				t.Error("it was acknowledged, and nobody sees it:", err)
			}
			if e := kit.Must(m.Load(ctx, m.Key(name)))(t); e.Unknown() > 0 {
				t.Error("the addition is left, hidden")
			}
		})
	}
}

// The same without versions, where the root item is written together with the addition.
func TestAdditionsUnderAnOldValueWithoutVersions(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
	m := kit.Must(mapper.New[unversioned](testengine.Start(t).Client(), table))(t)
	kit.Must(m.Save(ctx, m.New(unversioned{ID: "1", Year: "2020", Entries: []kit.Part{{N: 1}}})))(t)
	stale, mover := kit.Must(m.Load(ctx, m.Key("1")))(t), kit.Must(m.Load(ctx, m.Key("1")))(t)
	mover.Value.Year = "2021"
	kit.Must(m.Save(ctx, mover, mapper.Move()))(t)
	stale.Value.Text, stale.Value.Entries = "new", append(stale.Value.Entries, kit.Part{N: 2})
	if _, err := m.Save(ctx, stale); !errors.As(err, new(*mapper.ConflictError)) {
		t.Error("it was acknowledged, and nobody sees it:", err)
	}
	if e := kit.Must(m.Load(ctx, m.Key("1")))(t); e.Unknown() > 0 || e.Value.Text != "" {
		t.Errorf("%+v, %d hidden", e.Value, e.Unknown())
	}
}

// A mover does not carry an item that another program added to where the entity is not any more.
func TestCarriesNothingToAnOldValue(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
	other := kit.Must(mapper.New[book](testengine.Start(t).Client(), table))(t)
	f := &kit.Faulty{At: -1}
	m := kit.Must(mapper.New[book](kit.Client(t, f, 1), table))(t)
	kit.Must(other.Save(ctx, other.New(book{ID: "1", Year: "2020", Entries: []kit.Part{{N: 1}}})))(t)
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	adder := kit.Must(other.Load(ctx, other.Key("1")))(t)
	adder.Value.Entries = append(adder.Value.Entries, kit.Part{N: 2})
	kit.Must(other.Save(ctx, adder))(t)
	moves := 0
	f.Log, f.Pick = nil, func() kit.Fault {
		if f.Log[len(f.Log)-1] == "TransactWriteItems" {
			if moves++; moves == 2 { // it carries, but another program moves the entity first
				next := kit.Must(other.Load(ctx, other.Key("1")))(t)
				next.Value.Year = "2022"
				kit.Must(other.Save(ctx, next, mapper.Move()))(t)
			}
		}
		return kit.None
	}
	e.Value.Year = "2021"
	var partial *mapper.PartialError
	_, err := m.Save(ctx, e, mapper.Move())
	now := kit.Must(other.Load(ctx, other.Key("1")))(t)
	if !errors.As(err, &partial) && len(now.Value.Entries) < 2 || moves < 2 {
		t.Errorf("%v after %d transactions: %+v", err, moves, now.Value)
	}
}

// The request that deletes an element is lost, and the entity moves before it is sent again. The missing item does not
// show that it was deleted.
func TestDeleteDuringMoveIsUnknown(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
	other := kit.Must(mapper.New[book](testengine.Start(t).Client(), table))(t)
	f := &kit.Faulty{At: -1}
	m := kit.Must(mapper.New[book](kit.Client(t, f, 3), table))(t)
	for name, change := range map[string]func(*book){
		"moved":    func(v *book) { v.ID += "moved" },
		"elements": func(v *book) { v.Year = "2021" },
		"stays":    func(v *book) { v.Text = "changed" },
	} {
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
			if name == "stays" {
				return kit.DropAnswer
			}
			return kit.DropRequest
		}
		_, err := m.Save(ctx, e)
		f.Pick = nil
		if unknown := errors.As(err, new(*mapper.OutcomeUnknownError)); unknown == (name == "stays") || lost < 2 {
			t.Errorf("%s, after %d deletes: %v", name, lost, err)
		}
	}
}
