package mapper_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// seen counts the items that a client's middleware sees in the outputs of queries.
type seen struct{ items, count int }

func (s *seen) add(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("seen",
		func(ctx context.Context, in middleware.InitializeInput,
			next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			out, md, err := next.HandleInitialize(ctx, in)
			if q, ok := out.Result.(*dynamodb.QueryOutput); ok {
				s.items, s.count = s.items+len(q.Items), s.count+int(q.Count)
			}
			return out, md, err
		}), middleware.After)
}

// Whatever makes values of answers, they are the same, and their receipts: of loads, queries, pages,
// scans, and loads of many. Middleware sees items where the SDK decodes them, and always how many there
// are.
func TestAnswers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	clean := kit.NewAccounts(t, table, &kit.Faulty{At: -1}, 1)
	for _, id := range []string{"1", "2"} {
		v := kit.Six(id, "text \"with\" \\ escapes\n\u00e9\U0001F600")
		v.Left, v.Right, v.Flags = "left", "", map[string]bool{"a": true, "b": false}
		kit.Must(clean.Save(ctx, clean.New(v)))(t)
	}
	kit.NewForeign(t, table).Set("ACCOUNT#1", "HEAD", "unknown", kit.M(kit.Item{"l": kit.S("x")}))
	type results struct {
		Account  kit.Account
		Entries  []kit.Part
		Page     []kit.Part
		Scanned  int
		Many     []kit.Account
		Consumed float64
		Saved    int
	}
	var want *results
	for how, options := range map[string][]mapper.Option{
		"with the SDK": {mapper.DecodeWithSDK()}, "copies": nil,
		"shared": {mapper.ShareStrings()},
	} {
		var s seen
		c := testengine.Start(t).Client(func(o *dynamodb.Options) { o.APIOptions = append(o.APIOptions, s.add) })
		m := kit.Must(mapper.New[kit.Account](c, append(options, mapper.Table(table))...))(t)
		var got results
		var receipt mapper.Receipt
		e := kit.Must(m.Load(ctx, m.Key("1"), mapper.Strong(), mapper.ReceiptTo(&receipt)))(t)
		got.Account, got.Consumed = e.Value, receipt.Consumed.RCU
		q := query.Of[kit.Part](m.Key("1").Prefix("ENTRY#"))
		got.Entries = kit.Must(q.Collect(ctx, m, mapper.Strong()))(t)
		page := kit.Must(q.Limit(2).Page(ctx, m, mapper.Strong()))(t)
		page = kit.Must(q.Limit(2).After(page.Next).Page(ctx, m, mapper.Strong()))(t)
		got.Page = page.Items
		for e, err := range m.Scan(ctx, mapper.Strong()) {
			if err != nil {
				t.Fatal(err)
			}
			got.Scanned += len(e.Value.Entries)
		}
		for _, e := range kit.Must(m.LoadMany(ctx, []query.Selection[kit.Account]{m.Key("1"), m.Key("2").Item("HEAD")},
			mapper.Strong()))(t) {
			got.Many = append(got.Many, e.Value)
		}
		text := e.Value.Entries[0].Text
		// a save compares with the items that were read, including unknown attributes
		for _, now := range []string{"changed", text} {
			e.Value.Entries[0].Text = now
			got.Saved += len(kit.Must(m.Save(ctx, e))(t).Predicted().Items)
		}
		got.Account.Entries = got.Account.Entries[1:]
		if want == nil {
			want = &got
		}
		if !reflect.DeepEqual(&got, want) {
			t.Errorf("%v:\n%+v, and by the SDK\n%+v", how, got, *want)
		}
		if s.count == 0 || (s.items == s.count) != (how == "with the SDK") {
			t.Errorf("%v: middleware saw %d items of %d", how, s.items, s.count)
		}
	}
}
