package change_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/internal/save/write"
	"github.com/itemize/itemize/internal/testing/draws"
	. "github.com/itemize/itemize/internal/testing/fakedynamo"
)

// store is a table in memory, by sort key.
type store map[string]item.Attributes

// write applies a request as DynamoDB would, if its condition holds.
func (s store) write(r *write.Request) error {
	sk := r.SK.Text
	if !r.Before(s[sk], Now) {
		return fmt.Errorf("%s of %s finds %v", r.Kind, r.Place, s[sk])
	}
	if n := attr.ItemSize(s[sk]); n != r.OldSize {
		return fmt.Errorf("%s of %s finds %d bytes, and knows of %d", r.Kind, r.Place, n, r.OldSize)
	}
	switch r.Kind {
	case write.Check:
		return nil
	case write.Delete:
		delete(s, sk)
		return nil
	case write.Put:
		s[sk] = maps.Clone(r.Put)
	case write.Update:
		s[sk] = maps.Clone(s[sk])
		for _, a := range r.Set {
			s[sk][a.Name] = a.Value
		}
		for _, a := range r.Remove {
			delete(s[sk], a.Name)
		}
	}
	if r.Token != nil {
		s[sk][r.Reserved.Version] = r.Token
	}
	if n := attr.ItemSize(s[sk]); n != r.NewSize {
		return fmt.Errorf("%s of %s leaves %d bytes, and predicts %d", r.Kind, r.Place, n, r.NewSize)
	}
	return nil
}

// edit changes a shop at random.
func edit(r *rand.Rand, v *Shop) {
	text := func() string { return strings.Repeat(string(rune('a'+r.IntN(26))), r.IntN(5)) }
	switch r.IntN(14) {
	case 0:
		v.Name = text()
	case 1:
		v.Visits = r.IntN(3)
	case 2:
		v.Plan = nil
	case 3:
		v.Plan = &Plan{Tier: text(), Seats: uint(r.IntN(3))}
	case 4:
		v.Address = Address{}
	case 5:
		v.Address.City = text()
	case 6:
		v.Extra = []any{nil, "x", 1.5, map[string]any{"a": text()}}[r.IntN(4)]
	case 7:
		sku := string(rune('a' + r.IntN(5)))
		if !slices.ContainsFunc(v.Lines, func(l Line) bool { return l.SKU == sku }) {
			v.Lines = slices.Insert(v.Lines, r.IntN(len(v.Lines)+1), Line{SKU: sku, Text: text()})
		}
	case 8:
		if n := len(v.Lines); n > 0 {
			i := r.IntN(n)
			v.Lines = slices.Delete(v.Lines, i, i+1)
		}
	case 9:
		r.Shuffle(len(v.Lines), func(i, j int) { v.Lines[i], v.Lines[j] = v.Lines[j], v.Lines[i] })
	case 10:
		for i := range v.Lines {
			v.Lines[i].Count = r.IntN(3)
		}
	case 11:
		if n := r.IntN(4); !slices.ContainsFunc(v.Notes, func(o *Note) bool { return o.N == n }) {
			v.Notes = append(v.Notes, &Note{N: n, Text: text()})
		}
	case 12:
		v.Notes = slices.DeleteFunc(v.Notes, func(*Note) bool { return r.IntN(3) == 0 })
	case 13:
		if v.Stock == nil {
			v.Stock = map[string]Stock{}
		}
		if k := string(rune('a' + r.IntN(3))); r.IntN(2) == 0 {
			delete(v.Stock, k)
		} else {
			v.Stock[k] = Stock{Count: r.IntN(3)}
		}
	}
}

// anyEdits edits a value repeatedly. After each save the changed items must decode to the value, have
// the predicted sizes, and the snapshot without reading must equal a loaded one.
func anyEdits[T any](t *testing.T, start T, edit func(r *rand.Rand, v *T), options ...cmp.Option) {
	t.Helper()
	m := Of[T](t)
	seed := draws.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 60 {
		table := store{}
		v := new(T)
		*v = start
		s := snapshot.New(m, v)
		for step := range 12 {
			for range r.IntN(4) {
				edit(r, v)
			}
			d, err := change.Of(s, nil, v, change.Options{Checks: r.IntN(2) == 0})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			all := change.Requests(d.Changes)
			for _, q := range slices.Concat(all, change.Requests(d.Checks)) {
				q.Prepare()
				if err := table.write(q); err != nil {
					t.Fatalf("seed %d, step %d: %v", seed, step, err)
				}
			}
			s.Apply(d.Keys, change.Effects(d.Changes, all))
			if d.Keys.KeyFields != nil {
				s.Arrive(d.Keys)
			}
			again, read := load[T](t, m, whole(m, "1"), slices.Collect(maps.Values(table))...)
			if diff := cmp.Diff(read, v, options...); diff != "" {
				t.Fatalf("seed %d, step %d: %s", seed, step, diff)
			}
			if diff := cmp.Diff(attributesOf(m, again), attributesOf(m, s)); diff != "" {
				t.Fatalf("seed %d, step %d: %s", seed, step, diff)
			}
			if rest, err := change.Of(s, nil, v, change.Options{}); err != nil || len(rest.Changes) > 0 {
				t.Fatalf("seed %d, step %d: still changed: %v", seed, step, err)
			}
			if r.IntN(5) == 0 { // a load in between
				s, v = again, read
			}
		}
	}
}

// Any edits of a model with every kind of field are stored.
func TestAnyEdits(t *testing.T) {
	anyEdits(
		t, Shop{ID: "1"}, edit, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Shop{}, "_"),
		cmpopts.SortSlices(func(a, b Line) bool { return a.SKU < b.SKU }),
		cmpopts.SortSlices(func(a, b *Note) bool { return a.N < b.N }),
	)
}

// So are those of a model without versions, whose writes compare old values.
func TestAnyEditsWithoutVersions(t *testing.T) {
	anyEdits(t, Plain{ID: "1"}, func(r *rand.Rand, v *Plain) {
		switch r.IntN(3) {
		case 0:
			v.Name = string(rune('a' + r.IntN(3)))
		case 1:
			v.Count = r.IntN(3)
		case 2:
			v.Side = strings.Repeat("x", r.IntN(3))
		}
	}, cmpopts.IgnoreFields(Plain{}, "_"))
}

// later is no time, or a time in the future.
func later(r *rand.Rand) time.Time {
	if n := r.IntN(4); n > 0 {
		return Now.Add(time.Duration(n) * time.Hour).UTC()
	}
	return time.Time{}
}

// So are those of models whose items expire, each by itself or with the root.
func TestAnyEditsOfExpiry(t *testing.T) {
	anyEdits(t, Session{ID: "1"}, func(r *rand.Rand, v *Session) {
		n := r.IntN(4)
		switch r.IntN(5) {
		case 0:
			v.User = string(rune('a' + n))
		case 1:
			v.Until = later(r)
		case 2:
			v.Steps = slices.DeleteFunc(v.Steps, func(s Step) bool { return s.N == n })
		case 3:
			if !slices.ContainsFunc(v.Steps, func(s Step) bool { return s.N == n }) {
				v.Steps = append(v.Steps, Step{N: n, Until: later(r)})
			}
		case 4:
			for i := range v.Steps {
				v.Steps[i].Until = later(r)
			}
		}
	}, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Session{}, "_"),
		cmpopts.SortSlices(func(a, b Step) bool { return a.N < b.N }))
	anyEdits(t, Lease{ID: "1"}, func(r *rand.Rand, v *Lease) {
		n := r.IntN(4)
		switch r.IntN(4) {
		case 0:
			v.User = string(rune('a' + n))
		case 1:
			v.Until = later(r)
		case 2:
			v.Terms = slices.DeleteFunc(v.Terms, func(s Note) bool { return s.N == n })
		case 3:
			if !slices.ContainsFunc(v.Terms, func(s Note) bool { return s.N == n }) {
				v.Terms = append(v.Terms, Note{N: n})
			}
		}
	}, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Lease{}, "_"),
		cmpopts.SortSlices(func(a, b Note) bool { return a.N < b.N }))
}

// attributesOf describes what a snapshot knows of the stored items.
func attributesOf(m *model.Model, s *snapshot.Snapshot) []string {
	var all []string
	for i, items := range s.Items {
		for _, r := range items {
			text := fmt.Sprintf("%s %s %d %v %d %d", r.Place, Show(r.Header.Version), r.Size, r.Sizes, r.Expiry,
				len(r.Raw))
			for a := range m.Schema.Items[i].Attributes {
				if v := r.Opaque[a]; v != nil {
					text += fmt.Sprint(" ", a, Show(v))
				}
			}
			all = append(all, text)
		}
	}
	slices.Sort(all)
	return all
}
