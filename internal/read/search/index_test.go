package search_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
	"github.com/itemize/itemize/tables"
)

// The effect of a save on each index is the one that the plan says and the engine charges. An entry is
// added, removed, moved, changed or kept.
func TestIndexUnits(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	if !testengine.ReportsTransactions(t) {
		t.Log("units of indexes are those of dynoxide")
		return
	}
	m := kit.Indexed[kit.Issue](t, nil)
	e := m.New(kit.IssueOf("1", "open", "ann", kit.Monday, kit.IssueText{At: kit.Monday, By: "bob", Words: "x"}))
	e.Value.Weight = 3
	step := func(what string, want map[string]float64) {
		t.Helper()
		plan := kit.Must(m.PlanSave(e))(t)
		r := kit.Must(m.Save(ctx, e))(t)
		got := map[string]float64{}
		for name, n := range r.Consumed.Indexes {
			got[name[strings.LastIndexByte(name, '/')+1:]] = n
			if plan.Indexes[name] != cost.Exactly(n) || r.Predicted().Indexes[name] != cost.Exactly(n) {
				t.Errorf("%s: %s: %v, planned %v, predicted %v", what, name, n, plan.Indexes[name],
					r.Predicted().Indexes[name])
			}
		}
		if len(plan.Indexes) != len(got) || fmt.Sprint(got) != fmt.Sprint(want) || !r.Predicted().WCU.Exact() ||
			r.Predicted().WCU.Expected != r.Consumed.WCU {
			t.Errorf("%s: %v, want %v\n%s", what, got, want, r)
		}
	}
	step("inserted", map[string]float64{"byState": 1, "byOwner": 1, "byAuthor": 1, "byWeight": 1})
	e.Value.State = "closed"
	step("moved", map[string]float64{"byState": 2, "byOwner": 1, "byWeight": 1})
	e.Value.Owner = ""
	step("sparse", map[string]float64{"byState": 1, "byOwner": 1, "byWeight": 1})
	e.Value.Text = strings.Repeat("x", 3000)
	step("grown", map[string]float64{"byState": 4, "byWeight": 4})
	e.Value.Texts[0].Words = "other"
	step("not projected", nil)
	e.Value.Texts[0].By = "eve"
	step("an element's", map[string]float64{"byAuthor": 2})
}

// A query of an index yields its content: whole entities, roots, elements; in order, in ranges, in both
// directions, in pages.
func TestIndexQueries(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.Indexed[kit.Issue](t, nil)
	for i := range 9 {
		state, owner := []string{"open", "closed", "open"}[i%3], []string{"ann", ""}[i%2]
		at := kit.Monday.Add(time.Duration(i) * time.Hour)
		v := kit.IssueOf(fmt.Sprint(i), state, owner, at,
			kit.IssueText{At: at, By: "bob", Words: fmt.Sprint("words ", i)})
		v.Weight = 100 - i
		kit.Must(m.Save(ctx, m.New(v)))(t)
	}
	ids := func(q *query.Query[kit.Issue, kit.Issue]) string {
		t.Helper()
		var all []string
		for _, x := range kit.Must(q.Fetch().Collect(ctx, m))(t) {
			if x.Text != "text of "+x.ID || len(x.Texts) != 1 {
				t.Errorf("%+v", x)
			}
			all = append(all, x.ID)
		}
		return strings.Join(all, " ")
	}
	of := query.Of[kit.Issue, kit.Issue]
	same := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	open := m.Index("byState", "open")
	same(ids(of(open)), "0 2 3 5 6 8")
	same(ids(of(open).Reverse().Limit(3)), "8 6 5")
	same(ids(of(open.Between(kit.Monday.Add(time.Hour), kit.Monday.Add(5*time.Hour+1)))), "2 3 5")
	same(ids(of(open.AtLeast(kit.Monday.Add(6*time.Hour)))), "6 8")
	same(ids(of(m.Index("byState", "open", kit.Monday.Add(2*time.Hour)))), "2")
	same(ids(of(m.Index("byState", "lost"))), "")
	owned := strings.Fields(ids(of(m.Index("byOwner", "ann")))) // an index without a sort key has no order
	slices.Sort(owned)
	same(strings.Join(owned, " "), "0 2 4 6 8")
	same(ids(of(m.Index("byWeight", "4", 96))), "4")
	same(ids(of(m.Index("byWeight", "4").AtLeast(96))), "4")
	same(ids(of(m.Index("byWeight", "4").AtMost(95))), "")

	var pages []string
	for next := query.Cursor(""); ; {
		p := kit.Must(of(open).Limit(2).After(next).Page(ctx, m))(t)
		for _, x := range p.Items {
			pages = append(pages, x.ID)
		}
		if next = p.Next; next == "" {
			break
		}
	}
	same(strings.Join(pages, " "), "0 2 3 5 6 8")
	if n := kit.Must(of(open).Count(ctx, m))(t); n != 6 {
		t.Error(n)
	}

	var roots []string
	for ref, err := range of(open).Refs(ctx, m) {
		if err != nil {
			t.Fatal(err)
		}
		if len(ref.Value.Texts) > 0 || ref.Value.Text == "" || ref.Sort != "HEAD" {
			t.Errorf("%+v", ref)
		}
		roots = append(roots, ref.Value.ID)
	}
	same(strings.Join(roots, " "), "0 2 3 5 6 8")

	byBob := query.Of[kit.IssueText](m.Index("byAuthor", "bob").AtLeast(kit.Monday.Add(7 * time.Hour)))
	var words []string
	for ref, err := range byBob.Refs(ctx, m) {
		if err != nil {
			t.Fatal(err)
		}
		words = append(words, ref.Value.Words+" of "+ref.Placeholders["^ID"].(string))
	}
	same(strings.Join(words, ", "), "words 7 of 7, words 8 of 8")
}

// A query of an index returns the attributes that the index has. Others are read from the table with Fetch, and a
// projection of them is refused without it.
func TestIndexProjections(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.Indexed[kit.Issue](t, nil)
	kit.Must(m.Save(ctx, m.New(kit.IssueOf("1", "open", "ann", kit.Monday))))(t)
	owner := query.Of[kit.Issue, kit.Issue](m.Index("byOwner", "ann"))
	found := kit.Must(owner.Collect(ctx, m))(t)
	if want := (kit.Issue{ID: "1", State: "open", Owner: "ann"}); len(found) != 1 ||
		!reflect.DeepEqual(found[0], want) {
		t.Errorf("%+v", found)
	}
	text := handmade.String("Text", "", func(x *kit.Issue) *string { return &x.Text })
	_, err := owner.Project(text).Collect(ctx, m)
	if err == nil || !strings.Contains(err.Error(),
		"the index byOwner does not project Text of HEAD: Project the fields that it has") {
		t.Error(err)
	}
	refs := kit.Must(owner.Fetch().Roots().Collect(ctx, m))(t)
	if len(refs) != 1 || refs[0].Text != "text of 1" {
		t.Errorf("%+v", refs)
	}
}

// No query of an index returns items that are not live, at whichever point a staged insert or delete
// ended. A root is not in an index because it has the index keys only while it is live, and an element
// is filtered by its root.
func TestIndexLiveOnly(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	clean := kit.Indexed[kit.Issue](t, nil)
	table := tables.Of(clean)[0].Name
	var texts []kit.IssueText
	for i := range 3 {
		texts = append(texts, kit.IssueText{At: kit.Monday.Add(time.Duration(i) * time.Minute), By: "bob", Words: "x"})
	}
	dying := func(left int) (*mapper.Mapper[kit.Issue], *kit.Crash) {
		c := &kit.Crash{Left: left}
		client := testengine.Start(t).Client(func(o *dynamodb.Options) {
			o.HTTPClient, o.RetryMaxAttempts = c.Transport(), 1
		})
		return kit.Must(mapper.New[kit.Issue](client, mapper.Table(table)))(t), c
	}
	entries := func(name, by string) int {
		out := kit.Must(testengine.Start(t).Client().Query(ctx, &dynamodb.QueryInput{
			TableName: &table, IndexName: aws.String("byState"), KeyConditionExpression: aws.String("GSI1PK = :k"),
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":k": &types.AttributeValueMemberS{Value: "STATE#" + name},
			},
		}))(t)
		roots := kit.Must(query.Of[kit.Issue, kit.Issue](clean.Index("byState", name)).Roots().Count(ctx, clean))(t)
		if int(out.Count) != roots {
			t.Errorf("the index has %d roots of %s, and %d are live", out.Count, name, roots)
		}
		all := kit.Must(query.Of[kit.Issue, kit.Issue](clean.Index("byState", name)).Collect(ctx, clean))(t)
		words := kit.Must(query.Of[kit.IssueText](clean.Index("byAuthor", by)).Count(ctx, clean))(t)
		if len(all) != roots || words != 3*roots {
			t.Errorf("%s: %d heads, %d entities, %d texts", name, roots, len(all), words)
		}
		return roots
	}
	for step := 0; ; step++ {
		id := fmt.Sprint("insert", step)
		m, c := dying(step)
		for i := range texts {
			texts[i].By = id
		}
		_, err := m.Save(ctx, m.New(kit.IssueOf(id, id, "ann", kit.Monday, slices.Clone(texts)...)), mapper.Staged())
		live := entries(id, id)
		c.Deliver(t)
		if late := entries(id, id); err == nil && late != 1 || live == 1 && late == 0 {
			t.Errorf("step %d: %d live, then %d: %v", step, live, late, err)
		}
		if err == nil {
			break
		}
	}
	for step := 0; ; step++ {
		id := fmt.Sprint("delete", step)
		for i := range texts {
			texts[i].By = id
		}
		kit.Must(clean.Save(ctx, clean.New(kit.IssueOf(id, id, "ann", kit.Monday, slices.Clone(texts)...))))(t)
		m, c := dying(step)
		_, err := m.DeleteByKey(ctx, m.Key(id), mapper.Staged())
		entries(id, id)
		c.Deliver(t)
		if late := entries(id, id); err == nil && late != 0 {
			t.Errorf("step %d: %d live: %v", step, late, err)
		}
		if err == nil {
			break
		}
	}
}

// shift has an index whose keys are several attributes as they are.
type shift struct {
	_      struct{}  `ddb:"table=shifts"`
	_      struct{}  `ddb:"index=roster,pk={Tenant};{Region},sk={Status};{Rank};{At:unix}"`
	ID     string    `ddb:"pk=SHIFT#{ID}"`
	Tenant string    `ddb:"sk=HEAD"`
	Region int       `ddb:"sk=HEAD"`
	Status string    `ddb:"sk=HEAD"`
	Rank   int       `ddb:"sk=HEAD"`
	At     time.Time `ddb:"sk=HEAD" dynamodbav:",unixtime"`
}

// Keys of several attributes are given step by step: a beginning by equality, the next one by range;
// numbers stay numbers.
func TestIndexOfSeveralAttributes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := kit.Indexed[shift](t, nil)
	for i := range 12 {
		x := shift{
			ID: fmt.Sprint(i), Tenant: "acme", Region: 7, Status: []string{"open", "done"}[i%2], Rank: i,
			At: kit.Monday.Add(time.Duration(i) * time.Hour),
		}
		if i == 10 {
			x.Region = 8
		}
		r := kit.Must(m.Save(ctx, m.New(x)))(t)
		if r.Predicted().WCU.Expected != r.Consumed.WCU || r.Predicted().WCU.Expected != 2 {
			t.Error(r)
		}
	}
	ids := func(n query.Selection[shift]) string {
		var all []string
		for _, x := range kit.Must(query.Of[shift](n).Collect(ctx, m))(t) {
			all = append(all, x.ID)
		}
		return strings.Join(all, " ")
	}
	for _, c := range []struct {
		name string
		node query.Selection[shift]
		want string
	}{
		{"the partition", m.Index("roster", "acme", 7), "1 3 5 7 9 11 0 2 4 6 8"},
		{"one status", m.Index("roster", "acme", 7, "open"), "0 2 4 6 8"},
		{"statuses", m.Index("roster", "acme", 7).BeginsWith("d"), "1 3 5 7 9 11"},
		{"ranks", m.Index("roster", "acme", 7, "done").Between(5, 11), "5 7 9 11"},
		{"from a rank", m.Index("roster", "acme", 7, "done").AtLeast(9), "9 11"},
		{"one rank, times", m.Index("roster", "acme", 7, "done", 9).AtLeast(kit.Monday), "9"},
		{"one rank, later", m.Index("roster", "acme", 7, "done", 9).AtLeast(kit.Monday.Add(10 * time.Hour)), ""},
		{"whole", m.Index("roster", "acme", 7, "done", 9, kit.Monday.Add(9*time.Hour)), "9"},
		{"another partition", m.Index("roster", "acme", 8), "10"},
	} {
		if got := ids(c.node); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	q := query.Of[shift](m.Index("roster", "acme", 7)).Limit(4)
	var got []string
	for next := query.Cursor(""); ; {
		p := kit.Must(q.After(next).Page(ctx, m))(t)
		for _, x := range p.Items {
			got = append(got, x.ID)
		}
		if next = p.Next; next == "" {
			break
		}
	}
	if strings.Join(got, " ") != "1 3 5 7 9 11 0 2 4 6 8" {
		t.Error(got)
	}
}

// Items that were written before an index was declared are not in it, until a save writes them: for
// whatever reason, or with Reindex.
func TestReindex(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type before struct {
		_      struct{}        `ddb:"table=tickets"`
		ID     string          `ddb:"pk=TICKET#{ID}"`
		State  string          `ddb:"sk=HEAD"`
		Opened time.Time       `ddb:"sk=HEAD"`
		Texts  []kit.IssueText `ddb:"sk=TEXT#{At}"`
	}
	m := kit.Indexed[kit.Issue](t, nil)
	old := kit.Must(mapper.New[before](testengine.Start(t).Client(), mapper.Table(tables.Of(m)[0].Name)))(t)
	for _, id := range []string{"1", "2"} {
		kit.Must(old.Save(ctx,
			old.New(before{
				ID: id, State: "open", Opened: kit.Monday,
				Texts: []kit.IssueText{{At: kit.Monday, By: "bob"}},
			})))(t)
	}
	count := func() string {
		return fmt.Sprint(kit.Must(query.Of[kit.Issue, kit.Issue](m.Index("byState", "open")).Count(ctx, m))(t),
			kit.Must(query.Of[kit.IssueText](m.Index("byAuthor", "bob")).Count(ctx, m))(t))
	}
	if got := count(); got != "0 0" {
		t.Error(got)
	}
	for e, err := range m.Scan(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if r := kit.Must(m.Save(ctx, e))(t); r.Predicted().Requests != 0 {
			t.Error(r)
		}
		if r := kit.Must(m.Save(ctx, e, mapper.Reindex()))(t); len(r.Predicted().Items) != 2 {
			t.Error(r)
		}
		if r := kit.Must(m.Save(ctx, e, mapper.Reindex()))(t); r.Predicted().Requests != 0 {
			t.Error(r)
		}
	}
	if got := count(); got != "2 2" {
		t.Error(got)
	}
}

// An item and its entries in local indexes have one limit.
func TestIndexLocalLimit(t *testing.T) {
	t.Parallel()
	m := kit.Must(mapper.New[kit.Issue](testengine.Start(t).Client()))(t)
	big := func(n int) error {
		_, err := m.PlanSave(m.New(kit.Issue{ID: "1", Opened: kit.Monday, Text: strings.Repeat("x", n)}))
		return err
	}
	if err := big(204_000); err != nil {
		t.Error(err)
	}
	var large *mapper.TooLargeError
	if err := big(206_000); !errors.As(err, &large) ||
		!strings.Contains(err.Error(), "in local indexes (limit 400 KB in all); largest attributes: Text 206004") {
		t.Error(err)
	}
}
