package protocol_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/migration/protocol"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/write"
)

// before is an HTTP client that calls a function before each request.
type before struct {
	next dynamodb.HTTPClient
	call func(body []byte)
}

func (b *before) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	b.call(body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return b.next.Do(r)
}

// calling returns a mover whose client calls a function before each request.
func (s *setup) calling(call func(body []byte)) *protocol.Mover {
	o := s.client.Options()
	o.HTTPClient = &before{o.HTTPClient, call}
	return protocol.New(dynamodb.New(o), s.Layout, s.Source, s.Keys, s.Tables)
}

// A mover whose claim was taken over does not replace the parts that its successor has put, wherever the successor
// completes the move between the first one's requests.
func TestPutRequiresOwnClaim(t *testing.T) {
	t.Parallel()
	for at := 1; at <= 8; at++ {
		ctx := request.InOrder(context.Background())
		s := newSetup(t)
		doc := shop(rand.New(rand.NewPCG(1, 2)), "1", 3)
		places := map[string]item.Place{"1": s.put(doc).Place}
		marks, goOn, completed := make(chan bool), make(chan bool), make(chan bool)
		var once, release sync.Once
		second := s.calling(func(body []byte) {
			if bytes.Contains(body, []byte("UpdateExpression")) { // it marks the monolith
				once.Do(func() { marks <- true; <-goOn })
			}
		})
		run := func() {
			defer close(completed)
			if err := s.moveAll(ctx, t, second, places); err != nil {
				t.Logf("the second mover, released at %d: %v", at, err)
			}
		}
		finish := func() { release.Do(func() { close(goOn); <-completed }) }
		n, begun := 0, false
		first := s.calling(func(body []byte) {
			switch {
			case begun:
				if n++; n == at {
					finish()
				}
			case bytes.Contains(body, []byte("INSERT INTO")) && !bytes.Contains(body, []byte(`"migrating"`)):
				begun = true
				go run()
				select {
				case <-marks:
				case <-completed:
				}
			}
		})
		if err := s.moveAll(ctx, t, first, places); err != nil {
			t.Logf("the first mover: %v", err)
		}
		if !begun {
			t.Fatal("no part was put by an INSERT statement")
		}
		finish()
		s.check(t, map[string]item.Attributes{"1": doc}, places, true)
		if t.Failed() {
			t.Fatal(fmt.Sprint("the second mover completed before request ", at))
		}
	}
}

// A reader that finds no root, and then a monolith that was moved in the meantime, finds the entity.
func TestReadRetriesAfterAMove(t *testing.T) {
	t.Parallel()
	ctx := request.InOrder(context.Background())
	for at := 1; at <= 2; at++ {
		s := newSetup(t)
		places := map[string]item.Place{"1": s.put(shop(rand.New(rand.NewPCG(1, 2)), "1", 2)).Place}
		d, err := s.Monolith(ctx, places["1"], &write.Tally{})
		must(t, err)
		root, err := s.RootOf(d)
		must(t, err)
		n := 0
		reader := s.calling(func([]byte) {
			if n++; n == at {
				must(t, s.moveAll(ctx, t, s.Mover, places))
			}
		})
		c, err := reader.Read(ctx, root, places["1"], &write.Tally{})
		if err != nil || !c.Live && c.Items == nil {
			t.Errorf("moved before request %d: %+v, %v", at, c, err)
		}
	}
}
