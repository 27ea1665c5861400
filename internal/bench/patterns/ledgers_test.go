package patterns

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/bench/store"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/tables"
)

func TestMain(m *testing.M) { testengine.Run(m) }

// ledger has the patterns of one library, with the types of the model. Open stores a new trip.
type ledger struct {
	file     string
	table    string
	counted  *Transport
	Open     func(store.Trip) error
	Register func(store.Driver) error
	Finish   func(trip string, fare int) error
	Events   func(trip string, n int, after string) ([]store.Event, string, error)
	Month    func(driver string, year int, month time.Month) ([]store.Trip, error)
}

// ledgers returns the ledgers of all libraries, each in a table of its own.
func ledgers(t *testing.T) []*ledger {
	t.Helper()
	e := testengine.Start(t)
	var all []*ledger
	for _, file := range []string{"itemize.go", "guregu.go", "sdk.go"} {
		l := &ledger{file: file, counted: &Transport{}}
		l.table = fmt.Sprintf("%s.%s.%d", t.Name(), strings.TrimSuffix(file, ".go"), os.Getpid())
		c := e.Client(func(o *dynamodb.Options) { o.HTTPClient = l.counted })
		own, err := NewItemize(c, l.table, []byte("sixteen bytes or more"))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tables.Of(own.trips) {
			if _, err := e.Client().CreateTable(t.Context(), d.Create); err != nil {
				t.Fatal(err)
			}
		}
		t.Cleanup(func() { _ = e.DeleteTable(context.Background(), l.table) })
		switch file {
		case "itemize.go":
			l.with(t.Context(), own)
		case "guregu.go":
			ofItems(t.Context(), l, NewGuregu(c, l.table), NewSDK(c, l.table))
		case "sdk.go":
			ofItems(t.Context(), l, NewSDK(c, l.table), NewSDK(c, l.table))
		}
		all = append(all, l)
	}
	return all
}

func (l *ledger) with(ctx context.Context, own *Itemize) {
	l.Open = func(trip store.Trip) error {
		_, err := own.trips.Save(ctx, own.trips.New(trip), mapper.Independent())
		return err
	}
	l.Register = func(d store.Driver) error { return own.Register(ctx, d) }
	l.Finish = func(trip string, fare int) error { return own.Finish(ctx, trip, fare) }
	l.Events = func(trip string, n int, after string) ([]store.Event, string, error) {
		return own.Events(ctx, trip, n, after)
	}
	l.Month = func(driver string, year int, month time.Month) ([]store.Trip, error) {
		return own.Month(ctx, driver, year, month)
	}
}

// byItems is a ledger of the items of items.go.
type byItems interface {
	Register(context.Context, Driver) error
	Finish(ctx context.Context, trip string, fare int) error
	Events(ctx context.Context, trip string, n int, after string) ([]Event, string, error)
	Month(ctx context.Context, driver string, year int, month time.Month) ([]Trip, error)
}

func ofItems(ctx context.Context, l *ledger, own byItems, sdk *SDK) {
	l.Open = func(trip store.Trip) error { return sdk.open(ctx, trip) }
	l.Register = func(d store.Driver) error {
		return own.Register(ctx, Driver{ID: d.ID, Name: d.Name, Email: d.Email, Phone: d.Phone})
	}
	l.Finish = func(trip string, fare int) error { return own.Finish(ctx, trip, fare) }
	l.Events = func(trip string, n int, after string) (events []store.Event, next string, err error) {
		got, next, err := own.Events(ctx, trip, n, after)
		for _, e := range got {
			events = append(events, store.Event{At: e.At, Kind: e.Kind, Note: e.Note})
		}
		return events, next, err
	}
	l.Month = func(driver string, year int, month time.Month) (trips []store.Trip, err error) {
		got, err := own.Month(ctx, driver, year, month)
		for _, t := range got {
			id := strings.TrimPrefix(t.PK, "TRIP#")
			trips = append(trips,
				store.Trip{ID: id, Driver: t.Driver, State: t.State, Started: t.Started, Fare: t.Fare})
		}
		return trips, err
	}
}

// open stores a new trip.
func (l *SDK) open(ctx context.Context, t store.Trip) error {
	pk := "TRIP#" + t.ID
	items := []any{Trip{
		Key{pk, "HEAD"}, "DRIVER#" + t.Driver, t.Started.Format(time.RFC3339), t.Driver, t.State, t.Started, t.Fare,
	}}
	for _, e := range t.Events {
		items = append(items, Event{Key{pk, "EVENT#" + e.At.Format(time.RFC3339)}, e.At, e.Kind, e.Note})
	}
	for _, item := range items {
		av, err := attributevalue.MarshalMap(item)
		if err != nil {
			return err
		}
		if _, err := l.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &l.table, Item: av}); err != nil {
			return err
		}
	}
	return nil
}
