package extern

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/read"
)

// scanned is how the place of a scan begins in Next, before its table or bucket and the key there.
const scanned = "scan/"

// Scan examines all parts and objects, and deletes those that have no record and that no item points
// to. from is the position at which an earlier scan ended, "" for the start.
func (c *Collector) Scan(ctx context.Context, from string, done *Collected) error {
	var buckets []string
	for _, b := range c.Locations.Buckets {
		buckets = append(buckets, b)
	}
	slices.Sort(buckets)
	buckets = slices.Compact(buckets)
	tables := c.Locations.Tables()
	first, start := 0, ""
	if at, ok := strings.CutPrefix(from, scanned); ok {
		n, key, _ := strings.Cut(at, "/")
		b, err := base64.RawURLEncoding.DecodeString(key)
		if first, start = 0, string(b); err == nil {
			first, err = strconv.Atoi(n)
		}
		if err != nil || first < 0 || first > len(tables)+len(buckets) {
			return notNext(from)
		}
	}
	for n := first; n < len(tables)+len(buckets); n++ {
		at := func(key string) {
			done.Next = scanned + strconv.Itoa(n) + "/" + base64.RawURLEncoding.EncodeToString([]byte(key))
		}
		at(start)
		var err error
		if n < len(tables) {
			err = c.scanTable(ctx, tables[n], start, at, done)
		} else {
			err = c.scanBucket(ctx, buckets[n-len(tables)], start, at, done)
		}
		if err != nil {
			return err
		}
		start = ""
	}
	done.Next = ""
	return nil
}

// verdict is the state of a value.
type verdict int

const (
	recorded verdict = iota
	foreign
	pointed
	stray
)

// scanTable looks at the parts in a table.
func (c *Collector) scanTable(ctx context.Context, t *item.Table, start string, at func(string),
	done *Collected,
) error {
	behind, err := keyIn(t, start)
	if err != nil {
		return err
	}
	var u read.Usage
	defer func() { done.Tally.AddRead(u.Requests, u.Predicted, u.Consumed) }()
	verdicts := map[string]verdict{}
	var failed error
	before := u.Predicted.Expected
	err = c.Reader.Scan(ctx, read.Segment{Table: t, Of: 1, Start: behind}, &u, func(p read.Page) bool {
		if failed = c.Limit.Take(ctx, u.Predicted.Expected-before); failed != nil {
			return false
		}
		before = u.Predicted.Expected
		for i := range p.Items {
			if failed = c.scanPart(ctx, &p.Items[i], verdicts, done); failed != nil {
				return false
			}
		}
		if p.LastKey != nil {
			b, err := json.Marshal(keyTexts(t, p.LastKey))
			if failed = err; err != nil {
				return false
			}
			at(string(b))
		}
		return true
	})
	return errors.Join(err, failed)
}

// keyTexts returns the key of an item as texts.
func keyTexts(t *item.Table, a item.Attributes) (texts []string) {
	for _, name := range []string{t.Hash, t.Range} {
		if s, ok := attr.ScalarOf(a[name]); ok {
			texts = append(texts, string(s.Type)+s.Text)
		}
	}
	return texts
}

// keyIn returns the key of an item from its text, nil for "".
func keyIn(t *item.Table, text string) (item.Attributes, error) {
	if text == "" {
		return nil, nil
	}
	var texts []string
	if err := json.Unmarshal([]byte(text), &texts); err != nil || len(texts) > 2 {
		return nil, notNext(text)
	}
	a := item.Attributes{}
	for i, s := range texts {
		if s == "" {
			return nil, notNext(text)
		}
		a[[]string{t.Hash, t.Range}[i]] = attr.ValueOf(key.Scalar{Type: s[0], Text: s[1:]})
	}
	return a, nil
}

// scanPart looks at an item that may be a part.
func (c *Collector) scanPart(ctx context.Context, f *item.Image, verdicts map[string]verdict, done *Collected) error {
	id := idIn(f.PK.Text, string(c.Locations.Delim)+"~")
	if f.Attribute(ofName) == nil || f.Attribute(dataName) == nil || id == "" {
		return nil
	}
	v, seen := verdicts[id]
	if !seen {
		o, ok := ownerOf(f.Attribute(ofName))
		var err error
		if v, err = c.judge(ctx, o, ok, id, done); err != nil {
			return err
		}
		if len(verdicts) == maxVerdicts {
			clear(verdicts)
		}
		verdicts[id] = v
	}
	if v != stray || !c.Act {
		return nil
	}
	if err := c.Limit.Take(ctx, float64(f.Size)/1024); err != nil {
		return err
	}
	if o := c.Sender.One(ctx, c.Locations.deleteOf(f.Place, f.Size, c.Label), &done.Tally); !o.OK() {
		return o.Err
	}
	done.Strays.Parts++
	return nil
}

// maxVerdicts is the number of values whose verdict is remembered. A value that occurs again after so
// many others is counted again.
const maxVerdicts = 1 << 17

// idIn returns the id of a value in a key, behind a mark, "" for none.
func idIn(s, mark string) string {
	i := strings.LastIndex(s, mark)
	if i < 0 || len(s) < i+len(mark)+idLen {
		return ""
	}
	id := s[i+len(mark):][:idLen]
	if _, err := crockford.DecodeString(id + "000000"); err != nil {
		return ""
	}
	return id
}

// judge determines the state of a value, and counts it.
func (c *Collector) judge(ctx context.Context, o *Owner, ok bool, id string, done *Collected) (verdict, error) {
	done.Strays.Seen++
	if madeAt(id).After(c.over()) { // a save may be under way, or come here from a replica
		return recorded, nil
	}
	v, err := foreign, error(nil)
	if ok {
		v, err = c.verdict(ctx, o, id, done)
	}
	switch v {
	case recorded:
		return v, err
	case foreign:
		done.Strays.Foreign++
	case pointed:
		done.Strays.Pointed++
	case stray:
		if c.Act {
			done.Strays.Removed++
		}
	}
	done.Strays.Unrecorded++
	return v, err
}

// over is when the last save began that cannot be under way any more.
func (c *Collector) over() time.Time { return c.Now().Add(-max(c.Grace, c.Bound+clocks+Signature)) }

// verdict reads a value's record, and, if there is none, its item, both strongly consistent. A value
// whose record is deleted gets no further pointer: the record would have to be open for that.
func (c *Collector) verdict(ctx context.Context, o *Owner, id string, done *Collected) (verdict, error) {
	t := c.TableOf(o.Table)
	if t == nil || o.Records != c.Locations.Records.Name || o.Root != c.Locations.Root ||
		o.Place != c.Locations.Place ||
		o.Partition.Type != 'S' || o.Record.Type != 'S' {
		return foreign, nil
	}
	if err := c.Limit.Take(ctx, 2); err != nil {
		return foreign, err
	}
	var u read.Usage
	defer func() { done.Tally.AddRead(u.Requests, u.Predicted, u.Consumed) }()
	at := item.Place{Table: c.Locations.Records, PK: o.Partition, SK: o.Record}
	f, err := c.Reader.One(ctx, at, read.Options{Strong: true}, &u)
	if err != nil {
		return foreign, err
	}
	if f != nil {
		r, err := RecordOf(at, f.Attributes())
		if err != nil || slices.ContainsFunc(r.Values, func(e Entry) bool { return e.ID == id }) {
			return recorded, nil // of one that cannot be read it is not known
		}
	}
	if !c.Locations.Fits(t, o.PK, o.SK) {
		return foreign, nil // its key was too long for the metadata, or is damaged
	}
	points, err := c.points(ctx, &Entry{ID: id, Table: o.Table, PK: o.PK, SK: o.SK}, done)
	switch {
	case err != nil:
		return foreign, err
	case points:
		return pointed, nil
	}
	return stray, nil
}

// listed is how many objects an answer lists (S3 API Reference, "ListObjectsV2").
const listed = 1000

// scanBucket looks at the objects and the uploads in a bucket.
func (c *Collector) scanBucket(ctx context.Context, bucket, start string, at func(string), done *Collected) error {
	if c.Objects == nil {
		return errNoObjects
	}
	n := 0
	for l, err := range c.Objects.List(ctx, bucket, start) {
		if n%listed == 0 {
			done.Tally.Objects.Gets++
		}
		n++
		if err == nil {
			err = c.scanObject(ctx, bucket, l, done)
		}
		if err != nil {
			return err
		}
		at(l.Key)
	}
	done.Tally.Objects.Gets++
	over := c.over()
	for l, err := range c.Objects.Uploads(ctx, bucket) {
		if err != nil {
			return err
		}
		if l.Since.After(over) || idIn(l.Key, ObjectPrefix) == "" {
			continue
		}
		done.Strays.Uploads++
		if !c.Act {
			continue
		}
		done.Tally.Objects.Deletes++
		if err := c.Objects.Abort(ctx, bucket, l); err != nil {
			return err
		}
	}
	return nil
}

// scanObject looks at an object.
func (c *Collector) scanObject(ctx context.Context, bucket string, l Listed, done *Collected) error {
	id := idIn(l.Key, ObjectPrefix)
	if id == "" || l.Key != ObjectKey(id) {
		return nil
	}
	done.Tally.Objects.Gets++
	metadata, err := c.Objects.Metadata(ctx, bucket, l.Key)
	switch {
	case errors.Is(err, ErrNoObject):
		return nil // since it was listed
	case err != nil:
		return err
	}
	o, ok := ownerIn(metadata)
	v, err := c.judge(ctx, o, ok, id, done)
	if err != nil || v != stray || !c.Act {
		return err
	}
	done.Tally.Objects.Deletes++
	if err := c.Objects.Delete(ctx, bucket, l.Key); err != nil {
		return err
	}
	done.Strays.Objects++
	return nil
}
