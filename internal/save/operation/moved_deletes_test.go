package operation_test

import (
	"testing"
	"time"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/mapper"
)

// A program deletes elements, and gets no answer while another one moves them. A missing element does not show that it
// was deleted.

// keeps removes all elements but the first ones.
func keeps(n int) func(*book) { return func(v *book) { v.Entries = v.Entries[:n] } }

// lostDelete drops the nth request that deletes, and does something before.
func lostDelete(n int, do func(w *books)) func(w *books) hooks {
	return func(w *books) hooks {
		return hooks{"DeleteItem": nth(n, func() { do(w) }, kit.DropRequest)}
	}
}

// A delete without an answer is unknown if the elements have moved: the missing item shows nothing.
func TestDeletesWhileElementsMove(t *testing.T) {
	t.Parallel()
	two, three := book{ID: "1", Year: "2020"}, book{ID: "1", Year: "2020"}
	adds(1, 2)(&two)
	adds(1, 2, 3)(&three)
	plain, independent := saves[book](), saves[book](mapper.Independent())
	perform(t, showBook, []play[book]{
		{
			name: "a delete without an answer is unknown, and stays so", stored: two, attempts: 3,
			steps: []step[book]{
				{change: keeps(1), save: plain, during: lostDelete(1, moved), want: "1: 2021 [1 2], unknown"},
				{save: plain, want: "1: 2021 [1 2], unknown"},
			},
		},
		{
			name: "a delete without an answer is unknown if the entity moves", stored: two, attempts: 3,
			steps: []step[book]{
				{
					change: keeps(1), save: plain, during: lostDelete(1, func(w *books) {
						w.move("1", func(v *book) { v.ID = "2" })
					}),
					want: "2: 2020 [1 2], unknown",
				},
				{save: plain, want: "2: 2020 [1 2], unknown"},
			},
		},
		{
			name: "a delete without an answer is found applied if nothing moves", stored: two, attempts: 3,
			steps: []step[book]{{
				change: keeps(1), save: plain, during: func(w *books) hooks {
					return hooks{"DeleteItem": nth(1, func() { w.move("1", text("changed")) }, kit.DropAnswer)}
				},
				want: "1: 2020 changed [1]",
			}},
		},
		{
			name: "of two independent deletes, the first one is unknown", stored: three, attempts: 3,
			steps: []step[book]{{
				change: keeps(1), save: independent, during: lostDelete(1, moved), want: "1: 2021 [1 2 3], unknown",
			}},
		},
		{
			name: "of two independent deletes, the second one is unknown", stored: three, attempts: 3,
			steps: []step[book]{{
				change: keeps(1), save: independent, during: lostDelete(2, moved),
				want: "1: 2021 [1 3], written E#2020#02, but not E#2020#03, unknown",
			}},
		},
		laterMove("a delete that never arrives is unknown after a later move, until it cannot arrive", 2, three),
		laterMove("a transaction that never arrives is unknown after a later move, until it cannot arrive", 1, three),
		{
			name: "elements that move away and back do not look deleted", stored: two, attempts: 3,
			steps: []step[book]{{
				change: keeps(1), save: plain, during: func(w *books) hooks {
					return hooks{
						"":        nth(1, func() { moved(w) }, kit.DropRequest),
						"GetItem": func(int) kit.Fault { movedBack(w); return kit.None },
					}
				},
				want: "1: 2020 [1 2], unknown",
			}},
		},
		{
			name: "elements that move away, back and away again before the item is read", stored: two, attempts: 3,
			steps: []step[book]{{
				change: keeps(1), save: plain, during: func(w *books) hooks {
					return hooks{
						"": nth(1, func() { moved(w) }, kit.DropRequest),
						"GetItem": func(number int) kit.Fault {
							switch number {
							case 1:
								movedBack(w)
							case 2:
								moved(w)
							}
							return kit.None
						},
					}
				},
				want: "1: 2021 [1 2], unknown",
			}},
		},
		idlePart("a transaction of one part finds its delete applied", false),
		idlePart("a part that writes nothing is not asked whether the element of another part has moved", true),
	})
	type meta struct {
		_       struct{}   `ddb:"table=books"`
		ID      string     `ddb:"pk={ID}"`
		Text    string     `ddb:"sk=HEAD,root"`
		Year    string     `ddb:"sk=META"`
		Entries []kit.Part `ddb:"sk=E#{^Year}#{N:02}"`
	}
	perform(t, func(v *meta) string { return v.Year + " " + numbers(v.Entries) }, []play[meta]{{
		name:   "a delete without an answer is unknown if another item than the root item stores the field",
		stored: meta{ID: "1", Year: "2020", Text: "t", Entries: []kit.Part{{N: 1}, {N: 2}}}, attempts: 3,
		steps: []step[meta]{{
			change: func(v *meta) { v.Entries = v.Entries[:1] }, save: saves[meta](),
			during: func(w *writers[meta]) hooks {
				return hooks{"": nth(1, func() { w.move("1", func(v *meta) { v.Year = "2021" }) }, kit.DropRequest)}
			},
			want: "1: 2021 [1 2], unknown",
		}},
	}})
}

// laterMove deletes elements by a request that never arrives, before they move.
func laterMove(name string, kept int, stored book) play[book] {
	plain := saves[book]()
	return play[book]{
		name: name, stored: stored,
		steps: []step[book]{
			{
				change: keeps(kept), save: plain, during: func(*books) hooks {
					return hooks{"": func(int) kit.Fault { return kit.DropRequest }}
				},
				want: "1: 2020 [1 2 3], unknown",
			},
			{before: moved, save: plain, want: "1: 2021 [1 2 3], unknown"},
			{
				before: func(w *books) {
					door.Mapper.Model(w.own).Now = func() time.Time { return time.Now().Add(16 * time.Minute) }
				},
				save: plain, want: "1: 2021 [1 2 3], conflict",
			},
		},
	}
}

// idlePart deletes an element in a transaction whose first answer is lost. idle adds a part that writes nothing.
func idlePart(name string, idle bool) play[book] {
	return play[book]{
		name: name, stored: book{ID: "1", Year: "2020", Entries: []kit.Part{{N: 1}, {N: 2}}}, attempts: 3,
		before: func(w *books) { w.insert(book{ID: "2", Year: "2020"}) },
		steps: []step[book]{{
			change: keeps(1), save: func(w *books, e *mapper.Entity[book]) (*mapper.Receipt, error) {
				parts := []mapper.Part{w.own.SavePart(e)}
				if idle {
					other := kit.Must(w.own.Load(w.ctx, w.own.Key("2")))(w)
					parts = append(parts, w.own.SavePart(other))
				}
				hooks{"": nth(1, nil, kit.DropAnswer)}.watch(w.network)
				return mapper.Transact(w.ctx, parts...)
			},
			want: "1: 2020 [1], 2: 2020 []",
		}},
	}
}
