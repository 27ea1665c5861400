package bulk

import (
	"slices"

	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/key"
)

// queue holds items that may be sent, and takes them from one partition key after the other.
type queue struct {
	of    map[partition]*line
	ring  []*line // those that have items, in the order in which they are taken from
	later []*line // those that come into the ring when others are empty
	items int
}

// turns is how many partition keys items are taken from in turn: so few that the first entities are done
// before the last are begun, which a load that is interrupted goes on from.
const turns = 2 * BatchSize

// partition is a partition key in a table.
type partition struct {
	table string
	pk    key.Scalar
}

// line is the items of one partition key.
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

// pushFirst adds an item that comes before all others.
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

// batch takes items for one call: of as many partition keys as there are, and no place twice, which
// DynamoDB refuses.
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
		if i.of.left > 0 { // it has not been given up
			places[i.Place] = true
			batch = append(batch, i)
		}
	}
	return batch
}
