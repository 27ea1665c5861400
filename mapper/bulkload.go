package mapper

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/bulk"
	"github.com/itemize/itemize/internal/change"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/large"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/selection"
	"github.com/itemize/itemize/internal/snapshot"
	"github.com/itemize/itemize/internal/write"
)

// bulkLoad is a bulk load under way.
type bulkLoad struct {
	*bulk.Load
	g      *engine
	s      *bulkSettings
	report *BulkReport
	tally  *tally
	begun  time.Time
	told   time.Time
	// done are the numbers of entities that are done, from report.Next on.
	done map[int]bool
}

// bulkEntity is what is known of an entity that is loaded.
type bulkEntity struct {
	value any
	root  item.Place
}

// The window of a bulk load: among so many items it finds different partition keys.
const (
	bulkParallel = 8
	bulkWindow   = 4000
	bulkBytes    = 64 << 20
)

func newBulk(g *engine, s *bulkSettings) (*bulkLoad, error) {
	if err := s.check(g); err != nil {
		return nil, err
	}
	x := &bulkLoad{g: g, s: s, done: map[int]bool{}}
	x.Load = &bulk.Load{
		Parallel: cmp.Or(s.parallel, bulkParallel), Bytes: bulkBytes, Bucket: bulk.NewBucket(s.rate),
		Existing: x.existing, Done: x.ended, Tick: func() { x.progress(false) },
	}
	x.Window = max(bulkWindow, 4*bulk.BatchSize*x.Parallel)
	options := []func(*dynamodb.Options){g.sender.Wire.Option}
	if s.overwrite {
		x.Sender = &bulk.Puts{Client: g.client, Label: g.model.Label(), Options: options}
	} else {
		c, err := statements(g.client)
		if err != nil {
			return nil, g.model.Errorf("%w", err)
		}
		x.Sender = &bulk.Inserts{Client: c, Label: g.model.Label(), Options: options}
	}
	x.report = &BulkReport{LoadID: s.id, Next: s.from}
	if s.id != "" && !s.overwrite {
		x.Known = x.known
	}
	if s.id == "" {
		var b [8]byte
		_, _ = rand.Read(b[:]) // never fails
		x.report.LoadID = hex.EncodeToString(b[:])
	}
	return x, nil
}

func (x *bulkLoad) run(ctx context.Context, next func() *bulk.Entity) error {
	x.begun = x.s.now()
	x.told = x.begun
	err := x.Run(ctx, next)
	x.progress(true)
	if err != nil {
		return x.g.model.Errorf("the load %s has ended before entity %d: %w", x.report.LoadID, x.report.Next, err)
	}
	return nil
}

// entity makes the items of an entity.
func (x *bulkLoad) entity(number int, v any) *bulk.Entity {
	e := &bulk.Entity{Number: number}
	known := &bulkEntity{value: v}
	e.Ref = known
	if e.Err = x.g.public(new(change.Readers).Given(x.g.model, v)); e.Err != nil {
		return e
	}
	s := x.new(v, number)
	incarnation, _ := s.Incarnation()
	d, err := change.Of(s, nil, v, change.Options{})
	if err != nil {
		e.Err = x.g.public(err)
		return e
	}
	if values := change.Values(d.Changes); len(values) > 0 {
		x.alone(e, &state{Snapshot: s, engine: x.g}, d, values)
		return e
	}
	for _, ch := range d.Changes {
		i := &bulk.Item{Place: ch.Place, Attributes: ch.Put, Size: ch.NewSize, Units: ch.Units()}
		m := x.g.model
		if m.Reserved.Header(ch.Put).Incarnation != nil {
			i.Incarnation = incarnation
		}
		if m.Reserved.Versions() {
			i.Version = &types.AttributeValueMemberB{Value: x.token(number, ch.PK.Text, ch.SK.Text, ch.Table.Name)}
			m.Reserved.AssignVersion(i.Version).Into(i.Attributes)
		}
		if ch.Root {
			known.root = ch.Place
			defer func() { e.Items = append(e.Items, i) }() // last
		} else {
			e.Items = append(e.Items, i)
		}
	}
	return e
}

// alone makes an entity whose values lie outside of its items one that is written by itself.
func (x *bulkLoad) alone(e *bulk.Entity, s *state, d *change.Diff, values []*large.Value) {
	m := x.g.model
	at := slices.IndexFunc(d.Changes, func(ch *change.Change) bool { return ch.Root })
	if at >= 0 {
		e.Ref.(*bulkEntity).root = d.Changes[at].Place
	}
	if x.s.overwrite || !m.Reserved.Versions() || at < 0 {
		e.Err = m.Errorf("a value of it is so large that it lies outside of its item, which bulk loads write neither with Overwrite nor of models without versions: save it by itself")
		return
	}
	var group aside
	if e.Err = group.arrange(x.g, d.Changes); e.Err != nil {
		return
	}
	p, err := arrange(s, d, writeSettings{}, &group)
	if err == nil && p.Mode == write.Staged { // which begins again under another incarnation, and a load knows its own by that
		err = m.Errorf("a value of it lies outside of its item, and its %d items do not fit one transaction: save it by itself", len(d.Changes))
	}
	if err != nil {
		e.Err = err
		return
	}
	root := d.Changes[at]
	i := &bulk.Item{Place: root.Place, Attributes: root.Put, Units: p.Units()}
	for _, ch := range d.Changes {
		i.Size += ch.NewSize
	}
	for _, v := range values {
		i.Size += int(v.Stored)
	}
	i.Incarnation, _ = s.Incarnation()
	e.Items, e.Alone = []*bulk.Item{i}, len(d.Changes)
}

// token returns what the load's id, an entity's number and names always give.
func (x *bulkLoad) token(number int, names ...string) []byte {
	var room [256]byte
	text := strconv.AppendInt(strconv.AppendQuote(room[:0], x.report.LoadID), int64(number), 10)
	for _, name := range names {
		text = append(append(text, 0), name...)
	}
	sum := sha256.Sum256(text)
	return sum[:item.TokenSize]
}

// new returns the snapshot of an entity that is not stored, with what the load gives it.
func (x *bulkLoad) new(v any, number int) *snapshot.Snapshot {
	s := snapshot.New(x.g.model, v)
	if by := x.g.model.Schema.Shards; by != nil && by.Random() {
		s.DrawBy(x.token(number, "shard"))
	}
	s.Tell(x.incarnation(number))
	return s
}

// existing settles items that found others in their places: the load's own, from before; and of other
// entities by saving them as ever, which knows what may be replaced.
func (x *bulkLoad) existing(ctx context.Context, items []*bulk.Item, stored []item.Attributes) ([]error, error) {
	if err := x.look(ctx, items, stored); err != nil {
		return nil, err
	}
	errs := make([]error, len(items))
	for n, i := range items {
		h := x.g.model.Reserved.Header(stored[n])
		switch {
		case i.Version == nil && len(stored[n]) > 0 && attr.SameItem(i.Attributes, stored[n]):
		case i.Incarnation != nil && attr.Same(h.Incarnation, i.Incarnation) && (i.Of().Alone > 0 && h.Live() || attr.Same(h.Version, i.Version)):
		case i.Incarnation != nil && attr.Same(h.Incarnation, i.Incarnation):
			errs[n] = errSameLoad
		default:
			errs[n] = i.Of().Once(func() error { return x.save(ctx, i.Of()) })
			if err := errs[n]; !errors.Is(err, bulk.ErrWhole) && !ofEntity(err) {
				return nil, err
			}
		}
	}
	return errs, nil
}

// ofEntity reports whether an error is about one entity, so that the load goes on with the others.
func ofEntity(err error) bool {
	var conflict *ConflictError
	var value *ValueError
	var tooLarge *TooLargeError
	var changed *large.ChangedError
	var corrupt *large.CorruptError
	if errors.As(err, &changed) || errors.As(err, &corrupt) || errors.Is(err, large.ErrOther) {
		return true
	}
	return errors.Is(err, ErrExists) || errors.As(err, &conflict) || errors.As(err, &value) || errors.As(err, &tooLarge)
}

// incarnation is that of an entity, by its number.
func (x *bulkLoad) incarnation(number int) types.AttributeValue {
	return &types.AttributeValueMemberB{Value: x.token(number, "entity")}
}

// known tells which entities a load that goes on has written whole: their roots are its own.
func (x *bulkLoad) known(ctx context.Context, entities []*bulk.Entity) (map[*bulk.Entity]bool, error) {
	roots := make([]*bulk.Item, len(entities))
	for n, e := range entities {
		roots[n] = e.Items[len(e.Items)-1]
	}
	stored := make([]item.Attributes, len(roots))
	if err := x.look(ctx, roots, stored); err != nil {
		return nil, err
	}
	known := map[*bulk.Entity]bool{}
	for n, e := range entities {
		own := roots[n].Incarnation
		h := x.g.model.Reserved.Header(stored[n])
		known[e] = own != nil && attr.Same(h.Incarnation, own) && h.Live()
	}
	return known, nil
}

// look reads what is there of items, where the refusal did not tell.
func (x *bulkLoad) look(ctx context.Context, items []*bulk.Item, stored []item.Attributes) error {
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
	early, err := x.g.reader.Batches(ctx, parts, 1, read.Options{Strong: true}, &u)
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
func (x *bulkLoad) save(ctx context.Context, e *bulk.Entity) error {
	v := e.Ref.(*bulkEntity).value
	s := &state{Snapshot: x.new(v, e.Number), engine: x.g}
	var t tally
	err := x.g.save(ctx, s, v, writeSettings{}, &t)
	if e.Took = t.ConsumedWCU; err != nil {
		return err
	}
	return bulk.ErrWhole
}

// ended notes an entity that is done.
func (x *bulkLoad) ended(e *bulk.Entity, err error) {
	r := x.report
	if err == nil {
		r.Entities++
	} else {
		r.Failed++
		f := BulkFailure{Number: e.Number, Err: err}
		if at := e.Ref.(*bulkEntity).root; at.Table != nil {
			f.Key = keyOf(at)
		}
		if len(r.Failures) < maxFailures {
			r.Failures = append(r.Failures, f)
		}
		if x.s.failures != nil {
			x.s.failures(f)
		}
	}
	x.done[e.Number] = true
	for x.done[r.Next] {
		delete(x.done, r.Next)
		r.Next++
	}
}

// BulkProgress is how far a bulk load is.
type BulkProgress struct {
	BulkReport
	// Total is how many entities there are, 0 where that is not known; PerSecond the items written a
	// second so far, Left the time that the rest takes at this rate, 0 where Total is not known.
	Total     int
	PerSecond float64
	Left      time.Duration
	// Last reports that the load has ended.
	Last bool
}

// often is how often progress is told, at most.
const often = 500 * time.Millisecond

// progress brings the report up to date, and tells it.
func (x *bulkLoad) progress(last bool) {
	now := x.s.now()
	if !last && now.Sub(x.told) < often {
		return
	}
	x.told = now
	r := x.report
	r.Items, r.WCU, r.Took = x.Sent, x.WCU, now.Sub(x.begun)
	p := BulkProgress{BulkReport: *r, Total: x.s.total, Last: last}
	p.Failures = slices.Clone(r.Failures)
	if took := r.Took.Seconds(); took > 0 {
		p.PerSecond = float64(r.Items) / took
		if done := r.Entities + r.Failed; p.Total > 0 && done > 0 {
			p.Left = time.Duration(float64(max(p.Total-x.s.from-done, 0)) / float64(done) * float64(r.Took))
		}
	}
	for _, f := range x.s.progress {
		f(p)
	}
}

// line is the progress in one line of a terminal, over the line before.
func (p *BulkProgress) line() string {
	text := fmt.Sprintf("%d entities", p.Next)
	if p.Total > 0 {
		text = fmt.Sprintf("%d of %d entities", p.Next, p.Total)
	}
	text += fmt.Sprintf(", %d items, %.0f a second, %.0f WCU", p.Items, p.PerSecond, p.WCU)
	if p.Failed > 0 {
		text += fmt.Sprintf(", %d failed", p.Failed)
	}
	if p.Left > 0 && !p.Last {
		text += ", " + p.Left.Round(time.Second).String() + " left"
	}
	end := ""
	if p.Last {
		end = "\n"
	}
	return "\r" + text + strings.Repeat(" ", max(100-len(text), 0)) + end
}
