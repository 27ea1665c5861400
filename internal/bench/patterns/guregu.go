package patterns

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/guregu/dynamo/v2"
)

// Guregu is the ledger with github.com/guregu/dynamo. It stores the items of items.go.
type Guregu struct {
	db    *dynamo.DB
	table dynamo.Table
}

// NewGuregu returns the ledger in a table.
func NewGuregu(c *dynamodb.Client, table string) *Guregu {
	db := dynamo.NewFromIface(c)
	return &Guregu{db, db.Table(table)}
}

// Register stores a driver, and claims the e-mail address and the phone number.
func (l *Guregu) Register(ctx context.Context, d Driver) error {
	d.Key = Key{"DRIVER#" + d.ID, "PROFILE"}
	email := Claim{Key{"EMAIL#" + d.Email, "CLAIM"}, d.ID}
	phone := Claim{Key{"PHONE#" + d.Phone, "CLAIM"}, d.ID}
	err := l.db.WriteTx().
		Put(l.table.Put(d).If("attribute_not_exists(PK)")).
		Put(l.table.Put(email).If("attribute_not_exists(PK)")).
		Put(l.table.Put(phone).If("attribute_not_exists(PK)")).
		Run(ctx)
	if dynamo.IsCondCheckFailed(err) {
		return ErrTaken
	}
	return err
}

// Finish closes an open trip.
func (l *Guregu) Finish(ctx context.Context, trip string, fare int) error {
	err := l.table.Update("PK", "TRIP#"+trip).Range("SK", "HEAD").
		Set("State", "closed").Set("Fare", fare).If("'State' = ?", "open").Run(ctx)
	if dynamo.IsCondCheckFailed(err) {
		return ErrNotOpen
	}
	return err
}

// Events returns a page of the events of a trip, and the cursor of the next page: a sort key.
func (l *Guregu) Events(ctx context.Context, trip string, n int, after string) ([]Event, string, error) {
	q := l.table.Get("PK", "TRIP#"+trip).Range("SK", dynamo.BeginsWith, "EVENT#").Limit(n)
	if after != "" {
		q.StartFrom(dynamo.PagingKey{
			"PK": &types.AttributeValueMemberS{Value: "TRIP#" + trip},
			"SK": &types.AttributeValueMemberS{Value: after},
		})
	}
	var events []Event
	last, err := q.AllWithLastEvaluatedKey(ctx, &events)
	if sk, ok := last["SK"].(*types.AttributeValueMemberS); ok {
		return events, sk.Value, err
	}
	return events, "", err
}

// Month returns the trips of a driver in a month.
func (l *Guregu) Month(ctx context.Context, driver string, year int, month time.Month) (trips []Trip, err error) {
	err = l.table.Get("GSI1PK", "DRIVER#"+driver).Index("byDriver").
		Range("GSI1SK", dynamo.BeginsWith, fmt.Sprintf("%04d-%02d-", year, month)).All(ctx, &trips)
	return trips, err
}
