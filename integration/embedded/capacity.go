package embedded

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/itemize/itemize/cost"
)

// charged runs a request of items, and adds the consumed capacity to its answer, which minidyn does not report.
func (f *front) charged(operation string, in object, run func() reply) reply {
	mode := text(in, "ReturnConsumedCapacity")
	if mode != "TOTAL" && mode != "INDEXES" {
		return run()
	}
	touched, before := targets(operation, in), []object(nil)
	for _, w := range touched {
		before = append(before, f.item(w))
	}
	out := run()
	if out.status != http.StatusOK {
		return out
	}
	sums := map[string]map[string]float64{} // by table and index
	for i, w := range touched {
		name := text(w, "TableName")
		if sums[name] == nil {
			sums[name] = map[string]float64{}
		}
		for index, units := range f.units(operation, w, before[i]) {
			sums[name][index] += units
		}
	}
	all := []any{}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		all = append(all, f.tables[name].charge(name, mode, sums[name]))
	}
	if out.body["ConsumedCapacity"] = any(all); slices.Contains(single, operation) {
		out.body["ConsumedCapacity"] = all[0]
	}
	return out
}

// single are the operations of one item.
var single = []string{"PutItem", "DeleteItem", "UpdateItem", "GetItem"}

// targets returns what a request reads or writes. Each has a TableName, and a Key or an Item.
func targets(operation string, in object) (all []object) {
	if slices.Contains(single, operation) {
		return []object{in}
	}
	for _, action := range list(in, "TransactItems") {
		for _, w := range action {
			w, _ := w.(object)
			all = append(all, w)
		}
	}
	tables, _ := in["RequestItems"].(object)
	for name := range tables {
		get, _ := tables[name].(object)
		for _, k := range list(get, "Keys") {
			all = append(all, object{"TableName": name, "Key": k, "ConsistentRead": get["ConsistentRead"]})
		}
		for _, request := range list(tables, name) {
			for _, w := range request {
				w, _ := w.(object)
				all = append(all, object{"TableName": name, "Key": w["Key"], "Item": w["Item"]})
			}
		}
	}
	return all
}

// units returns the units of one item, those of the table under "" and those of its indexes.
func (f *front) units(operation string, w, before object) map[string]float64 {
	factor, out := 1.0, map[string]float64{}
	if strings.HasPrefix(operation, "Transact") {
		factor = 2
	}
	if strings.Contains(operation, "Get") {
		if strong, _ := w["ConsistentRead"].(bool); !strong && factor == 1 {
			factor = 0.5
		}
		out[""] = factor * cost.ReadUnits(itemSize(before))
		return out
	}
	after, t := f.item(w), f.tables[text(w, "TableName")]
	out[""] = factor * cost.Put(itemSize(before), itemSize(after))
	for name, x := range t.indexes {
		if n := t.rewrite(x, before, after); n > 0 {
			out[name] = n // the copy of a transaction is no transaction
		}
	}
	return out
}

// rewrite returns the units of a write in an index.
func (t *table) rewrite(x *index, before, after object) (units float64) {
	var entries []object
	for _, item := range []object{before, after} {
		if x.has(item) {
			entries = append(entries, t.entry(x, item))
		}
	}
	if len(entries) == 2 && reflect.DeepEqual(entries[0], entries[1]) {
		return 0
	}
	if len(entries) == 2 && reflect.DeepEqual(pick(before, x.keys()), pick(after, x.keys())) {
		return cost.Put(itemSize(entries[0]), itemSize(entries[1]))
	}
	for _, e := range entries {
		units += cost.WriteUnits(itemSize(e))
	}
	return units
}

// charge returns the consumed capacity of a table as an answer has it.
func (t *table) charge(name, mode string, units map[string]float64) object {
	total, out := 0.0, object{"TableName": name}
	for index, n := range units {
		if total += n; mode != "INDEXES" {
			continue
		}
		if index == "" {
			out["Table"] = object{"CapacityUnits": n}
			continue
		}
		field := t.indexes[index].list()
		if out[field] == nil {
			out[field] = object{}
		}
		out[field].(object)[index] = object{"CapacityUnits": n}
	}
	out["CapacityUnits"] = total
	return out
}
