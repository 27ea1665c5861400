package embedded

import (
	"net/http"
	"regexp"
	"strings"
)

// minidyn 0.8.2 ignores REMOVE, and does not return the item of a refused put or delete. A mapper needs
// both.

// write passes on a write of one item.
func (f *front) write(operation string, in object) reply {
	if err := f.fits(in["TableName"], in["Item"]); err != nil {
		return invalid(err)
	}
	before := f.item(in)
	out := f.ask(operation, in)
	if out.status != http.StatusOK {
		if strings.HasSuffix(text(out.body, "__type"), "ConditionalCheckFailedException") {
			found(out.body, in, before)
		}
		return out
	}
	attributes, _ := out.body["Attributes"].(object)
	for _, attribute := range f.remove(in) {
		if strings.HasSuffix(text(in, "ReturnValues"), "_NEW") {
			delete(attributes, attribute)
		}
	}
	if err := f.fits(in["TableName"], f.item(in)); err != nil {
		f.restore(in, before)
		return invalid(err)
	}
	return out
}

// batch passes on a batch of writes, if all of its items fit the indexes.
func (f *front) batch(in object) reply {
	tables, _ := in["RequestItems"].(object)
	for name := range tables {
		for _, request := range list(tables, name) {
			put, _ := request["PutRequest"].(object)
			if err := f.fits(name, put["Item"]); err != nil {
				return invalid(err)
			}
		}
	}
	return f.ask("BatchWriteItem", in)
}

// fits returns why DynamoDB refuses an item because of an index of its table.
func (f *front) fits(name, item any) error {
	table, _ := name.(string)
	o, _ := item.(object)
	if t := f.tables[table]; t != nil {
		return t.check(o)
	}
	return nil
}

// restore undoes a write.
func (f *front) restore(write, before object) {
	if before != nil {
		f.ask("PutItem", object{"TableName": write["TableName"], "Item": before})
	} else {
		f.ask("DeleteItem", object{"TableName": write["TableName"], "Key": f.key(write)})
	}
}

// transact passes on a transaction of writes.
func (f *front) transact(in object) reply {
	var writes, before []object
	for _, action := range list(in, "TransactItems") {
		for _, w := range action {
			w, _ := w.(object)
			writes, before = append(writes, w), append(before, f.item(w))
		}
	}
	out := f.ask("TransactWriteItems", in)
	if out.status == http.StatusOK {
		for _, w := range writes {
			f.remove(w)
		}
		return f.fitting(out, writes, before)
	}
	for i, reason := range list(out.body, "CancellationReasons") {
		if text(reason, "Code") == "ConditionalCheckFailed" && i < len(writes) {
			found(reason, writes[i], before[i])
		}
	}
	return out
}

// fitting returns the answer of a transaction. If an item does not fit the indexes, it undoes the transaction.
func (f *front) fitting(out reply, writes, before []object) reply {
	for _, w := range writes {
		if err := f.fits(w["TableName"], f.item(w)); err != nil {
			for i, w := range writes {
				f.restore(w, before[i])
			}
			return invalid(err)
		}
	}
	return out
}

// found adds the stored item to a failed condition, if the write asked for it.
func found(answer, write, item object) {
	if item != nil && text(write, "ReturnValuesOnConditionCheckFailure") == "ALL_OLD" {
		answer["Item"] = item
	}
}

// item returns the stored item of a write, or nil.
func (f *front) item(write object) object {
	got := f.ask("GetItem", object{"TableName": write["TableName"], "Key": f.key(write)})
	item, _ := got.body["Item"].(object)
	return item
}

// key returns the key of a write.
func (f *front) key(write object) object {
	key, _ := write["Key"].(object)
	if item, ok := write["Item"].(object); ok {
		key = object{}
		if t := f.tables[text(write, "TableName")]; t != nil {
			for _, k := range t.keys() {
				key[k] = item[k]
			}
		}
	}
	return key
}

// removes matches the clause REMOVE of an update expression.
var removes = regexp.MustCompile(`(?i)(?:^|\s)REMOVE\s+(.*?)(?:\s+(?:SET|ADD|DELETE)\s|$)`)

// remove removes attributes, which minidyn does not, and returns their names. minidyn itself removes
// values inside an attribute.
func (f *front) remove(write object) []string {
	clause := removes.FindStringSubmatch(strings.ReplaceAll(text(write, "UpdateExpression"), "\n", " "))
	if clause == nil {
		return nil
	}
	names, _ := write["ExpressionAttributeNames"].(object)
	item, removed := f.item(write), []string(nil)
	for path := range strings.SplitSeq(clause[1], ",") {
		attribute := strings.TrimSpace(path)
		if strings.ContainsAny(attribute, ".[") {
			continue
		}
		if name := text(names, attribute); name != "" {
			attribute = name
		}
		delete(item, attribute)
		removed = append(removed, attribute)
	}
	if removed != nil {
		f.ask("PutItem", object{"TableName": write["TableName"], "Item": item})
	}
	return removed
}
