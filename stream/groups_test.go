package stream_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/stream"
)

// A late DeleteGroup deletes nothing of a new group (Groups.tla, DeleteChecks and EndChecks): the first call stops
// before each of its transactions, while a second one ends and a new group begins.
func TestLateDeletesOfGroupsDeleteNothing(t *testing.T) {
	t.Parallel()
	for at := range 2 {
		w := newWorld(t)
		client := testengine.Start(t).Client()
		first := w.begin()
		until(t, "the shard", func() bool { return first.Stats().Shards == 1 })
		first.leave()
		<-first.ended
		n, reached, free := 0, make(chan struct{}), make(chan struct{})
		late := &hook{before: func(_ context.Context, op, _ string) error {
			if op == "TransactWriteItems" {
				if n++; n == at+1 {
					close(reached)
					<-free
				}
			}
			return nil
		}}
		ended := make(chan error)
		go func() { ended <- stream.DeleteGroup(w.ctx, late.client(t), w.leases, "accounts", "default") }()
		<-reached
		if err := stream.DeleteGroup(w.ctx, client, w.leases, "accounts", "default"); err != nil {
			t.Fatal(err)
		}
		second := w.begin()
		until(t, "the shard of the new group", func() bool { return second.Stats().Shards == 1 })
		before := w.items("SHARD#")
		close(free)
		if err := <-ended; err != nil && strings.Contains(err.Error(), "stream.LeaseTable") {
			t.Errorf("%d: %v", at, err)
		}
		w.write("a", 1)
		until(t, "the change", func() bool { return second.Stats().Handled >= 1 })
		if after := w.items("SHARD#"); len(before) != 1 || len(after) != 1 {
			t.Errorf("%d: leases before %v, after %v", at, before, after)
		}
		third, fourth := w.begin(stream.Group("three")), w.begin(stream.Group("four"))
		until(t, "the third reader", func() bool {
			select {
			case <-third.ended:
			case <-fourth.ended:
			default:
				return false
			}
			return true
		})
	}
}

// A worker that is paused while its group is deleted adds no lease to a new one (Groups.tla, AddChecks), and ends.
func TestPausedWorkersAddNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shards[0].hidden = true
	client := testengine.Start(t).Client()
	reached, free := make(chan struct{}), make(chan struct{})
	n := 0
	h := &hook{before: func(_ context.Context, op, body string) error {
		if op == "TransactWriteItems" && strings.Contains(body, "SHARD#") {
			if n++; n == 1 {
				close(reached)
				<-free
			}
		}
		return nil
	}}
	old := w.hooked(h, func(context.Context, *stream.Change[kit.Account]) error { return nil })
	w.show()
	<-reached
	// It beats all the time, so the group is deleted by its items, as after a pause of the whole process.
	if err := stream.DeleteWithoutWatching(w.ctx, client, w.leases, "accounts", "default"); err != nil {
		t.Fatal(err)
	}
	next := w.begin(stream.From(time.Now().Add(-time.Hour)))
	close(free)
	<-old.ended
	if old.err == nil || !strings.Contains(old.err.Error(), "was deleted") {
		t.Errorf("the paused worker: %v", old.err)
	}
	until(t, "the shard", func() bool { return next.Stats().Shards == 1 })
}
