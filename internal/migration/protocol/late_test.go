package protocol_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/migration/protocol"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/write"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/fakedynamo"
)

// recording is a transport that keeps its requests, so that they can be sent again, as the SDK and a
// slow network do. It does not keep requests that are sent once (claims, INSERT statements): these are
// applied once, at any time. The request with the number at does not reach the engine, and its sender
// is killed.
type recording struct {
	next dynamodb.HTTPClient
	at   int
	kill context.CancelFunc
	mu   sync.Mutex
	n    int
	sent []func() *http.Request
	held func() *http.Request
}

func (c *recording) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	keep := func() *http.Request {
		again := r.Clone(context.Background())
		again.Body = io.NopCloser(bytes.NewReader(body))
		return again
	}
	c.mu.Lock()
	c.n++
	if c.n == c.at {
		c.held = keep
		c.kill()
		c.mu.Unlock()
		return nil, fakedynamo.Err
	}
	if !bytes.Contains(body, []byte(`"migrating"`)) && !bytes.Contains(body, []byte("INSERT INTO")) {
		c.sent = append(c.sent, keep)
	}
	c.mu.Unlock()
	return c.next.Do(keep())
}

// deliver sends requests that come late.
func (c *recording) deliver(t *testing.T, all ...func() *http.Request) {
	t.Helper()
	for _, q := range all {
		resp, err := c.next.Do(q())
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
}

// again delivers everything once more, in any order.
func (c *recording) again(t *testing.T, r *rand.Rand) {
	t.Helper()
	all := slices.Clone(c.sent)
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	c.deliver(t, all...)
}

// late is entities that are moved while requests come late.
type late struct {
	*setup
	*recording
	mover  *protocol.Mover
	docs   map[string]item.Attributes
	places map[string]item.Place
}

func newLate(t *testing.T, r *rand.Rand, kill context.CancelFunc, at int) *late {
	t.Helper()
	l := &late{newSetup(t), &recording{at: at, kill: kill}, nil, map[string]item.Attributes{}, map[string]item.Place{}}
	l.mover = protocol.New(dynamodb.New(l.client.Options(),
		func(o *dynamodb.Options) { l.next, o.HTTPClient = o.HTTPClient, l.recording }), l.Layout, l.Source, l.Keys,
		l.Tables)
	for _, n := range []int{0, 3, 27} {
		id := fmt.Sprint("s", n)
		l.docs[id] = shop(r, id, n)
		l.places[id] = l.put(l.docs[id]).Place
	}
	return l
}

// unmoved requires that all monoliths are the truth.
func (l *late) unmoved() {
	l.Helper()
	for _, a := range l.all(l.Tables[0]) {
		if h := l.Layout.Reserved.Header(a); h.Stage != nil && h.Live() {
			l.Errorf("a late request has brought a live root: %v", a["PK"])
		}
	}
	for id, at := range l.places {
		d, err := l.Monolith(context.Background(), at, &write.Tally{})
		if err != nil || !d.Unmarked() || !attr.SameItem(l.content(d), l.docs[id]) {
			l.Errorf("%s is not the monolith that it was: %v", id, err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// All requests that may be sent twice arrive again, late and in any order, after a move and after a
// rollback. They do not change live items, and the entities move again.
func TestLateCopies(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	for seed := range uint64(draws.Times(2, 6, 100)) {
		r := rand.New(rand.NewPCG(seed, 7))
		l := newLate(t, r, func() {}, 0)
		must(t, l.moveAll(ctx, t, l.mover, l.places))
		l.again(t, r)
		l.check(t, l.docs, l.places, true)
		must(t, l.backAll(ctx, t, l.mover, l.places))
		l.again(t, r)
		l.check(t, l.docs, l.places, false)
		must(t, l.moveAll(ctx, t, l.Mover, l.places))
		l.again(t, r)
		l.check(t, l.docs, l.places, true)
	}
}

// A worker is killed at any of its requests, which arrives much later: when another has moved the
// entities, or when these were rolled back since. What lives is not touched, and the entities move
// again.
func TestLateWorker(t *testing.T) {
	t.Parallel()
	every := draws.Times(9, 3, 1)
	for _, back := range []bool{false, true} {
		for at := 1 + rand.IntN(every); ; at += every {
			r := rand.New(rand.NewPCG(1, uint64(at)))
			ctx, kill := context.WithCancel(request.InOrder(context.Background()))
			l := newLate(t, r, kill, at)
			err := l.moveAll(ctx, t, l.mover, l.places)
			kill()
			if l.held == nil {
				must(t, err)
				t.Logf("fewer than %d requests, each %d drawn", at, every)
				break
			}
			ctx = request.InOrder(context.Background())
			must(t, l.moveAll(ctx, t, l.Mover, l.places))
			if back {
				must(t, l.backAll(ctx, t, l.Mover, l.places))
			}
			l.deliver(t, l.held)
			if !back {
				l.check(t, l.docs, l.places, true)
				continue
			}
			l.unmoved()
			must(t, l.moveAll(ctx, t, l.Mover, l.places))
			l.check(t, l.docs, l.places, true)
		}
	}
}
