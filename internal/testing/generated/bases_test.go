package generated

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/testing/models"
	"github.com/itemize/itemize/mapper"
)

// Rental embeds structs of another package, which does not export what they embed, and a pointer.
type Rental struct {
	_ struct{} `ddb:"table=rentals"`
	models.Tenant
	*Review
	Text  string       `ddb:"sk=HEAD"`
	Lines []RentalLine `ddb:"sk=LINE#{No:03}"`
}

// Review is embedded by pointer.
type Review struct {
	Reviewer string `ddb:"sk=REVIEW"`
	Score    int    `ddb:"sk=REVIEW"`
}

// RentalLine is an element that embeds.
type RentalLine struct {
	models.Position
	*Price
}

// Price is embedded by pointer in elements.
type Price struct {
	Cents  int
	Shown  []string `ddb:"-"`
	Labels []string
}

// Lease has its keys in a pointer.
type Lease struct {
	_ struct{} `ddb:"table=leases"`
	*Owned
	Text string `ddb:"sk=HEAD"`
}

// Owned is a base with keys.
type Owned struct {
	T  string
	ID string `ddb:"pk=OWNED#{T}#{ID}"`
}

// Listed are elements that embed a struct with a field that is not stored.
type Listed struct {
	_      struct{}       `ddb:"table=listed"`
	ID     string         `ddb:"pk=LISTED#{ID}"`
	Text   string         `ddb:"sk=HEAD"`
	Lines  []ListedLine   `ddb:"sk=LINE#{No:03}#{Word}"`
	Inner  []ListedNote   `ddb:"sk=NOTE#{No:03}"`
	Outer  []ListedOuter  `ddb:"sk=OUTER#{No:03}"`
	Both   []ListedBoth   `ddb:"sk=BOTH#{No:03}"`
	Second []ListedSecond `ddb:"sk=SECOND#{No:03}"`
}

// ListedNote is an element, and other elements embed it.
type ListedNote struct {
	No   int
	Note string
}

// ListedOuter has a field that hides one of ListedNote.
type ListedOuter struct {
	ListedNote
	Note string
}

// ListedFirst and ListedSecond embed one struct: of ListedBoth, the first is stored.
type (
	ListedFirst  struct{ ListedNote }
	ListedSecond struct{ ListedNote }
	ListedBoth   struct {
		ListedFirst
		ListedSecond
	}
)

// ListedLine has as many stored fields as fields. Two of them hide others, which are stored under other names.
type ListedLine struct {
	listed
	No   int
	Note string
	Word string
}

type listed struct {
	Note  string `dynamodbav:"note"`
	Word  string `dynamodbav:"word"`
	Cache []int  `ddb:"-"`
}

// Handles of the fields of embedded structs, also of pointers that are nil, change what is stored and what is loaded.
func TestPatchChangesFieldsOfEmbeddedStructs(t *testing.T) {
	ctx := context.Background()
	rentals := newMapper[Rental](t)
	v := Rental{Text: "x"}
	v.T, v.ID = "acme", "1"
	must(rentals.Save(ctx, rentals.New(v)))(t)
	p, f := RentalByTID("acme", "1"), RentalFields
	must(p.Patch(f.Reviewer.Set("ann"), f.Score.Set(3)).Exec(ctx, rentals))(t)
	must(p.Patch(f.Score.Increment(1)).If(f.Reviewer.Equal("ann")).Exec(ctx, rentals))(t)
	must(RentalByTID("acme", "2").Patch(f.Text.Set("y"), f.Reviewer.Set("bo")).Upsert().Exec(ctx, rentals))(t)
	var line RentalLine
	line.No, line.Label = 7, "l"
	must(p.Lines().Add(line).Exec(ctx, rentals))(t)
	l := RentalLineFields
	must(p.Lines().No(7).Patch(l.Label.Set("m"), l.Marks.Append(1, 2), l.Cents.Set(5)).Exec(ctx, rentals))(t)
	for id, want := range map[string]Review{"1": {"ann", 4}, "2": {"bo", 0}} {
		e := must(rentals.Load(ctx, RentalByTID("acme", id)))(t)
		if e.Value.Review == nil || *e.Value.Review != want || e.Value.T != "acme" {
			t.Errorf("%+v", e.Value)
		}
	}
	var all []RentalLine
	for e, err := range p.Lines().Filter(l.Label.Equal("m")).All(ctx, rentals) {
		all = append(all, must(e, err)(t))
	}
	if len(all) != 1 || all[0].Price == nil || all[0].Cents != 5 || !cmp.Equal(all[0].Marks, []int{1, 2}) {
		t.Errorf("%+v", all)
	}
}

// A key that names a field of an embedded pointer is refused while the pointer is nil, with and without generated code.
func TestNilPointersWithKeysAreRefused(t *testing.T) {
	type reflected Lease
	ctx := context.Background()
	leases := newMapper[Lease](t)
	plain := newMapper[reflected](t)
	_, err := leases.Save(ctx, leases.New(Lease{Text: "x"}))
	_, errPlain := plain.Save(ctx, plain.New(reflected{Text: "x"}))
	var value, valuePlain *mapper.ValueError
	if !errors.As(err, &value) || !errors.As(errPlain, &valuePlain) || value.Reason != valuePlain.Reason ||
		value.Field != valuePlain.Field {
		t.Errorf("%v, and %v", err, errPlain)
	}
	must(leases.Save(ctx, leases.New(Lease{Owned: &Owned{"a", "1"}, Text: "x"})))(t)
	e := must(leases.Load(ctx, LeaseByTID("a", "1")))(t)
	if e.Value.Owned == nil || *e.Value.Owned != (Owned{"a", "1"}) {
		t.Errorf("%+v", e.Value)
	}
	e.Value.Owned = nil
	if r, err := leases.Save(ctx, e); err == nil || r.Predicted().Requests != 0 {
		t.Errorf("an entity without a key is saved: %v, %v", r, err)
	}
}

// A copy of an element has what is stored, and nothing else.
func TestCopiesLeaveOutFieldsThatAreNotStored(t *testing.T) {
	codec := (*Listed)(nil).ItemizeCodec(nil)
	row, _ := codec.Table.Form.Table.Named("Lines")
	src := []ListedLine{{listed{"n", "w", []int{1}}, 1, "m", "v"}}
	var dst []ListedLine
	row.Form.Clone(&dst, &src)
	want := []ListedLine{{listed{Note: "n", Word: "w"}, 1, "m", "v"}}
	if !cmp.Equal(dst, want, cmp.AllowUnexported(ListedLine{}, listed{})) {
		t.Errorf("%+v", dst)
	}
}

// Of two fields of an element that have one name, a key, a patch and a filter mean the one that Go selects.
func TestNamesOfFieldsMeanWhatGoSelects(t *testing.T) {
	ctx := context.Background()
	lists := newMapper[Listed](t)
	line := ListedLine{listed{Note: "inner", Word: "inner"}, 1, "outer", "outer"}
	must(lists.Save(ctx, lists.New(Listed{ID: "1", Text: "x", Lines: []ListedLine{line}})))(t)
	p, f := ListedByID("1").Lines().No(1).Word("outer"), ListedLineFields
	must(p.Patch(f.Note.Set("changed")).If(f.Note.Equal("outer")).Exec(ctx, lists))(t)
	got := must(ListedByID("1").Lines().Filter(f.Note.Equal("changed")).Collect(ctx, lists))(t)
	if line.Note = "changed"; len(got) != 1 || got[0].Note != line.Note || got[0].listed.Note != "inner" ||
		got[0].Word != "outer" || got[0].listed.Word != "inner" {
		t.Errorf("%+v", got)
	}
}

// A field that an element does not store, since another field hides it, is not compared either.
func TestComparisonsLeaveOutFieldsThatAreNotStored(t *testing.T) {
	generated := (*Listed)(nil).ItemizeCodec(nil).Table.Form
	type reflected Listed
	e, err := schema.Of(reflect.TypeFor[reflected]())
	if err != nil {
		t.Fatal(err)
	}
	var a, b Listed
	a.Outer, b.Outer = make([]ListedOuter, 1), make([]ListedOuter, 1)
	a.Outer[0].ListedNote.Note, b.Outer[0].ListedNote.Note = "a", "b"
	a.Both, b.Both = make([]ListedBoth, 1), make([]ListedBoth, 1)
	a.Both[0].ListedSecond.Note, b.Both[0].ListedSecond.Note = "a", "b"
	for _, f := range []*codec.Form{generated, codec.Reflected(e.Type)} {
		for name, p := range map[string][2]any{"Outer": {&a.Outer, &b.Outer}, "Both": {&a.Both, &b.Both}} {
			row, _ := f.Table.Named(name)
			if !row.Form.Same(p[0], p[1], 0) {
				t.Errorf("%s: differs in what is not stored", name)
			}
		}
	}
}
