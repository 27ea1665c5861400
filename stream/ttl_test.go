package stream_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/engines"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/stream"
)

type session struct {
	_     struct{}  `ddb:"table=sessions,ttl=expires"`
	ID    string    `ddb:"pk=SESSION#{ID}"`
	User  string    `ddb:"sk=HEAD"`
	Until time.Time `ddb:"sk=HEAD,ttl,all"`
	Pages []page    `ddb:"sk=PAGE#{N:04}"`
}

type page struct {
	N    int
	Path string
}

// TestSweptEntitiesEndOnce lets DynamoDB Local delete the items of an entity by their time to live, in the order that
// it likes. Its records do not say that they are of the time to live, so the event is Deleted. Other engines do not
// sweep: there the test deletes the items.
func TestSweptEntitiesEndOnce(t *testing.T) {
	t.Parallel()
	ctx, table, e := context.Background(), streamed(t), testengine.Start(t)
	client := e.Client()
	m := kit.Must(mapper.New[session](client, mapper.Table(table)))(t)
	_, err := client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: &table, TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: aws.String("expires"), Enabled: aws.Bool(true),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	kit.Must(m.Save(ctx, m.New(session{
		ID: "1", User: "ada", Until: time.Now().Add(3 * time.Second),
		Pages: []page{{N: 1, Path: "/"}, {N: 2, Path: "/news"}},
	})))(t)
	stored := kit.Must(client.Scan(ctx, &dynamodb.ScanInput{TableName: &table}))(t).Items
	if len(stored) != 3 {
		t.Fatalf("stored: %v", stored)
	}
	var records []*stream.Record
	if e.Name == engines.Local {
		until(t, "the sweep", func() bool { records = recordsOf(t, table); return len(records) == 6 })
	} else {
		for _, item := range stored {
			kit.Must(client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
				TableName: &table, Key: kit.Item{"PK": item["PK"], "SK": item["SK"]},
			}))(t)
		}
		records = recordsOf(t, table)
	}
	ends := map[stream.Event]int{}
	router := stream.NewRouter()
	stream.On(router, m, func(_ context.Context, c *stream.Change[session]) error {
		ends[c.EntityEvent]++
		return nil
	})
	if _, err := stream.HandleAll(ctx, router, records); err != nil {
		t.Fatal(err)
	}
	if ends[stream.Created] != 1 || ends[stream.Deleted] != 1 || ends[stream.Expired] != 0 {
		t.Errorf("events: %v", ends)
	}
}
