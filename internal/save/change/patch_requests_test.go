package change_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	wishlist "github.com/itemize/itemize/examples/wishlist/store"
	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
	"github.com/itemize/itemize/query"
)

// recorder answers writes, and keeps what they ask for as text.
type recorder struct {
	mapper.Client
	requests []string
}

func (c *recorder) PutItem(_ context.Context, in *dynamodb.PutItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	c.note("put "+place(in.Item), "", in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues)
	return &dynamodb.PutItemOutput{}, nil
}

func (c *recorder) GetItem(_ context.Context, in *dynamodb.GetItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	item := maps.Clone(in.Key)
	item["_a"] = &types.AttributeValueMemberB{Value: []byte("live")}
	return &dynamodb.GetItemOutput{Item: item}, nil
}

func (c *recorder) UpdateItem(_ context.Context, in *dynamodb.UpdateItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	c.note("update "+place(in.Key), *in.UpdateExpression, in.ConditionExpression, in.ExpressionAttributeNames,
		in.ExpressionAttributeValues)
	return &dynamodb.UpdateItemOutput{}, nil
}

func (c *recorder) DeleteItem(_ context.Context, in *dynamodb.DeleteItemInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.DeleteItemOutput, error) {
	c.note("delete "+place(in.Key), "", in.ConditionExpression, in.ExpressionAttributeNames,
		in.ExpressionAttributeValues)
	return &dynamodb.DeleteItemOutput{}, nil
}

func (c *recorder) TransactWriteItems(_ context.Context, in *dynamodb.TransactWriteItemsInput,
	_ ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	for _, w := range in.TransactItems {
		switch {
		case w.Put != nil:
			c.note("put "+place(w.Put.Item), "", w.Put.ConditionExpression, w.Put.ExpressionAttributeNames,
				w.Put.ExpressionAttributeValues)
		case w.Update != nil:
			c.note("update "+place(w.Update.Key), *w.Update.UpdateExpression, w.Update.ConditionExpression,
				w.Update.ExpressionAttributeNames, w.Update.ExpressionAttributeValues)
		case w.Delete != nil:
			c.note("delete "+place(w.Delete.Key), "", w.Delete.ConditionExpression, w.Delete.ExpressionAttributeNames,
				w.Delete.ExpressionAttributeValues)
		default:
			c.note("check "+place(w.ConditionCheck.Key), "", w.ConditionCheck.ConditionExpression,
				w.ConditionCheck.ExpressionAttributeNames, w.ConditionCheck.ExpressionAttributeValues)
		}
	}
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

func place(item map[string]types.AttributeValue) string {
	return item["PK"].(*types.AttributeValueMemberS).Value + "|" + item["SK"].(*types.AttributeValueMemberS).Value
}

// note keeps a request, its placeholders replaced, and versions as TOKEN.
func (c *recorder) note(what, update string, condition *string, names map[string]string,
	values map[string]types.AttributeValue,
) {
	text := ""
	if update != "" {
		text += " " + update
	}
	if condition != nil {
		text += " IF " + *condition
	}
	var pairs []string
	for _, p := range slices.Sorted(maps.Keys(names)) {
		pairs = append(pairs, p, names[p])
	}
	for p, v := range values {
		pairs = append(pairs, p, shown(v))
	}
	c.requests = append(c.requests, what+strings.NewReplacer(pairs...).Replace(text))
}

func shown(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberB:
		return "TOKEN"
	case *types.AttributeValueMemberBOOL:
		return fmt.Sprint(v.Value)
	}
	return fmt.Sprintf("%T", v)
}

type execer interface {
	Exec(context.Context, query.Source[wishlist.User], ...mapper.WriteOption) (*mapper.Receipt, error)
	Plan(query.Source[wishlist.User], ...mapper.WriteOption) (*mapper.Plan, error)
}

// What patches send.
func TestPatchRequests(t *testing.T) {
	t.Parallel()
	u, w, a := wishlist.UserFields, wishlist.WishFields, wishlist.AddressFields
	id := wishlist.UserByID("x")
	at := kit.Day(11, 14)
	const (
		there    = " IF attribute_exists(PK) AND (attribute_not_exists(_s) OR _s.state = live)"
		part     = " IF attribute_exists(PK) AND attribute_not_exists(_s)"
		ours     = " IF (attribute_not_exists(_a) OR _a = TOKEN)"
		joined   = ", _a = if_not_exists(_a, TOKEN), "
		home     = "x|U#Address#Home"
		wish     = "x|M#WishList#Public#2021-11-14T09:30:00.000000000Z"
		token    = "_v = TOKEN"
		absentIf = " IF attribute_not_exists(PK)"
	)
	for _, c := range []struct {
		name  string
		patch execer
		want  []string
	}{
		{"set", id.Patch(u.Email.Set("a")), []string{"update x|U#Information SET email = a, " + token + there}},
		{
			"the last set wins", id.Patch(u.Email.Set("a"), u.Email.Set("b")),
			[]string{"update x|U#Information SET email = b, " + token + there},
		},
		{
			"remove", id.Root().Patch(u.Name.Remove()),
			[]string{"update x|U#Information SET " + token + " REMOVE name" + there},
		},
		{
			"a field of a spread struct", id.Home().Patch(a.City.Set("Rome")),
			[]string{"update " + home + " SET City = Rome, " + token + part},
		},
		{
			"a spread struct", id.Patch(u.Home.Set(wishlist.Address{City: "Rome"})),
			[]string{"update " + home + " SET Street = , City = Rome, Country = , " + token + part},
		},
		{
			"a spread pointer", id.Delivery().Patch(a.City.Set("Rome")),
			[]string{"update x|U#Address#Delivery SET City = Rome, " + token + part},
		},
		{
			"a field of one, by its struct", id.Patch(u.Home.Change(a.City.Set("Rome"))),
			[]string{"update " + home + " SET City = Rome, " + token + part},
		},
		{
			"a field of one removed", id.Home().Patch(a.City.Set("Rome"), a.Country.Remove()),
			[]string{"update " + home + " SET City = Rome, " + token + " REMOVE Country" + part},
		},
		{"a spread struct removed", id.Patch(u.Home.Remove()), []string{"delete " + home + part}},
		{"an item deleted", id.Delivery().Delete(), []string{"delete x|U#Address#Delivery" + part}},
		{
			"an element", id.Public().AddedAt(at).Patch(w.Price.Set(9.5), w.Notes.Remove()),
			[]string{"update " + wish + " SET Price = 9.5, " + token + " REMOVE Notes" + part},
		},
		{
			"an increment", id.Public().AddedAt(at).Patch(w.Price.Increment(0.5)),
			[]string{"update " + wish + " SET Price = if_not_exists(Price, 0) + 0.5, " + token + part +
				" AND (attribute_not_exists(Price) OR attribute_type(Price, N))"},
		},
		{"an element put either way", id.Public().Put(wishlist.Wish{AddedAt: at}), []string{"put " + wish + ours}},
		{"an element added", id.Public().Add(wishlist.Wish{AddedAt: at}), []string{"put " + wish + absentIf}},
		{"an element deleted", id.Public().AddedAt(at).Delete(), []string{"delete " + wish + part}},
		{
			"upsert", id.Patch(u.Email.Set("a")).Upsert(),
			[]string{"update x|U#Information SET email = a, _a = if_not_exists(_a, TOKEN), " + token +
				" IF (attribute_not_exists(_s) OR _s.state = live)"},
		},
		{
			"a condition by a struct",
			id.Patch(u.Home.Change(a.City.Set("Rome"))).If(u.Home.Where(a.City.Equal("Oslo"))),
			[]string{"update " + home + " SET City = Rome, " + token + part + " AND City = Oslo"},
		},
		{
			"conditions", id.Public().AddedAt(at).Patch(w.Price.Set(1)).If(
				field.Or(w.Price.Greater(20), w.Notes.Absent()),
				w.Title.BeginsWith("A")),
			[]string{"update " + wish + " SET Price = 1, " + token + part +
				" AND (Price > 20 OR (attribute_not_exists(Notes) OR attribute_type(Notes, NULL))) AND " +
				"begins_with(Title, A)"},
		},
		{
			"a condition on the entity", id.Patch(u.Email.Set("a")).If(u.Name.Equal("Ann")),
			[]string{"update x|U#Information SET email = a, " + token + there + " AND name = Ann"},
		},
		{
			"a condition on another item", id.Home().Patch(a.City.Set("Rome")).And(id.Patch().If(u.Name.Equal("Ann"))),
			[]string{"update " + home + " SET City = Rome" + joined + token + ours, "check x|U#Information" + there +
				" AND _a = TOKEN AND name = Ann"},
		},
		{
			"raw", id.Patch(u.Email.Set("a")).
				If(field.Raw[wishlist.User](expression.Name("email").Equal(expression.Value("b")))),
			[]string{"update x|U#Information SET email = a, " + token + there + " AND (email = b)"},
		},
		{
			"the entity exists", id.Home().Patch(a.City.Set("Rome")).IfEntityExists(),
			[]string{"update " + home + " SET City = Rome, " + token + part},
		},
		{
			"several", id.Patch(u.Email.Set("a")).And(id.Home().Patch(a.City.Set("Rome")),
				id.Public().Add(wishlist.Wish{AddedAt: at})),
			[]string{
				"update x|U#Information SET email = a, " + token + there + " AND _a = TOKEN",
				"update " + home + " SET City = Rome" + joined + token + ours, "put " + wish + absentIf,
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := &recorder{}
			users, err := mapper.New[wishlist.User](client)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := c.patch.Plan(users)
			if err != nil || len(plan.Items) != len(c.want) {
				b, _ := json.Marshal(plan)
				t.Errorf("the plan is %s, %v", b, err)
			}
			if _, err := c.patch.Exec(context.Background(), users); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(client.requests, c.want) {
				t.Errorf("sent\n%s\nwant\n%s", strings.Join(client.requests, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// What patches refuse, before anything is sent.
func TestPatchRefused(t *testing.T) {
	t.Parallel()
	u, a := wishlist.UserFields, wishlist.AddressFields
	id := wishlist.UserByID("x")
	for _, c := range []struct {
		patch execer
		want  string
	}{
		{&mapper.Patch[wishlist.User]{}, "store.User: the patch is empty"},
		{id.Patch(field.Change[wishlist.User]{}), "the patch has a change without a field"},
		{
			id.Patch(u.Name.Set("a")).And(wishlist.UserByID("y").Patch(u.Name.Set("b"))),
			"And takes patches of one entity",
		},
		{
			id.Patch(u.Name.Set("a")).If(u.Home.Equal(wishlist.Address{})),
			"store.User.Home: it is stored in several " +
				"attributes",
		},
		{id.Patch(u.Name.Set("a")).If(u.Name.Equal("\xff")), "the condition on Name: the string"},
		{id.Patch(u.Home.Set(wishlist.Address{City: "\xff"})), `attribute "City": the string`},
		{id.Home().Patch(a.City.Set("Rome")).And(id.Home().Delete()), "the patch has two changes of"},
		{mapperimpl.Item[wishlist.User, wishlist.User](handmade.Node(id.Root()), 0).Delete(), "it is the root"},
	} {
		users, err := mapper.New[wishlist.User](kit.Failing{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.patch.Plan(users)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("refused with %v, want %s", err, c.want)
		}
		if _, err := c.patch.Exec(context.Background(), users); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Exec: refused with %v, want %s", err, c.want)
		}
	}
}

// What filters and projections ask for.
func TestFilterAndProject(t *testing.T) {
	t.Parallel()
	w := wishlist.WishFields
	users, err := mapper.New[wishlist.User](kit.Failing{})
	if err != nil {
		t.Fatal(err)
	}
	q := wishlist.UserByID("x").Public()
	in, err := q.Filter(field.Or(w.Price.Greater(10), w.Notes.Exists())).Filter(w.Title.Contains("a")).Project(w.Title,
		w.AddedAt).Input(users)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := *in.FilterExpression, "(#0 > :0 OR (attribute_exists(#1) AND NOT (attribute_type(#1, :1)))) "+
		"AND contains(#2, :2)"; got != want {
		t.Errorf("the filter is %s, want %s", got, want)
	}
	var names []string
	for _, p := range strings.Split(*in.ProjectionExpression, ", ") {
		names = append(names, in.ExpressionAttributeNames[p])
	}
	if want := []string{"Title", "AddedAt", "PK", "SK", "_a", "_s"}; !slices.Equal(names, want) {
		t.Errorf("the projection is %q, want %q", names, want)
	}
	named, err := query.Of[wishlist.Wish](users.Key("x").Prefix("M#WishList#")).
		Project(field.Named[wishlist.Wish]("Title")).Input(users)
	if err != nil || named.ExpressionAttributeNames["#0"] != "Title" {
		t.Errorf("the projection is %v, %v", named, err)
	}
	if _, err := q.Filter(w.Title.Equal("\xff")).Input(users); err == nil ||
		!strings.Contains(err.Error(), "not valid UTF-8") {
		t.Errorf("a filter that cannot be gave %v", err)
	}
}

// A patch that makes an item too large returns a *TooLargeError, and one item that is written exactly
// once is a transaction.
func TestPatchErrorsAndModes(t *testing.T) {
	t.Parallel()
	users, err := mapper.New[wishlist.User](&recorder{})
	if err != nil {
		t.Fatal(err)
	}
	large := wishlist.UserByID("1").Patch(wishlist.UserFields.Email.Set(strings.Repeat("x", 410_000)))
	var tooLarge *mapper.TooLargeError
	if _, err := large.Plan(users); !errors.As(err, &tooLarge) {
		t.Errorf("%T: %v", err, err)
	}
	p, err := wishlist.UserByID("1").Patch(wishlist.UserFields.Email.Set("a")).Plan(users, mapper.ExactlyOnce())
	if err != nil || p.Mode != "transaction" || p.Requests != 1 || p.WCU.Min != 2 {
		t.Error(p, err)
	}
}

// A nil argument is an error, and no panic.
func TestPatchOfNothing(t *testing.T) {
	t.Parallel()
	users, err := mapper.New[wishlist.User](&recorder{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, set := context.Background(), wishlist.UserByID("1").Patch(wishlist.UserFields.Email.Set("a"))
	for _, p := range []mapper.Patcher[wishlist.User]{nil, (*mapper.Patch[wishlist.User])(nil)} {
		if _, err := set.And(p).Exec(ctx, users); err == nil ||
			!strings.Contains(err.Error(), "a patch of And is nil") {
			t.Error(err)
		}
	}
	var empty *mapper.Patch[wishlist.User]
	if _, err := empty.Exec(ctx, users); err == nil || !strings.Contains(err.Error(), "the patch is empty") {
		t.Error(err)
	}
	if p, err := empty.And(set).Plan(users); err != nil || p.Requests != 1 {
		t.Error("patches joined to a nil one:", p, err)
	}
	for _, m := range []query.Source[wishlist.User]{nil, (*mapper.Mapper[wishlist.User])(nil)} {
		if _, err := set.Exec(ctx, m); err == nil || !strings.Contains(err.Error(), "the patch has no mapper") {
			t.Error(err)
		}
	}
	if _, err := set.Exec(ctx, &mapper.Mapper[wishlist.User]{}); err == nil {
		t.Error("a mapper that New did not make")
	}
	if _, err := set.Return(nil).Exec(ctx, users); err == nil || !strings.Contains(err.Error(),
		"the pointer of Return is nil") {
		t.Errorf("Return(nil): %v", err)
	}
	if _, err := mapper.New[wishlist.User]((*dynamodb.Client)(nil)); err == nil ||
		!strings.Contains(err.Error(), "the client is nil") {
		t.Errorf("a nil *dynamodb.Client: %v", err)
	}
	for _, rate := range []float64{0, -1, math.Inf(1), math.NaN()} {
		for _, err := range users.Scan(ctx, mapper.ReadRate(rate)) {
			if err == nil || !strings.Contains(err.Error(), "ReadRate") {
				t.Errorf("ReadRate(%v): %v", rate, err)
			}
		}
		if _, err := users.BulkLoad(ctx, mapper.NoErrors(slices.Values([]wishlist.User{{ID: "1"}})),
			mapper.WriteRate(rate)); err == nil || !strings.Contains(err.Error(), "WriteRate") {
			t.Errorf("WriteRate(%v): %v", rate, err)
		}
	}
	for _, q := range []*query.Query[wishlist.User, wishlist.Wish]{
		wishlist.UserByID("1").Public().Project(nil),
		(&wishlist.UserKey{}).Public().Year(2021).Reverse(),
		wishlist.UserByID("1").Public().Filter(field.Condition[wishlist.Wish]{}),
	} {
		if _, err := q.Collect(ctx, users); err == nil {
			t.Error("a query of nothing")
		}
	}
	if _, err := wishlist.UserByID("1").Public().Collect(ctx, &mapper.Mapper[wishlist.User]{}); err == nil {
		t.Error("a query of a mapper that New did not make")
	}
}

// A patch has a copy of each value: what a program does to the value afterwards is not written.
func TestPatchCopiesValues(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := kit.NewBoards(t)
	kit.Must(m.Save(ctx, m.New(kit.Board{ID: "1", Main: kit.Cells{N: 1}})))(t)
	f, lines, note := kit.CellFields, []string{"a"}, "a"
	counts, far := map[string]int{"k": 1}, kit.Inner{Deep: map[string]string{"k": "a"}}
	p := kit.BoardMain(m).Patch(f.Lines.Set(lines), f.Note.Set(&note), f.Counts.Set(counts), f.Far.Set(far))
	lines[0], note, counts["k"], far.Deep["k"] = "changed", "changed", 2, "changed"
	for range 2 {
		var got kit.Cells
		kit.Must(p.Return(&got).Exec(ctx, m))(t)
		if got.Lines[0] != "a" || *got.Note != "a" || got.Counts["k"] != 1 || got.Far.Deep["k"] != "a" {
			t.Errorf("a later change is written: %+v", got)
		}
		got.Lines[0], *got.Note, got.Counts["k"], got.Far.Deep["k"] = "changed", "changed", 2, "changed"
	}
}

// Upsert concerns the patch that it is called on, and nothing that And joins to it.
func TestUpsertStaysWithItsPatch(t *testing.T) {
	t.Parallel()
	client := &recorder{}
	users, err := mapper.New[wishlist.User](client)
	if err != nil {
		t.Fatal(err)
	}
	id := wishlist.UserByID("1")
	add := id.Public().Add(wishlist.Wish{AddedAt: kit.Day(1, 1)})
	for _, p := range []mapper.Patcher[wishlist.User]{
		add.And(id.Patch(wishlist.UserFields.Email.Set("a")).Upsert()),
		id.Patch(wishlist.UserFields.Email.Set("a")).Upsert().And(add),
	} {
		client.requests = nil
		if _, err := add.And(p).Exec(context.Background(), users); err == nil {
			t.Error("an element is added twice")
		}
	}
	if _, err := id.Patch(wishlist.UserFields.Email.Set("a")).Upsert().And(add).Exec(context.Background(),
		users); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(client.requests, "\n"); !strings.Contains(text, "attribute_not_exists(PK)") {
		t.Error(text)
	}
}
