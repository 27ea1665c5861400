package extern

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/save/write"
)

// State is the state of a record's values.
type State string

// The states of a record: its values are being written, items point to them, or no item ever will.
const (
	Open      State = "open"
	Aborted   State = "aborted"
	Committed State = "committed"
)

// Partitions is over how many partition keys the records are spread.
const Partitions = 64

// Record is a record of the values that one transaction of a save points to.
type Record struct {
	item.Place
	State State
	// Until is until when the parts may be sent, and Since when it was aborted.
	Until  time.Time
	Since  time.Time
	Values []Entry
	// Root identifies the model of its items. A program whose model has other roots cannot know whether
	// an item is live.
	Root string
}

// Entry is a value in a record.
type Entry struct {
	ID    string
	Class Class
	At    string
	Parts int
	// Real is the real name of the table or bucket that At declares, "" for none.
	Real string
	// Table is the real name of the table of the item that the value belongs to. PK and SK are the
	// item's key, and Attribute is its attribute.
	Table     string
	PK, SK    key.Scalar
	Attribute string
	// Deleted is the time when no pointer to it was found; it is zero before.
	Deleted time.Time
}

// The attributes of a record, and the entries of its values.
const (
	stateName, untilName, sinceName, valuesName         = "~state", "~until", "~since", "~values"
	rootName                                            = "~root"
	className, tableName, pkName, skName, attributeName = "class", "table", "pk", "sk", "attribute"
	deletedName, realName                               = "unused", "real"
)

// Locations are the tables of records and parts.
type Locations struct {
	// Records is the table of the records and of the parts that have none of their own; nil where there is none.
	Records *item.Table
	// Parts are the tables of parts by their declared names, and Buckets the buckets.
	Parts   map[string]*item.Table
	Buckets map[string]string
	// Delim separates the segments of keys.
	Delim byte
	// Root identifies the model by the location of its roots, and Place by the location of its tables.
	// Programs with different values know nothing of each other's items.
	Root, Place string
	// Fits reports whether a key can be one of a table of the model.
	Fits func(t *item.Table, pk, sk key.Scalar) bool
}

// Tables are the tables of records and parts, by their names.
func (h *Locations) Tables() []*item.Table {
	all := []*item.Table{h.Records}
	for _, t := range h.Parts {
		all = append(all, t)
	}
	slices.SortFunc(all[1:], func(a, b *item.Table) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func textKey(s string) key.Scalar { return key.Scalar{Type: 'S', Text: s} }

// Partition returns the partition key of a part of the records, by its number.
func (h *Locations) Partition(n int) key.Scalar {
	return textKey(fmt.Sprintf("~blob%c%02d", h.Delim, n))
}

// real returns the real name of a table of parts or of a bucket, by the declared one.
func (h *Locations) real(class Class, declared string) string {
	switch {
	case class == Object:
		return h.bucket(declared)
	case class == Table && h.Parts[declared] != nil:
		return h.Parts[declared].Name
	}
	return ""
}

// knows reports whether the stored value is where the model stores such values.
func (h *Locations) knows(e *Entry) bool {
	if e.Class == Object {
		_, ok := h.Buckets[e.At]
		return ok && h.Buckets[e.At] == e.Real
	}
	return e.Parts <= maxParts && h.real(e.Class, e.At) == e.Real
}

// maxParts is more parts than any value has: a pointer with more is damaged.
const maxParts = 1 << 20

// NewRecord returns the record of values that are written from now on.
func (h *Locations) NewRecord(values []*Value, now time.Time, bound time.Duration) *Record {
	sum := fnv.New32a()
	first := values[0].Parent
	_, _ = sum.Write([]byte(first.PK.Text + "\x00" + first.SK.Text))
	r := &Record{State: Open, Until: now.Add(bound), Root: h.Root}
	r.Place = item.Place{Table: h.Records, PK: h.Partition(int(sum.Sum32() % Partitions)), SK: textKey(NewID(now))}
	for _, v := range values {
		r.Values = append(r.Values, Entry{
			ID: v.ID, Class: v.Class, At: v.At, Real: h.real(v.Class, v.At), Parts: v.Parts, Table: v.Parent.Table.Name,
			PK: v.Parent.PK, SK: v.Parent.SK, Attribute: v.Attribute,
		})
	}
	return r
}

func (e *Entry) attribute() types.AttributeValue {
	m := item.Attributes{
		entryID: text(e.ID), className: text(string(e.Class)), entryParts: number(int64(e.Parts)),
		tableName: text(e.Table),
		pkName:    attr.ValueOf(e.PK), attributeName: text(e.Attribute),
	}
	if e.SK.Type != 0 {
		m[skName] = attr.ValueOf(e.SK)
	}
	if e.At != "" {
		m[entryAt], m[realName] = text(e.At), text(e.Real)
	}
	if !e.Deleted.IsZero() {
		m[deletedName] = number(e.Deleted.UnixMilli())
	}
	return &types.AttributeValueMemberM{Value: m}
}

func (r *Record) values() types.AttributeValue {
	l := &types.AttributeValueMemberL{}
	for i := range r.Values {
		l.Value = append(l.Value, r.Values[i].attribute())
	}
	return l
}

// RecordOf reads a record.
func RecordOf(at item.Place, a item.Attributes) (*Record, error) {
	in := reading{m: a}
	r := &Record{
		Place: at, State: State(in.text(stateName)), Until: time.UnixMilli(in.number(untilName)),
		Root: in.text(rootName),
	}
	if a[sinceName] != nil {
		r.Since = time.UnixMilli(in.number(sinceName))
	}
	l, ok := a[valuesName].(*types.AttributeValueMemberL)
	bad := in.bad || !ok
	if ok {
		for _, v := range l.Value {
			e, good := entryOf(v)
			r.Values, bad = append(r.Values, e), bad || !good
		}
	}
	if bad {
		return nil, fmt.Errorf("the item %s is not a record of large values: delete it, or name another table of "+
			"records (mapper.LargeRecords)", at)
	}
	return r, nil
}

func entryOf(v types.AttributeValue) (Entry, bool) {
	m, ok := v.(*types.AttributeValueMemberM)
	if !ok {
		return Entry{}, false
	}
	in := reading{m: m.Value}
	e := Entry{
		ID: in.text(entryID), Class: Class(in.text(className)), At: in.optional(entryAt),
		Parts: int(in.number(entryParts)),
		Real:  in.optional(realName), Table: in.text(tableName), Attribute: in.text(attributeName),
	}
	e.PK, ok = attr.ScalarOf(m.Value[pkName])
	e.SK, _ = attr.ScalarOf(m.Value[skName])
	if m.Value[deletedName] != nil {
		e.Deleted = time.UnixMilli(in.number(deletedName))
	}
	return e, ok && !in.bad
}

// request returns a request about the record.
func (r *Record) request(kind write.Kind, label string) *write.Request {
	return &write.Request{Kind: kind, Place: r.Place, Label: label, Field: "the record of large values"}
}

// item returns the record as it is stored.
func (r *Record) item() item.Attributes {
	a := r.Key()
	a[stateName], a[untilName], a[valuesName], a[rootName] = text(string(r.State)), number(r.Until.UnixMilli()),
		r.values(), text(r.Root)
	return a
}

// Put returns the request that puts the record, where there is none.
func (r *Record) Put(label string) *write.Request {
	q := r.request(write.Put, label)
	q.Put, q.New, q.NotAfter = r.item(), true, r.Until
	q.Expect.Absent = true
	q.NewSize = attr.ItemSize(q.Put)
	q.Set = []item.Assignment{{Name: stateName, Index: item.Unlisted, Value: q.Put[stateName]}}
	return q
}

// turn returns the request that gives an open record another state.
func (r *Record) turn(to State, label string) *write.Request {
	q := r.request(write.Update, label)
	q.Set = []item.Assignment{{Name: stateName, Index: item.Unlisted, Value: text(string(to))}}
	q.Expect.Terms = []attr.Condition{is(stateName, text(string(Open)))}
	q.Expect.Blind = true
	q.OldSize = attr.ItemSize(r.item())
	q.NewSize = q.OldSize + len(to) - len(r.State)
	return q
}

// Commit returns the request that marks the record committed, if it is open, and Abort that which marks it aborted.
func (r *Record) Commit(label string) *write.Request {
	q := r.turn(Committed, label)
	q.Commits = true
	return q
}

// Abort is described at Flip.
func (r *Record) Abort(label string, now time.Time) *write.Request {
	q := r.turn(Aborted, label)
	since := item.Assignment{Name: sinceName, Index: item.Unlisted, Value: number(now.UnixMilli())}
	q.Set = append(q.Set, since)
	q.NewSize += since.Size()
	return q
}

func is(name string, v types.AttributeValue) attr.Condition {
	return func(x *attr.Expression) string { return x.Name(name) + " = " + x.Value(v) }
}

// StateOf returns the state of a record that was read, "" for a deleted one.
func StateOf(a item.Attributes) State {
	if s, ok := a[stateName].(*types.AttributeValueMemberS); ok {
		return State(s.Value)
	}
	return ""
}

// PartsOf returns the requests that put the parts of a value, which the record names.
func (h *Locations) PartsOf(v *Value, r *Record, label string) []*write.Request {
	of := h.owner(v, r.Place).attribute()
	var all []*write.Request
	for i := range v.Parts {
		at := h.Part(v.Entry(), i)
		q := &write.Request{Kind: write.Put, Place: at, Label: label, Field: v.Attribute, NotAfter: r.Until, New: true}
		q.Put = at.Key()
		q.Put[ofName] = of
		q.Late = v.part(i)
		q.NewSize = attr.ItemSize(q.Put) + len(dataName) + v.partLen(i)
		q.Shown = []string{dataName}
		all = append(all, q)
	}
	return all
}

// The attributes of a part: its bytes, and where it belongs to. They begin with a ~, as those of records, so that no
// index of the model has them as its keys.
const (
	dataName = "~data"
	ofName   = "~of"
)

// Entry returns the value as a record has it.
func (v *Value) Entry() *Entry {
	return &Entry{
		ID: v.ID, Class: v.Class, At: v.At, Parts: v.Parts, PK: v.Parent.PK, SK: v.Parent.SK,
		Attribute: v.Attribute,
	}
}

// longest is the maximum number of bytes of a parent's key in the key of its parts. With the id and the
// number the key is within DynamoDB's limit.
const longest = cost.MaxPartitionKey - 64

// Part returns the place of a part of a value.
func (h *Locations) Part(e *Entry, i int) item.Place {
	id := string(h.Delim) + "~" + e.ID
	n := fmt.Sprintf("%06d", i)
	if e.Class == Table {
		return item.Place{Table: h.Parts[e.At], PK: textKey(short(e.PK, e.SK) + id + string(h.Delim) + n)}
	}
	return item.Place{Table: h.Records, PK: textKey(short(e.PK) + id), SK: textKey(n)}
}

// short returns a key as it appears in the key of parts. A long key, or one that is no text, is hashed.
// The id distinguishes the parts of one value from those of all others.
func short(all ...key.Scalar) string {
	var texts []string
	for _, k := range all {
		if k.Type != 0 {
			texts = append(texts, k.Plain())
		}
	}
	s := strings.Join(texts, "#")
	if len(s) <= longest && utf8.ValidString(s) {
		return s
	}
	return "~" + hashOf(s)
}

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
