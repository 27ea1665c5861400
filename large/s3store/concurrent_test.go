package s3store_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/large"
	"github.com/itemize/itemize/mapper"
)

// numbered returns a value of a number of bytes that shows its number in all of its parts.
func numbered(n, bytes int) string {
	sum := fmt.Sprintf("%x ", sha256.Sum256([]byte(strconv.Itoa(n))))
	return strconv.Itoa(n) + " " + strings.Repeat(sum, bytes/len(sum))
}

// Writers and readers of one value, and a collector that runs all the time while hours pass. No value
// is incomplete, none is taken for damaged, and no update is lost.
func TestConcurrentCommits(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	table := testengine.Table(t, "PK:S", "SK:S")
	var minutes atomic.Int64
	begun := time.Now()
	now := func() time.Time { return begun.Add(time.Duration(minutes.Load()) * time.Minute) }
	m := must(mapper.New[tome](testengine.Start(t).Client(), mapper.Table(table)))(t)
	setPartSize(m, 2<<10)
	setNow(m, now)
	must(m.Save(ctx, m.New(tome{ID: "x", Text: numbered(0, 6<<10)})))(t)
	writers, readers := draws.Times(4, 8, 8), draws.Times(2, 8, 8)
	commits := draws.Times(4, 100, 10_000)
	var left, acknowledged atomic.Int64
	left.Store(int64(commits))
	done := make(chan bool)
	var wg, rivals sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for left.Add(-1) >= 0 && !t.Failed() {
				_, err := m.Update(ctx, m.Key("x"), func(v *tome) error {
					n, err := strconv.Atoi(writer(v.Text))
					size := 6 << 10
					if n%100 == 99 {
						size = 1 << 20 // of 512 parts
					}
					v.Text = numbered(n+1, size)
					return err
				})
				if err != nil {
					t.Errorf("an update: %v", err)
					return
				}
				acknowledged.Add(1)
			}
		})
	}
	for range readers {
		rivals.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				e, err := m.Load(ctx, m.Key("x"))
				if err != nil {
					t.Errorf("a load: %v", err)
					return
				}
				n, _ := strconv.Atoi(writer(e.Value.Text))
				if e.Value.Text != numbered(n, len(e.Value.Text)) {
					t.Errorf("a torn value of %d bytes: %.100s", len(e.Value.Text), e.Value.Text)
					return
				}
			}
		})
	}
	collected := 0
	rivals.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			c, err := collectAll(ctx, m, large.Delete(), large.Grace(0))
			if err != nil {
				t.Errorf("a collection: %v", err)
				return
			}
			collected += c.Removed
			minutes.Add(15)
		}
	})
	wg.Wait()
	close(done)
	rivals.Wait()
	e := must(m.Load(ctx, m.Key("x"), mapper.Strong()))(t)
	if n := writer(e.Value.Text); n != strconv.FormatInt(acknowledged.Load(), 10) ||
		acknowledged.Load() != int64(commits) {
		t.Errorf("%d updates were acknowledged of %d, and the value is of the %s", acknowledged.Load(), commits, n)
	}
	for range 4 {
		minutes.Add(180)
		must(collectAll(ctx, m, large.Delete()))(t)
	}
	if c := must(collectAll(ctx, m))(t); c.Records != 1 || c.Values != 1 {
		t.Errorf("left are %+v", c)
	}
	t.Logf("%d values were collected while %d were written, in %d hours of the clock", collected, commits,
		minutes.Load()/60)
}
