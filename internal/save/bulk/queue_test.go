package bulk

import (
	"fmt"
	"testing"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
)

// entityOf makes an entity of n items under a partition key of its own.
func entityOf(number, n int, t *item.Table) *Entity {
	e := &Entity{Number: number, left: n}
	for k := range n {
		e.Items = append(e.Items, &Item{of: e, Place: item.Place{
			Table: t, PK: key.Scalar{Type: 'S', Text: fmt.Sprint("E#", number)},
			SK: key.Scalar{Type: 'S', Text: fmt.Sprint(k)},
		}})
	}
	return e
}

// The items of a batch have different partition keys, as long as there are enough of them. An item is
// done before the items pushed after it start. A root that is pushed after its children is sent in the
// next batch.
func TestQueue(t *testing.T) {
	table := &item.Table{Name: "t", Hash: "PK", Range: "SK"}
	var q queue
	const entities, children = 400, 5
	all := make([]*Entity, entities)
	for n := range all {
		all[n] = entityOf(n, children+1, table)
		for _, i := range all[n].Items[:children] {
			q.push(i)
		}
	}
	taken, rooted := map[*Entity]int{}, 0
	for batches := 1; q.len() > 0; batches++ {
		keys := map[key.Scalar]bool{}
		for _, i := range q.batch() {
			if keys[i.PK] && rooted < entities-BatchSize {
				t.Fatalf("batch %d has %s twice", batches, i.PK)
			}
			keys[i.PK] = true
			e := i.of
			switch taken[e]++; taken[e] {
			case children:
				q.pushFirst(e.Items[children])
			case children + 1:
				if rooted++; e.Number > rooted+2*turns {
					t.Fatalf("entity %d is done as number %d", e.Number, rooted)
				}
			}
		}
		if batches == 1000/BatchSize && rooted < 100 {
			t.Errorf("%d entities are done after 1000 items", rooted)
		}
	}
	if rooted != entities || q.len() != 0 || len(q.of) != 0 || len(q.ring)+len(q.later) != 0 {
		t.Errorf("%d are done, %+v is left", rooted, q)
	}
}
