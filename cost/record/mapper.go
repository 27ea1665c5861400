package record

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/advice/charge"
	"github.com/itemize/itemize/internal/advice/trace"
	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/mapper"
)

// observer is the mapper.Observer of a recorder.
type observer struct{ *Recorder }

// Observer returns the observer that makes a call of a mapper one operation. The mapper's client needs
// [Recorder.Client].
func (r *Recorder) Observer() mapper.Observer { return observer{r} }

// InternalModel is called by a new mapper, with the real names of the model's tables.
func (o observer) InternalModel(_ door.Key, e *schema.Entity, tables []string) {
	o.hasModels.Store(true)
	o.mu.Lock()
	defer o.mu.Unlock()
	same := func(m *model) bool { return m.e.Label() == e.Label() && slices.Equal(m.tables, tables) }
	if len(o.models) < maxKinds && !slices.ContainsFunc(o.models, same) {
		o.models = append(o.models, &model{e, e.Layout(), tables})
	}
}

// Begin begins a call of a mapper.
func (o observer) Begin(ctx context.Context, c mapper.Call) (context.Context, func(*mapper.Receipt, error)) {
	x := &call{r: o.Recorder, name: c.Operation, ops: map[entity]*trace.Operation{}}
	if p := o.callOf(ctx); p != nil && p.mapped == nil {
		x.parent, x.name, x.uses = p, p.name, p.uses
	}
	x.mapped = &mapped{
		call: x, operation: c.Operation, reads: map[readKey]*reads{}, covered: map[*model]map[int]bool{},
		indexes: map[*model]map[string]int{}, drawn: o.draw(),
	}
	return context.WithValue(ctx, callKey{}, x), x.mapped.end
}

// model is a model of a mapper: its items, and the attributes that a monolith would have instead.
type model struct {
	e *schema.Entity
	l schema.Layout
	// tables are the real names of its tables. Those that rotate have a placeholder.
	tables []string
}

// table returns the table of the model with a real name, nil for none.
func (m *model) table(name string) *schema.Table {
	for i, t := range m.tables {
		before, after, rotates := strings.Cut(t, "{")
		if rotates {
			_, after, _ = strings.Cut(after, "}")
		}
		if t == name || rotates && len(name) > len(before)+len(after) && strings.HasPrefix(name, before) &&
			strings.HasSuffix(name, after) {
			return m.e.Tables[i]
		}
	}
	return nil
}

// list returns the attribute of an item's elements, "" for a fixed item.
func (m *model) list(item int) string { return m.l.Items[item].From }

// names returns the attributes of a fixed item in a monolith.
func (m *model) names(item int) []string {
	var out []string
	for _, a := range m.l.Items[item].Attributes {
		include(&out, inMonolith(a))
	}
	return out
}

// inMonolith returns the attribute of a monolith that has an attribute.
func inMonolith(a schema.LayoutAttribute) string {
	if a.In != "" {
		return a.In
	}
	return a.Name
}

// named returns the attributes of a monolith for attributes of an item.
func (m *model) named(item int, attributes []string) []string {
	var out []string
	for _, a := range m.l.Items[item].Attributes {
		if slices.Contains(attributes, a.Name) {
			include(&out, inMonolith(a))
		}
	}
	return out
}

// hasPartition reports whether a partition key can be one of the model.
func (m *model) hasPartition(pk key.Scalar) bool {
	return m.e.PK.Template.Parse(pk, make([]key.Value, m.e.PK.Template.Placeholders()))
}

// item returns the item with a key in a table, -1 for none, and the identity of its entity.
func (m *model) item(t *schema.Table, it attributes) (item int, identity string) {
	pk, ok := attr.ScalarOf(it[t.Hash])
	if !ok {
		return -1, ""
	}
	sk, _ := attr.ScalarOf(it[t.Range])
	return m.itemOf(t, pk, sk)
}

func (m *model) itemOf(t *schema.Table, pk, sk key.Scalar) (item int, identity string) {
	if !m.hasPartition(pk) {
		return -1, ""
	}
	x, values := m.e.Match(t.Index, sk)
	if x == nil {
		return -1, ""
	}
	if identity = pk.Text; m.e.Flat && x.Key != nil { // a partition has many entities
		for i, s := range x.Key.Sources {
			if s.From == schema.FromModel {
				identity += fmt.Sprintf("\x00%v", values[i])
			}
		}
	}
	return x.Index, identity
}

// mapped is a call of a mapper.
type mapped struct {
	call      *call
	operation string

	// drawn reports that the call is recorded.
	drawn bool

	mu    sync.Mutex
	wrote bool
	reads map[readKey]*reads
	// covered are the items that requests of the call read whole, of any entity, by model.
	covered map[*model]map[int]bool
	// indexes are numbers of entries that queries of indexes read.
	indexes map[*model]map[string]int
}

// readKey is an entity of a model.
type readKey struct {
	m        *model
	identity string
}

// reads are the parts of an entity that were read.
type reads struct {
	whole   map[int]bool // items and lists that were read whole
	counts  map[int]int  // of elements
	strong  bool
	content []read
}

// read is an item that was read from a table.
type read struct {
	table string
	item  attributes
}

func (r *Recorder) modelOf(match func(*model) bool) *model {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.models {
		if match(m) {
			return m
		}
	}
	return nil
}

// of returns the reads of an entity. x.mu is locked.
func (x *mapped) of(m *model, identity string) *reads {
	at := readKey{m, identity}
	if x.reads[at] == nil {
		x.reads[at] = &reads{whole: map[int]bool{}, counts: map[int]int{}}
	}
	return x.reads[at]
}

// read records a read of the call. Writes are in the receipt; reads after the first write are those of the library.
func (x *mapped) read(in, out any, b *body) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch in := in.(type) {
	case *dynamodb.GetItemInput:
		x.one(aws.ToString(in.TableName), in.Key, aws.ToBool(in.ConsistentRead), b)
	case *dynamodb.BatchGetItemInput:
		for table, keys := range in.RequestItems {
			for _, k := range keys.Keys {
				x.one(table, k, aws.ToBool(keys.ConsistentRead), b)
				b = nil // once
			}
		}
	case *dynamodb.ScanInput:
		if out, ok := out.(*dynamodb.ScanOutput); ok {
			x.scan(in, out)
		}
	case *dynamodb.QueryInput:
		if out, ok := out.(*dynamodb.QueryOutput); ok {
			x.query(in, out, b)
		}
	case *dynamodb.PutItemInput, *dynamodb.UpdateItemInput, *dynamodb.DeleteItemInput,
		*dynamodb.TransactWriteItemsInput,
		*dynamodb.BatchWriteItemInput:
		x.wrote = true
	}
}

// one records a read of an item by its key.
func (x *mapped) one(table string, k attributes, strong bool, b *body) {
	if x.wrote {
		return
	}
	item, identity := -1, ""
	m := x.call.r.modelOf(func(m *model) bool {
		if t := m.table(table); t != nil {
			item, identity = m.item(t, k)
		}
		return item >= 0
	})
	if m == nil {
		return
	}
	r := x.of(m, identity)
	r.strong = r.strong || strong
	if m.list(item) != "" {
		r.counts[item]++
	} else {
		r.whole[item] = true
		x.cover(m, item)
	}
	if x.isEntity() {
		for _, it := range itemsOf(b) {
			r.keep(table, it)
		}
	}
}

// isEntity reports whether the call reads one entity, whose sizes can be sampled.
func (x *mapped) isEntity() bool { return x.operation == "Load" || x.operation == "Update" }

// maxContent is the number of items of an entity whose sizes are kept.
const maxContent = 5000

// keep keeps an item for the sizes of its entity.
func (r *reads) keep(table string, it attributes) {
	if len(r.content) < maxContent {
		r.content = append(r.content, read{table, it})
	}
}

// scan records a scan: once for all its pages and segments.
func (x *mapped) scan(in *dynamodb.ScanInput, out *dynamodb.ScanOutput) {
	m := x.call.r.modelOf(func(m *model) bool { return m.table(aws.ToString(in.TableName)) != nil })
	if m == nil || in.ExclusiveStartKey != nil || in.Segment != nil && *in.Segment > 0 {
		return
	}
	e := x.entity(m, "")
	x.call.r.mu.Lock()
	defer x.call.r.mu.Unlock()
	x.call.r.add(e, &trace.Operation{
		Name: x.call.name, Count: 1, Scan: []string{}, Found: int(out.Count), Strong: aws.ToBool(in.ConsistentRead),
	})
}

// cover notes that an item was read whole.
func (x *mapped) cover(m *model, item int) {
	if x.covered[m] == nil {
		x.covered[m] = map[int]bool{}
	}
	x.covered[m][item] = true
}

// itemsOf returns the items of an answer.
func itemsOf(b *body) (out []charge.Item) {
	if b == nil || b.Len() == 0 {
		return nil
	}
	var answer struct {
		Item      json.RawMessage
		Items     []json.RawMessage
		Responses map[string][]json.RawMessage
	}
	if json.Unmarshal(b.Bytes(), &answer) != nil {
		return nil
	}
	all := answer.Items
	if answer.Item != nil {
		all = append(all, answer.Item)
	}
	for _, items := range answer.Responses {
		all = append(all, items...)
	}
	for _, text := range all {
		if it, err := charge.ItemFromJSON(text); err == nil {
			out = append(out, it)
		}
	}
	return out
}

// query records the items that a query covers.
func (x *mapped) query(in *dynamodb.QueryInput, out *dynamodb.QueryOutput, b *body) {
	if x.wrote {
		return
	}
	expression := aws.ToString(in.KeyConditionExpression)
	var k keyCondition
	var table *schema.Table
	m := x.call.r.modelOf(func(m *model) bool {
		if table = m.table(aws.ToString(in.TableName)); table == nil {
			return false
		}
		if in.IndexName != nil {
			return slices.ContainsFunc(m.e.Indexes, func(i *schema.Index) bool { return i.Name == *in.IndexName })
		}
		k = keyConditionOf(expression, in.ExpressionAttributeNames, table.Hash)
		p, ok := attr.ScalarOf(in.ExpressionAttributeValues[k.partition])
		return ok && m.hasPartition(p)
	})
	switch {
	case m == nil:
		return
	case in.IndexName != nil:
		if x.indexes[m] == nil {
			x.indexes[m] = map[string]int{}
		}
		x.indexes[m][*in.IndexName] += int(out.Count)
		return
	}
	low, _ := attr.ScalarOf(in.ExpressionAttributeValues[k.low])
	whole := map[int]bool{}
	for _, it := range m.e.Items {
		if it.Table != table || !m.covers(it, k, low.Text) {
			continue
		}
		isList := m.list(it.Index) != ""
		if !isList || in.Limit == nil && m.coversAll(it.Index, k, low.Text) {
			whole[it.Index] = true
			x.cover(m, it.Index)
		}
	}
	for _, it := range itemsOf(b) {
		i, identity := m.item(table, it)
		if i < 0 {
			continue
		}
		r := x.of(m, identity)
		if r.strong = r.strong || aws.ToBool(in.ConsistentRead); x.isEntity() {
			r.keep(aws.ToString(in.TableName), it)
		}
		if whole[i] {
			r.whole[i] = true
		} else {
			r.counts[i]++
		}
	}
}

// covers reports whether a query reads items of a kind.
func (m *model) covers(it *schema.Item, k keyCondition, low string) bool {
	switch {
	case k.kind == "" || it.Key == nil:
		return true
	case k.kind == "begins_with":
		return it.Key.Template.CanBegin(low)
	}
	literal := it.Key.Template.LiteralPrefix()
	return strings.HasPrefix(low, literal) || strings.HasPrefix(literal, low)
}

// coversAll reports whether a query reads all elements of a list: its prefix ends before their values.
func (m *model) coversAll(item int, k keyCondition, low string) bool {
	n, of := strings.Count(low, string(m.e.Delim)), m.segments(item)
	return k.kind == "" || k.kind == "begins_with" && (n < of || n == of && strings.HasSuffix(low, string(m.e.Delim)))
}

// segments returns the number of segments in front of the values of an element's sort key.
func (m *model) segments(item int) int {
	k := m.l.Items[item].SortKey
	if k == nil {
		return 0
	}
	at := 0
	for _, p := range k.Placeholders {
		i := strings.IndexByte(k.Template[at:], '{')
		if i < 0 || p.From != "model" {
			break
		}
		at += i + strings.IndexByte(k.Template[at+i:], '}') + 1
	}
	text := k.Template[at:]
	if i := strings.IndexByte(text, '{'); i >= 0 {
		text = text[:i]
	}
	return strings.Count(k.Template[:at]+text, string(m.e.Delim))
}

// end records the call.
func (x *mapped) end(receipt *mapper.Receipt, err error) {
	if !x.drawn || err != nil {
		x.call.ended.Store(true)
		return
	}
	x.mu.Lock()
	x.recordReads()
	x.recordWrites(receipt)
	x.mu.Unlock()
	x.call.end()
}

// entity returns an entity of a model; without an identity it is not counted.
func (x *mapped) entity(m *model, identity string) entity {
	x.call.r.mu.Lock()
	defer x.call.r.mu.Unlock()
	k := x.call.r.kindOf(m.tables[0], m.e.Name, true, nil)
	hash := trace.Hash(identity)
	if k != nil && identity != "" {
		k.used(hash)
	}
	return entity{k, hash}
}

// recordReads records the reads of the call.
func (x *mapped) recordReads() {
	switch x.operation {
	case "Save", "Delete", "Patch", "Transact", "BulkLoad": // their reads are in the price of the write
		return
	}
	for m, all := range x.indexes {
		e := x.entity(m, "")
		x.call.r.mu.Lock()
		if o := x.call.of(e); o != nil {
			for name, n := range all {
				count(&o.Query, name, n)
			}
		}
		if e.kind != nil {
			declare(m, e.kind)
		}
		x.call.r.mu.Unlock()
	}
	for at, r := range x.reads {
		e := x.entity(at.m, at.identity)
		x.call.r.mu.Lock()
		if o := x.call.of(e); o != nil {
			x.recordRead(at.m, r, o)
			if o.All && e.kind != nil && x.isEntity() {
				e.kind.document(e.hash, sizesOf(at.m, r.content))
			}
		}
		x.call.r.mu.Unlock()
	}
}

// recordRead adds the read of an entity to an operation. r.mu is locked.
func (x *mapped) recordRead(m *model, r *reads, o *trace.Operation) {
	o.Strong = o.Strong || r.strong
	if (x.isEntity() || x.operation == "LoadMany") && len(x.covered[m]) == len(m.e.Items) {
		o.All = true
		return
	}
	for item := range r.whole {
		if name := m.list(item); name != "" {
			include(&o.Reads, name)
		} else {
			include(&o.Reads, m.names(item)...)
		}
	}
	for item, n := range r.counts {
		if name := m.list(item); name != "" && !r.whole[item] {
			count(&o.Read, name, n)
		}
	}
}

// declare adds the indexes of a model to its kind. r.mu is locked.
func declare(m *model, k *kind) {
	for _, i := range m.l.Indexes {
		if len(i.Hash) != 1 || !i.Hash[0].Own || len(i.Range) > 1 || len(i.Range) == 1 && !i.Range[0].Own {
			continue // its keys are no attributes of a monolith
		}
		r := ""
		if len(i.Range) == 1 {
			r = i.Range[0].Attribute
		}
		k.index(trace.Index{
			Name: i.Name, Hash: i.Hash[0].Attribute, Range: r, All: i.Include == nil,
			Attributes: i.Include,
		})
	}
}

// sizesOf returns the sizes of a loaded entity.
func sizesOf(m *model, items []read) trace.Document {
	d := trace.Document{Sizes: map[string]int{}, Lists: map[string]trace.List{}}
	for _, x := range items {
		it, t := x.item, m.table(x.table)
		if t == nil {
			continue
		}
		i, _ := m.item(t, it)
		if i < 0 {
			continue
		}
		sk, _ := attr.ScalarOf(it[t.Range])
		element := attributes{}
		for _, a := range m.l.Items[i].Attributes {
			v, ok := it[a.Name]
			switch {
			case !ok:
			case m.list(i) != "":
				element[a.Name] = v
			case a.In != "":
				if d.Sizes[a.In] == 0 {
					d.Sizes[a.In] = len(a.In) + 3
				}
				d.Sizes[a.In] += 1 + attr.AttributeSize(a.Name, v)
			default:
				d.Sizes[a.Name] = attr.AttributeSize(a.Name, v)
			}
		}
		if name := m.list(i); name != "" {
			l := d.Lists[name]
			if l.Count++; len(l.Attributes)+len(l.Sizes) < maxRows {
				m.element(&l, i, element, sk)
			}
			d.Lists[name] = l
			d.Sizes[name] = max(d.Sizes[name], len(name)+3)
			d.Sizes[name] += 4 + attr.ItemSize(element)
		}
	}
	return d
}

// element adds an element to a list. Fields that are only in the key count as attributes.
func (m *model) element(l *trace.List, item int, element attributes, sk key.Scalar) {
	li := &m.l.Items[item]
	if li.Scalar {
		for _, v := range element {
			l.Element(v)
		}
		if len(element) == 0 {
			l.Sizes = append(l.Sizes, len(sk.Text))
		}
		return
	}
	l.Element(&types.AttributeValueMemberM{Value: element})
	if li.SortKey == nil {
		return
	}
	row := l.Attributes[len(l.Attributes)-1]
	for _, p := range li.SortKey.Placeholders {
		name := p.Attribute
		if name == "" {
			name = p.Field
		}
		switch _, stored := row[name]; {
		case p.From == "element" && !stored:
			row[name] = len(name) + max(1, len(sk.Text)-len(li.SortKey.Template)+len(p.Field)+2)
		case p.From == "key":
			l.Keys = append(l.Keys, max(1, len(sk.Text)-len(li.SortKey.Template)+5))
		}
	}
}

// recordWrites records the writes of the call from its receipt.
func (x *mapped) recordWrites(receipt *mapper.Receipt) {
	p := receipt.Predicted()
	type change struct {
		m     *model
		item  int
		write mapper.ItemPlan
	}
	changes := map[entity][]change{}
	for _, w := range p.Items {
		if w.Kind == "check" {
			continue
		}
		item, identity := -1, ""
		m := x.call.r.modelOf(func(m *model) bool {
			if t := m.table(w.Table); t != nil {
				item, identity = m.itemOf(t, key.Scalar{Type: t.HashType, Text: w.Partition},
					key.Scalar{Type: t.RangeType, Text: w.Sort})
			}
			return item >= 0
		})
		if m != nil {
			e := x.entity(m, identity)
			changes[e] = append(changes[e], change{m, item, w})
		}
	}
	for e, all := range changes {
		x.call.r.mu.Lock()
		o := x.call.of(e)
		if o == nil {
			x.call.r.mu.Unlock()
			continue
		}
		o.Atomic = o.Atomic || p.Mode == "transaction" && len(p.Items) > 1
		for _, c := range all {
			w, isRoot := c.write, c.m.e.Items[c.item] == c.m.e.Root
			name := c.m.list(c.item)
			isNew := w.OldBytes == 0 && !w.Unread && w.Kind != "delete"
			switch {
			case isRoot && isNew:
				o.Insert = true
			case isRoot && w.Kind == "delete":
				o.Delete = true
			case name != "" && isNew:
				count(&o.Add, name, 1)
			case name != "" && w.Kind == "delete":
				count(&o.Remove, name, 1)
			case name != "":
				count(&o.Change, name, 1)
			case w.Kind == "delete" || isNew:
				include(&o.Writes, c.m.names(c.item)...)
			default:
				include(&o.Writes, c.m.named(c.item, w.Attributes)...)
			}
		}
		x.call.r.mu.Unlock()
	}
}
