package record

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/advice/trace"
	"github.com/itemize/itemize/internal/model/attr"
)

type attributes = map[string]types.AttributeValue

// request records a request of a program without mappers. c is the call that it belongs to, nil for one of its own.
func (r *Recorder) request(c *call, in, out any) {
	if c == nil && r.skips(in) {
		return
	}
	q := &request{r: r, call: c, own: map[entity]*trace.Operation{}}
	switch in := in.(type) {
	case *dynamodb.GetItemInput:
		q.learn(in.TableName, in.Key)
		if out, ok := out.(*dynamodb.GetItemOutput); ok && len(out.Item) > 0 {
			q.name = "GetItem"
			q.readItem(itemRead{
				table: aws.ToString(in.TableName), item: out.Item, key: in.Key, strong: aws.ToBool(in.ConsistentRead),
				fields: fieldsOf(in.ProjectionExpression, in.ExpressionAttributeNames, in.AttributesToGet),
			})
		}
	case *dynamodb.PutItemInput:
		q.name = "PutItem"
		q.put(aws.ToString(in.TableName), in.Item, in.ConditionExpression, in.ExpressionAttributeNames)
	case *dynamodb.UpdateItemInput:
		q.name = "UpdateItem"
		q.update(aws.ToString(in.TableName), in.Key, in.UpdateExpression, in.ExpressionAttributeNames,
			in.ExpressionAttributeValues)
	case *dynamodb.DeleteItemInput:
		q.name = "DeleteItem"
		q.delete(aws.ToString(in.TableName), in.Key)
	case *dynamodb.QueryInput:
		if out, ok := out.(*dynamodb.QueryOutput); ok {
			q.name = "Query"
			q.query(in, out)
		}
	case *dynamodb.ScanInput:
		if out, ok := out.(*dynamodb.ScanOutput); ok {
			q.name = "Scan"
			q.scan(in, out)
		}
	default:
		q.several(in, out)
	}
	q.end()
}

// several records a request on several items.
func (q *request) several(in, out any) {
	switch in := in.(type) {
	case *dynamodb.BatchGetItemInput:
		out, ok := out.(*dynamodb.BatchGetItemOutput)
		if !ok {
			return
		}
		q.name = "BatchGetItem"
		for table, items := range out.Responses {
			keys := in.RequestItems[table]
			if len(keys.Keys) > 0 {
				q.learn(&table, keys.Keys[0])
			}
			fields := fieldsOf(keys.ProjectionExpression, keys.ExpressionAttributeNames, keys.AttributesToGet)
			for _, it := range items {
				q.readItem(itemRead{table: table, item: it, fields: fields, strong: aws.ToBool(keys.ConsistentRead)})
			}
		}
	case *dynamodb.BatchWriteItemInput:
		out, ok := out.(*dynamodb.BatchWriteItemOutput)
		if !ok {
			return
		}
		q.name = "BatchWriteItem"
		for table, all := range in.RequestItems {
			for _, w := range all {
				switch {
				case q.isUnprocessed(table, w, out.UnprocessedItems[table]):
				case w.PutRequest != nil:
					q.put(table, w.PutRequest.Item, nil, nil)
				case w.DeleteRequest != nil:
					q.delete(table, w.DeleteRequest.Key)
				}
			}
		}
	case *dynamodb.TransactGetItemsInput:
		out, ok := out.(*dynamodb.TransactGetItemsOutput)
		if !ok {
			return
		}
		q.name = "TransactGetItems"
		for i, g := range in.TransactItems {
			if g.Get != nil && i < len(out.Responses) && len(out.Responses[i].Item) > 0 {
				q.learn(g.Get.TableName, g.Get.Key)
				q.readItem(itemRead{
					table: aws.ToString(g.Get.TableName), item: out.Responses[i].Item, key: g.Get.Key, strong: true,
					fields: fieldsOf(g.Get.ProjectionExpression, g.Get.ExpressionAttributeNames, nil),
				})
			}
		}
	case *dynamodb.TransactWriteItemsInput:
		q.name, q.atomic = "TransactWriteItems", len(in.TransactItems) > 1
		for _, w := range in.TransactItems {
			switch {
			case w.Put != nil:
				q.put(aws.ToString(w.Put.TableName), w.Put.Item, w.Put.ConditionExpression,
					w.Put.ExpressionAttributeNames)
			case w.Update != nil:
				q.update(aws.ToString(w.Update.TableName), w.Update.Key, w.Update.UpdateExpression,
					w.Update.ExpressionAttributeNames, w.Update.ExpressionAttributeValues)
			case w.Delete != nil:
				q.delete(aws.ToString(w.Delete.TableName), w.Delete.Key)
			}
		}
	}
}

// isUnprocessed reports whether DynamoDB returned a write of a batch.
func (q *request) isUnprocessed(table string, w types.WriteRequest, rest []types.WriteRequest) bool {
	key := func(w types.WriteRequest) (hash uint64, ok bool) {
		switch {
		case w.PutRequest != nil:
			return q.r.identify(table, w.PutRequest.Item)
		case w.DeleteRequest != nil:
			q.learn(&table, w.DeleteRequest.Key)
			return q.r.identify(table, w.DeleteRequest.Key)
		}
		return 0, false
	}
	if len(rest) == 0 {
		return false
	}
	hash, ok := key(w)
	return ok && slices.ContainsFunc(rest, func(u types.WriteRequest) bool {
		other, ok := key(u)
		return ok && other == hash
	})
}

// fieldsOf returns the attributes that a read returns, nil for all.
func fieldsOf(projection *string, names map[string]string, attributes []string) []string {
	if len(attributes) > 0 {
		out := []string{}
		include(&out, attributes...)
		return out
	}
	return projectionOf(projection, names)
}

// skips reports whether a request is on an item that is not sampled: as most are.
func (r *Recorder) skips(in any) bool {
	var table *string
	var it attributes
	switch in := in.(type) {
	case *dynamodb.GetItemInput:
		table, it = in.TableName, in.Key
	case *dynamodb.PutItemInput:
		table, it = in.TableName, in.Item
	case *dynamodb.UpdateItemInput:
		table, it = in.TableName, in.Key
	case *dynamodb.DeleteItemInput:
		table, it = in.TableName, in.Key
	default:
		return false
	}
	hash, ok := r.identify(aws.ToString(table), it)
	return ok && !r.isSampled(hash)
}

// isInsert reports whether a condition requires that no item exists: that a key attribute is missing, and nothing else.
func (r *Recorder) isInsert(table string, condition *string, names map[string]string) bool {
	if condition == nil {
		return false
	}
	var words []string
	for _, t := range tokens(*condition) {
		if t != "(" && t != ")" {
			words = append(words, t)
		}
	}
	keys := r.keysOf(table)
	for i := 0; i < len(words); i += 3 {
		if i+1 >= len(words) || !strings.EqualFold(words[i], "attribute_not_exists") ||
			i+2 < len(words) && !strings.EqualFold(words[i+2], "and") {
			return false
		}
		if keys != nil && !slices.Contains(keys, named(words[i+1], names)) {
			return false
		}
	}
	return len(words) > 0
}

// request is the recording of one request.
type request struct {
	r      *Recorder
	call   *call // nil for a request of its own
	own    map[entity]*trace.Operation
	name   string
	atomic bool
}

// end records the operations of a request of its own.
func (q *request) end() {
	if len(q.own) == 0 {
		return
	}
	q.r.mu.Lock()
	defer q.r.mu.Unlock()
	for e, o := range q.own {
		q.r.finish(e, o, nil)
	}
}

// of returns the operation of the request on an entity, nil if there is no room. r.mu is locked.
func (q *request) of(e entity) *trace.Operation {
	var o *trace.Operation
	if q.call != nil && !q.call.ended.Load() {
		o = q.call.of(e)
	} else if o = q.own[e]; o == nil {
		o = &trace.Operation{Name: q.name, Count: 1}
		q.own[e] = o
	}
	if o != nil {
		include(&o.Requests, q.name)
	}
	return o
}

// identify returns the hash of an item's key if the item is sampled. It counts a request on a table whose key
// attributes are unknown.
func (q *request) identify(table string, it attributes) (hash uint64, sampled bool) {
	hash, ok := q.r.identify(table, it)
	if !ok && q.r.keysOf(table) == nil {
		q.r.mu.Lock()
		if _, counted := q.r.unkeyed[table]; counted || len(q.r.unkeyed) < maxKinds {
			q.r.unkeyed[table]++
		}
		q.r.mu.Unlock()
	}
	return hash, ok && q.r.isSampled(hash)
}

// learn keeps the names of the key attributes of a table.
func (q *request) learn(table *string, key attributes) {
	if _, ok := q.r.keys.Load(aws.ToString(table)); ok || len(key) == 0 || len(key) > 2 {
		return
	}
	names := make([]string, 0, 2)
	for name := range key {
		names = append(names, name)
	}
	q.r.setKeys(aws.ToString(table), names)
}

// keysOf returns the key attributes of a table, nil if they are unknown.
func (r *Recorder) keysOf(table string) []string {
	names, ok := r.keys.Load(table)
	if !ok {
		return nil
	}
	return names.([]string)
}

// identify returns the hash of an item's key. ok is false if the key attributes are unknown.
func (r *Recorder) identify(table string, it attributes) (hash uint64, ok bool) {
	names := r.keysOf(table)
	if names == nil {
		return 0, false
	}
	h := trace.Begin.Add(table)
	for _, name := range names {
		s, ok := attr.ScalarOf(it[name])
		if !ok {
			return 0, false
		}
		h = h.Add(s.Text)
	}
	return h.Sum(), true
}

// entity returns the entity of an item, and counts it. r.mu is locked.
func (r *Recorder) entity(table string, it attributes, hash uint64) entity {
	k := r.entityKind(table, it)
	if k != nil {
		k.used(hash)
	}
	return entity{k, hash}
}

// entityKind returns the kind of an item. r.mu is locked.
func (r *Recorder) entityKind(table string, it attributes) *kind {
	names := r.keysOf(table)
	partition, _ := r.partition.Load(table)
	var literals []string
	for _, name := range names {
		if s, ok := attr.ScalarOf(it[name]); ok && s.Type == 'S' {
			// a whole sort key can be a word; of a partition key it would be a value
			if l := literal(s.Text, partition != nil && partition != name); l != "" {
				literals = append(literals, l)
			}
		}
	}
	name := strings.Join(literals, " ")
	if name == "" {
		name = plainKind
	}
	return r.kindOf(table, name, false, names)
}

// literal returns the beginning of a key that is a word: before a delimiter, or the whole key if it can be one.
func literal(key string, whole bool) string {
	i := 0
	for i < len(key) && i <= 32 && (key[i] >= 'A' && key[i] <= 'Z' || key[i] >= 'a' && key[i] <= 'z' || key[i] == '_') {
		i++
	}
	switch {
	case i == 0 || i > 32:
		return ""
	case i == len(key):
		if whole && strings.ToUpper(key) == key {
			return key
		}
		return ""
	case strings.IndexByte("#|:/.-", key[i]) >= 0:
		return key[:i+1]
	}
	return ""
}

// itemRead is a read of an item.
type itemRead struct {
	table string
	item  attributes
	// key has the key attributes if a projection can lack them.
	key attributes
	// fields are the attributes of a projection, nil for all.
	fields []string
	strong bool
}

// readItem records a read of an item.
func (q *request) readItem(x itemRead) {
	key := x.key
	if key == nil {
		key = x.item
	}
	hash, sampled := q.identify(x.table, key)
	if !sampled {
		return
	}
	q.r.mu.Lock()
	defer q.r.mu.Unlock()
	e := q.r.entity(x.table, key, hash)
	if x.fields == nil {
		q.remember(e, x.item, x.table)
	}
	o := q.of(e)
	if o == nil {
		return
	}
	if o.Strong = o.Strong || x.strong; x.fields != nil {
		include(&o.Reads, without(x.fields, q.r.keysOf(x.table))...)
	} else {
		o.All = true
	}
}

// without returns names without excluded ones.
func without(names, excluded []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(excluded, n) })
}

// remember keeps the content of an item, and its sizes if they are in the sample. r.mu is locked.
func (q *request) remember(e entity, it attributes, table string) {
	_, before := q.r.contents.get(e.hash)
	q.r.contents.set(e.hash, q.r.contentOf(it))
	if e.kind == nil || before && !e.kind.isRow(e.hash) {
		return
	}
	d := documentOf(it, q.r.keysOf(table))
	e.kind.document(e.hash, d)
	for name := range d.Sizes {
		e.kind.has(e.hash, name)
	}
}

// put records that an item is replaced.
func (q *request) put(table string, it attributes, condition *string, names map[string]string) {
	hash, sampled := q.identify(table, it)
	if !sampled {
		return
	}
	isNew := q.r.isInsert(table, condition, names)
	q.r.mu.Lock()
	defer q.r.mu.Unlock()
	e := q.r.entity(table, it, hash)
	was, remembered := q.r.contents.get(hash)
	if o := q.of(e); o != nil {
		o.Atomic = o.Atomic || q.atomic
		switch {
		case remembered && was != nil:
			compare(was, q.r.contentOf(it), q.r.keysOf(table), o)
		case isNew || remembered:
			o.Insert = true
		default:
			o.Unknown = true
		}
	}
	q.remember(e, it, table)
}

// delete records that an item is deleted.
func (q *request) delete(table string, key attributes) {
	q.learn(&table, key)
	hash, sampled := q.identify(table, key)
	if !sampled {
		return
	}
	q.r.mu.Lock()
	defer q.r.mu.Unlock()
	if o := q.of(q.r.entity(table, key, hash)); o != nil {
		o.Delete, o.Atomic = true, o.Atomic || q.atomic
	}
	q.r.contents.set(hash, nil)
}

// update records the changes of an update expression.
func (q *request) update(table string, key attributes, expression *string, names map[string]string, values attributes) {
	q.learn(&table, key)
	hash, sampled := q.identify(table, key)
	if !sampled {
		return
	}
	q.r.mu.Lock()
	defer q.r.mu.Unlock()
	q.r.contents.forget(hash) // the next read or replacement shows the new content
	o := q.of(q.r.entity(table, key, hash))
	if o == nil {
		return
	}
	o.Atomic = o.Atomic || q.atomic
	changes := changesOf(aws.ToString(expression), names)
	elements := map[string]bool{}
	for _, c := range changes {
		addChange(o, c, names, values, elements)
	}
	if len(changes) == 0 {
		o.Unknown = true
	}
}

// addChange adds an action of an update expression to an operation. elements are those that have changed before.
func addChange(o *trace.Operation, c change, names map[string]string, values attributes, elements map[string]bool) {
	name := c.path.attribute
	switch added := c.appended(names, values); {
	case c.path.element != "" && c.path.whole && c.clause == "remove":
		count(&o.Remove, name, 1)
	case c.path.element != "":
		if !elements[name+c.path.element] {
			elements[name+c.path.element] = true
			count(&o.Change, name, 1)
		}
	case added > 0:
		count(&o.Add, name, added)
	default:
		include(&o.Writes, name)
	}
}

// query records the items that a query returns: those of an index as entries.
func (q *request) query(in *dynamodb.QueryInput, out *dynamodb.QueryOutput) {
	table := aws.ToString(in.TableName)
	if in.IndexName != nil {
		if q.r.draw() && len(out.Items) > 0 {
			q.r.mu.Lock()
			defer q.r.mu.Unlock()
			k := q.r.scanned(table, out.Items)
			q.declare(in, out, k)
			if o := q.of(entity{k, 0}); o != nil {
				count(&o.Query, *in.IndexName, len(out.Items))
			}
		}
		return
	}
	if _, ok := q.r.partition.Load(table); !ok {
		for _, t := range tokens(aws.ToString(in.KeyConditionExpression)) { // the first key is the partition key
			if name := named(t, in.ExpressionAttributeNames); slices.Contains(q.r.keysOf(table), name) {
				q.r.partition.Store(table, name)
				break
			}
		}
	}
	fields := fieldsOf(in.ProjectionExpression, in.ExpressionAttributeNames, in.AttributesToGet)
	for _, it := range out.Items {
		q.readItem(itemRead{table: table, item: it, fields: fields, strong: aws.ToBool(in.ConsistentRead)})
	}
}

// scanned returns the kind that a scan counts for: that of the first item, or the one of the table that is used most.
// r.mu is locked.
func (r *Recorder) scanned(table string, items []attributes) *kind {
	if len(items) > 0 {
		if _, ok := r.identify(table, items[0]); ok {
			return r.entityKind(table, items[0])
		}
	}
	var most *kind
	for _, k := range r.kinds {
		if k.Table == table && (most == nil || len(k.operations) > len(most.operations)) {
			most = k
		}
	}
	if most == nil {
		most = r.kindOf(table, plainKind, false, r.keysOf(table))
	}
	return most
}

// declare adds the index of a query to a kind: its keys are those of the condition. r.mu is locked.
func (q *request) declare(in *dynamodb.QueryInput, out *dynamodb.QueryOutput, k *kind) {
	var keys, names []string
	for _, t := range tokens(aws.ToString(in.KeyConditionExpression)) {
		name := named(t, in.ExpressionAttributeNames)
		if _, ok := out.Items[0][name]; ok && !slices.Contains(keys, name) {
			keys = append(keys, name)
		}
	}
	if k == nil || len(keys) == 0 {
		return
	}
	for name := range out.Items[0] {
		if len(names) < maxNames && !slices.Contains(q.r.keysOf(*in.TableName), name) {
			names = append(names, name)
		}
	}
	x := trace.Index{Name: *in.IndexName, Hash: keys[0], Attributes: names}
	if len(keys) > 1 {
		x.Range = keys[1]
	}
	k.index(x)
}

// scan records a scan: once for all its pages and segments.
func (q *request) scan(in *dynamodb.ScanInput, out *dynamodb.ScanOutput) {
	table := aws.ToString(in.TableName)
	fields := fieldsOf(in.ProjectionExpression, in.ExpressionAttributeNames, in.AttributesToGet)
	if in.IndexName != nil {
		return
	}
	if q.r.draw() {
		o := &trace.Operation{
			Name: q.name, Requests: []string{q.name}, Count: 1, Found: len(out.Items),
			Scan: comparedIn(in.FilterExpression, in.ExpressionAttributeNames), Strong: aws.ToBool(in.ConsistentRead),
		}
		if q.call != nil && q.call.name != "" {
			o.Name = q.call.name
		}
		if in.ExclusiveStartKey != nil || in.Segment != nil && *in.Segment > 0 {
			o.Count = 0
		}
		if fields != nil {
			include(&o.Reads, without(fields, q.r.keysOf(table))...)
		}
		q.r.mu.Lock()
		q.r.add(entity{q.r.scanned(table, out.Items), 0}, o)
		q.r.mu.Unlock()
	}
	if fields != nil {
		return
	}
	for _, it := range out.Items { // contents to compare with
		if hash, sampled := q.identify(table, it); sampled {
			q.r.mu.Lock()
			q.remember(q.r.entity(table, it, hash), it, table)
			q.r.mu.Unlock()
		}
	}
}
