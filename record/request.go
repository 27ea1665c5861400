package record

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/recording"
)

type attributes = map[string]types.AttributeValue

// request records a request of a program without mappers. c is the call that it belongs to, nil for one of its own.
func (r *Recorder) request(c *call, in, out any) {
	own := c == nil
	if own {
		if r.skips(in) {
			return
		}
		c = &call{r: r, ops: map[entity]*recording.Operation{}}
	}
	q := &request{r: r, call: c}
	switch in := in.(type) {
	case *dynamodb.GetItemInput:
		q.learn(*in.TableName, in.Key)
		if out, ok := out.(*dynamodb.GetItemOutput); ok && len(out.Item) > 0 {
			q.name("GetItem")
			q.readItem(itemRead{
				table: *in.TableName, item: out.Item, key: in.Key, strong: aws.ToBool(in.ConsistentRead),
				fields: projectionOf(in.ProjectionExpression, in.ExpressionAttributeNames),
			})
		}
	case *dynamodb.PutItemInput:
		q.name("PutItem")
		q.put(*in.TableName, in.Item, isInsert(in.ConditionExpression))
	case *dynamodb.UpdateItemInput:
		q.name("UpdateItem")
		q.update(*in.TableName, in.Key, aws.ToString(in.UpdateExpression), in.ExpressionAttributeNames,
			in.ExpressionAttributeValues)
	case *dynamodb.DeleteItemInput:
		q.name("DeleteItem")
		q.delete(*in.TableName, in.Key)
	case *dynamodb.QueryInput:
		if out, ok := out.(*dynamodb.QueryOutput); ok {
			q.name("Query")
			q.query(in, out)
		}
	case *dynamodb.ScanInput:
		if out, ok := out.(*dynamodb.ScanOutput); ok {
			q.name("Scan")
			q.scan(in, out)
		}
	case *dynamodb.BatchGetItemInput:
		if out, ok := out.(*dynamodb.BatchGetItemOutput); ok {
			q.name("BatchGetItem")
			for table, items := range out.Responses {
				keys := in.RequestItems[table]
				if len(keys.Keys) > 0 {
					q.learn(table, keys.Keys[0])
				}
				fields := projectionOf(keys.ProjectionExpression, keys.ExpressionAttributeNames)
				for _, it := range items {
					q.readItem(itemRead{
						table: table, item: it, fields: fields, strong: aws.ToBool(keys.ConsistentRead),
					})
				}
			}
		}
	case *dynamodb.BatchWriteItemInput:
		q.name("BatchWriteItem")
		for table, all := range in.RequestItems {
			for _, w := range all {
				if w.PutRequest != nil {
					q.put(table, w.PutRequest.Item, false)
				} else if w.DeleteRequest != nil {
					q.delete(table, w.DeleteRequest.Key)
				}
			}
		}
	case *dynamodb.TransactGetItemsInput:
		if out, ok := out.(*dynamodb.TransactGetItemsOutput); ok {
			q.name("TransactGetItems")
			for i, g := range in.TransactItems {
				if g.Get != nil && i < len(out.Responses) && len(out.Responses[i].Item) > 0 {
					q.learn(*g.Get.TableName, g.Get.Key)
					q.readItem(itemRead{
						table: *g.Get.TableName, item: out.Responses[i].Item, key: g.Get.Key, strong: true,
						fields: projectionOf(g.Get.ProjectionExpression, g.Get.ExpressionAttributeNames),
					})
				}
			}
		}
	case *dynamodb.TransactWriteItemsInput:
		q.name("TransactWriteItems")
		q.atomic = len(in.TransactItems) > 1
		for _, w := range in.TransactItems {
			switch {
			case w.Put != nil:
				q.put(*w.Put.TableName, w.Put.Item, isInsert(w.Put.ConditionExpression))
			case w.Update != nil:
				q.update(*w.Update.TableName, w.Update.Key, aws.ToString(w.Update.UpdateExpression),
					w.Update.ExpressionAttributeNames, w.Update.ExpressionAttributeValues)
			case w.Delete != nil:
				q.delete(*w.Delete.TableName, w.Delete.Key)
			}
		}
	}
	if own {
		c.end()
	}
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
	hash, ok := r.identify(*table, it)
	return ok && !r.isSampled(hash)
}

// isInsert reports whether a condition requires that no item exists.
func isInsert(condition *string) bool {
	return condition != nil && strings.Contains(strings.ToLower(*condition), "attribute_not_exists")
}

// request is the recording of one request.
type request struct {
	r      *Recorder
	call   *call
	atomic bool
}

// name names an operation that the program does not name.
func (q *request) name(request string) {
	q.call.mu.Lock()
	defer q.call.mu.Unlock()
	if q.call.name == "" {
		q.call.name = request
	}
}

// learn keeps the names of the key attributes of a table.
func (q *request) learn(table string, key attributes) {
	if _, ok := q.r.keys.Load(table); ok {
		return
	}
	names := make([]string, 0, 2)
	for name := range key {
		names = append(names, name)
	}
	slices.Sort(names)
	q.r.keys.Store(table, names)
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
	h := recording.Begin.Add(table)
	for _, name := range names {
		s, ok := attr.ScalarOf(it[name])
		if !ok {
			return 0, false
		}
		h = h.Add(s.Text)
	}
	return h.Sum(), true
}

// entity returns the entity of an item. r.mu is locked.
func (r *Recorder) entity(table string, it attributes, hash uint64) entity {
	names := r.keysOf(table)
	var literals []string
	for _, name := range names {
		if s, ok := attr.ScalarOf(it[name]); ok && s.Type == 'S' {
			if l := literal(s.Text); l != "" {
				literals = append(literals, l)
			}
		}
	}
	k := r.kindOf(table, strings.Join(literals, " "), false, names)
	if k != nil {
		k.used(hash)
	}
	return entity{k, hash}
}

// literal returns the beginning of a key that is a word: before a delimiter, or the whole key if it is one.
func literal(key string) string {
	i := 0
	for i < len(key) && i <= 32 && (key[i] >= 'A' && key[i] <= 'Z' || key[i] >= 'a' && key[i] <= 'z' || key[i] == '_') {
		i++
	}
	switch {
	case i == 0 || i > 32:
		return ""
	case i == len(key):
		if strings.ToUpper(key) == key {
			return key
		}
		return ""
	case strings.IndexByte("#|:/.-@", key[i]) >= 0:
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
	// drawn reports that the call was drawn, because a query or scan has no key.
	drawn bool
}

// readItem records a read of an item.
func (q *request) readItem(x itemRead) {
	table, it, key, fields := x.table, x.item, x.key, x.fields
	if key == nil {
		key = it
	}
	hash, ok := q.r.identify(table, key)
	if !ok {
		return
	}
	sampled := q.r.isSampled(hash)
	recorded := q.call.decide(func() bool { return sampled }) || x.drawn && q.call.sampled
	if !sampled && !recorded {
		return
	}
	q.r.mu.Lock()
	defer q.r.mu.Unlock()
	e := q.r.entity(table, key, hash)
	if fields == nil && sampled {
		q.remember(e, it, table)
	}
	if recorded {
		q.call.mu.Lock()
		defer q.call.mu.Unlock()
		o := q.call.of(e)
		if o.Strong = o.Strong || x.strong; fields != nil {
			include(&o.Reads, without(fields, q.r.keysOf(table))...)
		} else {
			o.All = true
		}
	}
}

// without returns names without excluded ones.
func without(names, excluded []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(excluded, n) })
}

// remember keeps the content of an item. r.mu is locked.
func (q *request) remember(e entity, it attributes, table string) {
	_, before := q.r.contents.get(e.hash)
	q.r.contents.set(e.hash, q.r.contentOf(it))
	if e.kind != nil && !before {
		d := documentOf(it, q.r.keysOf(table))
		e.kind.document(d)
		e.kind.has(d)
	}
}

// put records that an item is replaced.
func (q *request) put(table string, it attributes, isNew bool) {
	hash, ok := q.r.identify(table, it)
	if !ok {
		return
	}
	sampled := q.r.isSampled(hash)
	recorded := q.call.decide(func() bool { return sampled })
	if !sampled && !recorded {
		return
	}
	q.r.mu.Lock()
	defer q.r.mu.Unlock()
	e := q.r.entity(table, it, hash)
	was, remembered := q.r.contents.get(hash)
	if recorded {
		q.call.mu.Lock()
		o := q.call.of(e)
		o.Atomic = o.Atomic || q.atomic
		switch {
		case isNew || remembered && was == nil:
			o.Insert = true
		case !remembered:
			o.Unknown = true
		default:
			compare(was, q.r.contentOf(it), q.r.keysOf(table), o)
		}
		q.call.mu.Unlock()
	}
	q.remember(e, it, table)
}

// delete records that an item is deleted.
func (q *request) delete(table string, key attributes) {
	q.learn(table, key)
	hash, ok := q.r.identify(table, key)
	sampled := ok && q.r.isSampled(hash)
	if recorded := ok && q.call.decide(func() bool { return sampled }); !sampled && !recorded {
		return
	}
	q.r.mu.Lock()
	defer q.r.mu.Unlock()
	e := q.r.entity(table, key, hash)
	if q.call.sampled {
		q.call.mu.Lock()
		o := q.call.of(e)
		o.Delete, o.Atomic = true, o.Atomic || q.atomic
		q.call.mu.Unlock()
	}
	q.r.contents.set(hash, nil)
}

// update records the changes of an update expression.
func (q *request) update(table string, key attributes, expression string, names map[string]string, values attributes) {
	q.learn(table, key)
	hash, ok := q.r.identify(table, key)
	if !ok {
		return
	}
	sampled := q.r.isSampled(hash)
	recorded := q.call.decide(func() bool { return sampled })
	if !sampled && !recorded {
		return
	}
	q.r.mu.Lock()
	defer q.r.mu.Unlock()
	e := q.r.entity(table, key, hash)
	q.r.contents.forget(hash) // the next read or replacement shows the new content
	if !recorded {
		return
	}
	q.call.mu.Lock()
	defer q.call.mu.Unlock()
	o := q.call.of(e)
	o.Atomic = o.Atomic || q.atomic
	for _, c := range changesOf(expression, names) {
		addChange(o, c, values)
	}
	if len(o.Writes)+len(o.Add)+len(o.Change)+len(o.Remove) == 0 {
		o.Unknown = true
	}
}

// addChange adds an action of an update expression to an operation.
func addChange(o *recording.Operation, c change, values attributes) {
	name := c.path.attribute
	switch {
	case c.path.element && c.clause == "remove":
		o.Remove[name]++
	case c.path.element:
		o.Change[name]++
	case c.clause == "set" && slices.Contains(c.value, "list_append"):
		n := 1
		for _, t := range c.value {
			if l, ok := values[t].(*types.AttributeValueMemberL); ok && len(l.Value) > 0 {
				n = len(l.Value)
			}
		}
		o.Add[name] += n
	default:
		include(&o.Writes, name)
	}
}

// query records the items that a query returns: those of an index as entries.
func (q *request) query(in *dynamodb.QueryInput, out *dynamodb.QueryOutput) {
	if in.IndexName != nil {
		if !q.call.decide(q.r.draw) || len(out.Items) == 0 {
			return
		}
		hash, ok := q.r.identify(*in.TableName, out.Items[0])
		if !ok {
			return
		}
		q.r.mu.Lock()
		e := q.r.entity(*in.TableName, out.Items[0], hash)
		q.r.mu.Unlock()
		q.call.mu.Lock()
		q.call.of(e).Query[*in.IndexName] += len(out.Items)
		q.call.mu.Unlock()
		return
	}
	q.call.decide(q.r.draw)
	fields := projectionOf(in.ProjectionExpression, in.ExpressionAttributeNames)
	for _, it := range out.Items {
		q.readItem(itemRead{
			table: *in.TableName, item: it, fields: fields, strong: aws.ToBool(in.ConsistentRead), drawn: true,
		})
	}
}

// scan records the first page of a scan.
func (q *request) scan(in *dynamodb.ScanInput, out *dynamodb.ScanOutput) {
	fields := projectionOf(in.ProjectionExpression, in.ExpressionAttributeNames)
	if q.call.decide(q.r.draw) && len(out.Items) > 0 && in.IndexName == nil {
		hash, ok := q.r.identify(*in.TableName, out.Items[0])
		if ok {
			q.r.mu.Lock()
			e := q.r.entity(*in.TableName, out.Items[0], hash)
			q.r.mu.Unlock()
			q.call.mu.Lock()
			o := q.call.of(entity{e.kind, 0})
			o.Scan = comparedIn(in.FilterExpression, in.ExpressionAttributeNames)
			if o.Found += len(out.Items); in.ExclusiveStartKey != nil {
				o.Count = 0
			}
			if fields != nil {
				include(&o.Reads, without(fields, q.r.keysOf(*in.TableName))...)
			}
			q.call.mu.Unlock()
		}
	}
	if in.IndexName == nil && fields == nil {
		for _, it := range out.Items { // contents to compare with
			if hash, ok := q.r.identify(*in.TableName, it); ok && q.r.isSampled(hash) {
				q.r.mu.Lock()
				q.remember(q.r.entity(*in.TableName, it, hash), it, *in.TableName)
				q.r.mu.Unlock()
			}
		}
	}
}
