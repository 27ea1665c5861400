package generator

import (
	"reflect"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/model/schema"
)

type (
	noteBy struct {
		At string
		By string
	}
	noteWhen struct {
		When string
		Who  string
	}
)

// The stored items that a change of the indexes' declarations would no longer find.
func TestLostIndexes(t *testing.T) {
	type blank = struct{}
	layout := func(v any) schema.Layout {
		t.Helper()
		e, err := schema.Of(reflect.TypeOf(v))
		if err != nil {
			t.Fatal(err)
		}
		return e.Layout()
	}
	type none struct {
		_  blank  `ddb:"table=shops"`
		ID string `ddb:"pk=M#{ID}"`
		A  string `ddb:"sk=HEAD"`
		B  string `ddb:"sk=HEAD"`
	}
	type byA struct {
		_  blank  `ddb:"table=shops"`
		_  blank  `ddb:"index=one,hash=K,pk=A#{A}"`
		ID string `ddb:"pk=M#{ID}"`
		A  string `ddb:"sk=HEAD"`
		B  string `ddb:"sk=HEAD"`
	}
	type byB struct {
		_  blank  `ddb:"table=shops"`
		_  blank  `ddb:"index=one,hash=K,pk=A#{B}"`
		ID string `ddb:"pk=M#{ID}"`
		A  string `ddb:"sk=HEAD"`
		B  string `ddb:"sk=HEAD"`
	}
	type text struct {
		_  blank  `ddb:"table=shops"`
		_  blank  `ddb:"index=one,hash=K,pk=BY#{A}"`
		ID string `ddb:"pk=M#{ID}"`
		A  string `ddb:"sk=HEAD"`
		B  string `ddb:"sk=HEAD"`
	}
	type renamed struct {
		_    blank  `ddb:"table=shops"`
		_    blank  `ddb:"index=other,hash=K,pk=A#{Name}"`
		ID   string `ddb:"pk=M#{ID}"`
		Name string `ddb:"sk=HEAD" dynamodbav:"A"`
		B    string `ddb:"sk=HEAD"`
	}
	type tenant struct {
		_     blank `ddb:"table=shops"`
		_     blank `ddb:"index=one,hash=K,pk=T#{T}#{A}"`
		_     blank `ddb:"index=two,hash=L,range=M,pk=T#{^T}#{By},sk={At},on=Notes"`
		T     string
		ID    string   `ddb:"pk=T#{T}#{ID}"`
		A     string   `ddb:"sk=HEAD"`
		Notes []noteBy `ddb:"sk=N#{At}#{By}"`
	}
	type club struct {
		_     blank `ddb:"table=shops"`
		_     blank `ddb:"index=one,hash=K,pk=T#{Club}#{A}"`
		_     blank `ddb:"index=two,hash=L,range=M,pk=T#{^Club}#{Who},sk={When},on=Notes"`
		Club  string
		ID    string     `ddb:"pk=T#{Club}#{ID}"`
		A     string     `ddb:"sk=HEAD"`
		Notes []noteWhen `ddb:"sk=N#{When}#{Who}"`
	}
	type swapped struct {
		_     blank `ddb:"table=shops"`
		_     blank `ddb:"index=one,hash=K,pk=T#{ID}#{A}"`
		_     blank `ddb:"index=two,hash=L,range=M,pk=T#{^T}#{By},sk={At},on=Notes"`
		T     string
		ID    string   `ddb:"pk=T#{T}#{ID}"`
		A     string   `ddb:"sk=HEAD"`
		Notes []noteBy `ddb:"sk=N#{At}#{By}"`
	}
	type projected struct {
		_  blank  `ddb:"table=shops"`
		_  blank  `ddb:"index=one,hash=K,pk=A#{A},project='B'"`
		ID string `ddb:"pk=M#{ID}"`
		A  string `ddb:"sk=HEAD"`
		B  string `ddb:"sk=HEAD"`
	}
	type own struct {
		_  blank  `ddb:"table=shops"`
		_  blank  `ddb:"index=one,pk={A}"`
		ID string `ddb:"pk=M#{ID}"`
		A  string `ddb:"sk=HEAD"`
		B  string `ddb:"sk=HEAD"`
	}
	for _, c := range []struct {
		name     string
		old, now any
		want     string
	}{
		{
			"declared on what is stored",
			none{},
			byA{},
			`does not find them: run itemize gen -accept ./... and save each with mapper.Reindex (if the table has ` +
				`items)`,
		},
		{"over an attribute as it is, which DynamoDB fills", none{}, own{}, ""},
		{"another projection", byA{}, projected{}, "the index one had the projection all and has B, _a, _s now, a " +
			"change that DynamoDB does not make: use another name"},
		{
			"another key",
			own{},
			byA{},
			"the index one had the keys A (S) and has K (S) now, a change that DynamoDB does not make",
		},
		{"taken away", byA{}, none{}, ""},
		{"of another field", byA{}, byB{}, `with "A#{A}" as "K", which is "A#{B}" now`},
		{"of another text", byA{}, text{}, `with "A#{A}" as "K", which is "BY#{A}" now`},
		{"the field and the index renamed", byA{}, renamed{}, ""},
		{"as it was", byA{}, byA{}, ""},
		{"fields that only keys hold, renamed", tenant{}, club{}, ""},
		{
			"another field that only keys hold",
			tenant{},
			swapped{},
			`with "T#{T}#{A}" as "K", which is "T#{ID}#{A}" now`,
		},
	} {
		got := strings.Join(lostIndexes(layout(c.old), layout(c.now)), "; ")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
