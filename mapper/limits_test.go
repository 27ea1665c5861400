package mapper_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// document has a large attribute and small ones.
type document struct {
	_     struct{} `ddb:"table=documents"`
	ID    string   `ddb:"pk={ID}"`
	Title string   `ddb:"sk=HEAD"`
	Body  string   `ddb:"sk=HEAD"`
	Notes string   `ddb:"sk=HEAD"`
	Tags  []string `ddb:"sk=TAG#{.}"`
}

func newDocuments(t testing.TB) (*mapper.Mapper[document], *kit.Foreign) {
	t.Helper()
	table := testengine.Table(t, "PK:S", "SK:S")
	m, err := mapper.New[document](testengine.Start(t).Client(), mapper.Table(table))
	if err != nil {
		t.Fatal(err)
	}
	return m, kit.NewForeign(t, table)
}

// An item of exactly 409,600 bytes is stored, by insert and by update. One more byte is refused before
// any request, and the error names the largest attribute.
func TestItemSizeLimit(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	docs, r := newDocuments(t)
	// PK 2+1, SK 2+4, Title 5, Body 4, Notes 5, _v 2+8, _a 2+8.
	const rest = 2 + 1 + 2 + 4 + 5 + 4 + 5 + 2 + 8 + 2 + 8
	fit := strings.Repeat("x", 409_600-rest)
	e := docs.New(document{ID: "1", Body: fit})
	receipt := kit.Must(docs.Save(ctx, e))(t)
	if receipt.Consumed.WCU != 400 || receipt.Predicted().Items[0].NewBytes != 409_600 {
		t.Errorf("%v", receipt)
	}
	e.Value.Body += "x"
	receipt, err := docs.Save(ctx, e)
	var large *mapper.TooLargeError
	if !errors.As(err, &large) || large.Size != 409_601 ||
		!strings.Contains(err.Error(), fmt.Sprintf("(limit 400 KB); largest attributes: Body %d",
			len(fit)+5)) || receipt.Predicted().Requests != 0 {
		t.Errorf("%v", err)
	}
	// Near the limit an update is sent as a put, which keeps unknown attributes.
	e.Value.Body = fit[:409_600-rest-10]
	kit.Must(docs.Save(ctx, e))(t)
	r.Set("1", "HEAD", "new", kit.S("1234567"))
	e = kit.Must(docs.Load(ctx, docs.Key("1")))(t)
	e.Value.Body = "y" + e.Value.Body[1:]
	receipt = kit.Must(docs.Save(ctx, e))(t)
	it := r.Get("1", "HEAD")
	if receipt.Predicted().Items[0].Kind != "put" || receipt.Predicted().Items[0].NewBytes != 409_600 ||
		kit.Text(it["new"]) != "1234567" || kit.Text(it["Body"])[0] != 'y' {
		t.Errorf("%v", receipt)
	}
	if got := strings.Join(receipt.Predicted().Items[0].Attributes, ","); got != "Body" {
		t.Errorf("changed: %s", got)
	}
	if receipt, err := docs.Save(ctx, e); err != nil || receipt.Predicted().Requests != 0 {
		t.Errorf("again: %v, %v", receipt, err)
	}
	e.Value.Body = ""
	kit.Must(docs.Save(ctx, e))(t)
	if it := r.Get("1", "HEAD"); kit.Text(it["new"]) != "1234567" || kit.Text(it["Body"]) != "" {
		t.Errorf("stored %v", it)
	}
}

// Values that DynamoDB cannot store are refused before any request, each with its
// place and its cure.
func TestBadValues(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type model struct {
		_     struct{}       `ddb:"table=bad"`
		ID    string         `ddb:"pk=B#{ID}"`
		Text  string         `ddb:"sk=HEAD" dynamodbav:"text"`
		Float float64        `ddb:"sk=HEAD"`
		Set   []string       `ddb:"sk=HEAD" dynamodbav:",stringset"`
		Nums  []float64      `ddb:"sk=HEAD" dynamodbav:",numberset"`
		Any   any            `ddb:"sk=HEAD"`
		Map   map[string]int `ddb:"sk=HEAD"`
		Items []*kit.Part    `ddb:"sk=E#{N:02}"`
		Names []string       `ddb:"sk=N#{.}"`
		When  []time.Time    `ddb:"sk=W#{.:unix}"`
		Born  time.Time      `ddb:"sk=HEAD"`
	}
	m, err := mapper.New[model](kit.Failing{})
	if err != nil {
		t.Fatal(err)
	}
	nested := any("x")
	for range 32 { // one more than the engines take
		nested = []any{nested}
	}
	for _, c := range []struct {
		value model
		want  string
	}{
		{model{ID: ""}, `mapper_test.model: {ID} in "B#{ID}": an empty string in a key: set a value`},
		{model{ID: "\xff"}, `mapper_test.model: {ID} in "B#{ID}": a string that is not valid UTF-8 in a key: two of ` +
			`them could become one on the wire: use valid UTF-8, or []byte as the whole key`},
		{
			model{ID: strings.Repeat("x", 2047)},
			`mapper_test.model: "B#{ID}": the key has 2049 bytes, over the limit of 2048: shorten its values`,
		},
		{
			model{ID: "1", Text: "a\xff"},
			`mapper_test.model.Text: attribute "text": the string is not valid UTF-8, and would change in the ` +
				`request: store it as []byte`,
		},
		{
			model{ID: "1", Float: math.NaN()},
			`mapper_test.model.Float: attribute "Float": the number is invalid: DynamoDB takes up to 38 digits, ` +
				`between 1E-130 and 9.9E+125, but not NaN or infinity`,
		},
		{
			model{ID: "1", Float: 1e300},
			`the number is invalid: DynamoDB takes up to 38 digits, between 1E-130 and 9.9E+125, but not NaN or ` +
				`infinity`,
		},
		{
			model{ID: "1", Set: []string{"a", "b", "a"}},
			`mapper_test.model.Set: attribute "Set": the set has a member twice: keep one`,
		},
		{
			model{ID: "1", Nums: []float64{1, 2, 1}},
			`mapper_test.model.Nums: attribute "Nums": the set has a member twice: keep one`,
		},
		{
			model{ID: "1", Any: nested},
			`mapper_test.model.Any: attribute "Any": the value is nested deeper than the 32 levels of DynamoDB: ` +
				`store the inner part as JSON, or as items`,
		},
		{
			model{ID: "1", Born: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
			`mapper_test.model.Born: attribute "Born": the year is not one of 0 to 9999, so that the time could not ` +
				`be read as RFC 3339: store a time of these years`,
		},
		{
			model{ID: "1", Map: map[string]int{"": 1}},
			`mapper_test.model.Map: attribute "Map": marshal failed, map key cannot be empty`,
		},
		{
			model{ID: "1", Items: []*kit.Part{{N: 1, Text: "\xff"}}},
			`mapper_test.model.Items.Text: attribute "Text": the string is not valid UTF-8`,
		},
		{
			model{ID: "1", Items: []*kit.Part{{N: 1}, nil}},
			`mapper_test.model.Items: the element 1 is nil, but an item needs a value: remove the element`,
		},
		{
			model{ID: "1", Items: []*kit.Part{{N: 1}, {N: 2}, {N: 1}}},
			`mapper_test.model.Items: the element 0 and the element 2 have the same key, "E#01": change a field ` +
				`that the template names`,
		},
		{
			model{ID: "1", Items: []*kit.Part{{N: 100}}},
			`mapper_test.model.Items: {N:02} in "E#{N:02}": the number has ` +
				`more than 2 digits: widen the format, which changes all keys, or use sortable (the element 0)`,
		},
		{
			model{ID: "1", Names: []string{""}},
			`mapper_test.model.Names: {.} in "N#{.}": an empty string in a key: set a value (the element 0)`,
		},
		{
			model{ID: "1", Names: []string{strings.Repeat("#", 400)}},
			`mapper_test.model.Names: "N#{.}": the key has 1202 bytes, over the limit of 1024: shorten its values ` +
				`(400 of their characters are escaped and take 3 bytes each) (the element 0)`,
		},
		{
			model{ID: "1", When: []time.Time{{}}},
			`mapper_test.model.When: {.:unix} in "W#{.:unix}": a time that a key of epoch seconds cannot hold: 10 ` +
				`digits are enough for the years 1970 to 2286: use the format seconds (the element 0)`,
		},
	} {
		_, err := m.Save(ctx, m.New(c.value))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v\nwant %s", err, c.want)
		}
	}
	// All of them at once, not the first alone.
	_, err = m.Save(ctx, m.New(model{ID: "1", Text: "\xff", Names: []string{""}, Items: []*kit.Part{nil}}))
	if n := strings.Count(fmt.Sprint(err), "\n") + 1; n != 3 {
		t.Errorf("%d faults of 3: %v", n, err)
	}
}

// The deepest value that is not refused is one that DynamoDB takes.
func TestDepthLimit(t *testing.T) {
	t.Parallel()
	m, err := mapper.New[kit.Open](testengine.Start(t).Client(), mapper.Table(testengine.Table(t, "PK:S", "SK:S")))
	if err != nil {
		t.Fatal(err)
	}
	nested := any("x")
	for range 31 {
		nested = []any{nested}
	}
	kit.Must(m.Save(context.Background(), m.New(kit.Open{ID: "1", Any: nested})))(t)
}

// An update whose expression would be over a limit becomes a put of the whole
// item on its version, and keeps what it does not know.
func TestUpdateOverExpressionLimit(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type many struct {
		_  struct{} `ddb:"table=many"`
		ID string   `ddb:"pk={ID}"`
		manyFields
	}
	table := testengine.Table(t, "PK:S", "SK:S")
	m, err := mapper.New[many](testengine.Start(t).Client(), mapper.Table(table))
	if err != nil {
		t.Fatal(err)
	}
	r := kit.NewForeign(t, table)
	kit.Must(m.Save(ctx, m.New(many{ID: "1"})))(t)
	r.Set("1", "HEAD", "unknown", kit.S("kept"))
	e := kit.Must(m.Load(ctx, m.Key("1")))(t)
	for i := range e.Value.fields() {
		*e.Value.fields()[i] = i + 1
	}
	receipt := kit.Must(m.Save(ctx, e))(t)
	it := r.Get("1", "HEAD")
	if receipt.Predicted().Requests != 1 || receipt.Predicted().Items[0].Kind != "put" ||
		kit.Text(it["unknown"]) != "kept" ||
		it["F319"].(*types.AttributeValueMemberN).Value != "320" {
		t.Errorf("%v", receipt)
	}
	if receipt.Consumed.WCU != receipt.Predicted().WCU.Max {
		t.Errorf("predicted %v, consumed %v", receipt.Predicted().WCU, receipt.Consumed)
	}
	mine := kit.Must(m.Load(ctx, m.Key("1")))(t)
	for i := range mine.Value.fields() {
		*mine.Value.fields()[i] = 7
	}
	e.Value.F000 = -1
	kit.Must(m.Save(ctx, e))(t)
	_, err = m.Save(ctx, mine)
	kit.WantConflict(t, err, "HEAD", "changed")
}
