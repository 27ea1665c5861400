package record

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/charge"
	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/recording"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/mapper"
)

// observer is the mapper.Observer of a recorder.
type observer struct{ *Recorder }

// Observer returns the observer that makes a call of a mapper one operation. The mapper's client needs
// [Recorder.Client].
func (r *Recorder) Observer() mapper.Observer { return observer{r} }

// InternalModel is called by a new mapper.
func (o observer) InternalModel(_ door.Key, e *schema.Entity) {
	o.hasModels.Store(true)
	o.mu.Lock()
	defer o.mu.Unlock()
	if !slices.ContainsFunc(o.models, func(m *model) bool { return m.e == e }) {
		o.models = append(o.models, newModel(e))
	}
}

// Begin begins a call of a mapper.
func (o observer) Begin(ctx context.Context, c mapper.Call) (context.Context, func(*mapper.Receipt, error)) {
	outer := callOf(ctx)
	x := &call{r: o.Recorder, name: c.Operation, ops: map[entity]*recording.Operation{}}
	if outer != nil && outer.mapped == nil {
		x.name, x.uses = outer.name, outer.uses
	}
	x.mapped = &mapped{call: x, operation: c.Operation, reads: map[readKey]*reads{}}
	return context.WithValue(ctx, callKey{}, x), x.mapped.end
}

// model is a model of a mapper: its items, and the attributes that a monolith would have instead.
type model struct {
	e *schema.Entity
	l schema.Layout
}

func newModel(e *schema.Entity) *model { return &model{e, e.Layout()} }

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

// item returns the item with a key, -1 for none, and the identity of its entity.
func (m *model) item(pk, sk key.Scalar) (item int, identity string) {
	if !m.hasPartition(pk) {
		return -1, ""
	}
	for _, t := range m.e.Tables {
		it, values := m.e.Match(t.Index, sk)
		if it == nil {
			continue
		}
		if identity = pk.Text; m.e.Flat { // a partition has many entities
			for i, s := range it.Key.Sources {
				if s.From == schema.FromModel {
					identity += fmt.Sprintf("\x00%v", values[i])
				}
			}
		}
		return it.Index, identity
	}
	return -1, ""
}

// mapped is a call of a mapper.
type mapped struct {
	call      *call
	operation string
	ended     atomic.Bool

	mu    sync.Mutex
	wrote bool
	reads map[readKey]*reads
}

// readKey is an entity of a model, or the part of a partition that a query reads.
type readKey struct {
	m        *model
	identity string
}

// reads are the parts of an entity that were read.
type reads struct {
	whole   map[int]bool // items that were read whole
	counts  map[int]int  // of elements, and of roots of several entities
	index   map[string]int
	strong  bool
	content []charge.Item
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
		x.reads[at] = &reads{whole: map[int]bool{}, counts: map[int]int{}, index: map[string]int{}}
	}
	return x.reads[at]
}

// read records a read of the call. Writes are in the receipt; reads after the first write are those of the library.
func (x *mapped) read(in, out any, b *body) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch in := in.(type) {
	case *dynamodb.GetItemInput:
		x.one(in.Key, aws.ToBool(in.ConsistentRead), b)
	case *dynamodb.BatchGetItemInput:
		for _, keys := range in.RequestItems {
			for _, k := range keys.Keys {
				x.one(k, aws.ToBool(keys.ConsistentRead), b)
				b = nil // once
			}
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

// keyOf returns the keys of an item of a model.
func (m *model) keyOf(it attributes) (pk, sk key.Scalar, ok bool) {
	for _, t := range m.e.Tables {
		if pk, ok = attr.ScalarOf(it[t.Hash]); !ok {
			continue
		}
		if t.Range != "" {
			sk, ok = attr.ScalarOf(it[t.Range])
		}
		return pk, sk, ok
	}
	return pk, sk, false
}

// one records a read of an item by its key.
func (x *mapped) one(k attributes, strong bool, b *body) {
	if x.wrote {
		return
	}
	item, identity := -1, ""
	m := x.call.r.modelOf(func(m *model) bool {
		pk, sk, ok := m.keyOf(k)
		if ok {
			item, identity = m.item(pk, sk)
		}
		return ok && item >= 0
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
	}
	r.keep(b)
}

// keep keeps the items of an answer.
func (r *reads) keep(b *body) {
	if b == nil || b.Len() == 0 {
		return
	}
	var answer struct {
		Item      json.RawMessage
		Items     []json.RawMessage
		Responses map[string][]json.RawMessage
	}
	if json.Unmarshal(b.Bytes(), &answer) != nil {
		return
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
			r.content = append(r.content, it)
		}
	}
}

// query records the items that a query covers.
func (x *mapped) query(in *dynamodb.QueryInput, out *dynamodb.QueryOutput, b *body) {
	if x.wrote {
		return
	}
	expression := aws.ToString(in.KeyConditionExpression)
	var k keyCondition
	var pk key.Scalar
	var table *schema.Table
	m := x.call.r.modelOf(func(m *model) bool {
		for _, t := range m.e.Tables {
			hash := t.Hash
			k = keyConditionOf(expression, in.ExpressionAttributeNames, hash)
			if p, ok := attr.ScalarOf(in.ExpressionAttributeValues[k.partition]); ok && m.hasPartition(p) {
				pk, table = p, t
				return true
			}
		}
		return in.IndexName != nil && slices.ContainsFunc(m.e.Indexes, func(i *schema.Index) bool {
			return i.Name == *in.IndexName
		})
	})
	switch {
	case m == nil:
		return
	case in.IndexName != nil:
		x.of(m, "").index[*in.IndexName] += int(out.Count)
		return
	}
	r := x.of(m, pk.Text)
	r.strong = r.strong || aws.ToBool(in.ConsistentRead)
	low, _ := attr.ScalarOf(in.ExpressionAttributeValues[k.low])
	for _, it := range m.e.Items {
		if it.Table != table {
			continue
		}
		literal := ""
		if it.Key != nil {
			literal = it.Key.Template.LiteralPrefix()
		}
		whole := k.kind == "" || k.kind == "begins_with" && strings.HasPrefix(literal, low.Text)
		part := strings.HasPrefix(low.Text, literal) && literal != ""
		flatRoot := m.e.Flat && it == m.e.Root && x.operation != "Load" && x.operation != "LoadMany"
		switch {
		case whole && in.Limit == nil && !flatRoot && m.list(it.Index) != "":
			r.whole[it.Index] = true
		case whole && m.list(it.Index) == "" && !flatRoot:
			r.whole[it.Index] = true
		case whole || part:
			r.counts[it.Index] += int(out.Count)
		}
	}
	r.keep(b)
}

// end records the call.
func (x *mapped) end(receipt *mapper.Receipt, err error) {
	x.ended.Store(true)
	if !x.call.decide(x.call.r.draw) || err != nil {
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
	k := x.call.r.kindOf(m.e.Tables[0].Name, m.e.Name, true, nil)
	hash := recording.Hash(identity)
	if k != nil && identity != "" {
		k.used(hash)
	}
	return entity{k, hash}
}

// join adds what queries read of the partition of a flat model to its entity, if the call reads a single one.
func (x *mapped) join() {
	for at, r := range x.reads {
		if !at.m.e.Flat || at.partition() != at.identity {
			continue
		}
		var of *reads
		n := 0
		for b, s := range x.reads {
			if b.m == at.m && b.identity != at.identity && b.partition() == at.identity {
				of, n = s, n+1
			}
		}
		if n != 1 {
			continue
		}
		maps.Copy(of.whole, r.whole)
		for i, c := range r.counts {
			// a query for the elements of an entity covers them all
			if of.whole[i] = at.m.list(i) != "" && x.operation == "Load"; !of.whole[i] {
				delete(of.whole, i)
				of.counts[i] += c
			}
		}
		of.strong, of.content = of.strong || r.strong, append(of.content, r.content...)
		delete(x.reads, at)
	}
}

// partition returns the partition key of an identity.
func (k readKey) partition() string {
	pk, _, _ := strings.Cut(k.identity, "\x00")
	return pk
}

// recordReads records the reads of the call.
func (x *mapped) recordReads() {
	switch x.operation {
	case "Save", "Delete", "Patch", "Transact", "BulkLoad": // their reads are in the price of the write
		return
	}
	x.join()
	for at, r := range x.reads {
		identity := at.identity
		if at.m.e.Flat && len(r.counts) > 0 && r.counts[at.m.e.Root.Index] > 0 {
			identity = "" // of several entities
		}
		e := x.entity(at.m, identity)
		x.call.mu.Lock()
		o := x.call.of(e)
		o.Strong = r.strong
		for name, n := range r.index {
			o.Query[name] += n
		}
		if len(r.whole) == len(at.m.e.Items) {
			o.All = true
		} else {
			for item := range r.whole {
				if name := at.m.list(item); name != "" {
					include(&o.Reads, name)
				} else {
					include(&o.Reads, at.m.names(item)...)
				}
			}
		}
		for item, n := range r.counts {
			switch name := at.m.list(item); {
			case name != "" && !r.whole[item]:
				count(o.Read, name, n)
			case name == "" && !r.whole[item] && n > 0: // the root items of several entities
				include(&o.Reads, at.m.names(item)...)
				o.Count = float64(n)
			}
		}
		x.call.mu.Unlock()
		if o.All && e.kind != nil && (x.operation == "Load" || x.operation == "Update") {
			x.document(at.m, e.kind, r.content)
		}
	}
}

// document adds the sizes of a loaded entity to the sample.
func (x *mapped) document(m *model, k *kind, items []charge.Item) {
	d := recording.Document{Sizes: map[string]int{}, Lists: map[string]recording.List{}}
	for _, it := range items {
		pk, sk, ok := m.keyOf(it)
		if !ok {
			continue
		}
		i, _ := m.item(pk, sk)
		if i < 0 {
			continue
		}
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
	x.call.r.mu.Lock()
	defer x.call.r.mu.Unlock()
	k.document(d)
}

// element adds an element to a list. Fields that are only in the key count as attributes.
func (m *model) element(l *recording.List, item int, element attributes, sk key.Scalar) {
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
	p := &receipt.Predicted
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
			for _, t := range m.e.Tables {
				item, identity = m.item(key.Scalar{Type: t.HashType, Text: w.Partition},
					key.Scalar{Type: t.RangeType, Text: w.Sort})
				if item >= 0 {
					return true
				}
			}
			return false
		})
		if m != nil {
			e := x.entity(m, identity)
			changes[e] = append(changes[e], change{m, item, w})
		}
	}
	for e, all := range changes {
		x.call.mu.Lock()
		o := x.call.of(e)
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
				o.Add[name]++
			case name != "" && w.Kind == "delete":
				o.Remove[name]++
			case name != "":
				o.Change[name]++
			case w.Kind == "delete" || isNew:
				include(&o.Writes, c.m.names(c.item)...)
			default:
				include(&o.Writes, c.m.named(c.item, w.Attributes)...)
			}
		}
		x.call.mu.Unlock()
	}
}
