package operation

import (
	"context"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/save/estimate"
	"github.com/itemize/itemize/internal/save/staging"
	"github.com/itemize/itemize/internal/save/write"
)

// Env holds the packages that the operations of one model use. It is safe for concurrent use.
type Env struct {
	Model    *model.Model
	Search   *search.Engine
	Protocol *staging.Protocol
	Sender   *write.Sender
	// External stores external values. It is nil if the model has none.
	External *extern.Writer
	Estimate *estimate.Estimator
	// Incarnations remembers those of entities to which items were added.
	Incarnations Incarnations
	// Blind is the default of Options.Blind.
	Blind bool
}

// Tally adds up the requests of an operation, and their cost.
type Tally struct {
	write.Tally
	// Mode is how it was sent, "" if nothing was, and Alternatives returns other ways; nil for none.
	Mode         write.Mode
	Alternatives func() []write.Alternative
	// RootReads is how many requests read the root item: after a write, or before an addition.
	RootReads int
	// LeftBehind are leftover items at the old key of an entity that moved, and Carried the new places of items that
	// another writer had added there.
	LeftBehind, Carried []item.Place
	// AlsoDeleted are items that a staged delete removed although another writer wrote them after the delete began.
	AlsoDeleted []item.Place
}

// readRoot reads the root item of a selection's entity, strongly consistent; nil for none.
func (env *Env) readRoot(ctx context.Context, sel selection.Selection, t *Tally) (*item.Image, error) {
	e, err := search.EntityOf(env.Model, sel)
	if err != nil {
		return nil, env.fault(err)
	}
	t.RootReads++
	return env.Protocol.ReadRoot(ctx, e, &t.Tally)
}

// liveRoot reads the root item of a selection's entity, strongly consistent, and returns an error unless the entity
// exists.
func (env *Env) liveRoot(ctx context.Context, sel selection.Selection, t *Tally) (*item.Image, error) {
	root, err := env.readRoot(ctx, sel, t)
	if err != nil {
		return nil, err
	}
	return root, env.fault(env.Search.RootThere(sel, root))
}

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

// Put remembers an incarnation, and does nothing for an entity without one.
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
