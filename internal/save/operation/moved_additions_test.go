package operation_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/mapper"
)

// A program has loaded an entity, and another one moves its elements, because it changes a field that their keys name.
// Under the old keys no reader sees an element: the addition is refused.

// book has elements whose keys name a field of the root item that is in no key of the entity.
type book struct {
	_       struct{}   `ddb:"table=books"`
	ID      string     `ddb:"pk={ID}"`
	Year    string     `ddb:"sk=HEAD,root"`
	Text    string     `ddb:"sk=HEAD"`
	Note    string     `ddb:"sk=NOTE"`
	Entries []kit.Part `ddb:"sk=E#{^Year}#{N:02}"`
}

func showBook(v *book) string {
	return strings.Join(strings.Fields(fmt.Sprintln(v.Year, v.Text, v.Note, numbers(v.Entries))), " ")
}

// unversioned is book without versions.
type unversioned struct {
	_       struct{}   `ddb:"table=books,noversion"`
	ID      string     `ddb:"pk={ID}"`
	Year    string     `ddb:"sk=HEAD,root"`
	Text    string     `ddb:"sk=HEAD"`
	Entries []kit.Part `ddb:"sk=E#{^Year}#{N:02}"`
}

func showUnversioned(v *unversioned) string { return v.Year + " " + v.Text + numbers(v.Entries) }

// dated has elements whose keys have less of a field than its attribute.
type dated struct {
	_       struct{}   `ddb:"table=dated"`
	ID      string     `ddb:"pk={ID}"`
	At      time.Time  `ddb:"sk=HEAD,root"`
	Entries []kit.Part `ddb:"sk=E#{^At:date}#{N:02}"`
}

func showDated(v *dated) string { return v.At.Format("15:04 ") + numbers(v.Entries) }

// books are two programs that write books.
type books = writers[book]

func year(year string) func(*book) { return func(v *book) { v.Year = year } }

func adds(numbers ...int) func(*book) {
	return func(v *book) {
		for _, n := range numbers {
			v.Entries = append(v.Entries, kit.Part{N: n})
		}
	}
}

func text(s string) func(*book) { return func(v *book) { v.Text = s } }

// moved has the other program move the elements.
func moved(w *books) { w.move("1", year("2021")) }

func movedBack(w *books) { w.move("1", year("2020")) }

// both saves the entity in a transaction with a part that changes the book as it is now.
func both(change func(*book), staleFirst bool) func(w *books, e *mapper.Entity[book]) (*mapper.Receipt, error) {
	return func(w *books, e *mapper.Entity[book]) (*mapper.Receipt, error) {
		fresh := kit.Must(w.own.Load(w.ctx, w.own.Key("1"), mapper.Strong()))(w)
		change(&fresh.Value)
		if staleFirst {
			return mapper.Transact(w.ctx, w.own.SavePart(e), w.own.SavePart(fresh))
		}
		return mapper.Transact(w.ctx, w.own.SavePart(fresh), w.own.SavePart(e))
	}
}

// alone saves an entity in a transaction of one part, and withOther in one that inserts another entity.
func alone[T any](w *writers[T], e *mapper.Entity[T]) (*mapper.Receipt, error) {
	return mapper.Transact(w.ctx, w.own.SavePart(e))
}

func withOther[T any](v T) func(*writers[T], *mapper.Entity[T]) (*mapper.Receipt, error) {
	return func(w *writers[T], e *mapper.Entity[T]) (*mapper.Receipt, error) {
		return mapper.Transact(w.ctx, w.own.SavePart(e), w.own.SavePart(w.own.New(v)))
	}
}

// An addition under the old keys is refused, and what the save has added is taken back.
func TestAdditionsAfterElementsMoved(t *testing.T) {
	t.Parallel()
	one, other := book{ID: "1", Year: "2020", Entries: []kit.Part{{N: 1}}}, book{ID: "other", Year: "1"}
	plain, independent := saves[book](), saves[book](mapper.Independent())
	var plays []play[book]
	for _, c := range []struct {
		name   string
		stored book
		change func(*book)
		save   func(*books, *mapper.Entity[book]) (*mapper.Receipt, error)
		want   string
	}{
		{"one is refused", one, adds(2), plain, "1: 2021 [1], conflict"},
		{"two are refused", one, adds(2, 3), plain, "1: 2021 [1], conflict"},
		{"independent ones are refused", one, adds(2, 3), independent, "1: 2021 [1], conflict"},
		{"one in a transaction is refused", one, adds(2), alone[book], "1: 2021 [1], conflict"},
		{"one in a transaction of two parts is refused", one, adds(2), withOther(other), "1: 2021 [1], conflict"},
		{"one with CheckLoaded is refused", one, adds(2), saves[book](mapper.CheckLoaded()), "1: 2021 [1], conflict"},
		{
			"one is refused in a transaction whose next part adds under the new keys", one, adds(2),
			both(adds(3), true), "1: 2021 [1], conflict",
		},
		{
			"one is refused in a transaction whose first part adds under the new keys", one, adds(2),
			both(adds(3), false), "1: 2021 [1], conflict",
		},
		{
			"one is refused in a transaction whose next part updates the root item", one, adds(2),
			both(text("new"), true), "1: 2021 [1], conflict",
		},
		{
			"one is refused in a transaction whose first part updates the root item", one, adds(2),
			both(text("new"), false), "1: 2021 [1], conflict",
		},
		{
			"the error of a refused one names the items that were written with it",
			book{ID: "1", Year: "2020", Note: "old"},
			func(v *book) { v.Note, v.Entries = "new", []kit.Part{{N: 2}} }, plain,
			"1: 2021 new [], written NOTE, but not E#2020#02, conflict",
		},
		{
			"an independent one is taken back if the save is refused later", one,
			func(v *book) { v.Entries = []kit.Part{{N: 0}, {N: 1, Text: "new"}} }, independent,
			"1: 2021 [1], conflict",
		},
	} {
		plays = append(plays, play[book]{
			name: c.name, stored: c.stored,
			steps: []step[book]{{before: moved, change: c.change, save: c.save, want: c.want}},
		})
	}
	perform(t, showBook, append(plays, []play[book]{
		{
			name: "one to a loaded part of the entity is refused", stored: one,
			load: func(w *books) (*mapper.Entity[book], error) {
				return w.own.Load(w.ctx, w.own.Key("1").Prefix("E#2020#"))
			},
			steps: []step[book]{{before: moved, change: adds(2), save: plain, want: "1: 2021 [1], conflict"}},
		},
		{
			name:   "the error of a refused one names the items that an earlier try wrote",
			stored: book{ID: "1", Year: "2020", Note: "old"},
			before: func(w *books) {
				kit.NewForeign(w, w.table).Put(kit.Item{
					"PK": kit.S("1"), "SK": kit.S("E#2020#02"), "_a": bytesOf("deadbeef"), "_v": bytesOf("12345678"),
				})
			},
			steps: []step[book]{{
				before: moved, change: func(v *book) { v.Note, v.Entries = "new", []kit.Part{{N: 2}} },
				save: independent, want: "1: 2021 new [], written NOTE, but not E#2020#02, conflict",
			}},
		},
		{
			name:   "one is refused if a foreign writer changed the field and no version",
			stored: book{ID: "1", Year: "2020"},
			steps: []step[book]{{
				before: func(w *books) { kit.NewForeign(w, w.table).Set("1", "HEAD", "Year", kit.S("2021")) },
				change: adds(2), save: plain, want: "1: 2021 [], conflict",
			}},
		},
		{
			name:   "one is refused with the root item if a foreign writer changed the field and no version",
			stored: book{ID: "1", Year: "2020"},
			steps: []step[book]{{
				before: func(w *books) { kit.NewForeign(w, w.table).Set("1", "HEAD", "Year", kit.S("2021")) },
				change: func(v *book) { v.Text, v.Entries = "new", []kit.Part{{N: 2}} }, save: plain,
				want: "1: 2021 [], conflict",
			}},
		},
		{
			name:   "a refused one is not taken back after another writer has updated it",
			stored: book{ID: "1", Year: "2020"},
			steps: []step[book]{{
				change: adds(2), save: plain, during: func(w *books) hooks {
					return hooks{
						"GetItem": func(int) kit.Fault { moved(w); return kit.None }, // which carries the element
						"DeleteItem": func(int) kit.Fault { // which would take it back
							movedBack(w)
							w.change("1", func(v *book) { v.Entries[0].Text = "updated" })
							return kit.None
						},
					}
				},
				want: "1: 2020 [2 updated], conflict, unknown",
			}},
		},
		failedTakeBack("the outcome of a refused one is unknown if taking it back is denied", kit.Deny),
		failedTakeBack("the outcome of a refused one is unknown if taking it back has no answer", kit.DropRequest),
	}...))
}

// failedTakeBack adds an element after the elements have moved. Its deletion fails, and the elements move back.
func failedTakeBack(name string, fails kit.Fault) play[book] {
	return play[book]{
		name: name, stored: book{ID: "1", Year: "2020", Entries: []kit.Part{{N: 1}}},
		steps: []step[book]{
			{
				before: moved, change: adds(2), save: saves[book](), during: func(*books) hooks {
					return hooks{"": func(number int) kit.Fault {
						if number >= 3 { // after PutItem and GetItem
							return fails
						}
						return kit.None
					}}
				},
				want: "1: 2021 [1] and 1 hidden, conflict, unknown",
			},
			{before: movedBack, want: "1: 2020 [1 2]"},
		},
	}
}

// The same in other models.
func TestAdditionsAfterElementsMovedInOtherModels(t *testing.T) {
	t.Parallel()
	moveUnversioned := func(w *writers[unversioned], year string) {
		w.move("1", func(v *unversioned) { v.Year = year })
	}
	perform(t, showUnversioned, []play[unversioned]{
		{
			name:   "without versions, one is refused that is written with the root item",
			stored: unversioned{ID: "1", Year: "2020", Entries: []kit.Part{{N: 1}}},
			steps: []step[unversioned]{{
				before: func(w *writers[unversioned]) { moveUnversioned(w, "2021") },
				change: func(v *unversioned) { v.Text, v.Entries = "new", append(v.Entries, kit.Part{N: 2}) },
				save:   saves[unversioned](), want: "1: 2021 [1], conflict",
			}},
		},
		{
			name:   "without versions, one is not taken back after another writer has updated it",
			stored: unversioned{ID: "1", Year: "2020"},
			steps: []step[unversioned]{{
				change: func(v *unversioned) { v.Entries = []kit.Part{{N: 2}} },
				save:   saves[unversioned](), during: func(w *writers[unversioned]) hooks {
					return hooks{
						"GetItem": func(int) kit.Fault { moveUnversioned(w, "2021"); return kit.None },
						"DeleteItem": func(int) kit.Fault {
							moveUnversioned(w, "2020")
							w.change("1", func(v *unversioned) { v.Entries[0].Text = "updated" })
							return kit.None
						},
					}
				},
				want: "1: 2020 [2 updated], conflict, unknown",
			}},
		},
	})
	type large struct {
		_       struct{}   `ddb:"table=books"`
		ID      string     `ddb:"pk=B#{ID}"`
		Year    string     `ddb:"sk=HEAD,root"`
		Text    string     `ddb:"sk=HEAD,chunk,inline=1KB"`
		Entries []kit.Part `ddb:"sk=E#{^Year}#{N:02}"`
	}
	perform(t, func(v *large) string { return v.Year + " " + numbers(v.Entries) }, []play[large]{{
		name:   "one is refused if the root item has an external value",
		stored: large{ID: "1", Year: "2020", Text: strings.Repeat("x", 5000)},
		steps: []step[large]{{
			before: func(w *writers[large]) { w.move("1", func(v *large) { v.Year = "2021" }) },
			change: func(v *large) { v.Entries = []kit.Part{{N: 2}} }, save: saves[large](),
			want: "1: 2021 [], conflict",
		}},
	}})
}

// An addition is not refused because the key has less of a field than its attribute.
func TestAdditionsUnderKeysWithFormats(t *testing.T) {
	t.Parallel()
	at := time.Date(2021, 11, 14, 9, 30, 0, 0, time.UTC)
	var plays []play[dated]
	for name, save := range map[string]func(*writers[dated], *mapper.Entity[dated]) (*mapper.Receipt, error){
		"to a loaded part": saves[dated](), "to a loaded part with CheckLoaded": saves[dated](mapper.CheckLoaded()),
		"to a loaded part in a transaction": withOther(dated{ID: "other", At: at}),
	} {
		plays = append(plays, play[dated]{
			name: name, stored: dated{ID: "1", At: at, Entries: []kit.Part{{N: 1}}},
			load: func(w *writers[dated]) (*mapper.Entity[dated], error) {
				return w.own.Load(w.ctx, w.own.Key("1").Prefix("E#2021-11-14#"))
			},
			steps: []step[dated]{{
				change: func(v *dated) { v.Entries = append(v.Entries, kit.Part{N: 2}) }, save: save,
				want: "1: 09:30 [1 2]",
			}},
		})
	}
	perform(t, showDated, plays)
	type plain struct {
		_       struct{}   `ddb:"table=dated,noversion"`
		ID      string     `ddb:"pk={ID}"`
		At      time.Time  `ddb:"sk=HEAD,root"`
		Text    string     `ddb:"sk=HEAD"`
		Entries []kit.Part `ddb:"sk=E#{^At:date}#{N:02}"`
	}
	perform(t, func(v *plain) string { return v.Text + " " + numbers(v.Entries) }, []play[plain]{{
		name: "without versions, after another writer has changed the time of day", stored: plain{ID: "1", At: at},
		steps: []step[plain]{{
			before: func(w *writers[plain]) { w.change("1", func(v *plain) { v.At = at.Add(time.Hour) }) },
			change: func(v *plain) { v.Text, v.Entries = "t", []kit.Part{{N: 2}} }, save: saves[plain](),
			want: "1: t [2]",
		}},
	}})
}
