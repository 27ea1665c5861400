// Package protocol is the protocol by which a monolith, one item of an entity, becomes the items of a
// collection while other programs read and write it ([Mover.Move]). [Mover.Back] makes it a monolith
// again. Each condition of the protocol excludes a trace that was found in its specification
// (internal/save/staging/spec/Migration.tla): change none without that.
//
// The root of the collection is put as a claim, whose state is migrating. As long as the monolith is
// not marked, or has the claim's mark, the monolith is current for all programs that know both layouts.
// The parts are put under the claim's incarnation. One conditional write marks the monolith as moved:
// at this moment the entity moves. Then the root goes live.
package protocol

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/migration/layout"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/write"
)

// Client has the methods of a DynamoDB client that moving needs.
type Client interface {
	write.Client
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	BatchExecuteStatement(context.Context, *dynamodb.BatchExecuteStatementInput,
		...func(*dynamodb.Options)) (*dynamodb.BatchExecuteStatementOutput, error)
}

// Mover moves entities between two layouts.
type Mover struct {
	Layout *layout.Layout
	// Source is the table of the monoliths, Tables are those of the layout, by their real names.
	Source *item.Table
	Tables []*item.Table
	// Keys are those of the monoliths.
	Keys   *layout.Keys
	Client Client
	Sender *write.Sender
	Now    func() time.Time
	// Rate bounds the WCU a second, nil for no bound; Share is how many entities are moved at once within it.
	Rate  *request.Limiter
	Share int
	// Indexes are the secondary indexes of the tables, by their real names.
	Indexes map[string][]*schema.Index
	// Reshape are functions between monoliths and what the layout takes.
	Reshape Reshape
	// Underway is called between a claim and the mark of its monolith. It returns a *NotUnderway unless
	// a migration is in progress, so that a rollback finds the entity. It is nil if no rollback is
	// needed.
	Underway func(ctx context.Context) error
	// GoesBack is called between the mark of a root item and the write of its monolith, by a rollback
	// or a settlement. It returns an error if no entity may become a monolith any more. The root item
	// is then restored.
	GoesBack func(ctx context.Context, settles bool) error
	// Stale reports that monoliths that are moved were not read just now.
	Stale bool
}

// NotUnderway is why no entity is moved: no migration is under way.
type NotUnderway struct{ Reason string }

// Error returns the reason.
func (e *NotUnderway) Error() string { return e.Reason }

// New returns a mover of a layout's entities, from a table with these keys, to others.
func New(c Client, l *layout.Layout, source *item.Table, keys *layout.Keys, tables []*item.Table) *Mover {
	return &Mover{
		Layout: l, Source: source, Keys: keys, Tables: tables, Client: c, Now: time.Now,
		Sender: &write.Sender{Client: c, Now: time.Now},
	}
}

// tries is the maximum number of attempts after changes by other writers.
const tries = 10

// Monolith is an item of the old layout, as it was read.
type Monolith struct {
	item.Place
	// Attributes are all that it holds; nil for none.
	Attributes item.Attributes
	// Reserved names the library's own attributes: the version, and the mark of the migration.
	Reserved item.Reserved
}

// version returns the name of the version that the library gives a monolith.
func (d *Monolith) version() string { return cmp.Or(d.Reserved.Version, schema.DefaultVersion) }

// Mark is the content of a monolith's mark.
type Mark struct {
	// Deleted reports that the entity was deleted before it was moved; else it was moved.
	Deleted bool
	// Incarnation is the incarnation of the claim that has moved it, and Hash the hash of its content
	// when it was marked.
	Incarnation types.AttributeValue
	Hash        []byte
	// Resolved reports that it was in both layouts, and that the collection was chosen.
	Resolved bool
}

const (
	markState    = "state"
	markMoved    = "moved"
	markDeleted  = "deleted"
	markHash     = "hash"
	markOf       = "a"
	markResolved = "settled"
)

// Mark returns the mark, nil for none: an attribute of that name and another form is the monolith's own.
func (d *Monolith) Mark() *Mark {
	m, ok := d.Attributes[d.Reserved.MovedName()].(*types.AttributeValueMemberM)
	if !ok {
		return nil
	}
	state, _ := m.Value[markState].(*types.AttributeValueMemberS)
	hash, _ := m.Value[markHash].(*types.AttributeValueMemberB)
	switch {
	case state == nil:
	case state.Value == markDeleted && hash != nil:
		return &Mark{Deleted: true, Hash: hash.Value}
	case state.Value == markMoved && item.IsToken(m.Value[markOf]) && hash != nil:
		return &Mark{Incarnation: m.Value[markOf], Hash: hash.Value, Resolved: m.Value[markResolved] != nil}
	}
	return nil
}

func (k *Mark) value() types.AttributeValue {
	m := item.Attributes{markState: &types.AttributeValueMemberS{Value: markMoved}}
	m[markHash] = &types.AttributeValueMemberB{Value: k.Hash}
	if k.Deleted {
		m[markState] = &types.AttributeValueMemberS{Value: markDeleted}
	} else {
		m[markOf] = k.Incarnation
	}
	if k.Resolved {
		m[markResolved] = &types.AttributeValueMemberBOOL{Value: true}
	}
	return &types.AttributeValueMemberM{Value: m}
}

// There reports whether there is a monolith, and Unmarked whether it is one that is neither moved nor deleted.
func (d *Monolith) There() bool { return len(d.Attributes) > 0 }

// Unmarked is described at There.
func (d *Monolith) Unmarked() bool { return d.There() && d.Mark() == nil }

// Hash returns the hash of its content, without the reserved attributes.
func (d *Monolith) Hash() []byte { return attr.Hash(d.Attributes, d.version(), d.Reserved.MovedName()) }

// Changed reports whether a marked monolith was written by a program that knows only the old layout.
func (d *Monolith) Changed() bool {
	k := d.Mark()
	return k != nil && k.Hash != nil && !bytes.Equal(k.Hash, d.Hash())
}

// Root is a root as it was read: the zero Root for none.
type Root struct {
	item.Place
	Attributes item.Attributes
	item.Header
	item.Stage
	reserved item.Reserved
}

func (m *Mover) root(at item.Place, a item.Attributes) Root {
	h := m.Layout.Reserved.Header(a)
	return Root{at, a, h, h.ReadStage(), m.Layout.Reserved}
}

func (r *Root) there() bool { return len(r.Attributes) > 0 }

func (r *Root) live() bool { return r.there() && r.Header.Live() }

// is reports whether a root is in a state.
func (r *Root) is(s item.State) bool { return r.there() && r.State == s }

// Has reports whether the mark of a monolith is that of the root's claim, or of one that it took over.
func (r *Root) Has(k *Mark) bool {
	if k == nil || k.Deleted || k.Incarnation == nil {
		return false
	}
	return attr.Same(k.Incarnation, r.Incarnation) || r.took(k.Incarnation)
}

func (r *Root) took(incarnation types.AttributeValue) bool {
	return slices.ContainsFunc(r.Took, func(a types.AttributeValue) bool { return attr.Same(a, incarnation) })
}

// Belongs reports whether an item is the entity's.
func (r *Root) Belongs(a item.Attributes) bool {
	of := r.reserved.Header(a).Incarnation
	return of == nil || attr.Same(of, r.Incarnation)
}

// stored reads an item strongly.
func (m *Mover) stored(ctx context.Context, at item.Place, t *write.Tally) (item.Attributes, error) {
	return m.Sender.Stored(ctx, &write.Request{Place: at, Label: m.Layout.Model}, t)
}

// Monolith reads a monolith strongly.
func (m *Mover) Monolith(ctx context.Context, at item.Place, t *write.Tally) (*Monolith, error) {
	a, err := m.stored(ctx, at, t)
	return &Monolith{at, a, m.Layout.Reserved}, err
}

func (m *Mover) readRoot(ctx context.Context, at item.Place, t *write.Tally) (Root, error) {
	a, err := m.stored(ctx, at, t)
	return m.root(at, a), err
}

// Items reads the items of the entity of a root strongly, of whatever incarnation, in all tables.
func (m *Mover) Items(ctx context.Context, root item.Place, t *write.Tally) ([]Stored, error) {
	e, err := m.Layout.Entity(root.PK, root.SK)
	if err != nil {
		return nil, err
	}
	var all []Stored
	for i, table := range m.Tables {
		if !slices.ContainsFunc(m.Layout.Kinds, func(k *layout.Kind) bool { return k.Table == i }) {
			continue
		}
		in := m.query(table, root.PK, e.Prefix(i))
		for {
			out, err := m.Client.Query(ctx, in)
			if err != nil {
				return nil, request.Explain(ctx, m.Client, m.Layout.Model, []*item.Table{table}, err)
			}
			size := 0
			for _, a := range out.Items {
				size += attr.ItemSize(a)
				if s, ok := described(e, table, root.PK, a); ok {
					all = append(all, s)
				}
			}
			consumed := 0.0
			if out.ConsumedCapacity != nil {
				consumed = aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)
			}
			t.AddRead(1, cost.Exactly(cost.ReadUnits(size)), consumed)
			if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
				break
			}
		}
	}
	return all, nil
}

// query asks for the items of a partition whose sort keys begin so.
func (m *Mover) query(table *item.Table, pk key.Scalar, prefix string) *dynamodb.QueryInput {
	in := &dynamodb.QueryInput{
		TableName: &table.Name, ConsistentRead: aws.Bool(true),
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		KeyConditionExpression: aws.String("#pk = :pk"), ExpressionAttributeNames: map[string]string{"#pk": table.Hash},
		ExpressionAttributeValues: item.Attributes{":pk": attr.ValueOf(pk)},
	}
	if prefix != "" {
		in.KeyConditionExpression = aws.String("#pk = :pk AND begins_with(#sk, :sk)")
		in.ExpressionAttributeNames["#sk"], in.ExpressionAttributeValues[":sk"] = table.Range,
			&types.AttributeValueMemberS{Value: prefix}
	}
	return in
}

// Stored is an item of a collection as it is stored.
type Stored struct {
	item.Place
	*layout.Item
}

func described(e *layout.Entity, table *item.Table, pk key.Scalar, a item.Attributes) (Stored, bool) {
	at := item.Place{Table: table, PK: pk}
	if table.Range != "" {
		at.SK, _ = attr.ScalarOf(a[table.Range])
	}
	k := e.Match(table.Index, at.SK)
	if k == nil {
		return Stored{}, false // none of the entity's
	}
	return Stored{at, &layout.Item{Kind: k, PK: pk, SK: at.SK, Attributes: a}}, true
}

// place returns the place of an item of a collection.
func (m *Mover) place(it *layout.Item) item.Place {
	return item.Place{Table: m.Tables[it.Kind.Table], PK: it.PK, SK: it.SK}
}

// Conflict is why an entity cannot be moved now, or back.
type Conflict struct {
	Place  item.Place
	Reason string
}

// Error names the item and the reason.
func (c *Conflict) Error() string { return c.Place.String() + ": " + c.Reason }

// errRestart reports that the items have changed since they were read.
var errRestart = fmt.Errorf("another writer changed the entity each time: move it again")

// one sends a request within the rate; with once it is sent a single time. before is the stored item,
// nil for none.
func (m *Mover) one(ctx context.Context, r *write.Request, before item.Attributes, t *write.Tally) write.Outcome {
	return m.paced(ctx, r, before, t, m.Sender.One)
}

func (m *Mover) once(ctx context.Context, r *write.Request, before item.Attributes, t *write.Tally) write.Outcome {
	return m.paced(ctx, r, before, t, func(ctx context.Context, r *write.Request, t *write.Tally) write.Outcome {
		o, _ := m.Sender.Once(ctx, r, t)
		return o
	})
}

func (m *Mover) paced(ctx context.Context, r *write.Request, before item.Attributes, t *write.Tally,
	send func(context.Context, *write.Request, *write.Tally) write.Outcome,
) write.Outcome {
	units, _ := m.units(r, before)
	if err := m.Rate.Take(ctx, units); err != nil {
		return write.Outcome{State: write.Failed, Requests: []*write.Request{r}, Err: err}
	}
	had := t.ConsumedWCU
	o := send(ctx, r, t)
	m.Rate.Correct(units, t.ConsumedWCU-had)
	return o
}
