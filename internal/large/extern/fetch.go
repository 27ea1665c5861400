package extern

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/large/compression"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/request"
)

// Fetcher reads external values.
type Fetcher struct {
	Locations *Locations
	// Codecs are the codecs that values are decompressed by.
	Codecs compression.Codecs
	// Reader reads parts, and Parents the items that point to them.
	Reader, Parents *read.Reader
	// Objects is the store of objects, nil for none.
	Objects Objects
	// Limit is the most that a value may have, in bytes.
	Limit int64
	// Flying is the maximum number of bytes of parts in transfer, including the SDK's memory for
	// decoding them.
	Flying int
	// Dead reports whether an item that was read strongly consistent is a leftover item of an
	// unfinished staged insert.
	Dead func(ctx context.Context, f *item.Image, u *read.Usage) (bool, error)
}

// Plain describes items that are none of the model's: for a Reader.
func Plain(t *item.Table, items []item.Attributes) ([]item.Image, error) {
	all := make([]item.Image, len(items))
	for i, a := range items {
		all[i] = item.Image{Place: item.Place{Table: t}, Arguments: a, Size: attr.ItemSize(a)}
		all[i].PK, _ = attr.ScalarOf(a[t.Hash])
		if t.Range != "" {
			all[i].SK, _ = attr.ScalarOf(a[t.Range])
		}
	}
	return all, nil
}

// LimitError says that a value has more bytes than may be read.
type LimitError struct{ Length, Limit int64 }

func (e *LimitError) Error() string {
	return fmt.Sprintf("the value has %s, over the limit of %s for reading: raise the limit "+
		"(mapper.MaxValue), or read it as a stream (large.Value, Reader)", attr.Bytes(e.Length), attr.Bytes(e.Limit))
}

// Replaced says that a value was replaced, or removed, while it was read.
type Replaced struct{ At item.Place }

func (e *Replaced) Error() string {
	return fmt.Sprintf("the value of %s was replaced during the read", e.At)
}

// Wanted is a value that is asked for: the pointer to it, and the item and the attribute that hold that.
type Wanted struct {
	*Pointer
	Parent    item.Place
	Attribute string
}

// Fetch reads the value of a pointer. The error is a *Replaced if the item has another value by then.
// It is a *Damaged if the item still has the pointer and the value is incomplete in a second, strongly
// consistent read.
func (f *Fetcher) Fetch(ctx context.Context, w Wanted, u *read.Usage) (types.AttributeValue, error) {
	p, at := w.Pointer, w.Parent
	if p.Length > f.Limit {
		return nil, &LimitError{p.Length, f.Limit}
	}
	e := &Entry{ID: p.ID, Class: p.Class, At: p.At, Parts: p.Parts, PK: at.PK, SK: at.SK}
	v, err := f.once(ctx, p, e, false, u)
	var damaged *Damaged
	if !errors.As(err, &damaged) {
		return v, err
	}
	if err := f.unchanged(ctx, w, u); err != nil {
		return nil, err
	}
	return f.once(ctx, p, e, true, u)
}

// unchanged returns a *Replaced unless the item still holds the pointer, which is read strongly.
func (f *Fetcher) unchanged(ctx context.Context, w Wanted, u *read.Usage) error {
	at := w.Parent
	now, err := f.Parents.One(ctx, at, read.Options{Strong: true}, u)
	if err != nil {
		return err
	}
	if now == nil {
		return &Replaced{at}
	}
	q, ok := PointerOf(now.Attribute(w.Attribute))
	if !ok || q.ID != w.ID {
		return &Replaced{at}
	}
	dead, err := f.Dead(ctx, now, u)
	if err == nil && dead {
		err = &Replaced{at}
	}
	return err
}

// once reads the value, and checks it.
func (f *Fetcher) once(ctx context.Context, p *Pointer, e *Entry, strong bool, u *read.Usage) (types.AttributeValue,
	error,
) {
	b, err := f.stored(ctx, p, e, strong, u)
	if err != nil {
		return nil, err
	}
	if p.Codec != "" {
		if b, err = f.Codecs.Decompress(p.Codec, b, p.Length); errors.As(err, new(*compression.MissingError)) {
			return nil, err
		}
		if err != nil {
			return nil, &Damaged{What: "the value " + p.ID, Err: err}
		}
	}
	if int64(len(b)) != p.Length || sha256.Sum256(b) != p.Sum {
		return nil, &Damaged{What: fmt.Sprintf("the value %s of %d bytes has another SHA-256 than the %d bytes "+
			"that were read", p.ID, p.Length, len(b))}
	}
	v, err := Content{b, p.Kind}.Value()
	if err != nil {
		return nil, &Damaged{What: "the value " + p.ID, Err: err}
	}
	return v, nil
}

// stored reads the stored form of a value.
func (f *Fetcher) stored(ctx context.Context, p *Pointer, e *Entry, strong bool, u *read.Usage) ([]byte, error) {
	if p.Stored > f.Limit {
		return nil, &LimitError{p.Stored, f.Limit}
	}
	if p.Class == Object {
		return f.object(ctx, p, u)
	}
	if err := f.reads(p); err != nil {
		return nil, err
	}
	b := make([]byte, p.Stored)
	var mu sync.Mutex
	err := request.AtMost(ctx, f.atOnce(p), p.Parts, func(ctx context.Context, i int) error {
		to := b[i*p.PartSize : min((i+1)*p.PartSize, len(b))]
		var own read.Usage
		err := f.part(ctx, p, f.Locations.Part(e, i), partOf{i, to, strong, &own})
		mu.Lock()
		defer mu.Unlock()
		u.Join(&own)
		return err
	})
	return b, err
}

// atOnce returns the number of parts of a value that are read concurrently. To decode an answer the SDK
// needs four to five times a part's size, in addition to the part.
func (f *Fetcher) atOnce(p *Pointer) int {
	return min(max(f.Flying/(6*max(p.PartSize, 1)), 1), mostAtOnce)
}

// mostAtOnce bounds how many requests of one value are under way.
const mostAtOnce = 32

// reads refuses a pointer whose properties are impossible, or whose table is unknown.
func (f *Fetcher) reads(p *Pointer) error {
	size := int64(p.PartSize)
	if size < 1 || size > cost.MaxItem || p.Parts > maxParts || int64(p.Parts) != p.Stored/size+min(p.Stored%size, 1) {
		return &Damaged{What: fmt.Sprintf("the pointer to %s has %d parts of %d bytes for %d", p.ID, p.Parts,
			p.PartSize, p.Stored)}
	}
	if p.Class == Table && f.Locations.Parts[p.At] == nil {
		return fmt.Errorf("its parts are in the table %s, which the model does not name: name it in the chunk of "+
			"another field", p.At)
	}
	return nil
}

// partOf is a part by its number, where it is read to, how, and what that took.
type partOf struct {
	i      int
	to     []byte
	strong bool
	u      *read.Usage
}

// part reads one part into its place.
func (f *Fetcher) part(ctx context.Context, p *Pointer, at item.Place, x partOf) error {
	i, to := x.i, x.to
	got, err := f.Reader.One(ctx, at, read.Options{Strong: x.strong}, x.u)
	if err != nil {
		return err
	}
	if got == nil {
		return &Damaged{What: fmt.Sprintf("the part %d of %d of the value %s does not exist", i, p.Parts, p.ID)}
	}
	data, ok := got.Attribute(dataName).(*types.AttributeValueMemberB)
	if !ok || len(data.Value) != len(to) {
		return &Damaged{What: fmt.Sprintf("the part %d of %d of the value %s has another size than its %d bytes", i,
			p.Parts,
			p.ID, len(to))}
	}
	copy(to, data.Value)
	return nil
}

// object reads what an object holds.
func (f *Fetcher) object(ctx context.Context, p *Pointer, u *read.Usage) ([]byte, error) {
	if f.Objects == nil {
		return nil, errNoObjects
	}
	u.Objects.Gets++
	body, err := f.Objects.Get(ctx, f.Locations.bucket(p.At), ObjectKey(p.ID), Range{})
	if err != nil {
		return nil, missing(err, p)
	}
	defer body.Close()
	var b bytes.Buffer
	b.Grow(int(p.Stored))
	_, err = io.Copy(&b, io.LimitReader(body, p.Stored+1))
	u.Objects.Received += int64(b.Len())
	if errors.Is(err, io.ErrUnexpectedEOF) || err == nil && int64(b.Len()) != p.Stored {
		return nil, &Damaged{
			What: fmt.Sprintf("the object %s has another size than its %d bytes", ObjectKey(p.ID), p.Stored),
			Err:  err,
		}
	}
	return b.Bytes(), err
}
