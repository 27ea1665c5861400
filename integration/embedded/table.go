package embedded

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/itemize/itemize/internal/model/key"
)

// table describes a table for the front.
type table struct {
	index // the table's own keys
	// definitions are its AttributeDefinitions by name, which minidyn does not return.
	definitions object
	// timeToLive is its TimeToLiveDescription.
	timeToLive object
	indexes    map[string]*index
	// billing is its BillingMode and throughput its ProvisionedThroughput.
	billing, throughput any
}

// index is an order of items: by the keys of the table, or by those of a secondary index. minidyn does not
// know the secondary indexes. A search computes their entries from the items, so they follow each write.
type index struct {
	local      bool
	hash, sort []string
	definition object // as CreateTable has it
}

func (x *index) setKeys(schema []object) {
	for _, k := range schema {
		if text(k, "KeyType") == "HASH" {
			x.hash = append(x.hash, text(k, "AttributeName"))
		} else {
			x.sort = append(x.sort, text(k, "AttributeName"))
		}
	}
}

// list returns the name of the list of such indexes, in a description or a charge.
func (x *index) list() string {
	if x.local {
		return "LocalSecondaryIndexes"
	}
	return "GlobalSecondaryIndexes"
}

func (x *index) keys() []string { return slices.Concat(x.hash, x.sort) }

// ofTable answers a table operation.
func (f *front) ofTable(operation, name string, in object) reply {
	if in["StreamSpecification"] != nil {
		return lacks("streams")
	}
	t := f.tables[name]
	if operation == "CreateTable" {
		t = &table{
			definitions: object{}, timeToLive: object{"TimeToLiveStatus": "DISABLED"}, indexes: map[string]*index{},
		}
		t.setKeys(list(in, "KeySchema"))
	}
	if t != nil {
		changed, err := t.with(in)
		if err != nil {
			return invalid(err)
		}
		t = changed
	}
	rest := maps.Clone(in)
	for _, field := range []string{"GlobalSecondaryIndexes", "LocalSecondaryIndexes", "GlobalSecondaryIndexUpdates"} {
		delete(rest, field)
	}
	out := f.ask(operation, rest)
	if out.status != http.StatusOK {
		return out
	}
	if f.tables[name] = t; operation == "DeleteTable" {
		delete(f.tables, name)
	}
	for _, d := range out.body { // Table or TableDescription
		t.describe(d.(object))
	}
	return out
}

// with returns the table with the indexes of a CreateTable or UpdateTable.
func (t *table) with(in object) (*table, error) {
	changed := *t
	changed.billing = cmp.Or(in["BillingMode"], t.billing, any("PROVISIONED"))
	if in["ProvisionedThroughput"] != nil {
		changed.throughput = in["ProvisionedThroughput"]
	}
	changed.definitions, changed.indexes = maps.Clone(t.definitions), maps.Clone(t.indexes)
	for _, d := range list(in, "AttributeDefinitions") {
		changed.definitions[text(d, "AttributeName")] = d
	}
	global, local := list(in, "GlobalSecondaryIndexes"), list(in, "LocalSecondaryIndexes")
	for _, update := range list(in, "GlobalSecondaryIndexUpdates") {
		if create, ok := update["Create"].(object); ok {
			global = append(global, create)
		}
		if removed, ok := update["Delete"].(object); ok {
			if changed.indexes[text(removed, "IndexName")] == nil {
				return nil, errors.New("index: the one to delete is missing: name an index of the table")
			}
			delete(changed.indexes, text(removed, "IndexName"))
		}
	}
	for i, d := range slices.Concat(global, local) {
		x := &index{local: i >= len(global), definition: d}
		x.setKeys(list(d, "KeySchema"))
		if changed.indexes[text(d, "IndexName")] != nil || len(x.hash) == 0 || d["Projection"] == nil {
			return nil, errors.New("index: it has no name of its own, partition key or Projection: add it")
		}
		changed.indexes[text(d, "IndexName")] = x
	}
	for _, x := range changed.indexes {
		for _, k := range x.keys() {
			if changed.definitions[k] == nil {
				return nil, fmt.Errorf("index: AttributeDefinitions lacks the key %s: add it", k)
			}
		}
	}
	return &changed, nil
}

// describe completes minidyn's description of the table.
func (t *table) describe(d object) {
	d["TableStatus"], d["AttributeDefinitions"] = "ACTIVE", slices.Collect(maps.Values(t.definitions))
	d["BillingModeSummary"], d["ProvisionedThroughput"] = object{"BillingMode": t.billing}, t.throughput
	for _, name := range slices.Sorted(maps.Keys(t.indexes)) {
		x := t.indexes[name]
		described := maps.Clone(x.definition)
		if !x.local {
			described["IndexStatus"] = "ACTIVE"
		}
		all, _ := d[x.list()].([]any)
		d[x.list()] = append(all, described)
	}
}

// typ returns the type of a key attribute.
func (t *table) typ(attribute string) string {
	d, _ := t.definitions[attribute].(object)
	return text(d, "AttributeType")
}

// has reports whether an item has an entry in an index.
func (x *index) has(item object) bool {
	return !slices.ContainsFunc(x.keys(), func(k string) bool { return item[k] == nil })
}

// entry returns the attributes of an item that an index has.
func (t *table) entry(x *index, item object) object {
	projection, _ := x.definition["Projection"].(object)
	if projection == nil || text(projection, "ProjectionType") == "ALL" {
		return item
	}
	out := pick(item, slices.Concat(t.keys(), x.keys()))
	more, _ := projection["NonKeyAttributes"].([]any)
	for _, name := range more {
		if v, ok := item[name.(string)]; ok {
			out[name.(string)] = v
		}
	}
	return out
}

// pick returns the attributes with these names.
func pick(item object, names []string) object {
	out := object{}
	for _, n := range names {
		if v, ok := item[n]; ok {
			out[n] = v
		}
	}
	return out
}

// check returns why DynamoDB refuses an item because of the key attributes of an index.
func (t *table) check(item object) error {
	for _, x := range t.indexes {
		for i, k := range x.keys() {
			v := scalar(item[k])
			if item[k] == nil {
				continue
			}
			if string(v.Type) != t.typ(k) {
				return fmt.Errorf("attribute %s: it has not its type as a key of an index: send that type", k)
			}
			limit := key.MaxPartition
			if i >= len(x.hash) {
				limit = key.MaxSort
			}
			if err := v.CheckSize(limit); err != nil {
				return fmt.Errorf("the attribute %s of an index: %w", k, err)
			}
		}
	}
	return nil
}

// timeToLiveOf answers the two operations of time to live. Items do not expire; DynamoDB promises no time
// either.
func (f *front) timeToLiveOf(operation, name string, in object) reply {
	t := f.tables[name]
	if t == nil {
		return noTable(name)
	}
	if operation == "DescribeTimeToLive" {
		return reply{http.StatusOK, object{"TimeToLiveDescription": t.timeToLive}}
	}
	specification, _ := in["TimeToLiveSpecification"].(object)
	t.timeToLive = object{"TimeToLiveStatus": "DISABLED"}
	if enabled, _ := specification["Enabled"].(bool); enabled {
		t.timeToLive = object{"TimeToLiveStatus": "ENABLED", "AttributeName": specification["AttributeName"]}
	}
	return reply{http.StatusOK, object{"TimeToLiveSpecification": specification}}
}
