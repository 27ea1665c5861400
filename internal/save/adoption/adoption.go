// Package adoption gives entities that were stored before a value was unique their guards, verifies the guards of a
// table, and removes them.
//
// A [Pass] reads all root items. With Write it gives each unique value a guard, together with a condition on the root
// item. Without Write it only compares. A pass that finds no fault, and that began after the last program ended that
// does not know the unique value, proves that each value has one owner. The note of the value says so (package search).
package adoption

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/operation"
	"github.com/itemize/itemize/internal/save/staging"
)

// Client has the methods of a DynamoDB client that a pass needs.
type Client interface {
	read.Client
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput,
		error)
}

// Pass is one pass over the root items of a model.
type Pass struct {
	Env    *operation.Env
	Client Client
	Reader *read.Reader
	Notes  *search.Notes
	// Uniques are the unique values that are adopted or verified.
	Uniques []*schema.Unique
	// Write makes guards. Without it the pass only compares.
	Write bool
	// Segments is how many parts of the table are read at once. Rate limits the capacity units a second, reads and
	// writes together, nil for no limit.
	Segments int
	Rate     *request.Limiter
	// From continues a pass at its Next.
	From string
	// OnDuplicate is called with each entity whose value belongs to another one, OnInvalid with each value that cannot
	// be compared, and OnProgress with each answer of the scan. Calls do not overlap. All can be nil.
	OnDuplicate func(Duplicate)
	OnInvalid   func(Invalid)
	OnProgress  func(Report)

	mu       sync.Mutex
	report   Report
	segments []segment
}

// Duplicate is an entity whose value belongs to another entity.
type Duplicate struct {
	Field string
	// Root is the root item of the entity, and Owner that of the entity with the guard.
	Root, Owner item.Place
}

// Invalid is a stored value that cannot be compared.
type Invalid struct {
	Field string
	Root  item.Place
	Err   error // without the value
}

// Report is the result of a pass.
type Report struct {
	// Items were read, and Entities are those whose root items were among them.
	Items    int `json:"items"`
	Entities int `json:"entities"`
	// Guarded are values with a guard, and Written those of them whose guard this pass has written.
	Guarded int `json:"guarded"`
	Written int `json:"written"`
	// Missing are values without a guard, and Duplicates those that belong to another entity.
	Missing    int `json:"missing"`
	Duplicates int `json:"duplicates"`
	// Invalid are values that cannot be compared, because another program has written them.
	Invalid int `json:"invalid"`
	// Expired are expired entities with the value of another entity, which the pass has deleted.
	Expired int `json:"expired"`
	// RCU and WCU are the predicted units, also those of refused requests, which DynamoDB does not report.
	RCU cost.Units `json:"rcu"`
	WCU cost.Units `json:"wcu"`
	// Next is where the next pass can continue, "" after the last item.
	Next string `json:"next,omitempty"`
}

// Verified reports whether a complete pass has found no fault.
func (r *Report) Verified() bool { return r.Missing+r.Duplicates+r.Invalid == 0 }

// segment is how far a part of the table was read.
type segment struct {
	Done  bool              `json:"done,omitempty"`
	After map[string][]byte `json:"after,omitempty"`
	Types map[string]string `json:"types,omitempty"`
}

// tries is how often one value is looked at while its entity changes.
const tries = 10

// Run makes the pass.
func (p *Pass) Run(ctx context.Context) (*Report, error) {
	if err := p.resume(); err != nil {
		return &p.report, err
	}
	err := request.AtOnce(ctx, len(p.segments), p.segment)
	p.report.Next = p.next()
	return &p.report, err
}

// resume reads From.
func (p *Pass) resume() error {
	p.segments = make([]segment, max(p.Segments, 1))
	if p.From == "" {
		return nil
	}
	text, err := base64.RawURLEncoding.DecodeString(p.From)
	if err == nil {
		err = json.Unmarshal(text, &p.segments)
	}
	if err != nil || len(p.segments) == 0 || slices.ContainsFunc(p.segments, segment.invalid) {
		return errors.New("the place to continue at is invalid: pass the value of next as it was printed")
	}
	return nil
}

// invalid reports whether no pass has written the segment.
func (s segment) invalid() bool {
	for name := range s.After {
		if t := s.Types[name]; t != "S" && t != "N" && t != "B" {
			return true
		}
	}
	return false
}

// next returns where a pass can continue.
func (p *Pass) next() string {
	done := true
	for _, s := range p.segments {
		done = done && s.Done
	}
	if done {
		return ""
	}
	text, err := json.Marshal(p.segments)
	if err != nil {
		panic(err) // it holds texts
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// keyOf writes the last key of an answer.
func (s *segment) keyOf(last item.Attributes) {
	s.After, s.Types = map[string][]byte{}, map[string]string{}
	for name, v := range last {
		if k, ok := attr.ScalarOf(v); ok {
			s.After[name], s.Types[name] = []byte(k.Text), string(k.Type)
		}
	}
}

// key returns the key behind which the segment continues, nil for its beginning.
func (s *segment) key() item.Attributes {
	if s.After == nil {
		return nil
	}
	start := item.Attributes{}
	for name, text := range s.After {
		start[name] = attr.ValueOf(key.Scalar{Type: s.Types[name][0], Text: string(text)})
	}
	return start
}

// segment reads one part of the table.
func (p *Pass) segment(ctx context.Context, n int) error {
	s := &p.segments[n]
	if s.Done {
		return nil
	}
	m := p.Env.Model
	at := read.Segment{
		Table: m.Tables[m.Root().Table.Index], Number: n, Of: len(p.segments), Strong: true, Rate: p.Rate,
		Start: s.key(),
	}
	var u read.Usage
	var failed error
	err := p.Reader.Scan(ctx, at, &u, func(page read.Page) bool {
		entities := 0
		for i := range page.Items {
			if f := &page.Items[i]; f.Kind == m.Root() && !model.IsGuard(f.PK) && f.Header.Live() {
				if _, own := m.Whose(f); own {
					entities++
					f.Detach()
					if failed = p.root(ctx, f); failed != nil {
						return false
					}
				}
			}
		}
		p.count(func(r *Report) {
			r.Items, r.Entities = r.Items+len(page.Items), r.Entities+entities
			r.RCU, u.Predicted = r.RCU.Add(u.Predicted), cost.Units{}
			if s.Done = !page.More; page.More {
				s.keyOf(page.LastKey)
			}
		})
		return true
	})
	return errors.Join(failed, err)
}

// count changes the report, and shows it.
func (p *Pass) count(f func(*Report)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.report)
	if p.OnProgress != nil {
		p.OnProgress(p.report)
	}
}

// root adopts or compares the values of one root item.
func (p *Pass) root(ctx context.Context, root *item.Image) error {
	for _, u := range p.Uniques {
		if err := p.value(ctx, u, root); err != nil {
			return err
		}
	}
	return nil
}

// value adopts or compares one value.
func (p *Pass) value(ctx context.Context, u *schema.Unique, root *item.Image) error {
	m := p.Env.Model
	var t operation.Tally
	defer func() {
		p.count(func(r *Report) { r.RCU, r.WCU = r.RCU.Add(t.RCU), r.WCU.Add(t.WCU).Add(t.Refused) })
	}()
	for range tries {
		at, ok, err := m.Guard(u, root.Attributes())
		if err != nil {
			p.invalid(u, root.Place, err)
			return nil
		}
		if !ok {
			return nil
		}
		if err := p.Rate.Take(ctx, 1); err != nil {
			return err
		}
		var usage read.Usage
		guard, err := p.Reader.Item(ctx, at, read.Options{Strong: !p.Write}, &usage)
		t.AddRead(usage.Requests, usage.Predicted, usage.Consumed)
		if err != nil {
			return err
		}
		own := model.Owner{Root: root.Place, Incarnation: root.Header.Incarnation}
		owner, err := m.GuardOwner(u, guard)
		if err != nil {
			return err
		}
		if owner != nil && owner.Same(own) {
			p.count(func(r *Report) { r.Guarded++ })
			return nil
		}
		if !p.Write {
			done, err := p.compare(ctx, held{u, at, owner}, &root, &t)
			if done || err != nil {
				return err
			}
			continue
		}
		done, err := p.adopt(ctx, u, &root, &t)
		if done || err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: the entity with the root item %s changes all the time: run it again", m.Label(), root.Place)
}

// again reads a root item again; done reports that it does not exist any more.
func (p *Pass) again(ctx context.Context, root **item.Image, t *operation.Tally) (changed, done bool, err error) {
	now, err := p.Env.OwnerOf(ctx, model.Owner{Root: (*root).Place}, t)
	if err != nil {
		return false, false, err
	}
	if now == nil || !now.Header.Live() {
		return false, true, nil
	}
	changed = !attr.SameItem(now.Attributes(), (*root).Attributes())
	*root = now
	return changed, false, nil
}

// held is a unique value, its guard, and the owner that the guard names.
type held struct {
	*schema.Unique
	guard item.Place
	owner *model.Owner // nil for none
}

// compare judges a value whose guard is missing, or names another owner.
func (p *Pass) compare(ctx context.Context, v held, root **item.Image, t *operation.Tally) (done bool, err error) {
	changed, done, err := p.again(ctx, root, t)
	if changed || done || err != nil {
		return done, err
	}
	if v.owner != nil {
		holder, err := p.Env.OwnerOf(ctx, *v.owner, t)
		if err != nil {
			return false, err
		}
		if p.Env.Model.Holds(v.Unique, v.guard, *v.owner, holder) {
			p.duplicate(v.Unique, (*root).Place, v.owner.Root)
			return true, nil
		}
	}
	p.count(func(r *Report) { r.Missing++ })
	return true, nil
}

// adopt gives a value its guard.
func (p *Pass) adopt(ctx context.Context, u *schema.Unique, root **item.Image, t *operation.Tally) (done bool,
	err error,
) {
	before := t.WCU.Expected + t.Refused.Expected
	err = operation.NewAdoption(p.Env, u, *root).Run(ctx, t)
	if rate := p.Rate.Take(ctx, t.WCU.Expected+t.Refused.Expected-before); rate != nil {
		return false, rate
	}
	var taken *operation.Taken
	var conflict *operation.Conflict
	var unknown *operation.Unknown
	switch {
	case err == nil:
		p.count(func(r *Report) { r.Guarded, r.Written = r.Guarded+1, r.Written+1 })
		return true, nil
	case errors.As(err, &taken) && p.Env.Model.Reserved.Replaceable((*root).Attributes(), p.Env.Model.Now()):
		of := &staging.Entity{Model: p.Env.Model, Reserved: p.Env.Model.Reserved}
		if o := p.Env.Sender.One(ctx, of.DeleteOf(*root), &t.Tally); o.Lost() {
			return false, o.Err
		} else if !o.OK() { // it was prolonged
			_, done, err := p.again(ctx, root, t)
			return done, err
		}
		p.count(func(r *Report) { r.Expired++ })
		return true, nil
	case errors.As(err, &taken):
		p.duplicate(u, (*root).Place, taken.Owner)
		return true, nil
	case errors.As(err, &conflict), errors.As(err, &unknown): // it was changed, or deleted, or its answer was lost
		_, done, err := p.again(ctx, root, t)
		return done, err
	}
	return false, err
}

func (p *Pass) invalid(u *schema.Unique, root item.Place, err error) {
	p.count(func(r *Report) { r.Invalid++ })
	if p.OnInvalid != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.OnInvalid(Invalid{p.Env.Model.Schema.FieldNames(u), root, err})
	}
}

func (p *Pass) duplicate(u *schema.Unique, root, owner item.Place) {
	p.count(func(r *Report) { r.Duplicates++ })
	if p.OnDuplicate != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.OnDuplicate(Duplicate{Field: p.Env.Model.Schema.FieldNames(u), Root: root, Owner: owner})
	}
}

// Verify makes a pass that compares, from the beginning, and writes the notes of the values if it finds no fault. If it
// finds one, it removes the notes.
func (p *Pass) Verify(ctx context.Context) (*Report, error) {
	if p.Write || p.From != "" {
		return &p.report, errors.New("Verify compares the whole table: leave Resume out")
	}
	r, err := p.Run(ctx)
	if err != nil {
		return r, err
	}
	note := p.Notes.Write
	if !r.Verified() {
		note = p.Notes.Remove
	}
	for _, u := range p.Uniques {
		wcu, err := note(ctx, p.Client, u)
		if err != nil {
			return r, err
		}
		r.WCU = r.WCU.Add(cost.Exactly(wcu))
	}
	return r, nil
}

// Drop removes the note of a unique value that programs do not have any more, and then its guards, from a table. name
// is the name of the value in the keys of its guards.
func (p *Pass) Drop(ctx context.Context, table *item.Table, name string) (*Report, error) {
	if model, value, ok := strings.Cut(name, "#"); !ok || model == "" || value == "" || strings.Contains(value, "#") {
		return &p.report, fmt.Errorf("%q is not the name of a unique value: write the model and the attribute, "+
			"such as "+
			"User#Email, as the lock file has it", name)
	}
	if err := p.resume(); err != nil {
		return &p.report, err
	}
	if err := search.RemoveNote(ctx, p.Client, table, name); err != nil {
		return &p.report, err
	}
	p.report.WCU = cost.Exactly(1) // also if there is no note
	err := request.AtOnce(ctx, len(p.segments), func(ctx context.Context, n int) error {
		return p.drop(ctx, n, table, name)
	})
	p.report.Next = p.next()
	return &p.report, err
}

// drop removes the guards in one part of a table.
func (p *Pass) drop(ctx context.Context, n int, table *item.Table, name string) error {
	s := &p.segments[n]
	if s.Done {
		return nil
	}
	var u read.Usage
	var failed error
	at := read.Segment{Table: table, Number: n, Of: len(p.segments), Rate: p.Rate, Start: s.key()}
	err := p.Reader.Scan(ctx, at, &u, func(page read.Page) bool {
		removed := 0
		for i := range page.Items {
			f := &page.Items[i]
			if !model.IsGuardOf(f.PK, name) {
				continue
			}
			if failed = p.Rate.Take(ctx, cost.WriteUnits(f.Size)); failed != nil {
				return false
			}
			_, failed = p.Client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &table.Name, Key: f.Key()})
			if failed != nil {
				failed = request.Explain(ctx, p.Client, name, []*item.Table{table}, failed)
				return false
			}
			removed++
			p.count(func(r *Report) { r.WCU = r.WCU.Add(cost.Exactly(cost.WriteUnits(f.Size))) })
		}
		p.count(func(r *Report) {
			r.Items, r.Written = r.Items+len(page.Items), r.Written+removed
			r.RCU, u.Predicted = r.RCU.Add(u.Predicted), cost.Units{}
			if s.Done = !page.More; page.More {
				s.keyOf(page.LastKey)
			}
		})
		return true
	})
	return errors.Join(failed, err)
}
