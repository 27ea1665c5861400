package trace

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
)

// Format is the format of files that this package writes.
const Format = "itemize recording 1"

// File is a recording of a process.
type File struct {
	Format string `json:"format"`
	// From and To are the time of the recording.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Rate is the share of calls that was recorded.
	Rate  float64 `json:"rate"`
	Kinds []*Kind `json:"kinds"`
	// Dropped is the number of recorded operations that had no room.
	Dropped int `json:"dropped,omitempty"`
	// Unkeyed are numbers of requests on tables whose key attributes the recorder did not know.
	Unkeyed map[string]int `json:"unkeyed,omitempty"`

	// spans are the times of all files that were merged, by table.
	spans map[string][]span
}

type span struct{ from, to time.Time }

// Index is an index that was queried.
type Index struct {
	Name  string `json:"name"`
	Hash  string `json:"hash"`
	Range string `json:"range,omitempty"`
	// Attributes are those that its entries had, All means all of the item.
	Attributes []string `json:"attributes,omitempty"`
	All        bool     `json:"all,omitempty"`
}

// Kind is a kind of entities: those of a model, or items of a table with similar keys.
type Kind struct {
	Table string `json:"table"`
	// Name is the name of the model, or the literal beginnings of the keys.
	Name  string `json:"name"`
	Model bool   `json:"model,omitempty"`
	// Keys are the key attributes.
	Keys []string `json:"keys,omitempty"`
	// Entities estimates the number of different entities that were recorded.
	Entities   Sketch       `json:"entities"`
	Operations []*Operation `json:"operations"`
	Indexes    []Index      `json:"indexes,omitempty"`
	// Documents are a random sample of entities, and Seen is the number of those that it is from.
	Documents []Document `json:"documents,omitempty"`
	Seen      int        `json:"seen,omitempty"`

	// sketches are those of merged files, by their rate: processes with the same rate record the same keys.
	sketches map[float64]*Sketch
}

// Count estimates the number of entities that were used. Calls of mappers are drawn, whatever their entities, so that
// the number of a model is a lower bound.
func (k *Kind) Count() float64 {
	n := k.Entities.Count()
	for rate, s := range k.sketches {
		if k.Model {
			rate = 1
		}
		n = max(n, s.Count()/rate)
	}
	return n
}

// merge adds the keys of another kind, which recorded a share of them.
func (k *Kind) merge(l *Kind, rate float64) {
	add := func(rate float64, s Sketch) {
		if k.sketches[rate] == nil {
			k.sketches[rate] = new(Sketch)
		}
		k.sketches[rate].merge(s)
	}
	if k.sketches == nil {
		k.sketches = map[float64]*Sketch{}
	}
	for r, s := range l.sketches {
		add(r, *s)
	}
	if l.sketches == nil {
		add(rate, l.Entities)
	}
}

// Operation describes equal calls on one entity each. Elements are counted in sum over all calls.
type Operation struct {
	// Name is the name that the program gave the operation, or that of the call. Requests are its requests to
	// DynamoDB, without those of mappers.
	Name     string   `json:"name"`
	Requests []string `json:"requests,omitempty"`
	// Count is the number of recorded calls: after a merge, of all calls.
	Count  float64  `json:"count"`
	Writes []string `json:"writes,omitempty"`
	Reads  []string `json:"reads,omitempty"`
	All    bool     `json:"all,omitempty"`
	// Insert writes, and Delete deletes, a whole entity. Unknown replaces one, with unknown changes.
	Insert  bool `json:"insert,omitempty"`
	Delete  bool `json:"delete,omitempty"`
	Unknown bool `json:"unknown,omitempty"`
	Atomic  bool `json:"atomic,omitempty"`
	Strong  bool `json:"strong,omitempty"`
	// Add, Change, Remove and Read are numbers of elements, by attribute.
	Add    map[string]int `json:"add,omitempty"`
	Change map[string]int `json:"change,omitempty"`
	Remove map[string]int `json:"remove,omitempty"`
	Read   map[string]int `json:"read,omitempty"`
	// Query is the number of entries that queries of an index read, by index.
	Query map[string]int `json:"query,omitempty"`
	// Scan are the attributes that the filter of a scan compares with a value, and Found is the number of items found.
	// A scan without such a filter has an empty list.
	Scan  []string `json:"scan,omitzero"`
	Found int      `json:"found,omitempty"`
}

// Document has the sizes of the attributes of an entity in bytes, with their names.
type Document struct {
	Sizes map[string]int  `json:"sizes"`
	Lists map[string]List `json:"lists,omitempty"`
}

// List describes the elements of a list or map.
type List struct {
	Count int `json:"count"`
	// Attributes are the sizes of the attributes of some elements, Sizes those of single values, and Keys those of the
	// keys of a map.
	Attributes []map[string]int `json:"attributes,omitempty"`
	Sizes      []int            `json:"sizes,omitempty"`
	Keys       []int            `json:"keys,omitempty"`
}

// Element adds the sizes of an element.
func (l *List) Element(v types.AttributeValue) {
	m, ok := v.(*types.AttributeValueMemberM)
	if !ok {
		l.Sizes = append(l.Sizes, attr.ValueSize(v))
		return
	}
	row := map[string]int{}
	for name, x := range m.Value {
		row[name] = attr.AttributeSize(name, x)
	}
	l.Attributes = append(l.Attributes, row)
}

// Read reads a recording.
func Read(text []byte) (*File, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	f := new(File)
	switch err := d.Decode(f); {
	case len(bytes.TrimSpace(text)) == 0:
		return nil, errors.New("the file is empty: write the recording again")
	case err != nil:
		return nil, err
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("text after its end, at byte %d: pass each recording as a file", d.InputOffset())
	}
	switch {
	case f.Format != Format:
		return nil, fmt.Errorf("the format is %q: this version reads %q", f.Format, Format)
	case f.Rate <= 0 || f.Rate > 1 || f.To.Before(f.From) || slices.Contains(f.Kinds, nil):
		return nil, fmt.Errorf("rate %v, from %v to %v: the recording is damaged", f.Rate, f.From, f.To)
	}
	return f, nil
}

// errDamaged is the error of a file that no recorder has written.
var errDamaged = errors.New("the recording is damaged: record again")

// check refuses contents that no recorder writes.
func (f *File) check() error {
	for _, k := range f.Kinds {
		if k == nil || len(k.Documents) > MaxDocuments || k.Seen < len(k.Documents) {
			return errDamaged
		}
		for _, d := range k.Documents {
			for name, n := range d.Sizes {
				if name == "" || n < 0 {
					return errDamaged
				}
			}
			for _, l := range d.Lists {
				if l.Count < 0 {
					return errDamaged
				}
			}
		}
		for _, o := range k.Operations {
			if o == nil || !(o.Count >= 0 && o.Count < 1e15) || o.Found < 0 {
				return errDamaged
			}
			for _, all := range []map[string]int{o.Add, o.Change, o.Remove, o.Read, o.Query} {
				for name, n := range all {
					if name == "" || n < 0 {
						return errDamaged
					}
				}
			}
		}
	}
	return nil
}

// Signature identifies equal operations.
func (o *Operation) Signature() string {
	return fmt.Sprintf("%q %q %q %q %q %q %q %q %q %q %v %v", o.Name, o.Requests, o.Writes, o.Reads, keys(o.Add),
		keys(o.Change), keys(o.Remove), keys(o.Read), keys(o.Query), o.Scan, o.Scan == nil,
		[]bool{o.All, o.Insert, o.Delete, o.Unknown, o.Atomic, o.Strong})
}

func keys(m map[string]int) []string { return slices.Sorted(maps.Keys(m)) }

// isWrite reports whether the operation sends a write. Of a call of a mapper, one that changes something does.
func (o *Operation) isWrite() bool {
	if o.Insert || o.Delete || o.Unknown || len(o.Writes)+len(o.Add)+len(o.Change)+len(o.Remove) > 0 {
		return true
	}
	return slices.ContainsFunc(o.Requests, func(r string) bool { return slices.Contains(writeRequests, r) })
}

// isPut reports whether the operation replaces items that exist.
func (o *Operation) isPut() bool {
	return !o.Insert && !o.Delete && slices.ContainsFunc(append([]string{o.Name}, o.Requests...), func(r string) bool {
		return r == "PutItem" || r == "BatchWriteItem" || r == "TransactWriteItems"
	})
}

// Merge adds an operation to the counts of an equal one.
func (o *Operation) Merge(p *Operation) {
	o.Count += p.Count
	o.Found += p.Found
	for _, pair := range [][2]*map[string]int{
		{&o.Add, &p.Add}, {&o.Change, &p.Change}, {&o.Remove, &p.Remove}, {&o.Read, &p.Read}, {&o.Query, &p.Query},
	} {
		for name, n := range *pair[1] {
			if *pair[0] == nil {
				*pair[0] = map[string]int{}
			}
			(*pair[0])[name] += n
		}
	}
}

// scaled returns an operation whose counts stand for all calls of a process that recorded a share of them.
func (o *Operation) scaled(rate float64) *Operation {
	s := *o
	s.Count /= rate
	scale := func(m map[string]int) map[string]int {
		out := maps.Clone(m)
		for name, n := range out {
			out[name] = int(float64(n)/rate + 0.5)
		}
		return out
	}
	s.Add, s.Change, s.Remove = scale(o.Add), scale(o.Change), scale(o.Remove)
	s.Read, s.Query, s.Found = scale(o.Read), scale(o.Query), int(float64(o.Found)/rate+0.5)
	return &s
}

// MaxDocuments is the largest number of sampled documents of a kind.
const MaxDocuments = 40

// Merge merges recordings. Operations add up, over the time that at least one process recorded.
func Merge(files ...*File) *File {
	out := &File{Format: Format, Rate: 1, spans: map[string][]span{}}
	kinds := map[string]*Kind{}
	operations := map[string]*Operation{}
	for _, f := range files {
		if out.From.IsZero() || f.From.Before(out.From) {
			out.From = f.From
		}
		if f.To.After(out.To) {
			out.To = f.To
		}
		out.Dropped += f.Dropped
		for table, n := range f.Unkeyed {
			if out.Unkeyed == nil {
				out.Unkeyed = map[string]int{}
			}
			out.Unkeyed[table] += n
		}
		for table, spans := range f.spansOf() {
			out.spans[table] = append(out.spans[table], spans...)
		}
		for _, k := range f.Kinds {
			at := k.Table + "\x00" + k.Name
			to := kinds[at]
			if to == nil {
				to = &Kind{Table: k.Table, Name: k.Name, Model: k.Model, Keys: k.Keys}
				kinds[at] = to
				out.Kinds = append(out.Kinds, to)
			}
			to.Entities.merge(k.Entities)
			to.merge(k, f.Rate)
			to.indexes(k.Indexes)
			for _, o := range k.Operations {
				s := o.scaled(f.Rate)
				id := at + "\x00" + o.Signature()
				if operations[id] != nil {
					operations[id].Merge(s)
					continue
				}
				operations[id] = s
				to.Operations = append(to.Operations, s)
			}
			to.documents(k)
		}
	}
	slices.SortFunc(out.Kinds, func(a, b *Kind) int {
		return cmp.Or(strings.Compare(a.Table, b.Table), strings.Compare(a.Name, b.Name))
	})
	for _, k := range out.Kinds {
		slices.SortStableFunc(k.Operations, func(a, b *Operation) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Signature(), b.Signature()))
		})
	}
	return out
}

// documents adds the documents of another sample: of both, each has its share.
func (k *Kind) documents(l *Kind) {
	total := k.Seen + l.Seen
	if total == 0 {
		return
	}
	if len(k.Documents)+len(l.Documents) > MaxDocuments {
		share := min(len(l.Documents), (MaxDocuments*l.Seen+total-1)/total)
		keep := min(len(k.Documents), MaxDocuments-share)
		k.Documents = append(slices.Clone(k.Documents[:keep]), l.Documents[:share]...)
	} else {
		k.Documents = append(slices.Clone(k.Documents), l.Documents...)
	}
	k.Seen = total
}

// indexes adds indexes.
func (k *Kind) indexes(all []Index) {
	for _, x := range all {
		i := slices.IndexFunc(k.Indexes, func(y Index) bool { return y.Name == x.Name })
		if i < 0 {
			k.Indexes = append(k.Indexes, x)
			continue
		}
		y := &k.Indexes[i]
		y.All = y.All || x.All
		for _, a := range x.Attributes {
			if !slices.Contains(y.Attributes, a) {
				y.Attributes = append(slices.Clone(y.Attributes), a)
			}
		}
	}
}

// spansOf returns the times of a recording, by table.
func (f *File) spansOf() map[string][]span {
	if f.spans != nil {
		return f.spans
	}
	out := map[string][]span{}
	for _, k := range f.Kinds {
		out[k.Table] = []span{{f.From, f.To}}
	}
	return out
}

// Duration is the time that at least one process recorded requests on a table.
func (f *File) Duration(table string) time.Duration {
	spans := slices.Clone(f.spansOf()[table])
	slices.SortFunc(spans, func(a, b span) int { return a.from.Compare(b.from) })
	var sum time.Duration
	var end time.Time
	for _, s := range spans {
		if s.from.Before(end) {
			s.from = end
		}
		if s.to.After(s.from) {
			sum += s.to.Sub(s.from)
			end = s.to
		}
	}
	return sum
}
