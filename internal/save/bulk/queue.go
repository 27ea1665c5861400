package bulk

import (
	"slices"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
)

// queue holds items, and takes them from different partition keys in turn.
type queue struct {
	of    map[partition]*line
	ring  []*line // lines with items, in the order in which they are taken
	later []*line // lines that enter the ring when others are empty
	items int
}

// turns is the number of partition keys from which items are taken in turn. It is small enough that the
// first entities are done before the last ones begin, so an interrupted load has made progress.
const turns = 2 * BatchSize

// partition is a partition key in a table.
type partition struct {
	table string
	pk    key.Scalar
}

// line has the items of one partition key.
type line struct {
	partition
	items []*Item
}

func (q *queue) len() int { return q.items }

func (q *queue) push(i *Item) {
	p := partition{i.Table.Name, i.PK}
	l := q.of[p]
	if l == nil {
		if q.of == nil {
			q.of = map[partition]*line{}
		}
		l = &line{partition: p}
		if q.of[p] = l; len(q.ring) < turns {
			q.ring = append(q.ring, l)
		} else {
			q.later = append(q.later, l)
		}
	}
	l.items = append(l.items, i)
	q.items++
}

// pushFirst adds an item before all others.
func (q *queue) pushFirst(i *Item) {
	p := partition{i.Table.Name, i.PK}
	q.items++
	if l := q.of[p]; l != nil {
		l.items = slices.Insert(l.items, 0, i)
		return
	}
	if q.of == nil {
		q.of = map[partition]*line{}
	}
	l := &line{partition: p, items: []*Item{i}}
	q.of[p] = l
	q.ring = slices.Insert(q.ring, 0, l)
}

// batch takes items for one call, of as many partition keys as possible. No key occurs twice, which
// DynamoDB would refuse.
func (q *queue) batch() []*Item {
	batch := make([]*Item, 0, BatchSize)
	places := make(map[item.Place]bool, BatchSize)
	for len(batch) < BatchSize && len(q.ring) > 0 {
		l := q.ring[0]
		i := l.items[0]
		if i.of.left > 0 && places[i.Place] {
			break
		}
		q.ring, l.items = q.ring[1:], l.items[1:]
		q.items--
		if len(l.items) > 0 {
			q.ring = append(q.ring, l)
		} else {
			delete(q.of, l.partition)
			if len(q.later) > 0 {
				q.ring, q.later = append(q.ring, q.later[0]), q.later[1:]
			}
		}
		if i.of.left > 0 { // it was not abandoned
			places[i.Place] = true
			batch = append(batch, i)
		}
	}
	return batch
}
