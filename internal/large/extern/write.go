package extern

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/large/compression"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/save/write"
)

// Writer writes external values. Store is called before the transaction that writes the pointers and
// commits the record. If there is no such transaction, Discard is called.
type Writer struct {
	Locations *Locations
	Sender    *write.Sender
	Reader    *read.Reader
	Objects   Objects
	Label     string
	// Bound is for how long after its record was made the parts of a value may be sent.
	Bound time.Duration
}

// Group are the values that one transaction points to, with their record.
type Group struct {
	*Record
	Values []*Value
	// Steps are the requests before the transaction, and Commit is part of it.
	Steps  []write.Step
	Commit *write.Request
	// stored reports that all values are stored, and deleted that they were discarded.
	stored, deleted bool
}

// noted is the maximum number of bytes that a collector adds to a record for each value, and once more.
const noted = 32

// Group returns values with a new record. The error is of more values than a record holds.
func (w *Writer) Group(values []*Value, now time.Time) (*Group, error) {
	for _, v := range values {
		v.Copies = v.Class == Object && v.Of != nil && v.Of.Class == Object && w.Objects != nil &&
			v.From.Objects != nil &&
			w.Objects.Reaches(v.From.Objects)
	}
	g := &Group{Record: w.Locations.NewRecord(values, now, w.Bound), Values: values}
	record := g.Put(w.Label)
	if record.NewSize+noted*(len(values)+1) > cost.MaxItem {
		return nil, fmt.Errorf("%s: the record of %d external values in one save would have %s: save fewer "+
			"at once", w.Label,
			len(values), attr.Bytes(record.NewSize))
	}
	g.Steps = []write.Step{{Requests: []*write.Request{record}, How: write.Each}}
	var parts []*write.Request
	for _, v := range values {
		parts = append(parts, w.Locations.PartsOf(v, g.Record, w.Label)...)
	}
	if len(parts) > 0 {
		g.Steps = append(g.Steps, write.Step{Requests: parts, How: write.AtOnce})
	}
	g.Commit = g.Record.Commit(w.Label)
	return g, nil
}

// Adopts reports whether values are those of the group, so that its stored values can be used for them.
func (g *Group) Adopts(values []*Value) bool {
	if g.deleted || len(values) != len(g.Values) {
		return false
	}
	for i, v := range values {
		o := g.Values[i]
		if v.Parent != o.Parent || v.Attribute != o.Attribute || v.Sum != o.Sum || v.Length != o.Length ||
			v.Kind != o.Kind || v.Class != o.Class || v.Codec != o.Codec {
			return false
		}
	}
	return true
}

// Uploads are the objects that the values of a group are put as.
func (g *Group) Uploads() cost.Objects {
	var o cost.Objects
	for _, v := range g.Values {
		if v.Class == Object {
			o = o.Add(v.putting())
		}
	}
	return o
}

// putting returns the requests for putting the object of a value. A copy is one request, and transfers
// no content.
func (v *Value) putting() cost.Objects {
	if v.Copies {
		return cost.Objects{Puts: 1}
	}
	return cost.Objects{Puts: puts(v.Stored), Sent: v.Stored}
}

// ErrLate says that the deadline of a record was over before all of its values were stored.
var ErrLate = errors.New("storing the external values of the save took too long")

// Store writes the record and the values, once. After an error nothing of it is pointed to: the group
// has to be given up.
func (w *Writer) Store(ctx context.Context, g *Group, t *write.Tally) error {
	if g.stored {
		return nil
	}
	for i := range g.Steps {
		o := w.Sender.Send(ctx, &g.Steps[i], t)
		if o.OK() || i == 0 && o.State == write.Rejected && StateOf(o.Stored[0]) == Open {
			continue // a record of this id is this one
		}
		return late(o.Err)
	}
	tallies := make([]write.Tally, len(g.Values))
	err := request.AtMost(ctx, 4, len(g.Values), func(ctx context.Context, i int) error {
		if g.Values[i].Class != Object {
			return nil
		}
		return w.put(ctx, g, g.Values[i], &tallies[i])
	})
	t.AddAll(tallies)
	g.stored = err == nil
	return late(err)
}

func late(err error) error {
	var l *write.LateError
	if errors.As(err, &l) {
		return fmt.Errorf("%w: %w", ErrLate, err)
	}
	return err
}

// put puts the object of a value.
func (w *Writer) put(ctx context.Context, g *Group, v *Value, t *write.Tally) error {
	if w.Objects == nil {
		return errNoObjects
	}
	left := g.Until.Sub(w.Sender.Now())
	if left < 0 {
		return &write.LateError{NotAfter: g.Until}
	}
	o := Put{
		Bucket: w.Locations.bucket(v.At), Key: ObjectKey(v.ID), Size: v.Stored, Until: time.Now().Add(left),
		Metadata: w.Locations.owner(v, g.Place).metadata(), Encoding: compression.Encoding(v.Codec),
	}
	var err error
	switch {
	case v.Copies:
		t.Objects = t.Objects.Add(v.putting())
		if err = missing(w.Objects.Copy(ctx, o, v.From.Locations.bucket(v.Of.At), ObjectKey(v.Of.ID)),
			v.Of); err != nil {
			err = v.From.lost(ctx, v.Of, err)
		}
	default:
		if o.Body = v.Frame(ctx, t); v.From != nil { // it is read twice, once for its checksum
			if o.Body, err = spool(func(w io.Writer) error {
				_, err := io.CopyBuffer(struct{ io.Writer }{w},
					struct{ io.Reader }{io.NewSectionReader(o.Body, 0, v.Stored)},
					make([]byte, max(v.Of.PartSize, blockSize)))
				return err
			}); err != nil {
				return err
			}
		}
		t.Objects = t.Objects.Add(v.putting())
		err = w.Objects.Put(ctx, o)
	}
	if errors.Is(err, ErrThere) {
		return nil // an earlier attempt: the id is unique
	}
	return err
}

// Resolve reads the state of a record, strongly consistent.
func (w *Writer) Resolve(ctx context.Context, g *Group, t *write.Tally) (State, error) {
	a, err := w.Sender.Stored(ctx, g.Commit, t)
	return StateOf(a), err
}

// Discard marks a record aborted, unless it is committed, and deletes the stored values. It returns the
// state of the record. If that is Aborted, no item points to the values, and none ever will.
func (w *Writer) Discard(ctx context.Context, g *Group, t *write.Tally) (State, error) {
	if g.deleted {
		return Aborted, nil
	}
	o := w.Sender.One(ctx, g.Abort(w.Label, w.Sender.Now()), t)
	state := Aborted
	switch {
	case o.State == write.Rejected:
		if state = StateOf(o.Stored[0]); state == Open { // it was not then, and is now: an answer was lost
			state = Aborted
		}
	case o.Lost():
		var err error
		if state, err = w.Resolve(ctx, g, t); err != nil {
			return "", err
		}
		if state == Open {
			return state, o.Err
		}
	}
	if state == Aborted {
		g.deleted = true
		w.clean(ctx, g, t)
	}
	return state, nil
}

// clean deletes the stored values as far as possible. The collector deletes the rest.
func (w *Writer) clean(ctx context.Context, g *Group, t *write.Tally) {
	if len(g.Steps) > 1 {
		st := write.Step{How: write.AtOnce}
		for _, q := range g.Steps[1].Requests {
			st.Requests = append(st.Requests, w.Locations.deleteOf(q.Place, attr.ItemSize(q.Put), w.Label))
		}
		w.Sender.Send(ctx, &st, t)
	}
	for _, v := range g.Values {
		if v.Class == Object && w.Objects != nil &&
			w.Objects.Delete(ctx, w.Locations.bucket(v.At), ObjectKey(v.ID)) == nil {
			t.Objects.Deletes++
		}
	}
}

// deleteOf returns the request that deletes a part, or a record.
func (h *Locations) deleteOf(at item.Place, size int, label string) *write.Request {
	return &write.Request{
		Kind: write.Delete, Place: at, Label: label, Field: "a part", OldSize: size,
		Unread: size == 0,
	}
}
