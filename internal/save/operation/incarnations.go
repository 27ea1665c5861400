package operation

import (
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/item"
)

// Incarnations remembers the incarnations of the entities that were loaded, inserted or patched last.
// With it an add does not read the root item first, and an update notices leftover items. It remembers
// at least the last 1,024 entities, and at most 2,048. It is safe for concurrent use, and the zero
// value is empty.
type Incarnations struct {
	mu          sync.Mutex
	latest, old map[item.Place]types.AttributeValue
}

// maxIncarnations is how many incarnations one generation has.
const maxIncarnations = 1024

// Get returns the incarnation of the entity with a root item at a place, nil if it is not remembered.
func (n *Incarnations) Get(root item.Place) types.AttributeValue {
	n.mu.Lock()
	defer n.mu.Unlock()
	if v := n.latest[root]; v != nil {
		return v
	}
	v := n.old[root]
	if v != nil {
		n.put(root, v)
	}
	return v
}

// Put remembers an incarnation. It does nothing for an entity without one.
func (n *Incarnations) Put(root item.Place, incarnation types.AttributeValue) {
	if incarnation == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.put(root, incarnation)
}

func (n *Incarnations) put(root item.Place, incarnation types.AttributeValue) {
	if len(n.latest) >= maxIncarnations {
		n.old, n.latest = n.latest, n.old // in memory that is there
		clear(n.latest)
	}
	if n.latest == nil {
		n.latest = map[item.Place]types.AttributeValue{}
	}
	if _, found := n.latest[root]; !found {
		root.PK.Text, root.SK.Text = strings.Clone(root.PK.Text), strings.Clone(root.SK.Text) // not those of an answer
	}
	n.latest[root] = incarnation
}

// Forget forgets the incarnation of an entity.
func (n *Incarnations) Forget(root item.Place) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.latest, root)
	delete(n.old, root)
}
