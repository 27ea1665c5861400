package operation

import (
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/testing/fakedynamo"
)

// Options that exclude each other, or mean nothing for a use, are refused with the cure. All other
// combinations are accepted.
func TestOptionsAreCheckedByUse(t *testing.T) {
	versions, plain := fakedynamo.Of[fakedynamo.Shop](t), fakedynamo.Of[fakedynamo.Plain](t)
	for name, c := range map[string]struct {
		use  use
		o    Options
		want string // "" for accepted
	}{
		"nothing":                {forSave, Options{}, ""},
		"save one by one":        {forSave, Options{Independent: true, ExactlyOnce: true, Reindex: true}, ""},
		"save that moves":        {forSave, Options{Move: true, CheckLoaded: true}, ""},
		"save with the root":     {forSave, Options{CheckRoot: true, CheckLoaded: true}, ""},
		"staged insert":          {forSave, Options{Staged: true}, ""},
		"independent and staged": {forSave, Options{Independent: true, Staged: true}, "use one of them"},
		"independent and checked": {
			forSave,
			Options{Independent: true, CheckLoaded: true},
			"leave one out",
		},
		"staged and checked": {
			forSave,
			Options{Staged: true, CheckLoaded: true},
			"leave one out",
		},
		"staged and exactly once": {forSave, Options{Staged: true, ExactlyOnce: true}, "use one of them"},
		"independent move": {
			forSave,
			Options{Independent: true, Move: true},
			"an entity moves in one transaction",
		},
		"root and independent": {forSave, Options{CheckRoot: true, Independent: true}, ""},
		"root and blind": {
			forSave,
			Options{CheckRoot: true, Blind: true},
			"CheckRoot and Blind exclude each other",
		},
		"migrated and independent": {
			forSave,
			Options{RootInTransaction: true, Independent: true},
			"additions during a migration are one transaction",
		},
		"patch without a look":  {forPatch, Options{Blind: true}, ""},
		"delete one by one":     {forDelete, Options{Independent: true}, ""},
		"staged delete":         {forDelete, Options{Staged: true}, ""},
		"delete exactly once":   {forDelete, Options{ExactlyOnce: true}, ""},
		"delete that moves":     {forDelete, Options{Move: true}, "Move has no effect on a delete"},
		"delete that reindexes": {forDelete, Options{Reindex: true}, "Reindex has no effect on a delete"},
		"delete that checks": {
			forDelete,
			Options{CheckLoaded: true},
			"CheckLoaded has no effect on a delete",
		},
		"delete with the root":          {forDelete, Options{CheckRoot: true}, "CheckRoot has no effect on a delete"},
		"delete independent and staged": {forDelete, Options{Independent: true, Staged: true}, "use one of them"},
		"patch exactly once":            {forPatch, Options{ExactlyOnce: true}, ""},
		"patch one by one": {
			forPatch,
			Options{Independent: true},
			"a patch takes ExactlyOnce, Blind and IfTag only",
		},
		"patch that checks": {
			forPatch,
			Options{ExactlyOnce: true, CheckLoaded: true},
			"a patch takes ExactlyOnce, Blind and IfTag only",
		},
		"part that checks":  {forPart, Options{CheckLoaded: true, CheckRoot: true, Reindex: true}, ""},
		"part one by one":   {forPart, Options{Independent: true}, "a part of a transaction takes"},
		"part staged":       {forPart, Options{Staged: true}, "a part of a transaction takes"},
		"part exactly once": {forPart, Options{ExactlyOnce: true}, "a part of a transaction takes"},
		"part that moves, and checks": {
			forPart,
			Options{Move: true, CheckLoaded: true},
			"a part of a transaction takes",
		},
	} {
		err := c.o.check(versions, c.use)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for _, u := range []use{forSave, forDelete} {
		if err := (Options{Staged: true}).check(plain, u); err == nil ||
			!strings.Contains(err.Error(), string(u)+" with Independent") {
			t.Errorf("staged %s without versions: %v", u, err)
		}
	}
}
