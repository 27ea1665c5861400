package mapper_test

import (
	"context"
	"errors"
	"testing"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// book has elements whose keys name a field of the root item that is in no key of the entity.
type book struct {
	_       struct{} `ddb:"table=books"`
	ID      string   `ddb:"pk={ID}"`
	Year    string   `ddb:"sk=HEAD,root"`
	Text    string   `ddb:"sk=HEAD"`
	Entries []part   `ddb:"sk=E#{^Year}#{N:02}"`
}

// unversioned is book without versions.
type unversioned struct {
	_       struct{} `ddb:"table=books,noversion"`
	ID      string   `ddb:"pk={ID}"`
	Year    string   `ddb:"sk=HEAD,root"`
	Text    string   `ddb:"sk=HEAD"`
	Entries []part   `ddb:"sk=E#{^Year}#{N:02}"`
}

// A program that has loaded an entity adds an element after another has changed the field that the keys of its
// elements name. Under the old value nobody would see the element: so the addition is refused.
func TestAdditionsUnderAnOldValue(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
	m := must(mapper.New[book](testengine.Start(t).Client(), table))(t)
	for name, write := range map[string]func(e *mapper.Entity[book]) error{
		"save": func(e *mapper.Entity[book]) error {
			e.Value.Entries = append(e.Value.Entries, part{N: 2})
			_, err := m.Save(ctx, e)
			return err
		},
		"part": func(e *mapper.Entity[book]) error {
			e.Value.Entries = append(e.Value.Entries, part{N: 2})
			_, err := m.Save(ctx, e)
			return err
		},
		"savetwo": func(e *mapper.Entity[book]) error {
			e.Value.Entries = append(e.Value.Entries, part{N: 2}, part{N: 3})
			_, err := m.Save(ctx, e)
			return err
		},
		"independent": func(e *mapper.Entity[book]) error {
			e.Value.Entries = append(e.Value.Entries, part{N: 2}, part{N: 3})
			_, err := m.Save(ctx, e, mapper.Independent())
			return err
		},
		"transaction": func(e *mapper.Entity[book]) error {
			e.Value.Entries = append(e.Value.Entries, part{N: 2})
			_, err := mapper.Transact(ctx, m.SavePart(e))
			return err
		},
		"transactionoftwo": func(e *mapper.Entity[book]) error {
			e.Value.Entries = append(e.Value.Entries, part{N: 2})
			_, err := mapper.Transact(ctx, m.SavePart(e), m.SavePart(m.New(book{ID: "other", Year: "1"})))
			return err
		},
		"checkloaded": func(e *mapper.Entity[book]) error {
			e.Value.Entries = append(e.Value.Entries, part{N: 2})
			_, err := m.Save(ctx, e, mapper.CheckLoaded())
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			must(m.Save(ctx, m.New(book{ID: name, Year: "2020", Entries: []part{{N: 1}}})))(t)
			stale, mover := must(m.Load(ctx, m.Key(name)))(t), must(m.Load(ctx, m.Key(name)))(t)
			if name == "part" {
				stale = must(m.Load(ctx, m.Key(name).Prefix("E#2020#")))(t)
			}
			mover.Value.Year = "2021"
			must(m.Save(ctx, mover, mapper.Move()))(t)
			if err := write(stale); !errors.As(err, new(*mapper.ConflictError)) {
				t.Error("it was acknowledged, and nobody sees it:", err)
			}
			if e := must(m.Load(ctx, m.Key(name)))(t); e.Unknown() > 0 {
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
	m := must(mapper.New[unversioned](testengine.Start(t).Client(), table))(t)
	must(m.Save(ctx, m.New(unversioned{ID: "1", Year: "2020", Entries: []part{{N: 1}}})))(t)
	stale, mover := must(m.Load(ctx, m.Key("1")))(t), must(m.Load(ctx, m.Key("1")))(t)
	mover.Value.Year = "2021"
	must(m.Save(ctx, mover, mapper.Move()))(t)
	stale.Value.Text, stale.Value.Entries = "new", append(stale.Value.Entries, part{N: 2})
	if _, err := m.Save(ctx, stale); !errors.As(err, new(*mapper.ConflictError)) {
		t.Error("it was acknowledged, and nobody sees it:", err)
	}
	if e := must(m.Load(ctx, m.Key("1")))(t); e.Unknown() > 0 || e.Value.Text != "" {
		t.Errorf("%+v, %d hidden", e.Value, e.Unknown())
	}
}

// A mover does not carry an item that another program added to where the entity is not any more.
func TestCarriesNothingToAnOldValue(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := mapper.Table(testengine.Table(t, "PK:S", "SK:S"))
	other := must(mapper.New[book](testengine.Start(t).Client(), table))(t)
	f := &faulty{at: -1}
	m := must(mapper.New[book](client(t, f, 1), table))(t)
	must(other.Save(ctx, other.New(book{ID: "1", Year: "2020", Entries: []part{{N: 1}}})))(t)
	e := must(m.Load(ctx, m.Key("1")))(t)
	adder := must(other.Load(ctx, other.Key("1")))(t)
	adder.Value.Entries = append(adder.Value.Entries, part{N: 2})
	must(other.Save(ctx, adder))(t)
	moves := 0
	f.log, f.pick = nil, func() fault {
		if f.log[len(f.log)-1] == "TransactWriteItems" {
			if moves++; moves == 2 { // it carries, but another program moves the entity first
				next := must(other.Load(ctx, other.Key("1")))(t)
				next.Value.Year = "2022"
				must(other.Save(ctx, next, mapper.Move()))(t)
			}
		}
		return none
	}
	e.Value.Year = "2021"
	var partial *mapper.PartialError
	_, err := m.Save(ctx, e, mapper.Move())
	now := must(other.Load(ctx, other.Key("1")))(t)
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
	other := must(mapper.New[book](testengine.Start(t).Client(), table))(t)
	f := &faulty{at: -1}
	m := must(mapper.New[book](client(t, f, 3), table))(t)
	for name, change := range map[string]func(*book){
		"moved":    func(v *book) { v.ID += "moved" },
		"elements": func(v *book) { v.Year = "2021" },
		"stays":    func(v *book) { v.Text = "changed" },
	} {
		must(other.Save(ctx, other.New(book{ID: name, Year: "2020", Entries: []part{{N: 1}, {N: 2}}})))(t)
		e := must(m.Load(ctx, m.Key(name)))(t)
		e.Value.Entries = e.Value.Entries[:1]
		lost := 0
		f.pick = func() fault {
			if f.log[len(f.log)-1] != "DeleteItem" {
				return none
			}
			if lost++; lost > 1 {
				return none
			}
			next := must(other.Load(ctx, other.Key(name)))(t)
			change(&next.Value)
			must(other.Save(ctx, next, mapper.Move()))(t)
			if name == "stays" {
				return dropAnswer
			}
			return dropRequest
		}
		_, err := m.Save(ctx, e)
		f.pick = nil
		if unknown := errors.As(err, new(*mapper.OutcomeUnknownError)); unknown == (name == "stays") || lost < 2 {
			t.Errorf("%s, after %d deletes: %v", name, lost, err)
		}
	}
}
