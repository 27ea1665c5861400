package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/guregu/dynamo/v2"

	"github.com/itemize/itemize/internal/bench/store"
)

// guregu is github.com/guregu/dynamo, as its README has it.
type guregu struct {
	db      *dynamo.DB
	table   dynamo.Table
	version int
	email   string
	session sessionItem
}

func openGuregu(c *dynamodb.Client, table string) (*Opened, error) {
	db := dynamo.NewFromIface(c)
	g := &guregu{db: db, table: db.Table(table)}
	return &Opened{Fill: g.fill, FillPage: g.fillPage, Jobs: map[string]Job{
		Small: g.small, Get: g.get, Touch: g.touch,
		Insert: g.insert, Load: g.load, Change: g.change, Add: g.add, Month: g.month, Page: g.page, Bulk: g.bulk,
	}}, nil
}

func (g *guregu) fill(ctx context.Context) error {
	g.version, g.email = 1, theUser(userID).Email
	if err := g.insertUser(ctx, theUser(userID)); err != nil {
		return err
	}
	g.session = itemOf(theSession(userID))
	return g.put(ctx, g.session)
}

func (g *guregu) fillPage(ctx context.Context) error {
	return g.write(ctx, itemsOf(store.User{ID: pageID, Email: "page@example.com", Wishes: pageWishes()}))
}

func (g *guregu) insert(ctx context.Context, i int) error {
	return g.insertUser(ctx, theUser(fmt.Sprint("new-", i)))
}

func (g *guregu) insertUser(ctx context.Context, u store.User) error {
	tx := g.db.WriteTx()
	for _, it := range itemsOf(u) {
		tx.Put(g.table.Put(it).If("attribute_not_exists($)", "PK"))
	}
	return tx.Run(ctx)
}

func (g *guregu) load(ctx context.Context, _ int) error {
	u := store.User{ID: userID}
	var all []dynamo.Item
	if err := g.table.Get("PK", pk(userID)).All(ctx, &all); err != nil {
		return err
	}
	for _, it := range all {
		var k keys
		if err := dynamo.UnmarshalItem(it, &k); err != nil {
			return err
		}
		var err error
		switch {
		case k.SK == "INFO":
			var i infoItem
			err = dynamo.UnmarshalItem(it, &i)
			u.Email, u.Name = i.Email, i.Name
		case k.SK == "ADDRESS#HOME":
			err = dynamo.UnmarshalItem(it, &u.Home)
		case k.SK == "ADDRESS#OFFICE":
			err = dynamo.UnmarshalItem(it, &u.Office)
		case k.SK == "CART":
			err = dynamo.UnmarshalItem(it, &u.Cart)
		case strings.HasPrefix(k.SK, "WISH#"):
			u.Wishes = append(u.Wishes, store.Wish{})
			err = dynamo.UnmarshalItem(it, &u.Wishes[len(u.Wishes)-1])
		}
		if err != nil {
			return err
		}
	}
	return check(u.Email != "" && len(u.Wishes) >= 16, len(u.Wishes))
}

func (g *guregu) change(ctx context.Context, i int) error {
	was := g.email
	g.email = fmt.Sprint("ann-", i, "@example.com")
	err := g.table.Update("PK", pk(userID)).Range("SK", "INFO").
		Set("Email", g.email).Set("Version", g.version+1).
		If("$ = ? AND $ = ?", "Version", g.version, "Email", was).Run(ctx)
	g.version++
	return err
}

func (g *guregu) add(ctx context.Context, i int) error {
	w := wish(later.Add(time.Duration(i)*time.Second), i, 40)
	if err := g.put(ctx, wishItem{keys{pk(userID), wishKey(w.AddedAt), 1}, w}); err != nil {
		return err
	}
	var k keys // the user still exists
	return g.table.Get("PK", pk(userID)).Range("SK", dynamo.Equal, "INFO").Consistent(true).One(ctx, &k)
}

// put puts an item that must not be there.
func (g *guregu) put(ctx context.Context, it any) error {
	return g.table.Put(it).If("attribute_not_exists($)", "PK").Run(ctx)
}

func (g *guregu) small(ctx context.Context, i int) error {
	return g.put(ctx, itemOf(theSession(fmt.Sprint("new-", i))))
}

func (g *guregu) get(ctx context.Context, _ int) error {
	var s sessionItem
	if err := g.table.Get("PK", g.session.PK).Range("SK", dynamo.Equal, g.session.SK).One(ctx, &s); err != nil {
		return err
	}
	return check(s.User == userID && s.Hits > 0, s)
}

func (g *guregu) touch(ctx context.Context, i int) error {
	was := g.session.Hits
	g.session.Hits += 1 + i%2
	err := g.table.Update("PK", g.session.PK).Range("SK", g.session.SK).
		Set("Hits", g.session.Hits).Set("Version", g.session.Version+1).
		If("$ = ? AND $ = ?", "Version", g.session.Version, "Hits", was).Run(ctx)
	g.session.Version++
	return err
}

func (g *guregu) month(ctx context.Context, _ int) error {
	var got []store.Wish
	if err := g.table.Get("PK", pk(userID)).Range("SK", dynamo.BeginsWith, "WISH#2021-11-").All(ctx, &got); err != nil {
		return err
	}
	return checkMonth(got)
}

func (g *guregu) page(ctx context.Context, _ int) error {
	var got []store.Wish
	if err := g.table.Get("PK", pk(pageID)).Range("SK", dynamo.BeginsWith, "WISH#").All(ctx, &got); err != nil {
		return err
	}
	return checkPage(got)
}

func (g *guregu) bulk(ctx context.Context, i int) error {
	var all []any
	for n := range bulk {
		all = append(all, itemsOf(theUser(fmt.Sprint("bulk-", i, "-", n)))...)
	}
	return g.write(ctx, all)
}

func (g *guregu) write(ctx context.Context, items []any) error {
	_, err := g.table.Batch("PK", "SK").Write().Put(items...).Run(ctx)
	return err
}
