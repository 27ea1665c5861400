package extern

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/write"
)

// Signature is the time for which a signed request can arrive. DynamoDB and S3 accept signatures for 15
// minutes (AWS General Reference, "Signature Version 4"), and clocks may differ by 5 minutes.
const Signature = 20 * time.Minute

// Collector removes values that nothing points to, by their records.
type Collector struct {
	*Writer
	// Fetcher reports dead items, and reads parents.
	Fetcher *Fetcher
	// TableOf returns a table of the model by its real name, nil for one that it does not have.
	TableOf func(real string) *item.Table
	Now     func() time.Time
	// Grace is for how long a value stays to which nothing points: readers may be about to read it.
	Grace time.Duration
	// Act says that it acts; else it reports.
	Act bool
	// Limit limits the units per second, nil for no limit.
	Limit *request.Limiter
}

// Collected has the findings and the deletions of a collector.
type Collected struct {
	// Records and Values are the numbers of visited records and values.
	Records int `json:"records"`
	Values  int `json:"values"`
	// Writing is the number of records of saves in progress. Discarded is the number of records that
	// the collector aborted after their deadlines. Waiting is the number of records that were aborted too
	// recently to delete their values.
	Writing   int `json:"writing"`
	Discarded int `json:"discarded"`
	Waiting   int `json:"waiting"`
	// Unreferenced is the number of values without a pointer that are kept: for their grace period, or
	// because the collector only reports. Referenced is the number of values that were recorded as
	// unreferenced before, and have a pointer now.
	Unreferenced int `json:"unreferenced"`
	Referenced   int `json:"referenced"`
	// Foreign are records that it left alone, since they are of other models, or of other tables and
	// buckets than the mapper's: collect with mappers of these.
	Foreign int `json:"foreign"`
	// Unreadable counts items among the records that are not records, or are damaged. They are left alone.
	Unreadable int `json:"unreadable"`
	// Removed are values that it removed: so many parts and objects.
	Removed int `json:"removed"`
	Parts   int `json:"parts"`
	Objects int `json:"objects"`
	// Next is the position at which the next collection should continue; it is empty after the last
	// record.
	Next string `json:"next,omitempty"`

	Strays Strays      `json:"-"`
	Tally  write.Tally `json:"-"`
}

// Run visits all records from a place on, "" for the beginning.
func (c *Collector) Run(ctx context.Context, from string) (*Collected, error) {
	done := &Collected{Next: from}
	first, start := 0, ""
	if strings.HasPrefix(from, scanned) {
		return done, nil // the records are done
	}
	if from != "" {
		if _, err := fmt.Sscanf(from, "%02d/%s", &first, &start); err != nil || first < 0 || first >= Partitions {
			return done, notNext(from)
		}
	}
	for n := first; n < Partitions; n++ {
		if err := c.partition(ctx, n, start, done); err != nil {
			return done, err
		}
		start = ""
	}
	done.Next = ""
	return done, nil
}

func notNext(from string) error {
	return fmt.Errorf("%q is not the end of a collection: pass the Next that it reported", from)
}

// partition visits the records of a partition.
func (c *Collector) partition(ctx context.Context, n int, start string, done *Collected) error {
	part := selection.Part{
		Partition: key.Partition{PK: c.Locations.Partition(n)},
		Range:     selection.Range{Kind: selection.All},
	}
	o := read.Options{Strong: true, Limit: recordsAtOnce}
	if start != "" {
		sk := textKey(start)
		o.Start = &sk
	}
	reader := *c.Reader
	reader.TableOf = func(selection.Part) *item.Table { return c.Locations.Records }
	var u read.Usage
	defer func() { done.Tally.AddRead(u.Requests, u.Predicted, u.Consumed) }()
	for page, err := range read.Pages(ctx, &reader, []selection.Part{part}, o, &u) {
		if err != nil {
			return err
		}
		for i := range page.Items {
			f := &page.Items[i]
			if err := c.visit(ctx, f, done); err != nil {
				return err
			}
			done.Next = fmt.Sprintf("%02d/%s", n, f.SK.Text)
		}
	}
	return ctx.Err()
}

// recordsAtOnce is the number of records that are read together. It is small, so that they are still
// current when the collector acts on them.
const recordsAtOnce = 25

// visit decides about a record, and acts.
func (c *Collector) visit(ctx context.Context, f *item.Image, done *Collected) error {
	r, err := RecordOf(f.Place, f.Attributes())
	if err != nil {
		done.Unreadable++
		return nil
	}
	if err := c.Limit.Take(ctx, 1+float64(len(r.Values))); err != nil {
		return err
	}
	done.Records++
	done.Values += len(r.Values)
	if r.Root != c.Locations.Root || slices.ContainsFunc(r.Values, func(e Entry) bool {
		t := c.TableOf(e.Table)
		return t == nil || !c.Locations.Fits(t, e.PK, e.SK) || !c.Locations.knows(&e) || e.Class == Object &&
			c.Objects == nil
	}) {
		done.Foreign++
		return nil
	}
	now := c.Now()
	switch r.State {
	case Open:
		done.Writing++
		if now.Before(r.Until.Add(clocks)) || !c.Act {
			return nil
		}
		done.Writing--
		done.Discarded++
		return c.unlessChanged(ctx, r.Abort(c.Label, now), done)
	case Aborted:
		if now.Before(r.Since.Add(Signature)) || !c.Act {
			done.Waiting++
			return nil
		}
		for i := range r.Values {
			if err := c.remove(ctx, &r.Values[i], done); err != nil {
				return err
			}
		}
		return c.forget(ctx, r, nil, done)
	case Committed:
		return c.committed(ctx, r, f.Attribute(valuesName), done)
	}
	return fmt.Errorf("the record %s has the unknown state %q: update itemize, or restore the record", f.Place,
		string(r.State))
}

// clocks is how far clocks may be apart.
const clocks = 5 * time.Minute

// committed looks for the pointers to the values of a committed record.
func (c *Collector) committed(ctx context.Context, r *Record, was types.AttributeValue, done *Collected) error {
	now := c.Now()
	changed := false
	var stay []Entry
	for i := range r.Values {
		e := r.Values[i]
		points, err := c.points(ctx, &e, done)
		if err != nil {
			return err
		}
		switch {
		case points && !e.Deleted.IsZero():
			done.Referenced++
			e.Deleted, changed = time.Time{}, true
		case points:
		case e.Deleted.IsZero():
			done.Unreferenced++
			e.Deleted, changed = now, true
		case now.Before(e.Deleted.Add(max(c.Grace, Signature))) || !c.Act:
			done.Unreferenced++
		default:
			if err := c.remove(ctx, &e, done); err != nil {
				return err
			}
			changed = true
			continue
		}
		stay = append(stay, e)
	}
	switch {
	case !changed || !c.Act:
		return nil
	case len(stay) == 0:
		return c.forget(ctx, r, was, done)
	}
	r.Values = stay
	q := r.request(write.Update, c.Label)
	q.Set = []item.Assignment{{Name: valuesName, Index: item.Unlisted, Value: r.values()}}
	q.Expect.Terms, q.Expect.Blind = []attr.Condition{is(stateName, text(string(Committed))), is(valuesName, was)}, true
	q.NewSize = attr.ItemSize(r.item())
	q.OldSize = q.NewSize
	return c.unlessChanged(ctx, q, done)
}

// points reports whether an item points to a value. The record was read before.
func (c *Collector) points(ctx context.Context, e *Entry, done *Collected) (bool, error) {
	t := c.TableOf(e.Table)
	var u read.Usage
	defer func() { done.Tally.AddRead(u.Requests, u.Predicted, u.Consumed) }()
	f, err := c.Fetcher.Parents.One(ctx, item.Place{Table: t, PK: e.PK, SK: e.SK}, read.Options{Strong: true}, &u)
	if err != nil || f == nil {
		return false, err
	}
	// Under whatever name: an attribute may be called otherwise now.
	mine := slices.ContainsFunc(mapValues(f.Attributes()), func(v types.AttributeValue) bool {
		p, ok := PointerOf(v)
		return ok && p.ID == e.ID
	})
	if !mine {
		return false, nil
	}
	dead, err := c.Fetcher.Dead(ctx, f, &u)
	return !dead, err
}

func mapValues(a item.Attributes) []types.AttributeValue {
	all := make([]types.AttributeValue, 0, len(a))
	for _, v := range a {
		all = append(all, v)
	}
	return all
}

// remove deletes the storage of a value.
func (c *Collector) remove(ctx context.Context, e *Entry, done *Collected) error {
	if e.Class == Object {
		done.Tally.Objects.Deletes++
		if err := c.Objects.Delete(ctx, c.Locations.bucket(e.At), ObjectKey(e.ID)); err != nil {
			return fmt.Errorf("deleting the object %s of the bucket %s: %w", ObjectKey(e.ID), e.At, err)
		}
		done.Removed++
		done.Objects++
		return nil
	}
	st := write.Step{How: write.AtOnce}
	for i := range e.Parts {
		st.Requests = append(st.Requests, c.Locations.deleteOf(c.Locations.Part(e, i), PartSize, c.Label))
	}
	if err := c.Limit.Take(ctx, float64(e.Parts*PartSize/1024)); err != nil {
		return err
	}
	if o := c.Sender.Send(ctx, &st, &done.Tally); !o.OK() && len(st.Requests) > 0 {
		return o.Err
	}
	done.Removed++
	done.Parts += e.Parts
	return nil
}

// forget deletes a record whose values are deleted.
func (c *Collector) forget(ctx context.Context, r *Record, was types.AttributeValue, done *Collected) error {
	q := r.request(write.Delete, c.Label)
	q.OldSize = attr.ItemSize(r.item())
	q.Expect.Blind = true
	q.Expect.Terms = []attr.Condition{is(stateName, text(string(r.State)))}
	if was != nil {
		q.Expect.Terms = append(q.Expect.Terms, is(valuesName, was))
	}
	return c.unlessChanged(ctx, q, done)
}

// unlessChanged sends a request about a record that another may have changed: the next collection sees to that.
func (c *Collector) unlessChanged(ctx context.Context, q *write.Request, done *Collected) error {
	o := c.Sender.One(ctx, q, &done.Tally)
	if o.OK() || o.State == write.Rejected {
		return nil
	}
	return errors.Join(fmt.Errorf("the record %s: its write failed", q.Place), o.Err)
}
