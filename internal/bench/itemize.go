package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/bench/store"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
	"github.com/itemize/itemize/query"
)

func openItemize(c *dynamodb.Client, table string) (*Opened, error) {
	m, err := mapper.New[store.User](c, mapper.Table(table))
	if err != nil {
		return nil, err
	}
	s, err := mapper.New[store.Session](c, mapper.Table(table))
	return ofItemize(m).with(s, store.SessionByID), err
}

func openShared(c *dynamodb.Client, table string) (*Opened, error) {
	m, err := mapper.New[store.User](c, mapper.Table(table), mapper.ShareStrings())
	if err != nil {
		return nil, err
	}
	s, err := mapper.New[store.Session](c, mapper.Table(table), mapper.ShareStrings())
	return ofItemize(m).with(s, store.SessionByID), err
}

// with adds the jobs of sessions.
func (o *Opened) with(sessions *mapper.Mapper[store.Session], by func(string) *store.SessionKey) *Opened {
	var touched *mapper.Entity[store.Session]
	fill := o.Fill
	o.Fill = func(ctx context.Context) (err error) {
		if err = fill(ctx); err != nil {
			return err
		}
		_, err = sessions.Save(ctx, sessions.New(theSession(userID)))
		return err
	}
	o.Jobs[Small] = func(ctx context.Context, i int) error {
		_, err := sessions.Save(ctx, sessions.New(theSession(fmt.Sprint("new-", i))))
		return err
	}
	o.Jobs[Get] = func(ctx context.Context, _ int) error {
		s, err := sessions.Load(ctx, by(userID).Root())
		if err != nil {
			return err
		}
		return check(s.Value.User == userID && s.Value.Hits > 0, s.Value)
	}
	o.Jobs[Touch] = func(ctx context.Context, i int) (err error) {
		if touched == nil {
			if touched, err = sessions.Load(ctx, by(userID).Root()); err != nil {
				return err
			}
		}
		touched.Value.Hits += 1 + i%2
		_, err = sessions.Save(ctx, touched)
		return err
	}
	return o
}

// reflected is the model without its generated code: a mapper of it reflects.
type reflected store.User

func openReflected(c *dynamodb.Client, table string) (*Opened, error) {
	m, err := mapper.New[reflected](c, mapper.Table(table))
	if err != nil {
		return nil, err
	}
	k := func(id string) *query.Key[reflected] { return m.Key(id) }
	return opened(m, func(u store.User) reflected { return reflected(u) },
		func(u *reflected) *store.User { return (*store.User)(u) }, paths[reflected]{
			user: func(id string) query.Selection[reflected] { return k(id) },
			info: func(id string) query.Selection[reflected] { return k(id).Item("INFO") },
			add: func(ctx context.Context, id string, w store.Wish) error {
				_, err := mapperimpl.Add(handmade.Node(k(id)), 4, nil, &w).Exec(ctx, m)
				return err
			},
			month: func(id string) *query.Query[reflected, store.Wish] {
				return query.Of[store.Wish](k(id).Prefix("WISH#2021-11-"))
			},
			all: func(id string) *query.Query[reflected, store.Wish] {
				return query.Of[store.Wish](k(id).Prefix("WISH#"))
			},
		}), nil
}

func ofItemize(m *mapper.Mapper[store.User]) *Opened {
	same := func(u store.User) store.User { return u }
	return opened(m, same, func(u *store.User) *store.User { return u }, paths[store.User]{
		user: func(id string) query.Selection[store.User] { return store.UserByID(id) },
		info: func(id string) query.Selection[store.User] { return store.UserByID(id).Root() },
		add: func(ctx context.Context, id string, w store.Wish) error {
			_, err := store.UserByID(id).Wishes().Add(w).Exec(ctx, m)
			return err
		},
		month: func(id string) *query.Query[store.User, store.Wish] {
			return store.UserByID(id).Wishes().Month(2021, time.November).Query()
		},
		all: func(id string) *query.Query[store.User, store.Wish] { return store.UserByID(id).Wishes().Query() },
	})
}

// paths are the ways to what the jobs are about: by generated code, or by names.
type paths[T any] struct {
	user, info func(id string) query.Selection[T]
	add        func(ctx context.Context, id string, w store.Wish) error
	month, all func(id string) *query.Query[T, store.Wish]
}

// opened returns the jobs of a mapper. to and of turn a user into the mapper's model and back.
func opened[T any](users *mapper.Mapper[T], to func(store.User) T, of func(*T) *store.User, p paths[T]) *Opened {
	o := &Opened{
		Fill: func(ctx context.Context) error {
			_, err := users.Save(ctx, users.New(to(theUser(userID))))
			return err
		},
		FillPage: func(ctx context.Context) error {
			full := store.User{ID: pageID, Email: "page@example.com", Wishes: pageWishes()}
			_, err := users.Save(ctx, users.New(to(full)), mapper.Independent())
			return err
		},
		Jobs: map[string]Job{
			Insert: func(ctx context.Context, i int) error {
				_, err := users.Save(ctx, users.New(to(theUser(fmt.Sprint("new-", i)))))
				return err
			},
			Add: func(ctx context.Context, i int) error {
				return p.add(ctx, userID, wish(later.Add(time.Duration(i)*time.Second), i, 40))
			},
			Bulk: func(ctx context.Context, i int) error {
				all := make([]T, bulk)
				for n := range all {
					all[n] = to(theUser(fmt.Sprint("bulk-", i, "-", n)))
				}
				report, err := users.BulkLoad(ctx, mapper.NoErrors(slices.Values(all)), mapper.Overwrite())
				if err == nil && report.Failed > 0 {
					err = report.Failures[0].Err
				}
				return err
			},
		},
	}
	readAndChange(o, users, of, p)
	return o
}

// readAndChange adds the jobs that read, and the one that changes what it has read.
func readAndChange[T any](o *Opened, users *mapper.Mapper[T], of func(*T) *store.User, p paths[T]) {
	var changing *mapper.Entity[T]
	for name, job := range map[string]Job{
		Load: func(ctx context.Context, _ int) error {
			e, err := users.Load(ctx, p.user(userID))
			if err != nil {
				return err
			}
			u := of(&e.Value)
			return check(u.Email != "" && len(u.Wishes) >= 16, len(u.Wishes))
		},
		Month: func(ctx context.Context, _ int) error {
			got, err := p.month(userID).Collect(ctx, users)
			if err != nil {
				return err
			}
			return checkMonth(got)
		},
		Page: func(ctx context.Context, _ int) error {
			got, err := p.all(pageID).Collect(ctx, users)
			if err != nil {
				return err
			}
			return checkPage(got)
		},
		Change: func(ctx context.Context, i int) (err error) {
			if changing == nil {
				if changing, err = users.Load(ctx, p.info(userID)); err != nil {
					return err
				}
			}
			of(&changing.Value).Email = fmt.Sprint("ann-", i, "@example.com")
			_, err = users.Save(ctx, changing)
			return err
		},
	} {
		o.Jobs[name] = job
	}
}

func keptCopied(c *dynamodb.Client, table string) (func(context.Context) (string, error), error) {
	return kept(c, mapper.Table(table))
}

func keptShared(c *dynamodb.Client, table string) (func(context.Context) (string, error), error) {
	return kept(c, mapper.Table(table), mapper.ShareStrings())
}

func kept(c *dynamodb.Client, options ...mapper.Option) (func(context.Context) (string, error), error) {
	users, err := mapper.New[store.User](c, options...)
	return func(ctx context.Context) (string, error) {
		got, err := store.UserByID(pageID).Wishes().Collect(ctx, users)
		if err != nil {
			return "", err
		}
		return got[len(got)/2].SKU, nil
	}, err
}
