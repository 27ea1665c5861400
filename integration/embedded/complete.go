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
	return out
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
	}
	for i, reason := range list(out.body, "CancellationReasons") {
		if text(reason, "Code") == "ConditionalCheckFailed" && i < len(writes) {
			found(reason, writes[i], before[i])
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
	key, _ := write["Key"].(object)
	if item, ok := write["Item"].(object); ok {
		key = object{}
		if t := f.tables[text(write, "TableName")]; t != nil {
			for _, k := range t.keys {
				key[k] = item[k]
			}
		}
	}
	got, _ := f.ask("GetItem", object{"TableName": write["TableName"], "Key": key}).body["Item"].(object)
	return got
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

// read passes on a Query or a Scan. minidyn finds nothing after a start key that does not exist, so the
// item is created for that time. All items are in the first segment of a Scan.
func (f *front) read(operation string, in object) reply {
	if segment, _ := in["Segment"].(float64); segment > 0 {
		return reply{http.StatusOK, object{"Items": []any{}}}
	}
	if start, ok := in["ExclusiveStartKey"].(object); ok {
		about := object{"TableName": in["TableName"], "Key": start, "Item": start}
		if f.item(about) == nil {
			f.ask("PutItem", about)
			defer f.ask("DeleteItem", about)
		}
	}
	return f.ask(operation, in)
}
