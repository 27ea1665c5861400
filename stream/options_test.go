package stream_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/itemize/itemize/internal/testing/engines"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/stream"
)

// Invalid options are refused before anything is sent, and the error names the option.
func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	router := stream.NewRouter()
	stream.On(router, kit.Must(mapper.New[kit.Account](kit.Failing{}))(t),
		func(context.Context, *stream.Change[kit.Account]) error { return nil })
	client, streams := dynamodb.New(dynamodb.Options{}), dynamodbstreams.New(dynamodbstreams.Options{})
	for _, c := range []struct {
		option stream.ConsumerOption
		want   string
	}{
		{stream.Leases(""), `Leases("")`},
		{stream.Leases("accounts"), "stream.Leases"},
		{stream.Group("a#b"), `group "a#b"`},
		{stream.Interval(0), "Interval(0s)"},
		{stream.Failover(time.Second), "Failover"},
		{stream.Poll(-1), "Poll(-1ns)"},
		{stream.Discover(0), "Discover(0s)"},
		{stream.Handlers(0), "Handlers(0)"},
		{stream.Batches(-1), "Batches(-1)"},
		{stream.Attempts(0, 1, 1), "Attempts(0)"},
		{stream.Attempts(1, 0, 1), "Attempts(0s)"},
		{stream.Attempts(1, 2, 1), "exchange"},
		{stream.Grace(-1), "Grace(-1ns)"},
		{stream.RequestRate(-1), "RequestRate"},
		{stream.Interval(math.MaxInt64), "a year at most"},
		{stream.Failover(math.MaxInt64), "a year at most"},
		{stream.Discover(math.MaxInt64), "a year at most"},
		{stream.Poll(math.MaxInt64), "a year at most"},
		{stream.Timeout(math.MaxInt64), "a year at most"},
		{stream.Grace(math.MaxInt64), "a year at most"},
		{stream.Attempts(1, 1, math.MaxInt64), "a year at most"},
		{stream.DeadLetters(nil), "DeadLetters"},
		{stream.OnError(nil), "OnError"},
	} {
		_, err := stream.NewConsumer(client, streams, "accounts", router, c.option)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	for table, want := range map[string]string{"": "pass the name of a table", "others": "mapper.Table"} {
		if _, err := stream.NewConsumer(client, streams, table, router); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("table %q: %v, want %s", table, err, want)
		}
	}
	for i, f := range []func() error{
		func() error { _, err := stream.NewConsumer(nil, streams, "accounts", router); return err },
		func() error { _, err := stream.NewConsumer(client, nil, "accounts", router); return err },
		func() error { _, err := stream.NewConsumer(client, streams, "accounts", nil); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), "nil: ") {
			t.Errorf("nil argument %d: %v", i, err)
		}
	}
}

// A program makes its tables with Specification and LeaseTable. Dead letters go to its function. A group that is
// deleted begins again, and From leaves out older records.
func TestGroupsBeginAgain(t *testing.T) {
	t.Parallel()
	ctx, client := context.Background(), testengine.Start(t).Client()
	table := testengine.Table(t, "PK:S", "SK:S")
	leases := table + ".leases"
	kit.Must(client.UpdateTable(ctx, &dynamodb.UpdateTableInput{
		TableName: &table, StreamSpecification: stream.Specification(),
	}))(t)
	kit.Must(client.CreateTable(ctx, stream.LeaseTable(leases)))(t)
	m := kit.Must(mapper.New[kit.Account](client, mapper.Table(table)))(t)
	var handled, letters atomic.Int64
	router := stream.NewRouter()
	stream.On(router, m, func(_ context.Context, c *stream.Change[kit.Account]) error {
		if handled.Add(1); c.New.ID == "refused" {
			return errors.New("refused")
		}
		return nil
	})
	work := func(more ...stream.ConsumerOption) func() {
		w := kit.Must(stream.NewConsumer(client, streamClient(t), table, router, append(quick(t, stream.Leases(leases),
			stream.Handlers(2), stream.Batches(1), stream.RequestRate(1000), stream.Attempts(1, 1, 1),
			stream.DeadLetters(func(_ context.Context, l *stream.Letter) error {
				if letters.Add(1); l.Group != "default" || l.Table != table || l.New != nil || l.ID == "" {
					return fmt.Errorf("%+v", l)
				}
				return nil
			})), more...)...))(t)
		run, stop := context.WithCancel(ctx)
		ended := make(chan error)
		go func() { ended <- w.Run(run) }()
		return func() {
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	for _, id := range []string{"1", "2", "refused"} {
		kit.Must(m.Save(ctx, m.New(kit.Account{ID: id, Counter: 1})))(t)
	}
	stop := work()
	until(t, "three changes", func() bool { return handled.Load() == 3 && letters.Load() == 1 })
	stop()
	if err := stream.DeleteGroup(ctx, client, leases, table, "default"); err != nil {
		t.Fatal(err)
	}
	if err := stream.DeleteGroup(ctx, client, leases, table, "default"); err == nil ||
		!strings.Contains(err.Error(), "does not exist") {
		t.Errorf("deleted again: %v", err)
	}
	stop = work()
	until(t, "the same again", func() bool { return handled.Load() == 6 })
	stop()
	if err := stream.DeleteGroup(ctx, client, leases, table, "default"); err != nil {
		t.Fatal(err)
	}
	granule := time.Second // of the times of records
	if testengine.Start(t).Name == engines.Local {
		granule = time.Minute
	}
	now := time.Now()
	time.Sleep(now.Truncate(granule).Add(granule + 100*time.Millisecond).Sub(now))
	defer work(stream.From(time.Now().Truncate(granule)))()
	time.Sleep(100 * time.Millisecond)
	kit.Must(m.Save(ctx, m.New(kit.Account{ID: "3", Counter: 1})))(t)
	until(t, "the next", func() bool { return handled.Load() == 7 })
	time.Sleep(50 * time.Millisecond)
	if n := handled.Load(); n != 7 {
		t.Errorf("%d changes, 6 before and 1 since", n)
	}
}
