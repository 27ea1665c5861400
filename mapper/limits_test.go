package mapper_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
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

// manyFields has more attributes than an update expression has operators.
type manyFields struct {
	F000, F001, F002, F003, F004, F005, F006, F007, F008, F009 int `ddb:"sk=HEAD"`
	F010, F011, F012, F013, F014, F015, F016, F017, F018, F019 int `ddb:"sk=HEAD"`
	F020, F021, F022, F023, F024, F025, F026, F027, F028, F029 int `ddb:"sk=HEAD"`
	F030, F031, F032, F033, F034, F035, F036, F037, F038, F039 int `ddb:"sk=HEAD"`
	F040, F041, F042, F043, F044, F045, F046, F047, F048, F049 int `ddb:"sk=HEAD"`
	F050, F051, F052, F053, F054, F055, F056, F057, F058, F059 int `ddb:"sk=HEAD"`
	F060, F061, F062, F063, F064, F065, F066, F067, F068, F069 int `ddb:"sk=HEAD"`
	F070, F071, F072, F073, F074, F075, F076, F077, F078, F079 int `ddb:"sk=HEAD"`
	F080, F081, F082, F083, F084, F085, F086, F087, F088, F089 int `ddb:"sk=HEAD"`
	F090, F091, F092, F093, F094, F095, F096, F097, F098, F099 int `ddb:"sk=HEAD"`
	F100, F101, F102, F103, F104, F105, F106, F107, F108, F109 int `ddb:"sk=HEAD"`
	F110, F111, F112, F113, F114, F115, F116, F117, F118, F119 int `ddb:"sk=HEAD"`
	F120, F121, F122, F123, F124, F125, F126, F127, F128, F129 int `ddb:"sk=HEAD"`
	F130, F131, F132, F133, F134, F135, F136, F137, F138, F139 int `ddb:"sk=HEAD"`
	F140, F141, F142, F143, F144, F145, F146, F147, F148, F149 int `ddb:"sk=HEAD"`
	F150, F151, F152, F153, F154, F155, F156, F157, F158, F159 int `ddb:"sk=HEAD"`
	F160, F161, F162, F163, F164, F165, F166, F167, F168, F169 int `ddb:"sk=HEAD"`
	F170, F171, F172, F173, F174, F175, F176, F177, F178, F179 int `ddb:"sk=HEAD"`
	F180, F181, F182, F183, F184, F185, F186, F187, F188, F189 int `ddb:"sk=HEAD"`
	F190, F191, F192, F193, F194, F195, F196, F197, F198, F199 int `ddb:"sk=HEAD"`
	F200, F201, F202, F203, F204, F205, F206, F207, F208, F209 int `ddb:"sk=HEAD"`
	F210, F211, F212, F213, F214, F215, F216, F217, F218, F219 int `ddb:"sk=HEAD"`
	F220, F221, F222, F223, F224, F225, F226, F227, F228, F229 int `ddb:"sk=HEAD"`
	F230, F231, F232, F233, F234, F235, F236, F237, F238, F239 int `ddb:"sk=HEAD"`
	F240, F241, F242, F243, F244, F245, F246, F247, F248, F249 int `ddb:"sk=HEAD"`
	F250, F251, F252, F253, F254, F255, F256, F257, F258, F259 int `ddb:"sk=HEAD"`
	F260, F261, F262, F263, F264, F265, F266, F267, F268, F269 int `ddb:"sk=HEAD"`
	F270, F271, F272, F273, F274, F275, F276, F277, F278, F279 int `ddb:"sk=HEAD"`
	F280, F281, F282, F283, F284, F285, F286, F287, F288, F289 int `ddb:"sk=HEAD"`
	F290, F291, F292, F293, F294, F295, F296, F297, F298, F299 int `ddb:"sk=HEAD"`
	F300, F301, F302, F303, F304, F305, F306, F307, F308, F309 int `ddb:"sk=HEAD"`
	F310, F311, F312, F313, F314, F315, F316, F317, F318, F319 int `ddb:"sk=HEAD"`
}

// set sets each field.
func (m *manyFields) set(value func(i int) int) {
	v := reflect.ValueOf(m).Elem()
	for i := range v.NumField() {
		v.Field(i).SetInt(int64(value(i)))
	}
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
	e.Value.set(func(i int) int { return i + 1 })
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
	mine.Value.set(func(int) int { return 7 })
	e.Value.F000 = -1
	kit.Must(m.Save(ctx, e))(t)
	_, err = m.Save(ctx, mine)
	kit.WantConflict(t, err, "HEAD", "changed")
}
