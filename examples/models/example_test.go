package models_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync/atomic"
	"testing"
	"time"

	"github.com/itemize/itemize/examples/models"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

func TestMain(m *testing.M) { testengine.Run(m) }

var tables atomic.Int64

// open returns a mapper with empty tables. A program writes
// mapper.New[models.Player](dynamodb.NewFromConfig(cfg)).
func open[T any](keys ...[3]string) *mapper.Mapper[T] {
	engine, err := testengine.Get()
	if err != nil {
		log.Fatal(err)
	}
	suffix := fmt.Sprint("-", tables.Add(1))
	for _, k := range keys {
		if err := engine.CreateTable(context.Background(), k[0]+suffix, k[1], k[2]); err != nil {
			log.Fatal(err)
		}
	}
	m, err := mapper.New[T](engine.Client(), mapper.Tables(func(name string) string { return name + suffix }))
	if err != nil {
		log.Fatal(err)
	}
	return m
}

func at(month time.Month, day, hour int) time.Time {
	return time.Date(2021, month, day, hour, 0, 0, 0, time.UTC)
}

// somePlayers returns a mapper with one stored player.
func somePlayers(ctx context.Context) *mapper.Mapper[models.Player] {
	players := open[models.Player]([3]string{"players", "PK:S", "SK:S"})
	_, err := players.Save(ctx, players.New(models.Player{
		ID: "ann", Name: "Ann", Joined: at(time.January, 1, 0),
		Score: models.Score{Points: 120, Level: 3}, Rank: 7,
		Matches: []models.Match{
			{at(time.October, 3, 9), "m1", 10},
			{at(time.November, 14, 9), "m2", 20},
			{at(time.November, 14, 9), "m3", 30},
			{at(time.December, 1, 0), "m4", 40},
		},
		Friends: map[string]models.Friend{"bob": {at(time.March, 1, 0)}, "eve": {at(time.April, 1, 0)}},
		Titles:  []string{"Champion", "Rookie"},
		Results: map[int]models.Result{-1: {0, 1}, 2: {5, 2}, 10: {8, 1}},
	}))
	if err != nil {
		log.Fatal(err)
	}
	return players
}

// The key of an entity selects the whole entity.
func ExamplePlayerByID() {
	ctx := context.Background()
	players := somePlayers(ctx)
	var r mapper.Receipt
	e, err := players.Load(ctx, models.PlayerByID("ann"), mapper.ReceiptTo(&r))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.Value.Name, len(e.Value.Matches), "matches,", r.Predicted().Requests, "request")
	_, err = players.Load(ctx, models.PlayerByID("nobody"))
	fmt.Println(errors.Is(err, mapper.ErrNotFound))
	// Output:
	// Ann 4 matches, 1 request
	// true
}

// An item is read with one GetItem. What a selection loads can be changed and saved.
func ExamplePlayerKey_Score() {
	ctx := context.Background()
	players := somePlayers(ctx)
	e, err := players.Load(ctx, models.PlayerByID("ann").Score())
	if err != nil {
		log.Fatal(err)
	}
	e.Value.Score.Points += 5
	receipt, err := players.Save(ctx, e)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.Value.Score, receipt.Consumed.WCU, "WCU")
	// Output: {125 3} 1 WCU
}

// Root is the root item, in every model.
func ExamplePlayerKey_Root() {
	ctx := context.Background()
	players := somePlayers(ctx)
	e, err := players.Load(ctx, models.PlayerByID("ann").Root())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.Value.Name, len(e.Value.Matches), "matches")
	// Output: Ann 0 matches
}

// A segment that several keys share selects all items that begin with it.
func ExamplePlayerKey_STAT() {
	ctx := context.Background()
	players := somePlayers(ctx)
	e, err := players.Load(ctx, models.PlayerByID("ann").STAT())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.Value.Score, e.Value.Rank)
	// Output: {120 3} 7
}

// A slice is a query over its elements, for any part of the time in its key.
func ExamplePlayerKey_Matches() {
	ctx := context.Background()
	players := somePlayers(ctx)
	matches := models.PlayerByID("ann").Matches()
	show := func(what string, q *query.Query[models.Player, models.Match]) {
		fmt.Print(what, ":")
		for m, err := range q.All(ctx, players) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Print(" ", m.ID)
		}
		fmt.Println()
	}
	show("all", matches.Query())
	show("newest two", matches.Reverse().Limit(2))
	show("November", matches.Month(2021, time.November).Query())
	show("since the 14th", matches.Since(at(time.November, 14, 0)).Query())
	show("before the 14th", matches.Before(at(time.November, 14, 0)).Query())
	show("between", matches.Between(at(time.November, 14, 9), at(time.December, 1, 0)).Query())
	show("20 points or more", matches.Filter(models.MatchFields.Points.GreaterOrEqual(20)))
	// Output:
	// all: m1 m2 m3 m4
	// newest two: m4 m3
	// November: m2 m3
	// since the 14th: m2 m3 m4
	// before the 14th: m1
	// between: m2 m3
	// 20 points or more: m2 m3 m4
}

// A placeholder narrows a query to one value, and the last placeholder to the element.
func ExamplePlayerKey_Matches_start() {
	ctx := context.Background()
	players := somePlayers(ctx)
	start := models.PlayerByID("ann").Matches().Start(at(time.November, 14, 9))
	n, err := start.Count(ctx, players)
	if err != nil {
		log.Fatal(err)
	}
	one, err := query.Of[models.Match](start.ID("m3")).Collect(ctx, players)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n, one[0].Points)
	// Output: 2 30
}

// An entry of a map is selected by its key. The entries are in order of their keys.
func ExamplePlayerKey_Friends() {
	ctx := context.Background()
	players := somePlayers(ctx)
	e, err := players.Load(ctx, models.PlayerByID("ann").Friends().Key("bob"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(e.Value.Friends), e.Value.Friends["bob"].Since.UTC().Format(time.DateOnly))
	results, err := models.PlayerByID("ann").Results().Collect(ctx, players)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(results)
	// Output:
	// 1 2021-03-01
	// [{0 1} {5 2} {8 1}]
}

// Numbers in keys have ranges that include both ends, and texts have those that begin alike.
func ExamplePlayerKey_Results() {
	ctx := context.Background()
	players := somePlayers(ctx)
	results, err := models.PlayerByID("ann").Results().Between(0, 9).Collect(ctx, players)
	if err != nil {
		log.Fatal(err)
	}
	titles, err := models.PlayerByID("ann").Titles().BeginsWith("Roo").Collect(ctx, players)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(results, titles)
	// Output:
	// [{5 2}] [Rookie]
}

// A scalar element is stored in its key alone.
func ExamplePlayerKey_Titles() {
	ctx := context.Background()
	players := somePlayers(ctx)
	titles, err := models.PlayerByID("ann").Titles().Collect(ctx, players)
	if err != nil {
		log.Fatal(err)
	}
	n, err := query.Of[string](models.PlayerByID("ann").Titles().Value("Rookie")).Count(ctx, players)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(titles, n)
	// Output: [Champion Rookie] 1
}

// Refs returns the elements with their keys.
func ExamplePlayerKey_Matches_refs() {
	ctx := context.Background()
	players := somePlayers(ctx)
	for ref, err := range models.PlayerByID("ann").Matches().Limit(1).Refs(ctx, players) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(ref.Field, ref.Partition, ref.Sort, ref.Value.Points)
	}
	// Output: Matches PLAYER#ann MATCH#2021-10-03T09:00:00.000000000Z#m1 10
}

// Pages have a cursor that can be given to clients: it is signed, and valid only for this query of this
// player.
func ExamplePlayerKey_Matches_pages() {
	ctx := context.Background()
	players := somePlayers(ctx)
	q := models.PlayerByID("ann").Matches().Limit(3)
	for next := query.Cursor(""); ; {
		page, err := q.After(next).Page(ctx, players)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(len(page.Items), page.RCU, page.Next != "")
		if next = page.Next; next == "" {
			break
		}
	}
	_, err := models.PlayerByID("bob").Matches().After("forged").Page(ctx, players)
	fmt.Println(errors.Is(err, query.ErrCursor))
	// Output:
	// 3 0.5 true
	// 1 0.5 false
	// true
}

// Input returns the request of a query.
func ExamplePlayerKey_Matches_input() {
	players := somePlayers(context.Background())
	in, err := models.PlayerByID("ann").Matches().Year(2021).Query().Input(players)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(*in.KeyConditionExpression)
	fmt.Println(in.ExpressionAttributeNames["#sk"])
	// Output:
	// #pk = :pk AND begins_with(#sk, :sk0)
	// SK
}

// A patch changes an entity without reading it. A patch of one item is one request; a patch of several
// items is a transaction.
func ExamplePlayerKey_patch() {
	ctx := context.Background()
	players := somePlayers(ctx)
	ann, fields := models.PlayerByID("ann"), models.PlayerFields
	receipt, err := ann.Patch(fields.Rank.Increment(-1)).Exec(ctx, players)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(receipt.Predicted().Requests, "request,", receipt.Consumed.WCU, "WCU,", receipt.Consumed.RCU, "RCU")
	_, err = ann.Patch(fields.Score.Set(models.Score{Points: 1, Level: 1})).
		And(ann.Titles().Add("Veteran"), ann.Friends().Key("eve").Delete()).
		IfEntityExists().
		Exec(ctx, players)
	if err != nil {
		log.Fatal(err)
	}
	_, err = models.PlayerByID("nobody").Patch(fields.Name.Set("x")).Exec(ctx, players)
	fmt.Println(errors.Is(err, mapper.ErrNotFound))
	_, err = ann.Titles().Add("Veteran").Exec(ctx, players)
	fmt.Println(errors.Is(err, mapper.ErrExists))
	plan, err := ann.Patch(fields.Name.Set("Anna")).If(fields.Name.Equal("Ann")).Plan(players)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("WCU:", plan.WCU)
	// Output:
	// 1 request, 1 WCU, 0 RCU
	// true
	// true
	// WCU: 1 (up to 400 if the item is larger)
}

// In a flat model the partition key selects many entities, and both keys select one.
func ExampleThreadByForum() {
	ctx := context.Background()
	threads := open[models.Thread]([3]string{"threads", "Forum:S", "Subject:S"})
	for i, subject := range []string{"Bikes", "Tents", "Maps"} {
		if _, err := threads.Save(ctx,
			threads.New(models.Thread{Forum: "outdoors", Subject: subject, Views: i})); err != nil {
			log.Fatal(err)
		}
	}
	all, err := models.ThreadByForum("outdoors").Collect(ctx, threads)
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range all {
		fmt.Print(t.Subject, " ")
	}
	e, err := threads.Load(ctx, models.ThreadByForumSubject("outdoors", "Tents"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.Value.Views)
	// Output: Bikes Maps Tents 1
}

// An entity of several items in a shared partition, with one item in another table.
func ExampleOrderByCustomerN() {
	ctx := context.Background()
	orders := open[models.Order]([3]string{"shop", "PK:S", "SK:S"}, [3]string{"prices", "PK:S", "SK:S"})
	_, err := orders.Save(ctx, orders.New(models.Order{
		Customer: "ann", N: 42, Status: "open",
		Lines: []models.Line{{1, "tent", 1}, {2, "map", 3}}, Prices: []models.Price{{1, 9900}, {2, 1200}},
	}))
	if err != nil {
		log.Fatal(err)
	}
	order := models.OrderByCustomerN("ann", 42)
	lines, err := order.Lines().Collect(ctx, orders)
	if err != nil {
		log.Fatal(err)
	}
	e, err := orders.Load(ctx, order.PriceTable())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(lines, e.Value.Prices)
	// Output: [{1 tent 1} {2 map 3}] [{1 9900} {2 1200}]
}
