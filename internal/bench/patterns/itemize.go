package patterns

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/bench/store"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// Itemize is the ledger with itemize. Package store has its model.
type Itemize struct {
	drivers *mapper.Mapper[store.Driver]
	emails  *mapper.Mapper[store.EmailClaim]
	phones  *mapper.Mapper[store.PhoneClaim]
	trips   *mapper.Mapper[store.Trip]
}

// NewItemize returns the ledger in a table. All processes that serve pages need the same secret.
func NewItemize(c *dynamodb.Client, table string, secret []byte) (*Itemize, error) {
	drivers, err1 := mapper.New[store.Driver](c, mapper.Table(table))
	emails, err2 := mapper.New[store.EmailClaim](c, mapper.Table(table))
	phones, err3 := mapper.New[store.PhoneClaim](c, mapper.Table(table))
	trips, err4 := mapper.New[store.Trip](c, mapper.Table(table), mapper.CursorKey(secret))
	return &Itemize{drivers, emails, phones, trips}, errors.Join(err1, err2, err3, err4)
}

// Register stores a driver, and claims the e-mail address and the phone number.
func (l *Itemize) Register(ctx context.Context, d store.Driver) error {
	email := store.EmailClaim{Email: d.Email, Driver: d.ID}
	phone := store.PhoneClaim{Phone: d.Phone, Driver: d.ID}
	_, err := mapper.Transact(ctx, l.drivers.SavePart(l.drivers.New(d)),
		l.emails.SavePart(l.emails.New(email)), l.phones.SavePart(l.phones.New(phone)))
	if errors.Is(err, mapper.ErrExists) {
		return ErrTaken
	}
	return err
}

// Finish closes an open trip.
func (l *Itemize) Finish(ctx context.Context, trip string, fare int) error {
	f := store.TripFields
	_, err := store.TripByID(trip).Patch(f.State.Set("closed"), f.Fare.Set(fare)).If(f.State.Equal("open")).
		Exec(ctx, l.trips)
	var conflict *mapper.ConflictError
	if errors.Is(err, mapper.ErrNotFound) || errors.As(err, &conflict) {
		return ErrNotOpen
	}
	return err
}

// Events returns a page of the events of a trip, and the cursor of the next page.
func (l *Itemize) Events(ctx context.Context, trip string, n int, after string) ([]store.Event, string, error) {
	page, err := store.TripByID(trip).Events().Limit(n).After(query.Cursor(after)).Page(ctx, l.trips)
	if err != nil {
		return nil, "", err
	}
	return page.Items, string(page.Next), nil
}

// Month returns the trips of a driver in a month.
func (l *Itemize) Month(ctx context.Context, driver string, year int, month time.Month) ([]store.Trip, error) {
	return store.TripByDriver(driver).Month(year, month).Collect(ctx, l.trips)
}
