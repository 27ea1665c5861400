package extern

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/save/write"
)

// frame returns the stored form of a value, which is read when it is written to another place.
func (s *Source) frame(p *Pointer) Frame {
	return func(ctx context.Context, t *write.Tally) io.ReaderAt { return &distant{s, p, ctx, t} }
}

// distant is the stored form of a value, read strongly consistent.
type distant struct {
	s   *Source
	p   *Pointer
	ctx context.Context
	t   *write.Tally
}

func (d *distant) ReadAt(b []byte, off int64) (n int, err error) {
	var u read.Usage
	defer func() {
		d.t.AddRead(u.Requests, u.Predicted, u.Consumed)
		d.t.Objects = d.t.Objects.Add(u.Objects)
	}()
	if off >= d.p.Stored {
		return 0, io.EOF
	}
	short := int64(len(b)) > d.p.Stored-off
	if short {
		b = b[:d.p.Stored-off]
	}
	if d.p.Class == Object {
		n, err = d.object(b, off, &u)
	} else {
		n, err = d.parts(b, off, &u)
	}
	if err == nil && short {
		err = io.EOF
	}
	return n, d.s.lost(d.ctx, d.p, err)
}

// lost distinguishes damage from a value that was replaced since it was loaded.
func (s *Source) lost(ctx context.Context, p *Pointer, err error) error {
	var damaged *Damaged
	var u read.Usage
	if errors.As(err, &damaged) {
		if changed := s.unchanged(ctx, Wanted{p, s.At, s.Attribute}, &u); changed != nil {
			err = changed
		}
	}
	return s.explain(err)
}

// object reads a range of an object.
func (d *distant) object(b []byte, off int64, u *read.Usage) (int, error) {
	if d.s.Objects == nil {
		return 0, errNoObjects
	}
	u.Objects.Gets++
	body, err := d.s.Objects.Get(d.ctx, d.s.Locations.bucket(d.p.At), ObjectKey(d.p.ID), Range{off, int64(len(b))})
	if err != nil {
		return 0, missing(err, d.p)
	}
	defer body.Close()
	n, err := io.ReadFull(body, b)
	u.Objects.Received += int64(n)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = &Damaged{What: fmt.Sprintf("the object %s has another size than its %d bytes", ObjectKey(d.p.ID),
			d.p.Stored)}
	}
	return n, err
}

// missing returns the error of a missing object: the value is damaged.
func missing(err error, p *Pointer) error {
	if errors.Is(err, ErrNoObject) {
		return &Damaged{What: fmt.Sprintf("the object %s of the bucket %s does not exist", ObjectKey(p.ID), p.At)}
	}
	return err
}

// parts reads from the parts that hold a range.
func (d *distant) parts(b []byte, off int64, u *read.Usage) (int, error) {
	if err := d.s.reads(d.p); err != nil {
		return 0, err
	}
	e := &Entry{ID: d.p.ID, Class: d.p.Class, At: d.p.At, Parts: d.p.Parts, PK: d.s.At.PK, SK: d.s.At.SK}
	n := 0
	for n < len(b) {
		i := int((off + int64(n)) / int64(d.p.PartSize))
		from := int(off + int64(n) - int64(i)*int64(d.p.PartSize))
		part := make([]byte, d.p.partLen(i))
		if err := d.s.part(d.ctx, d.p, d.s.Locations.Part(e, i), partOf{i, part, true, u}); err != nil {
			return n, err
		}
		n += copy(b[n:], part[from:])
	}
	return n, nil
}

// Copying returns the requests for reading the values that are copied: those to DynamoDB with their
// RCU, and those to S3.
func Copying(values []*Value) (requests int, rcu float64, objects cost.Objects) {
	for _, v := range values {
		switch {
		case v.Of == nil, v.Copies:
		case v.Of.Class == Object:
			objects = objects.Add(cost.Objects{Gets: max(v.Parts, 1), Received: v.Stored})
		default:
			n, half, _ := Reading(v.From.Fetcher, v.Of, v.From.At, v.From.Attribute)
			requests, rcu = requests+n, rcu+2*half
		}
	}
	return requests, rcu, objects
}

// Reading returns the requests for reading the value of a pointer, in an attribute of an item: those to
// DynamoDB with their RCU, eventually consistent, and those to S3.
func Reading(f *Fetcher, p *Pointer, at item.Place, attribute string) (requests int, rcu float64,
	objects cost.Objects,
) {
	if p.Class == Object {
		return 0, 0, cost.Objects{Gets: 1, Received: p.Stored}
	}
	h := f.Locations
	if p.Class == Table && h.Parts[p.At] == nil {
		return 0, 0, objects // it cannot be read
	}
	there := item.Place{Table: h.Records, PK: h.Partition(0), SK: textKey(p.ID)} // as long as that of its record
	of := h.owner(&Value{Parent: at, Attribute: attribute}, there).attribute()
	e := &Entry{ID: p.ID, Class: p.Class, At: p.At, Parts: p.Parts, PK: at.PK, SK: at.SK}
	for i := range p.Parts {
		size := attr.ItemSize(h.Part(e, i).Key()) + attr.AttributeSize(ofName, of) + len(dataName) + p.partLen(i)
		rcu += cost.ReadUnits(size) / 2
	}
	return p.Parts, rcu, objects
}
