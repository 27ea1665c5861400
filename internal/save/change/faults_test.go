package change_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/save/change"
	. "github.com/itemize/itemize/internal/testing/fakedynamo"
)

// What a value cannot be saved with is said before anything is sent, all of it at once.
func TestFaults(t *testing.T) {
	m := Of[Shop](t)
	for _, c := range []struct {
		name string
		edit func(v *Shop)
		want []string
	}{
		{"two elements with one key", func(v *Shop) { v.Lines[2].SKU = "a" }, []string{
			"Shop.Lines: the element 0 and the element 2 have the same key, \"LINE#a\": change a field that the " +
				"template names",
		}},
		{"a nil element", func(v *Shop) { v.Notes = append(v.Notes, nil) }, []string{
			"Shop.Notes: the element 1 is nil, but an item needs a value: remove the element",
		}},
		{
			"an element without a key", func(v *Shop) { v.Lines[1].SKU = "" },
			[]string{"Shop.Lines: {SKU} in \"LINE#{SKU}\": an empty string in a key", "(the element 1)"},
		},
		{
			"an entry without a key", func(v *Shop) { v.Stock[""] = Stock{} },
			[]string{"Shop.Stock: {key} in \"STOCK#{key}\": an empty string in a key", `(the entry "")`},
		},
		{
			"no UTF-8", func(v *Shop) { v.Name = "\xff" },
			[]string{`Shop.Name: attribute "Name": the string is not valid UTF-8`},
		},
		{
			"several", func(v *Shop) { v.Name, v.Lines[2].SKU, v.Notes[0] = "\xff", "a", nil },
			[]string{"Shop.Name", "Shop.Lines", "Shop.Notes"},
		},
		{"not storable", func(v *Shop) { v.Extra = func() {} }, []string{"Shop.Extra"}},
	} {
		s, v := load[Shop](t, m, whole(m, "1"), shop()...)
		c.edit(v)
		d, err := change.Of(s, nil, v, change.Options{})
		var faults change.Faults
		if d != nil || !errors.As(err, &faults) {
			t.Errorf("%s: %v, %v", c.name, d, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, without %q", c.name, err, want)
			}
		}
	}
}

// A field whose items were not loaded is not written: the write would overwrite a value that the caller
// has not seen.
func TestNotLoaded(t *testing.T) {
	m := Of[Shop](t)
	lines := shop()[3:6]
	for _, c := range []struct {
		name string
		edit func(v *Shop)
		want string // the field, or the changes
		ok   bool
	}{
		{"what was loaded", func(v *Shop) { v.Lines[0].Count = 5 }, "update LINE#a Count=5 if b'v-LINE#a'", true},
		{
			"a new element in what was loaded", func(v *Shop) { v.Lines = append(v.Lines, Line{SKU: "d"}) },
			"put LINE#d Count=0 Text='' if absent", true,
		},
		{"the root", func(v *Shop) { v.Name = "x" }, "Name", false},
		{"a singleton", func(v *Shop) { v.Address.City = "x" }, "Address", false},
		{"a pointer", func(v *Shop) { v.Plan = &Plan{} }, "Plan", false},
		{"another's element", func(v *Shop) { v.Notes = []*Note{{N: 1}} }, "Notes", false},
	} {
		s, v := load[Shop](t, m, part(m, "1", "LINE#"), lines...)
		c.edit(v)
		d, err := change.Of(s, nil, v, change.Options{})
		var missing *change.NotLoaded
		switch {
		case c.ok && (err != nil || show(d.Changes) != c.want):
			t.Errorf("%s: %v", c.name, err)
		case !c.ok && (!errors.As(err, &missing) || !strings.HasPrefix(missing.Field, c.want) &&
			missing.Field != "HEAD"):
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// The keys of elements that name a field which was not loaded would be another's, so that
// they are not written.
func TestKeyFieldNotLoaded(t *testing.T) {
	m := Of[Ledger](t)
	s, v := load[Ledger](t, m, part(m, "1", "E#"))
	v.Entries = []Note{{N: 1}}
	_, err := change.Of(s, nil, v, change.Options{})
	var missing *change.NotLoaded
	if !errors.As(err, &missing) || missing.Field != "Entries" || missing.Needs != "Year," {
		t.Error(err)
	}
}
