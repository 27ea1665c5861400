package embedded

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/truora/minidyn/interpreter"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model/key"
)

// minidyn 0.8.2 orders numbers as text, loses entries of indexes, and finds nothing after a start key that
// does not exist. So the front answers Query and Scan itself, from all items of the table. minidyn evaluates
// filters and projections.

// pageSize is the number of bytes after which a page ends.
const pageSize = 1 << 20

var (
	words     = regexp.MustCompile(`([.:]?)([#A-Za-z_][A-Za-z0-9_]*)(\s*\()?`)
	operators = []string{"AND", "OR", "NOT", "BETWEEN", "IN"}
)

// search is a Query or a Scan.
type search struct {
	in         object
	table      *table
	index      *index
	conditions []condition
	names      map[string]string
}

func (f *front) search(operation string, in object) reply {
	t := f.tables[text(in, "TableName")]
	if t == nil {
		return noTable(text(in, "TableName"))
	}
	s := &search{in: in, table: t, index: &t.index, names: names(in)}
	if err := s.prepare(operation); err != nil {
		return invalid(err)
	}
	var all []object
	if segment, _ := in["Segment"].(float64); segment == 0 { // all items are in the first segment of a Scan
		all = list(f.ask("Scan", object{"TableName": in["TableName"]}).body, "Items")
	}
	out, err := s.page(all)
	if err != nil {
		return invalid(err)
	}
	return reply{http.StatusOK, out}
}

// prepare finds the index and the conditions.
func (s *search) prepare(operation string) (err error) {
	if name := text(s.in, "IndexName"); name != "" {
		if s.index = s.table.indexes[name]; s.index == nil {
			return fmt.Errorf("table: it has no index %s: create it with the table or with UpdateTable", name)
		}
	}
	projection, _ := s.index.definition["Projection"].(object)
	global := s.index != &s.table.index && !s.index.local
	if strong, _ := s.in["ConsistentRead"].(bool); strong && global {
		return errors.New("global index: it has no consistent reads: leave ConsistentRead out")
	}
	if global && text(s.in, "Select") == "ALL_ATTRIBUTES" && text(projection, "ProjectionType") != "ALL" {
		return errors.New("global index: it does not project all attributes: leave ALL_ATTRIBUTES out")
	}
	if err := undefined(s.in); err != nil {
		return err
	}
	if err := s.projected(operation, global); err != nil {
		return err
	}
	if operation == "Query" {
		if s.conditions, err = s.parse(text(s.in, "KeyConditionExpression")); err != nil {
			return err
		}
	}
	if start, ok := s.in["ExclusiveStartKey"].(object); ok {
		key := pick(start, s.position())
		if len(key) != len(start) || len(key) != len(s.position()) || !s.fits(start) {
			return errors.New("start key: it is no key of this search: send LastEvaluatedKey unchanged")
		}
	}
	return nil
}

// projected returns an error if an expression names an attribute that it must not: one that the index does not
// have, or in the filter of a query a key.
func (s *search) projected(operation string, global bool) error {
	for _, attribute := range s.attributes("FilterExpression") {
		if len(s.table.entry(s.index, object{attribute: true})) == 0 {
			return fmt.Errorf("filter: the index does not project %s: filter by attributes that it has", attribute)
		}
		if operation == "Query" && slices.Contains(s.index.keys(), attribute) {
			return fmt.Errorf("filter: %s is a key: use a key condition", attribute)
		}
	}
	for _, attribute := range s.attributes("ProjectionExpression") {
		if global && len(s.table.entry(s.index, object{attribute: true})) == 0 {
			return fmt.Errorf("projection: the index does not project %s: leave it out", attribute)
		}
	}
	return nil
}

// attributes returns the attributes of an item that an expression names.
func (s *search) attributes(expression string) (out []string) {
	for _, m := range words.FindAllStringSubmatch(text(s.in, expression), -1) {
		if m[1] != "" || m[3] != "" || slices.Contains(operators, strings.ToUpper(m[2])) {
			continue // a part of an attribute, a value, a function or an operator
		}
		out = append(out, cmp.Or(s.names[m[2]], m[2]))
	}
	return out
}

// position returns the attributes that give an item its place in the order.
func (s *search) position() (out []string) {
	for _, k := range slices.Concat(s.index.keys(), s.table.keys()) {
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

func (s *search) compare(a, b object) int {
	c := 0
	for _, k := range s.position() {
		c = cmp.Or(c, key.Compare(scalar(a[k]), scalar(b[k])))
	}
	if forward, ok := s.in["ScanIndexForward"].(bool); ok && !forward {
		return -c
	}
	return c
}

// page returns the page after the start key.
func (s *search) page(all []object) (object, error) {
	found := slices.DeleteFunc(all, func(item object) bool { return !s.index.has(item) || !s.fits(item) })
	slices.SortFunc(found, s.compare)
	if start, ok := s.in["ExclusiveStartKey"].(object); ok {
		found = slices.DeleteFunc(found, func(item object) bool { return s.compare(item, start) <= 0 })
	}
	limit, _ := s.in["Limit"].(float64)
	out, items := object{}, []any{}
	bytes, fetched, count, scanned := 0, 0.0, 0, 0
	for _, item := range found {
		entry := s.table.entry(s.index, item)
		shown, err := s.match(item, entry)
		if err != nil {
			return nil, err
		}
		bytes, scanned = bytes+itemSize(entry), scanned+1
		if s.fetches(item, entry) {
			fetched += cost.ReadUnits(itemSize(item))
		}
		if shown != nil {
			items, count = append(items, shown), count+1
		}
		if scanned == int(limit) || bytes >= pageSize {
			out["LastEvaluatedKey"] = pick(item, s.position())
			break
		}
	}
	out["Count"], out["ScannedCount"] = count, scanned
	s.charge(out, cost.ReadUnits(bytes), fetched)
	if text(s.in, "Select") != "COUNT" {
		out["Items"] = items
	}
	return out, nil
}

// charge adds the consumed capacity of a page: of the entries that it read, and of the items behind a local index.
func (s *search) charge(out object, read, fetched float64) {
	if strong, _ := s.in["ConsistentRead"].(bool); !strong {
		read, fetched = read/2, fetched/2
	}
	units := map[string]float64{"": fetched}
	units[text(s.in, "IndexName")] += read
	if mode := text(s.in, "ReturnConsumedCapacity"); mode == "TOTAL" || mode == "INDEXES" {
		out["ConsumedCapacity"] = s.table.charge(text(s.in, "TableName"), mode, units)
	}
}

// fetches reports whether a query of a local index reads the item too.
func (s *search) fetches(item, entry object) bool {
	return s.index.local && len(entry) < len(item) &&
		(text(s.in, "Select") == "ALL_ATTRIBUTES" || text(s.in, "ProjectionExpression") != "")
}

// match returns what the filter and the projection leave of an item, or nil.
func (s *search) match(item, entry object) (object, error) {
	if s.fetches(item, entry) {
		entry = item
	}
	var minidyn interpreter.Language
	if filter := text(s.in, "FilterExpression"); filter != "" {
		values, _ := s.in["ExpressionAttributeValues"].(object)
		ok, err := minidyn.Match(interpreter.MatchInput{
			Expression: filter, ExpressionType: interpreter.ExpressionTypeFilter,
			Item: typed(entry), Attributes: typed(values), Aliases: s.names,
		})
		if err != nil || !ok {
			return nil, err
		}
	}
	projection := text(s.in, "ProjectionExpression")
	if projection == "" {
		return entry, nil
	}
	out, err := minidyn.Project(interpreter.ProjectInput{
		Expression: projection, Item: typed(entry), Aliases: s.names,
	})
	return untyped(out), err
}
