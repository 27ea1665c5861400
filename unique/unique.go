// Package unique adopts and verifies the unique values of stored entities.
//
// A field with the tag unique has a guard for each value: an item that names the entity that owns the value. Writes
// keep the guards. Lookups (UserByEmail in generated code) trust them, but only after they were verified. This package
// verifies them, and makes those of entities that were stored before the field was unique:
//
//  1. Deploy all programs with the tag. From then on their writes keep guards, and refuse values that have one.
//  2. [Run] gives the stored entities their guards, and reports entities with the same value. Settle these by saves.
//  3. [Verify] reads all root items and their guards. If it finds no fault, it writes a note, and lookups work.
//
// A new table only needs [Verify], which then costs almost nothing. After a restore, an import, or writes by a program
// that ignores the tag, verify again. To remove unique from a field, deploy all programs without it, and call [Drop].
//
// The command itemize unique does the same for models without a method Normal.
package unique

import (
	"context"
	"errors"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/adoption"
	"github.com/itemize/itemize/mapper"
)

// Report is the result of a pass over a table.
type Report struct {
	// Items were read. Entities are those whose root items were among them.
	Items    int `json:"items"`
	Entities int `json:"entities"`
	// Guarded are values that have their guards. Written are those of them that this pass has written, or of Drop the
	// deleted guards.
	Guarded int `json:"guarded"`
	Written int `json:"written"`
	// Missing are values without a guard: run Run. Duplicates are values that another entity has. Invalid are values
	// that cannot be compared, because another program wrote another type.
	Missing    int `json:"missing"`
	Duplicates int `json:"duplicates"`
	Invalid    int `json:"invalid"`
	// Expired are expired entities that had the value of another entity. Run has deleted them.
	Expired int `json:"expired"`
	// RCU and WCU are the predicted units, also those of refused requests, which DynamoDB does not report.
	RCU cost.Units `json:"rcu"`
	WCU cost.Units `json:"wcu"`
	// Next is where a pass that ended early can continue ([Resume]), "" after a complete one.
	Next string `json:"next,omitempty"`
}

// Verified reports whether the pass has found no fault.
func (r *Report) Verified() bool { return r.Missing+r.Duplicates+r.Invalid == 0 && r.Next == "" }

// Duplicate is an entity with a value that belongs to another one.
type Duplicate struct {
	// Field is the field of the value. Several fields are separated by commas.
	Field string `json:"field"`
	// Entity is the key of the root item of the entity, and Owner that of the entity with the guard.
	Entity mapper.Key `json:"entity"`
	Owner  mapper.Key `json:"owner"`
}

// Invalid is a value that cannot be compared, because another program wrote another type.
type Invalid struct {
	// Field is the field of the value. Several fields are separated by commas.
	Field string `json:"field"`
	// Entity is the key of the root item of the entity.
	Entity mapper.Key `json:"entity"`
	// Reason is why, without the value.
	Reason string `json:"reason"`
}

// Option is an option of this package: [Segments], [Rate], [Resume], [OnDuplicate], [OnInvalid], [OnProgress].
type Option interface{ apply(*settings) }

type optionFunc func(*settings)

func (f optionFunc) apply(s *settings) { f(s) }

type settings struct {
	segments    int
	rate        request.Rate
	from        string
	onDuplicate func(Duplicate)
	onInvalid   func(Invalid)
	onProgress  func(Report)
}

// Segments reads so many parts of the table at once. The default is 1.
func Segments(n int) Option { return optionFunc(func(s *settings) { s.segments = n }) }

// Rate limits a pass to this many capacity units a second, reads and writes together.
func Rate(units float64) Option {
	return optionFunc(func(s *settings) { s.rate = request.RateOf(units) })
}

// Resume continues a pass at its Next.
func Resume(next string) Option { return optionFunc(func(s *settings) { s.from = next }) }

// OnDuplicate calls report with each entity that has a value of another one. Calls do not overlap.
func OnDuplicate(report func(Duplicate)) Option {
	return optionFunc(func(s *settings) { s.onDuplicate = report })
}

// OnInvalid calls report with each value that cannot be compared. Calls do not overlap.
func OnInvalid(report func(Invalid)) Option {
	return optionFunc(func(s *settings) { s.onInvalid = report })
}

// OnProgress calls report after each step with the numbers so far. Calls do not overlap.
func OnProgress(report func(Report)) Option {
	return optionFunc(func(s *settings) { s.onProgress = report })
}

// Run gives each stored unique value its guard, in one transaction with a condition on the root item. It costs a
// strongly consistent scan, half an RCU for each value, and for each value without a guard 2 WCU and two for each KB of
// the root item. The same is charged for each duplicate. Root items without an incarnation get one. It can be repeated,
// and ended at any time. The report has the numbers also if an error ends it.
func Run[T any](ctx context.Context, m *mapper.Mapper[T], options ...Option) (*Report, error) {
	p, err := pass(m, options)
	if err != nil {
		return &Report{}, err
	}
	p.Write = true
	r, err := p.Run(ctx)
	return reportOf(r), err
}

// Verify compares all root items with their guards. If it finds no fault, it writes the note of each value, and lookups
// trust the guards. Otherwise it deletes the notes. It costs a strongly consistent scan, an RCU for each value, and a
// WCU for each note. It is a proof only if no program that ignores the tag has written since it began.
func Verify[T any](ctx context.Context, m *mapper.Mapper[T], options ...Option) (*Report, error) {
	p, err := pass(m, options)
	if err != nil {
		return &Report{}, err
	}
	r, err := p.Verify(ctx)
	return reportOf(r), err
}

// Client has the methods of a *dynamodb.Client that Drop needs.
type Client = adoption.Client

// Drop deletes the note and the guards of a unique value that no program has any more. name is the name of the value in
// its guards: the model and the attribute, such as User#Email. It costs a scan of the table, a WCU for each KB of
// each guard, and one for the note.
func Drop(ctx context.Context, c Client, table Table, name string, options ...Option) (*Report, error) {
	s := settingsOf(options)
	if err := s.rate.Check(); err != nil {
		return &Report{}, err
	}
	if c == nil || table.Name == "" || table.Hash == "" {
		return &Report{}, errors.New("unique.Drop: the client is nil, or the table has no name or no partition " +
			"key: pass " +
			"all of them")
	}
	t := &item.Table{Name: table.Name, Hash: table.Hash, Range: table.Range}
	reader := &read.Reader{Client: c, Label: name, Describe: extern.Plain}
	p := &adoption.Pass{Client: c, Reader: reader}
	s.into(p)
	r, err := p.Drop(ctx, t, name)
	return reportOf(r), err
}

// Table is a table with guards, and its key attributes. Range is "" for a table without a sort key.
type Table struct{ Name, Hash, Range string }

func settingsOf(options []Option) *settings {
	s := &settings{}
	for _, o := range options {
		if o != nil {
			o.apply(s)
		}
	}
	return s
}

func (s *settings) into(p *adoption.Pass) {
	p.Segments, p.Rate, p.From = s.segments, s.rate.Limiter(1), s.from
	if s.onDuplicate != nil {
		p.OnDuplicate = func(d adoption.Duplicate) {
			s.onDuplicate(Duplicate{Field: d.Field, Entity: keyOf(d.Root), Owner: keyOf(d.Owner)})
		}
	}
	if s.onInvalid != nil {
		p.OnInvalid = func(v adoption.Invalid) {
			s.onInvalid(Invalid{Field: v.Field, Entity: keyOf(v.Root), Reason: v.Err.Error()})
		}
	}
	if s.onProgress != nil {
		p.OnProgress = func(r adoption.Report) { s.onProgress(*reportOf(&r)) }
	}
}

func keyOf(at item.Place) mapper.Key {
	return mapper.Key{Table: at.Table.Name, Partition: at.PK.Plain(), Sort: at.Sort()}
}

func pass[T any](m *mapper.Mapper[T], options []Option) (*adoption.Pass, error) {
	p, err := door.Mapper.Engine(m).Adoption()
	if err != nil {
		return nil, err
	}
	s := settingsOf(options)
	if err := s.rate.Check(); err != nil {
		return nil, err
	}
	s.into(p)
	return p, nil
}

func reportOf(r *adoption.Report) *Report {
	if r == nil {
		return &Report{}
	}
	return &Report{
		Items: r.Items, Entities: r.Entities, Guarded: r.Guarded, Written: r.Written, Missing: r.Missing,
		Duplicates: r.Duplicates, Invalid: r.Invalid, Expired: r.Expired, RCU: r.RCU, WCU: r.WCU, Next: r.Next,
	}
}
