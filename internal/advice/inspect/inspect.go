// Package inspect looks in a live table for items that break the rules of docs/format.md, as programs without this
// library may have written them. It reads a sample, then the root items of the entities in it, and writes nothing.
package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/request"
)

// Rule names a rule of docs/format.md.
type Rule string

// The rules.
const (
	Version     Rule = "version"     // a content that changed keeps its version
	Hidden      Rule = "hidden"      // an item with an incarnation has a root item without one
	Leftover    Rule = "leftover"    // an item of a deleted entity
	Orphan      Rule = "orphan"      // an item without incarnation has no root item
	Pending     Rule = "pending"     // an insert, delete or move that does not end
	State       Rule = "state"       // a state or mark of another form
	Incarnation Rule = "incarnation" // an incarnation of another form
	Key         Rule = "key"         // a key that no load finds
	Type        Rule = "type"        // an attribute of another type than the model's
	Expiry      Rule = "expiry"      // a time to live that is not a number
	Index       Rule = "index"       // an index key that differs from the item's attributes
	Guard       Rule = "guard"       // a unique value without a guard, or with that of another entity
	Value       Rule = "value"       // a pointer to an external value that is missing, damaged or of another item
)

// Finding is an item that breaks a rule.
type Finding struct {
	Rule  Rule   `json:"rule"`
	Model string `json:"model"`
	Table string `json:"table"`
	// Item is the key of the item.
	Item string `json:"item"`
	// Fact is the fault, and Cure its remedy.
	Fact string `json:"fact"`
	Cure string `json:"cure"`
}

// Model is a model with items in the table.
type Model struct {
	*model.Model
	// Fetcher reads external values; nil for a model without.
	Fetcher *extern.Fetcher
}

// Inspector looks for items that break rules.
type Inspector struct {
	Client read.Client
	Table  *item.Table
	Models []*Model
	// Sample is the maximum number of items to read, 0 for all. Items is about how many there are.
	Sample, Items int
	// Rate limits the RCU per second, nil for no limit.
	Rate *request.Limiter
	// Pending is the age from which an unfinished insert, delete or move is a finding.
	Pending time.Duration
	// Pause is the time before a second look at items that seem to break a rule: a writer may be at work.
	Pause time.Duration
	Now   func() time.Time
	// Announce is called before each step, with the RCU that it is expected to take.
	Announce func(step string, rcu float64)
	// Earlier are the items of an earlier run.
	Earlier *Remembered
}

// Report has the findings, and the numbers of items that are allowed and worth to know.
type Report struct {
	Findings []Finding `json:"findings"`
	// Items were read, and belong to Entities.
	Items    int `json:"items"`
	Entities int `json:"entities"`
	// Compared are items that an earlier run had read.
	Compared int `json:"compared,omitempty"`
	// Own are records, parts and notes of the library. Unknown are items of no model.
	Own     int `json:"own"`
	Unknown int `json:"unknown"`
	// NoVersion are items without a version, and NoIncarnation without an incarnation.
	NoVersion     int `json:"withoutVersion"`
	NoIncarnation int `json:"withoutIncarnation"`
	// Expired are items that DynamoDB has not deleted yet.
	Expired int `json:"expired"`
	// Undeletable are those that expired more than five years ago: DynamoDB never deletes them, and loads leave them
	// out.
	Undeletable int `json:"undeletable"`
	// Changing are items that seemed to break a rule, and changed between two looks.
	Changing int `json:"changing,omitempty"`
	// Unowned are guards of unique values whose owner is missing, or has another value: they are free.
	Unowned int `json:"guardsWithoutOwner,omitempty"`
	// Values are external values that were read.
	Values int `json:"values"`
	// RCU are the predicted units, and Consumed those that DynamoDB reported.
	RCU      float64 `json:"rcu"`
	Consumed float64 `json:"consumedRCU"`

	Seen   *Remembered `json:"-"`
	used   read.Usage
	guards []item.Image
}

// subject is an item of a model that was read.
type subject struct {
	m   *Model
	img item.Image
	// root is the place of the root item of its entity.
	root item.Place
}

func (s *subject) isRoot() bool { return s.img.Place == s.root }

// Run inspects the table.
func (x *Inspector) Run(ctx context.Context) (*Report, error) {
	r := &Report{Seen: &Remembered{}, Findings: []Finding{}}
	if err := x.format(ctx, r); err != nil {
		return nil, err
	}
	if err := x.compare(ctx, r); err != nil {
		return nil, err
	}
	subjects, err := x.sample(ctx, r)
	if err != nil {
		return nil, err
	}
	doubtful, err := x.judgeAll(ctx, subjects, r)
	if err != nil {
		return nil, err
	}
	if err := x.secondLook(ctx, doubtful, r); err != nil {
		return nil, err
	}
	if err := x.guards(ctx, subjects, r); err != nil {
		return nil, err
	}
	if err := x.values(ctx, subjects, r); err != nil {
		return nil, err
	}
	r.RCU, r.Consumed = r.used.Predicted.Expected, r.used.Consumed
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Item, b.Item), cmp.Compare(a.Rule, b.Rule))
	})
	return r, nil
}

// format refuses a table with a note that its items have a later format.
func (x *Inspector) format(ctx context.Context, r *Report) error {
	for _, m := range x.Models {
		t := m.Schema.Tables[x.Table.Index]
		if t.HashType != 'S' || t.RangeType != 'S' {
			continue
		}
		at := item.Place{
			Table: x.Table, PK: key.Scalar{Type: 'S', Text: "~format#" + m.Schema.Name},
			SK: key.Scalar{Type: 'S', Text: "format"},
		}
		reader := &read.Reader{Client: x.Client, Label: m.Label(), Describe: extern.Plain}
		note, err := reader.One(ctx, at, read.Options{}, &r.used)
		if err != nil {
			return err
		}
		if note == nil {
			continue
		}
		if n, ok := note.Attribute("version").(*types.AttributeValueMemberN); !ok || n.Value != "1" {
			return fmt.Errorf("%s: the table %s has a later format than this version of itemize reads: update itemize",
				m.Label(), x.Table.Name)
		}
	}
	return nil
}

// sample reads items, and notes those of the models.
func (x *Inspector) sample(ctx context.Context, r *Report) ([]*subject, error) {
	reader := &read.Reader{Client: x.Client, Label: "check", Describe: extern.Plain}
	var all []*subject
	at := read.Segment{Table: x.Table, Rate: x.Rate}
	err := reader.Sample(ctx, at, read.Draw{Number: x.Sample, Items: x.Items}, &r.used, func(img item.Image) bool {
		if s := x.subjectOf(img.Arguments, r); s != nil {
			all = append(all, s)
		}
		return true
	})
	return all, err
}

// subjectOf finds the model of an item, nil for an item of no model.
func (x *Inspector) subjectOf(a item.Attributes, r *Report) *subject {
	r.Items++
	for _, m := range x.Models {
		t := m.TableNamed(x.Table.Name)
		img, err := m.Image(t, a)
		if err != nil {
			continue
		}
		identity, ok := m.Whose(&img)
		if !ok {
			continue
		}
		root, err := m.RootPlace(identity)
		if err != nil {
			continue
		}
		x.count(m, &img, r)
		r.Seen.add(m.Model, &img)
		return &subject{m, img, root}
	}
	x.unknown(a, r)
	return nil
}

// oldest is the age in years of a time to live up to which DynamoDB deletes the item (Developer Guide, "Using time to
// live (TTL)").
const oldest = 5

func (x *Inspector) count(m *Model, img *item.Image, r *Report) {
	if m.Reserved.Versions() && img.Header.Version == nil {
		r.NoVersion++
	}
	if img.Header.Incarnation == nil {
		r.NoIncarnation++
	}
	if img.Expired {
		r.Expired++
		if m.Reserved.Expired(item.Attributes{m.Reserved.TTL: img.Header.Expiry}, m.Now().AddDate(-oldest, 0, 0)) {
			r.Undeletable++
		}
	}
}

// judgeAll judges the items, with root items that are read after them. It returns those with findings.
func (x *Inspector) judgeAll(ctx context.Context, subjects []*subject, r *Report) ([]*subject, error) {
	var doubtful []*subject
	for _, m := range x.Models {
		var own []*subject
		size := 0
		roots := map[item.Place]*item.Image{}
		for _, s := range subjects {
			if s.m == m {
				own = append(own, s)
				size += s.img.Size
				roots[s.root] = nil
			}
		}
		if len(own) == 0 {
			continue
		}
		r.Entities += len(roots)
		x.Announce(fmt.Sprintf("%d root items of %s", len(roots), m.Label()),
			float64(len(roots))*cost.ReadUnits(size/len(own)))
		if err := x.readRoots(ctx, m, roots, r); err != nil {
			return nil, err
		}
		for _, s := range own {
			if len(x.judge(s, roots[s.root])) > 0 {
				doubtful = append(doubtful, s)
			}
		}
	}
	return doubtful, nil
}

// readRoots reads root items, strongly consistent.
func (x *Inspector) readRoots(ctx context.Context, m *Model, roots map[item.Place]*item.Image, r *Report) error {
	var parts []selection.Part
	for at := range roots {
		parts = append(parts, model.PartOf(at))
	}
	reader := x.readerOf(m)
	for some := range slices.Chunk(parts, 100) {
		before := r.used.Predicted.Expected
		if err := x.Rate.Take(ctx, 0); err != nil {
			return err
		}
		for page, err := range read.Pages(ctx, reader, some, read.Options{Strong: true}, &r.used) {
			if err != nil {
				return err
			}
			for i := range page.Items {
				roots[page.Items[i].Place] = &page.Items[i]
			}
		}
		x.Rate.Correct(0, r.used.Predicted.Expected-before)
	}
	return nil
}

func (x *Inspector) readerOf(m *Model) *read.Reader {
	return &read.Reader{Client: x.Client, Label: m.Label(), TableOf: m.TableOf, Describe: m.Describe}
}

// secondLook reads the items that seem to break a rule again, and after each its root item. If an item breaks
// the rule in both reads, no program is at work on it, and it is a finding.
func (x *Inspector) secondLook(ctx context.Context, doubtful []*subject, r *Report) error {
	if len(doubtful) == 0 {
		return nil
	}
	units := 0.0
	for _, s := range doubtful {
		units += 3 * cost.ReadUnits(s.img.Size)
	}
	x.Announce(fmt.Sprintf("%d items and their root items again", len(doubtful)), units)
	select {
	case <-time.After(x.Pause):
	case <-ctx.Done():
		return ctx.Err()
	}
	for _, s := range doubtful {
		if err := x.Rate.Take(ctx, 3*cost.ReadUnits(s.img.Size)); err != nil {
			return err
		}
		reader := x.readerOf(s.m)
		now, err := reader.One(ctx, s.img.Place, read.Options{Strong: true}, &r.used)
		if err != nil {
			return err
		}
		if now == nil {
			continue
		}
		root := now
		if !s.isRoot() {
			if root, err = reader.One(ctx, s.root, read.Options{Strong: true}, &r.used); err != nil {
				return err
			}
		}
		again := now
		if !s.isRoot() { // the item and the root item have to be of one moment
			if again, err = reader.One(ctx, s.img.Place, read.Options{Strong: true}, &r.used); err != nil {
				return err
			}
		}
		if again == nil || !attr.SameItem(again.Attributes(), s.img.Attributes()) ||
			!attr.SameItem(now.Attributes(), s.img.Attributes()) {
			r.Changing++
			continue
		}
		s.img = *now
		r.Findings = append(r.Findings, x.judge(s, root)...)
	}
	return nil
}

// found returns a finding about an item.
func (s *subject) found(rule Rule, fact, cure string) Finding {
	return Finding{
		Rule: rule, Model: s.m.Label(), Table: s.img.Table.Name, Item: s.img.Place.String(), Fact: fact, Cure: cure,
	}
}
