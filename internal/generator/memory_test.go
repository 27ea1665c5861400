package generator

import (
	"strings"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/model/schema"
)

type (
	blankField = struct{}
	bare       struct {
		_  blankField `ddb:"table=users"`
		ID string     `ddb:"pk=U#{ID}"`
		A  string     `ddb:"sk=HEAD"`
	}
	withNote struct {
		_    blankField `ddb:"table=users"`
		ID   string     `ddb:"pk=U#{ID}"`
		A    string     `ddb:"sk=HEAD"`
		Note string     `ddb:"sk=HEAD"`
	}
	withFull struct {
		_    blankField `ddb:"table=users"`
		ID   string     `ddb:"pk=U#{ID}"`
		A    string     `ddb:"sk=HEAD"`
		Full string     `ddb:"sk=HEAD,was=Note"`
	}
	withoutWas struct {
		_    blankField `ddb:"table=users"`
		ID   string     `ddb:"pk=U#{ID}"`
		A    string     `ddb:"sk=HEAD"`
		Full string     `ddb:"sk=HEAD"`
	}
	withTotal struct {
		_   blankField `ddb:"table=users"`
		ID  string     `ddb:"pk=U#{ID}"`
		A   string     `ddb:"sk=HEAD"`
		Sum string     `ddb:"sk=TOTAL"`
	}
)

// A deletion that was accepted may leave stored data: of an attribute, of its earlier names, and of
// whole items. Later versions of the model are compared with it.
func TestLockMemory(t *testing.T) {
	for name, c := range map[string]struct {
		versions []any // each but the last is accepted
		want     string
	}{
		"a name that comes back": {[]any{withNote{}, bare{}, struct {
			_    blankField `ddb:"table=users"`
			ID   string     `ddb:"pk=U#{ID}"`
			A    string     `ddb:"sk=HEAD"`
			Note int        `ddb:"sk=HEAD"`
		}{}}, `, which stored items may have though the model removed it,`},
		"a name that comes back as that of before": {[]any{withNote{}, bare{}, struct {
			_    blankField `ddb:"table=users"`
			ID   string     `ddb:"pk=U#{ID}"`
			A    string     `ddb:"sk=HEAD"`
			Memo int        `ddb:"sk=HEAD,was=Note"`
		}{}}, `, which stored items may have though the model removed it,`},
		"it comes back as it was": {[]any{withNote{}, bare{}, withNote{}}, ""},
		"a name of before, of which was= is gone": {[]any{withNote{}, withFull{}, withoutWas{}, struct {
			_    blankField `ddb:"table=users"`
			ID   string     `ddb:"pk=U#{ID}"`
			A    string     `ddb:"sk=HEAD"`
			Full string     `ddb:"sk=HEAD"`
			Note int        `ddb:"sk=HEAD"`
		}{}}, `, which stored items may have though the model removed it,`},
		"a name of before, of which the field is gone": {[]any{withNote{}, withFull{}, bare{}, struct {
			_    blankField `ddb:"table=users"`
			ID   string     `ddb:"pk=U#{ID}"`
			A    string     `ddb:"sk=HEAD"`
			Note int        `ddb:"sk=HEAD"`
		}{}}, `, which stored items may have though the model removed it,`},
		"an item that comes back": {[]any{withTotal{}, bare{}, struct {
			_   blankField `ddb:"table=users"`
			ID  string     `ddb:"pk=U#{ID}"`
			A   string     `ddb:"sk=HEAD"`
			Sum int        `ddb:"sk=TOTAL"`
		}{}}, `, which stored items may have though the model removed it,`},
		"an item that comes back after another change": {[]any{withTotal{}, bare{}, withNote{}, struct {
			_    blankField `ddb:"table=users"`
			ID   string     `ddb:"pk=U#{ID}"`
			A    string     `ddb:"sk=HEAD"`
			Note string     `ddb:"sk=HEAD"`
			Sum  int        `ddb:"sk=TOTAL"`
		}{}}, `, which stored items may have though the model removed it,`},
		"a name that becomes the TTL": {[]any{struct {
			_   blankField `ddb:"table=users"`
			ID  string     `ddb:"pk=U#{ID}"`
			A   string     `ddb:"sk=HEAD"`
			Exp int        `ddb:"sk=HEAD"`
		}{}, bare{}, struct {
			_    blankField `ddb:"table=users,ttl=Exp"`
			ID   string     `ddb:"pk=U#{ID}"`
			A    string     `ddb:"sk=HEAD"`
			Till time.Time  `ddb:"sk=HEAD,ttl,all"`
		}{}}, `stored items may have "Exp", which is the TTL attribute now`},
	} {
		t.Run(name, func(t *testing.T) {
			old := layoutOf(t, c.versions[0])
			for _, v := range c.versions[1 : len(c.versions)-1] {
				now := layoutOf(t, v)
				remember(old, &now)
				old = now
			}
			now := layoutOf(t, c.versions[len(c.versions)-1])
			text := strings.Join(lost(old, now), "\n")
			for _, l := range lostAttributes(old, now) {
				text += l.text + "\n"
			}
			if c.want == "" && text != "" || !strings.Contains(text, c.want) {
				t.Errorf("got %s", text)
			}
		})
	}
}

// A new model takes over the memory of a deleted model if it has probably replaced it. It takes over no
// other memory: not of a model under build tags, of one in test files, or of one of the same
// collection.
func TestFormerly(t *testing.T) {
	named := func(name string, v any) schema.Layout {
		l := layoutOf(t, v)
		l.Model = name
		return l
	}
	counter := struct {
		_  blankField `ddb:"table=users"`
		ID string     `ddb:"pk=U#{ID}"`
		C  int        `ddb:"sk=COUNT"`
	}{}
	extra := struct {
		_  blankField `ddb:"table=users"`
		ID string     `ddb:"pk=U#{ID}"`
		X  int        `ddb:"sk=EXTRA"`
	}{}
	people := struct {
		_  blankField `ddb:"table=people"`
		ID string     `ddb:"pk=U#{ID}"`
		A  string     `ddb:"sk=HEAD"`
		B  string     `ddb:"sk=HEAD"`
	}{}
	moved := struct {
		_  blankField `ddb:"table=users"`
		ID string     `ddb:"pk=V#{ID}"`
		A  string     `ddb:"sk=HEAD"`
		B  string     `ddb:"sk=HEAD"`
	}{}
	for name, c := range map[string]struct {
		of            string // the package
		before, now   []schema.Layout
		want, current string
	}{
		"renamed": {
			"s",
			[]schema.Layout{named("User", bare{})},
			[]schema.Layout{named("Account", bare{})},
			"User", "",
		},
		"renamed, with a field": {
			"s",
			[]schema.Layout{named("User", bare{})},
			[]schema.Layout{named("Account", withNote{})},
			"User", "",
		},
		"renamed, with a field and another table": {
			"s",
			[]schema.Layout{named("User", bare{})},
			[]schema.Layout{named("Account", people)},
			"User", "",
		},
		"renamed, with a field and another key": {
			"s",
			[]schema.Layout{named("User", bare{})},
			[]schema.Layout{named("Account", moved)},
			"User", "",
		},
		"another of the collection": {
			"s",
			[]schema.Layout{named("Extra", extra)},
			[]schema.Layout{named("Counter", counter)},
			"", "Extra",
		},
		"the tests beside": {
			"s_test",
			[]schema.Layout{named("User", bare{})},
			[]schema.Layout{named("s_test.Old", bare{})},
			"", "User",
		},
		"beside the tests": {
			"s",
			[]schema.Layout{named("s_test.Old", bare{})},
			[]schema.Layout{named("User", bare{})},
			"", "s_test.Old",
		},
		"two at once, each the most alike": {
			"s",
			[]schema.Layout{named("Ant", counter), named("Bee", extra)},
			[]schema.Layout{named("Yak", extra), named("Zoo", counter)},
			"Bee, Ant", "",
		},
	} {
		unseen := append([]schema.Layout(nil), c.before...)
		var got, left []string
		for _, l := range (&Package{Name: c.of}).formerly(c.before, &unseen, c.now) {
			if l != nil {
				got = append(got, l.Model)
			}
		}
		for _, l := range unseen {
			left = append(left, l.Model)
		}
		if strings.Join(got, ", ") != c.want || strings.Join(left, ", ") != c.current {
			t.Errorf("%s: was %v, and %v stay", name, got, left)
		}
	}
}
