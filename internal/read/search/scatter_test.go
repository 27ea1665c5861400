package search_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// With one concurrent request for each shard, the first result comes after one delay. A query with a
// limit asks each shard once. The buffered items are limited by Memory, and not by 200 full pages. The
// clock is the test's own.
func TestScatter(t *testing.T) {
	const delay = 500 * time.Millisecond
	for _, c := range []struct {
		name     string
		limit    int
		options  []mapper.ReadOption
		first    time.Duration // when the first result comes, at most
		parallel int
		requests [2]int
		held     int
	}{
		{
			"all", 0,
			[]mapper.ReadOption{mapper.Concurrency(200), mapper.Memory(4 << 20)},
			delay, 200,
			[2]int{5000, 7000},
			4<<10 + 200,
		},
		{"a first page", 10, []mapper.ReadOption{mapper.Concurrency(200)}, delay, 200, [2]int{200, 200}, 1000},
		{"fewer at a time", 10, []mapper.ReadOption{mapper.Concurrency(50)}, 4 * delay, 50, [2]int{200, 200}, 1000},
		{"as it comes", 0, nil, 4 * delay, 64, [2]int{600, 1500}, 32 << 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := &kit.Distant{Delay: delay, Each: 250}
				m := kit.Must(mapper.New[kit.Tick](client))(t)
				begun, n := time.Now(), 0
				for v, err := range query.Of[kit.Tick](m.Key("d")).Limit(c.limit).All(context.Background(), m,
					c.options...) {
					if err != nil {
						t.Fatal(err)
					}
					if took := time.Since(begun); n == 0 && took > c.first {
						t.Errorf("the first result came after %v", took)
					}
					if v.N != n {
						t.Fatalf("%d in place of %d", v.N, n)
					}
					n++
					client.Held(n)
				}
				if want := max(c.limit, 50_000*(1-min(c.limit, 1))); n != want {
					t.Errorf("%d of %d", n, want)
				}
				t.Logf("%d results after %v, %d requests, %d at a time, %d items held at most", n, time.Since(begun),
					client.Requests, client.Most, client.Largest)
				if client.Requests < c.requests[0] || client.Requests > c.requests[1] || client.Most > c.parallel ||
					client.Largest > c.held {
					t.Errorf("%d requests, %d at a time, %d items held", client.Requests, client.Most, client.Largest)
				}
			})
		})
	}
}
