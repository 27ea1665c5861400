package trace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost/forecast"
)

// Replayed compares an operation in a layout, in sum over the samples.
type Replayed struct {
	Name string `json:"name"`
	// PredictedWCU and PredictedRCU are the units of the forecast, ConsumedWCU and ConsumedRCU those of the engine.
	PredictedWCU float64 `json:"predictedWcu"`
	PredictedRCU float64 `json:"predictedRcu"`
	ConsumedWCU  float64 `json:"consumedWcu"`
	ConsumedRCU  float64 `json:"consumedRcu"`
	// Skipped says why the operation was not replayed.
	Skipped string `json:"skipped,omitempty"`
	// Transaction reports that it was a transaction, whose capacity some engines report differently.
	Transaction bool `json:"transaction,omitempty"`
}

// Same reports whether the consumed capacity is as predicted.
func (r Replayed) Same() bool {
	near := func(a, b float64) bool { return a-b < 1e-6 && b-a < 1e-6 }
	return r.Skipped != "" || near(r.PredictedWCU, r.ConsumedWCU) && near(r.PredictedRCU, r.ConsumedRCU)
}

// MaxSamples is the largest number of samples that are replayed.
const MaxSamples = 20

// cleanUp is the longest time that the deletion of the table takes at the end, also of an interrupted run.
const cleanUp = 10 * time.Second

// thinned returns the sizes of MaxSamples samples, evenly spread, as Workload.Thinned does.
func thinned(s *forecast.Sizes) *forecast.Sizes {
	if s == nil || len(s.Items) == 0 || len(s.Items[0]) <= MaxSamples {
		return s
	}
	n := len(s.Items[0])
	t := &forecast.Sizes{Elements: map[string][][]int{}, Entries: map[string][]int{}}
	for _, sizes := range s.Items {
		t.Items = append(t.Items, pick(sizes, n))
	}
	for name, sizes := range s.Elements {
		t.Elements[name] = pick(sizes, n)
	}
	for name, sizes := range s.Entries {
		t.Entries[name] = pick(sizes, n)
	}
	for _, sizes := range s.Indexes {
		t.Indexes = append(t.Indexes, pick(sizes, n))
	}
	return t
}

func pick[T any](all []T, n int) []T {
	if len(all) != n {
		return all
	}
	var out []T
	for i := range MaxSamples {
		out = append(out, all[i*n/MaxSamples])
	}
	return out
}

// withoutQueries returns the operations of a workload without queries of indexes, which are not replayed.
func withoutQueries(w forecast.Workload) []forecast.Operation {
	out := slices.Clone(w.Operations)
	for i := range out {
		if len(out[i].Query) > 0 {
			out[i] = forecast.Operation{Name: out[i].Name, All: true}
		}
	}
	return out
}

// Replay creates a table, stores the samples of a workload in a layout (at most 20), runs each operation once on each,
// and deletes the table. It returns the consumed capacity next to the forecast.
func Replay(
	ctx context.Context, client *dynamodb.Client, w forecast.Workload, l forecast.Layout,
) (_ []Replayed, err error) {
	w, l.Sizes = w.Thinned(MaxSamples), thinned(l.Sizes)
	operations := w.Operations
	w.Operations = withoutQueries(w)
	sizes, err := w.SizesOf(l)
	if err != nil {
		return nil, err
	}
	w.Entities = len(sizes.Items[0])
	all, err := w.Forecast(forecast.Prices{}, l)
	if err != nil {
		return nil, err
	}
	if all[0].NotStorable != "" {
		return nil, fmt.Errorf("the layout %q is not storable: %s", l.Name, all[0].NotStorable)
	}
	r := &run{
		ctx: ctx, client: client, w: w, l: l, sizes: sizes,
		table: "itemize-verify-" + strings.ToLower(rand.Text()),
	}
	defer func() { // also after a failed wait, or a lost answer
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
		defer cancel()
		_, e := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &r.table})
		if missing := new(types.ResourceNotFoundException); !errors.As(e, &missing) {
			err = errors.Join(err, e)
		}
	}()
	if err := r.create(); err != nil {
		return nil, err
	}
	if err := r.store(); err != nil {
		return nil, err
	}
	var out []Replayed
	for i, op := range operations {
		o := all[0].Operations[i]
		n := float64(w.Entities)
		x := Replayed{Name: op.Name, PredictedWCU: o.OnceWCU * n, PredictedRCU: o.OnceRCU * n}
		if op.Scan != nil {
			x.PredictedRCU = o.OnceRCU
		}
		if err := r.operation(op, &x); err != nil {
			return nil, fmt.Errorf("%s: %w", op.Name, err)
		}
		out = append(out, x)
	}
	return out, nil
}

// run is a replay of one layout.
type run struct {
	ctx    context.Context
	client *dynamodb.Client
	w      forecast.Workload
	l      forecast.Layout
	sizes  *forecast.Sizes
	table  string
	// turn changes the contents of written items.
	turn int
}

func (r *run) create() error {
	_, err := r.client.CreateTable(r.ctx, &dynamodb.CreateTableInput{
		TableName: &r.table, BillingMode: types.BillingModePayPerRequest,
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("PK"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("SK"), KeyType: types.KeyTypeRange},
		},
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("PK"), AttributeType: "S"}, {
				AttributeName: aws.String("SK"),
				AttributeType: "S",
			},
		},
	})
	if err != nil {
		return err
	}
	return dynamodb.NewTableExistsWaiter(r.client).Wait(r.ctx, &dynamodb.DescribeTableInput{TableName: &r.table},
		5*time.Minute)
}

// block is an item of the layout, or the elements of a list.
type block struct {
	prefix string // of the sort keys: the groups, and a number
	item   int    // -1 for a list
	list   string
}

// blocks returns the items and lists with the beginnings of their sort keys.
func (r *run) blocks() []block {
	groups := r.groups()
	prefix := func(names []string) string {
		p := ""
		for i, g := range groups {
			if slices.ContainsFunc(g, func(n string) bool { return slices.Contains(names, n) }) {
				p += fmt.Sprintf("g%02d", i)
			}
		}
		return p
	}
	var out []block
	for i, names := range r.l.Items {
		out = append(out, block{fmt.Sprintf("%sI%02d", prefix(names), i), i, ""})
	}
	for i, name := range r.l.Elements {
		out = append(out, block{fmt.Sprintf("%sL%02d", prefix([]string{name}), i), -1, name})
	}
	return out
}

// groups returns the groups, the largest first, each with all attributes of its items.
func (r *run) groups() [][]string {
	var out [][]string
	for _, g := range r.l.Groups {
		var names []string
		for _, it := range r.l.Items {
			if slices.ContainsFunc(it, func(n string) bool { return slices.Contains(g, n) }) {
				names = append(names, it...)
			}
		}
		for _, name := range r.l.Elements {
			if slices.Contains(g, name) {
				names = append(names, name)
			}
		}
		out = append(out, names)
	}
	slices.SortStableFunc(out, func(a, b []string) int { return len(b) - len(a) })
	return out
}

type attributes = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// key is the key of an item of a sample.
func key(sample int, sk string) attributes {
	return attributes{"PK": text(fmt.Sprintf("%c", 'A'+sample)), "SK": text(sk)}
}

// item returns an item of a size, with other content at each turn.
func (r *run) item(sample int, sk string, size int) (attributes, error) {
	it := key(sample, sk)
	rest := size - len("PK") - len("SK") - 1 - len(sk)
	if rest < 0 {
		return nil, fmt.Errorf("an item has %d bytes, fewer than its keys: set a larger overhead", size)
	}
	if rest > 0 {
		it["f"] = text(strings.Repeat(string(rune('a'+r.turn%26)), rest-1))
	}
	return it, nil
}

// element is the sort key of an element.
func element(b block, k int) string { return fmt.Sprintf("%s%05d", b.prefix, k) }

func (r *run) store() error {
	for _, b := range r.blocks() {
		for s := range r.w.Entities {
			if b.item >= 0 {
				if size := r.sizes.Items[b.item][s]; size > 0 {
					if err := r.put(s, b.prefix, size, nil); err != nil {
						return err
					}
				}
				continue
			}
			for k, size := range r.sizes.Elements[b.list][s] {
				if err := r.put(s, element(b, k), size, nil); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// put stores an item, and adds the consumed units.
func (r *run) put(sample int, sk string, size int, units *float64) error {
	it, err := r.item(sample, sk, size)
	if err != nil {
		return err
	}
	out, err := r.client.PutItem(r.ctx, &dynamodb.PutItemInput{
		TableName: &r.table, Item: it, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	if err == nil && units != nil {
		*units += aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)
	}
	return err
}

func (r *run) remove(sample int, sk string, units *float64) error {
	out, err := r.client.DeleteItem(r.ctx, &dynamodb.DeleteItemInput{
		TableName: &r.table, Key: key(sample, sk), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	if err == nil && units != nil {
		*units += aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)
	}
	return err
}

// write is an item that an operation writes, or deletes.
type write struct {
	sk      string
	size    int
	deletes bool
}

// operation runs an operation on all samples.
func (r *run) operation(op forecast.Operation, x *Replayed) error {
	if len(op.Query) > 0 {
		x.Skipped = "it queries an index"
		return nil
	}
	if len(r.w.Indexes)+len(r.l.Indexes) > 0 && len(op.Writes)+len(op.Add)+len(op.Change)+len(op.Remove) > 0 {
		x.Skipped = "it writes to indexes"
		return nil
	}
	if len(r.w.Unique) > 0 && len(op.Writes) > 0 {
		x.Skipped = "it writes a document with unique values"
		return nil
	}
	if op.Scan != nil {
		return r.scan(op.Strong, &x.ConsumedRCU)
	}
	for s := range r.w.Entities {
		if err := r.writes(op, s, x); err != nil || x.Skipped != "" {
			return err
		}
		if err := r.reads(op, s, x); err != nil {
			return err
		}
	}
	return nil
}

// writes runs the writes of an operation on a sample.
func (r *run) writes(op forecast.Operation, s int, x *Replayed) error {
	r.turn++
	var all []write
	var added []string
	adds, root := false, false
	for i, b := range r.blocks() {
		if b.item >= 0 {
			names := slices.Concat(op.Writes, slices.Collect(maps.Keys(op.Add)), slices.Collect(maps.Keys(op.Change)),
				slices.Collect(maps.Keys(op.Remove)))
			size := r.sizes.Items[b.item][s]
			if size > 0 && slices.ContainsFunc(r.l.Items[b.item], func(n string) bool {
				return slices.Contains(names,
					n)
			}) {
				all, root = append(all, write{b.prefix, size, false}), root || i == 0
			}
			continue
		}
		sizes := r.sizes.Elements[b.list][s]
		some := func(from, to int, deletes bool) {
			for k := from; k < to; k++ {
				all = append(all, write{element(b, k), sizes[k], deletes})
			}
		}
		if slices.Contains(op.Writes, b.list) {
			some(0, len(sizes), false)
		}
		n := min(op.Add[b.list], len(sizes))
		for k := len(sizes) - n; k < len(sizes); k++ { // they are deleted first, and added again
			added = append(added, element(b, k))
		}
		adds = adds || n > 0
		some(len(sizes)-n, len(sizes), false)
		some(len(sizes)-min(op.Change[b.list], len(sizes)), len(sizes), false)
		some(0, min(op.Remove[b.list], len(sizes)), true)
	}
	if op.Atomic && len(all) > 1 {
		x.Transaction = true
		if x.Skipped = skipped(all); x.Skipped != "" {
			return nil
		}
	}
	for _, sk := range added {
		if err := r.remove(s, sk, nil); err != nil {
			return err
		}
	}
	if op.Atomic && len(all) > 1 {
		if err := r.transaction(s, all, x); err != nil {
			return err
		}
	} else {
		for _, w := range all {
			err := error(nil)
			if w.deletes {
				err = r.remove(s, w.sk, &x.ConsumedWCU)
			} else {
				err = r.put(s, w.sk, w.size, &x.ConsumedWCU)
			}
			if err != nil {
				return err
			}
		}
	}
	for _, w := range all { // removed elements come back
		if w.deletes {
			if err := r.put(s, w.sk, w.size, nil); err != nil {
				return err
			}
		}
	}
	if adds && !(op.Atomic && len(all) > 1 && root) {
		return r.get(s, r.blocks()[0].prefix, true, &x.ConsumedRCU)
	}
	return nil
}

// skipped says why items cannot be written in one transaction, "" if they can.
func skipped(all []write) string {
	if len(all) > 100 {
		return fmt.Sprintf("it is a transaction of %d items (limit 100)", len(all))
	}
	seen := map[string]bool{}
	for _, w := range all {
		if seen[w.sk] {
			return "it writes an element twice in one transaction"
		}
		seen[w.sk] = true
	}
	return ""
}

// transaction writes items in one transaction.
func (r *run) transaction(s int, all []write, x *Replayed) error {
	in := &dynamodb.TransactWriteItemsInput{ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal}
	for _, w := range all {
		if w.deletes {
			in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Delete: &types.Delete{
				TableName: &r.table, Key: key(s, w.sk),
			}})
			continue
		}
		it, err := r.item(s, w.sk, w.size)
		if err != nil {
			return err
		}
		in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: &types.Put{
			TableName: &r.table,
			Item:      it,
		}})
	}
	out, err := r.client.TransactWriteItems(r.ctx, in)
	if err != nil {
		return err
	}
	for _, c := range out.ConsumedCapacity {
		x.ConsumedWCU += aws.ToFloat64(c.CapacityUnits)
	}
	return nil
}

func (r *run) get(s int, sk string, strong bool, units *float64) error {
	out, err := r.client.GetItem(r.ctx, &dynamodb.GetItemInput{
		TableName: &r.table, Key: key(s, sk), ConsistentRead: &strong,
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	if err == nil {
		*units += aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)
	}
	return err
}

// query reads the items whose sort keys begin with a prefix: all, or the last n.
func (r *run) query(s int, prefix string, n int, strong bool, units *float64) error {
	in := &dynamodb.QueryInput{
		TableName: &r.table, KeyConditionExpression: aws.String("PK = :p AND begins_with(SK, :s)"),
		ExpressionAttributeValues: attributes{":p": key(s, "")["PK"], ":s": text(prefix)}, ConsistentRead: &strong,
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	if prefix == "" {
		in.KeyConditionExpression = aws.String("PK = :p")
		delete(in.ExpressionAttributeValues, ":s")
	}
	if n > 0 {
		in.ScanIndexForward, in.Limit = aws.Bool(false), aws.Int32(int32(n))
	}
	for {
		out, err := r.client.Query(r.ctx, in)
		if err != nil {
			return err
		}
		*units += aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)
		in.ExclusiveStartKey = out.LastEvaluatedKey
		if n > 0 {
			if n -= len(out.Items); n <= 0 {
				return nil
			}
			in.Limit = aws.Int32(int32(n))
		}
		if len(in.ExclusiveStartKey) == 0 {
			return nil
		}
	}
}

func (r *run) scan(strong bool, units *float64) error {
	in := &dynamodb.ScanInput{
		TableName: &r.table, ConsistentRead: &strong, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	for {
		out, err := r.client.Scan(r.ctx, in)
		if err != nil {
			return err
		}
		*units += aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return nil
		}
	}
}

// reads runs the reads of an operation on a sample: each part by itself, or with a query of a group where that costs
// less.
func (r *run) reads(op forecast.Operation, s int, x *Replayed) error {
	if op.All {
		return r.query(s, "", 0, op.Strong, &x.ConsumedRCU)
	}
	names := slices.Concat(op.Reads, slices.Collect(maps.Keys(op.Read)), slices.Collect(maps.Keys(op.Preview)))
	parts := map[string]float64{}
	for _, b := range r.blocks() {
		units, needed := 0.0, false
		var err error
		switch {
		case b.item >= 0:
			needed = slices.ContainsFunc(r.l.Items[b.item], func(n string) bool { return slices.Contains(names, n) })
			if needed {
				err = r.get(s, b.prefix, op.Strong, &units)
			}
		default:
			if slices.Contains(op.Reads, b.list) {
				needed = true
				err = r.query(s, b.prefix, 0, op.Strong, &units)
			}
			if n := op.Read[b.list]; n > 0 && err == nil && !needed {
				needed = true
				err = r.query(s, b.prefix, n, op.Strong, &units)
			}
		}
		if err != nil {
			return err
		}
		if needed {
			parts[b.prefix] = units
		}
	}
	if len(parts) == 0 {
		return nil
	}
	prefixes := []string{""}
	p := map[string]bool{}
	for _, b := range r.blocks() {
		for i := 0; b.prefix[i] == 'g'; i += 3 {
			p[b.prefix[:i+3]] = true
		}
	}
	prefixes = append(prefixes, slices.Collect(maps.Keys(p))...)
	slices.SortFunc(prefixes, func(a, b string) int { return len(b) - len(a) })
	for _, prefix := range prefixes {
		separate, n := 0.0, 0
		for at, units := range parts {
			if strings.HasPrefix(at, prefix) {
				separate, n = separate+units, n+1
			}
		}
		if n < 2 {
			continue
		}
		grouped := 0.0
		if err := r.query(s, prefix, 0, op.Strong, &grouped); err != nil {
			return err
		}
		maps.DeleteFunc(parts, func(at string, _ float64) bool { return strings.HasPrefix(at, prefix) })
		parts[prefix] = min(separate, grouped)
	}
	for _, units := range parts {
		x.ConsumedRCU += units
	}
	return nil
}
