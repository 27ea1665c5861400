package bulk

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/internal/save/operation"
	"github.com/itemize/itemize/internal/save/write"
)

// Settings are those of a bulk load of a model's entities.
type Settings struct {
	// Overwrite replaces existing items unread.
	Overwrite bool
	// ID names the load, so that it can be resumed, and From is the number of the first entity to write.
	ID   string
	From int
	// Parallel is the number of batches in flight, 0 for 8, and Rate the limit in WCU a second.
	Parallel int
	Rate     request.Rate
	Now      func() time.Time
	// Failed is called with each entity that is not written, and Progress at most twice a second and at the end.
	Failed   func(Failure)
	Progress func(r Report, last bool)
}

// Report shows the progress of a bulk load.
type Report struct {
	ID string
	// Entities is how many entities exist now, Items how many items were written, and Failed how many
	// entities were not written.
	Entities, Items, Failed int
	// Next is the number of the first entity of which it is not known whether it was written.
	Next int
	// WCU is the consumed capacity, and Vectors are the bytes of vector indexes.
	WCU     float64
	Vectors map[string]float64
	Took    time.Duration
}

// Failure is an entity that was not written.
type Failure struct {
	// Number is its place in the sequence, from 0. Root is the place of its root item, the zero Place
	// if it has no valid key.
	Number int
	Root   item.Place
	Err    error
}

// Job is a bulk load of a model's entities. It makes the items of each entity, and runs a [Load].
type Job struct {
	load   *Load
	env    *operation.Env
	s      Settings
	report Report
	begun  time.Time
	// shown is when Progress was called last.
	shown time.Time
	// done are the numbers of entities that are done, from report.Next.
	done map[int]bool
	// room is the memory for the changes of an entity.
	room change.Room
}

// The window of a bulk load: among that many items it finds different partition keys.
const (
	defaultParallel = 8
	window          = 4000
	windowBytes     = 64 << 20
)

// NewJob returns a bulk load. It does no I/O. A load that does not overwrite needs a client with BatchExecuteStatement.
func NewJob(env *operation.Env, client PutClient, s Settings) (*Job, error) {
	m := env.Model
	if by := m.Schema.Shards; m.IsResharding() {
		return nil, m.Errorf("the number of shards changes (%v), so that an insert must check several, which a "+
			"bulk load does not do: load before or after, or insert with Save", slices.Clone(by.Counts))
	}
	if s.Overwrite && len(m.Schema.Uniques) > 0 {
		return nil, m.Errorf("Overwrite replaces items without their guards, but %s is unique: load without Overwrite",
			m.Schema.FieldNames(m.Schema.Uniques[0]))
	}
	x := &Job{env: env, s: s, done: map[int]bool{}, report: Report{ID: s.ID, Next: s.From}}
	x.load = &Load{
		Parallel: cmp.Or(s.Parallel, defaultParallel), Bytes: windowBytes, Limit: s.Rate.Limiter(1),
		Existing: x.existing, Done: x.ended, Tick: func() { x.progress(false) },
	}
	x.load.Window = max(window, 4*BatchSize*x.load.Parallel)
	options := []func(*dynamodb.Options){env.Sender.Wire.Option}
	insert, ok := client.(InsertClient)
	switch {
	case s.Overwrite:
		x.load.Sender = &Puts{Client: client, Label: m.Label(), Options: options}
	case ok:
		x.load.Sender = &Inserts{Client: insert, Label: m.Label(), Options: options}
	default:
		return nil, m.Errorf("BulkLoad inserts with BatchExecuteStatement, which the client lacks: use a " +
			"*dynamodb.Client, or Overwrite")
	}
	if s.ID != "" && !s.Overwrite {
		x.load.Stored = x.alreadyWritten
	}
	if s.ID == "" {
		var b [8]byte
		_, _ = rand.Read(b[:]) // never fails
		x.report.ID = hex.EncodeToString(b[:])
	}
	return x, nil
}

// Tally returns the requests and the cost so far, without the items.
func (x *Job) Tally() write.Tally { return x.load.Tally }

// Report returns what the load has done so far.
func (x *Job) Report() Report { return x.report }

// Run writes the entities that next returns, until it returns nil.
func (x *Job) Run(ctx context.Context, next func() *Entity) error {
	x.begun = x.s.Now()
	x.shown = x.begun
	err := x.load.Run(ctx, next)
	x.progress(true)
	return err
}

// Entity makes the items of an entity. v is a pointer to its value.
func (x *Job) Entity(number int, v any) *Entity {
	m := x.env.Model
	e := &Entity{Number: number, value: v}
	if err := new(change.Readers).KeepReaders(m, v); err != nil {
		e.Err = &operation.Fault{Model: m, Err: err}
		return e
	}
	s := x.snapshot(number, v)
	incarnation, _ := s.Incarnation()
	d, err := change.Of(s, nil, v, change.Options{Room: &x.room})
	if err != nil {
		e.Err = &operation.Fault{Model: m, Err: err}
		return e
	}
	if values := change.Values(d.Changes); len(values)+len(d.Guards) > 0 {
		e.Err = x.alone(e, s, d, values)
		return e
	}
	var root *Item
	for _, ch := range d.Changes {
		i := &Item{
			Place: ch.Place, Attributes: ch.Put, Size: ch.NewSize, Units: ch.Units(),
			Entries: slices.Clone(ch.Entries),
		}
		for n := range i.Entries {
			i.Units = i.Units.Add(i.Entries[n].Units(0))
		}
		if m.Reserved.Header(ch.Put).Incarnation != nil {
			i.Incarnation = incarnation
		}
		if m.Reserved.Versions() {
			i.Version = &types.AttributeValueMemberB{Value: x.token(number, ch.PK.Text, ch.SK.Text, ch.Table.Name)}
			m.Reserved.AssignVersion(i.Version).Into(i.Attributes)
		}
		if ch.Root {
			e.rootPlace, root = ch.Place, i
		} else {
			e.Items = append(e.Items, i)
		}
	}
	if root != nil {
		e.Items = append(e.Items, root) // last
	}
	return e
}

// alone makes an entity with external values or unique values one that is saved by itself.
func (x *Job) alone(e *Entity, s *snapshot.Snapshot, d *change.Diff, values []*extern.Value) error {
	m := x.env.Model
	at := slices.IndexFunc(d.Changes, func(ch *change.Change) bool { return ch.Root })
	if at >= 0 {
		e.rootPlace = d.Changes[at].Place
	}
	what := "an external value"
	if len(d.Guards) > 0 {
		what = "a unique value"
	}
	if x.s.Overwrite || !m.Reserved.Versions() || at < 0 {
		return m.Errorf("it has %s, which a bulk load with Overwrite or without versions does not write: save it by "+
			"itself", what)
	}
	o, err := operation.NewSave(x.env, &operation.Entity{Snapshot: s}, e.value, operation.Options{})
	if err != nil {
		return err
	}
	p, err := o.Predict()
	if err != nil {
		return err
	}
	if p.Mode == write.Staged { // a retry would use another incarnation, and a load recognizes its entities by that
		return m.Errorf("it has %s, but its %d items do not fit one transaction: save it by itself", what,
			len(d.Changes))
	}
	root := d.Changes[at]
	i := &Item{Place: root.Place, Attributes: root.Put, Units: p.Units()}
	for _, ch := range d.Changes {
		i.Size += ch.NewSize
	}
	for _, v := range values {
		i.Size += int(v.Stored)
	}
	i.Incarnation, _ = s.Incarnation()
	e.Items, e.Alone = []*Item{i}, len(d.Changes)
	return nil
}

// token returns bytes that the load's id, an entity's number and names determine.
func (x *Job) token(number int, names ...string) []byte {
	var room [256]byte
	text := strconv.AppendInt(strconv.AppendQuote(room[:0], x.report.ID), int64(number), 10)
	for _, name := range names {
		text = append(append(text, 0), name...)
	}
	sum := sha256.Sum256(text)
	return sum[:item.TokenSize]
}

// snapshot returns the snapshot of an entity that is not stored, with the shard and the incarnation
// that the load gives it.
func (x *Job) snapshot(number int, v any) *snapshot.Snapshot {
	s := snapshot.New(x.env.Model, v)
	if by := x.env.Model.Schema.Shards; by != nil && by.Random() {
		s.DrawBy(x.token(number, "shard"))
	}
	s.SetIncarnation(&types.AttributeValueMemberB{Value: x.token(number, "entity")})
	return s
}

// errSameLoad says that this load wrote an item that has another content now.
var errSameLoad = errors.New("this load wrote the item before, and it has changed since, or the sequence has its " +
	"key twice: the item is left unchanged")

// existing resolves blocked items. Items of this load are done. Other entities are saved by themselves,
// because a save knows which items it may replace. With an error it returns the results before it.
func (x *Job) existing(ctx context.Context, items []*Item, stored []item.Attributes, t *write.Tally) ([]error, error) {
	if err := x.look(ctx, items, stored, t); err != nil {
		return nil, err
	}
	errs := make([]error, len(items))
	for n, i := range items {
		h := x.env.Model.Reserved.Header(stored[n])
		own := i.Incarnation != nil && attr.Same(h.Incarnation, i.Incarnation)
		switch {
		case i.Version == nil && len(stored[n]) > 0 && attr.SameItem(i.Attributes, stored[n]):
		case own && (i.of.Alone > 0 && h.Live() || attr.Same(h.Version, i.Version)):
		case own:
			errs[n] = errSameLoad
		default:
			errs[n] = i.of.saveOnce(func() error { return x.save(ctx, i.of, t) })
			if err := errs[n]; !errors.Is(err, ErrWhole) && !ofEntity(err) {
				return errs[:n], err
			}
		}
	}
	return errs, nil
}

// ofEntity reports whether an error is about one entity, so that the load continues with others.
func ofEntity(err error) bool {
	if errors.As(err, new(*operation.Interrupted)) {
		return false
	}
	return errors.As(err, new(*operation.Conflict)) || errors.As(err, new(*operation.Taken)) ||
		errors.As(err, new(*schema.Unstorable)) ||
		errors.As(err, new(*change.TooLarge)) ||
		errors.As(err, new(*write.Outgrown)) || errors.As(err, new(*extern.ChangedError)) ||
		errors.As(err, new(*extern.CorruptError)) ||
		errors.Is(err, extern.ErrOther)
}

// alreadyWritten returns the entities that a resumed load has written as a whole: their root items have
// its incarnation.
func (x *Job) alreadyWritten(ctx context.Context, entities []*Entity, t *write.Tally) (map[*Entity]bool, error) {
	roots := make([]*Item, len(entities))
	for n, e := range entities {
		roots[n] = e.Items[len(e.Items)-1]
	}
	stored := make([]item.Attributes, len(roots))
	if err := x.look(ctx, roots, stored, t); err != nil {
		return nil, err
	}
	written := map[*Entity]bool{}
	for n, e := range entities {
		own := roots[n].Incarnation
		h := x.env.Model.Reserved.Header(stored[n])
		written[e] = own != nil && attr.Same(h.Incarnation, own) && h.Live()
	}
	return written, nil
}

// look reads the items that the refusal did not return.
func (x *Job) look(ctx context.Context, items []*Item, stored []item.Attributes, t *write.Tally) error {
	var parts [][]selection.Part
	for n, i := range items {
		if stored[n] == nil {
			parts = append(parts, []selection.Part{model.PartOf(i.Place)})
		}
	}
	if parts == nil {
		return nil
	}
	var u read.Usage
	early, err := x.env.Search.Reader.Batches(ctx, parts, 1, read.Options{Strong: true}, &u)
	t.AddRead(u.Requests, u.Predicted, u.Consumed)
	if err != nil {
		return err
	}
	for n, i := range items {
		if f := early.Item(i.Place); f != nil && stored[n] == nil {
			stored[n] = f.Attributes()
		}
	}
	return nil
}

// save inserts an entity by itself.
func (x *Job) save(ctx context.Context, e *Entity, sum *write.Tally) error {
	o, err := operation.NewSave(x.env, &operation.Entity{Snapshot: x.snapshot(e.Number, e.value)}, e.value,
		operation.Options{})
	if err != nil {
		return err
	}
	var t operation.Tally
	err = o.Run(ctx, &t)
	t.Items = nil // a load keeps none
	if sum.AddAll([]write.Tally{t.Tally}); err != nil {
		return err
	}
	return ErrWhole
}

// ended records an entity that is done.
func (x *Job) ended(e *Entity, err error) {
	r := &x.report
	if err == nil {
		r.Entities++
	} else {
		r.Failed++
		x.s.Failed(Failure{e.Number, e.rootPlace, err})
	}
	x.done[e.Number] = true
	for x.done[r.Next] {
		delete(x.done, r.Next)
		r.Next++
	}
}

// progressInterval is the smallest time between two calls of Progress.
const progressInterval = 500 * time.Millisecond

func (x *Job) progress(last bool) {
	now := x.s.Now()
	if !last && now.Sub(x.shown) < progressInterval {
		return
	}
	x.shown = now
	r := &x.report
	t := &x.load.Tally
	r.Items, r.WCU, r.Vectors, r.Took = x.load.Sent, t.ConsumedWCU, maps.Clone(t.Vectors), now.Sub(x.begun)
	x.s.Progress(*r, last)
}
