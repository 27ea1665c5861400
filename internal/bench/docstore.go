package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"gocloud.dev/docstore"
	"gocloud.dev/docstore/awsdynamodb/v2"

	"github.com/itemize/itemize/internal/bench/store"
)

// cloud is gocloud.dev/docstore, as its documentation has it. A collection has documents of one kind, so that it has
// no load of a user of several kinds of items.
type cloud struct {
	c    *docstore.Collection
	info cloudInfo
}

type cloudInfo struct {
	PK, SK           string
	Email, Name      string
	DocstoreRevision any
}

type cloudWish struct {
	PK, SK string
	store.Wish
	DocstoreRevision any
}

func openDocstore(c *dynamodb.Client, table string) (*Opened, error) {
	coll, err := awsdynamodb.OpenCollection(c, table, "PK", "SK", &awsdynamodb.Options{})
	if err != nil {
		return nil, err
	}
	d := &cloud{c: coll}
	return &Opened{
		Fill: d.fill, FillPage: d.fillPage, Close: coll.Close,
		Jobs: map[string]Job{Change: d.change, Add: d.add, Month: d.month, Page: d.page, Bulk: d.bulk},
	}, nil
}

func (d *cloud) fill(ctx context.Context) error {
	u := theUser(userID)
	d.info = cloudInfo{PK: pk(u.ID), SK: "INFO", Email: u.Email, Name: u.Name}
	if err := d.c.Create(ctx, &d.info); err != nil {
		return err
	}
	return d.put(ctx, u.ID, u.Wishes)
}

func (d *cloud) fillPage(ctx context.Context) error { return d.put(ctx, pageID, pageWishes()) }

func (d *cloud) put(ctx context.Context, id string, all []store.Wish) error {
	actions := d.c.Actions()
	for _, w := range all {
		actions.Put(&cloudWish{PK: pk(id), SK: wishKey(w.AddedAt), Wish: w})
	}
	return actions.Do(ctx)
}

func (d *cloud) change(ctx context.Context, i int) error {
	d.info.Email = fmt.Sprint("ann-", i, "@example.com")
	return d.c.Actions().Update(&d.info, docstore.Mods{"Email": d.info.Email}).Do(ctx)
}

func (d *cloud) add(ctx context.Context, i int) error {
	w := wish(later.Add(time.Duration(i)*time.Second), i, 40)
	return d.c.Create(ctx, &cloudWish{PK: pk(userID), SK: wishKey(w.AddedAt), Wish: w})
}

// wishes returns those from a sort key on and before a time. Docstore takes one condition on the sort key; the other
// one filters.
func (d *cloud) wishes(ctx context.Context, id, from string, before time.Time) (all []store.Wish, err error) {
	q := d.c.Query().Where("PK", "=", pk(id)).Where("SK", ">=", from)
	if !before.IsZero() {
		q = q.Where("AddedAt", "<", before)
	}
	it := q.Get(ctx)
	defer it.Stop()
	for {
		var w cloudWish
		switch err := it.Next(ctx, &w); {
		case err == io.EOF:
			return all, nil
		case err != nil:
			return nil, err
		}
		all = append(all, w.Wish)
	}
}

func (d *cloud) month(ctx context.Context, _ int) error {
	got, err := d.wishes(ctx, userID, "WISH#2021-11-", time.Date(2021, time.December, 1, 0, 0, 0, 0, time.UTC))
	if err != nil {
		return err
	}
	return checkMonth(got)
}

func (d *cloud) page(ctx context.Context, _ int) error {
	got, err := d.wishes(ctx, pageID, "WISH#", time.Time{})
	if err != nil {
		return err
	}
	return checkPage(got)
}

// bulk puts 500 documents: wishes, since there are no others.
func (d *cloud) bulk(ctx context.Context, i int) error {
	for n := range bulk {
		u := theUser(fmt.Sprint("bulk-", i, "-", n))
		for len(u.Wishes) < 20 {
			u.Wishes = append(u.Wishes, wish(later.AddDate(0, 0, len(u.Wishes)), 0, 40))
		}
		if err := d.put(ctx, u.ID, u.Wishes); err != nil {
			return err
		}
	}
	return nil
}
