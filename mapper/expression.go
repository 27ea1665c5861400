package mapper

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/schema"
)

// expression collects the placeholders of a request's expressions.
type expression struct {
	attributes []string
	values     []types.AttributeValue
	// room for those of most expressions
	fewAttributes [4]string
	fewValues     [6]types.AttributeValue
}

// name returns the placeholder of an attribute's name.
func (x *expression) name(attribute string) string {
	i := slices.Index(x.attributes, attribute)
	if x.attributes == nil {
		x.attributes = x.fewAttributes[:0]
	}
	if i < 0 {
		i = len(x.attributes)
		x.attributes = append(x.attributes, attribute)
	}
	return placeholder('#', i)
}

// placeholders are the first ones of names and values, which most expressions do with.
var placeholders = func() (all [2][32]string) {
	for i := range all[0] {
		all[0][i], all[1][i] = "#"+strconv.Itoa(i), ":"+strconv.Itoa(i)
	}
	return all
}()

func placeholder(sign byte, i int) string {
	switch {
	case i >= len(placeholders[0]):
		return string(sign) + strconv.Itoa(i)
	case sign == '#':
		return placeholders[0][i]
	}
	return placeholders[1][i]
}

// value returns the placeholder of a value.
func (x *expression) value(v types.AttributeValue) string {
	if x.values == nil {
		x.values = x.fewValues[:0]
	}
	x.values = append(x.values, v)
	return placeholder(':', len(x.values)-1)
}

func (x *expression) names() map[string]string {
	if len(x.attributes) == 0 {
		return nil
	}
	m := make(map[string]string, len(x.attributes))
	for i, a := range x.attributes {
		m[placeholder('#', i)] = a
	}
	return m
}

func (x *expression) valueMap() read.Item {
	if len(x.values) == 0 {
		return nil
	}
	m := make(read.Item, len(x.values))
	for i, v := range x.values {
		m[placeholder(':', i)] = v
	}
	return m
}

// updateExpression returns the SET and REMOVE of an update: just what changed,
// the version, and the staged attempt, which a write of an item ends.
func (c *core) updateExpression(x *expression, ch *change) string {
	var b strings.Builder
	b.Grow(64) // most expressions are shorter
	clause := func(word string, first bool, text ...string) {
		if first {
			b.WriteString(word)
		} else {
			b.WriteString(", ")
		}
		for _, t := range text {
			b.WriteString(t)
		}
	}
	for _, a := range ch.attributes {
		clause("SET ", b.Len() == 0, x.name(a.name), " = ", x.value(a.value))
	}
	if ch.patch != nil {
		for _, a := range ch.patch.defaults {
			clause("SET ", b.Len() == 0, x.name(a.name), " = if_not_exists(", x.name(a.name), ", ", x.value(a.value), ")")
		}
		for _, a := range ch.patch.increments {
			clause("SET ", b.Len() == 0, x.name(a.name), " = if_not_exists(", x.name(a.name), ", ", x.value(zero), ") + ", x.value(a.value))
		}
	}
	if c.schema.Version != "" {
		clause("SET ", b.Len() == 0, x.name(c.schema.Version), " = ", x.value(ch.token))
	}
	removes := 0
	remove := func(name string) {
		if removes == 0 && b.Len() > 0 {
			b.WriteByte(' ')
		}
		clause("REMOVE ", removes == 0, x.name(name))
		removes++
	}
	for _, a := range ch.removed {
		remove(a.name)
	}
	if ch.ofAttempt() && ch.item != c.schema.Root {
		remove(schema.Attempt)
	}
	return b.String()
}

// ofAttempt reports whether the item came with a staged insert, which a write of it ends.
func (ch *change) ofAttempt() bool {
	return ch.row != nil && ch.row.attempt != nil || ch.patch != nil && ch.patch.attempt != nil
}

// condition returns what must be true of the stored item for a change.
func (c *core) condition(x *expression, ch *change) string {
	switch {
	case ch.patch != nil:
		return c.patchCondition(x, ch)
	case ch.row == nil && ch.kind == KindDelete:
		return "" // whatever is there
	case ch.row == nil:
		return c.absent(x, ch)
	}
	if ch.row.version != nil {
		return x.name(c.schema.Version) + " = " + x.value(ch.row.version)
	}
	// Without a version the old values are what a write is conditional on: of
	// the attributes that it changes, or of all where it replaces the item.
	terms := []string{"attribute_exists(" + x.name(c.hash(ch)) + ")"}
	if c.schema.Version != "" {
		terms = append(terms, "attribute_not_exists("+x.name(c.schema.Version)+")")
	}
	for _, name := range c.guarded(ch) {
		if v, ok := ch.row.raw[name]; ok {
			terms = append(terms, x.name(name)+" = "+x.value(v))
		} else {
			terms = append(terms, "attribute_not_exists("+x.name(name)+")")
		}
	}
	return strings.Join(terms, " AND ")
}

// maxTerms is how many attributes a condition can compare: each takes an operator,
// and one joins it to the next.
const maxTerms = cost.MaxOperators / 2

// comparable refuses a change of an item without a version that has more attributes
// than a condition can compare.
func (c *core) comparable(ch *change) error {
	if ch.row == nil || ch.row.version != nil {
		return nil
	}
	if n := len(c.guarded(ch)); n+2 > maxTerms {
		return fmt.Errorf("%s.%s: the item %s has no version, and the %d attributes that its %s has to compare are more than a condition takes (%d): change fewer at once, or let the model's items have versions",
			c.schema.Label(), fieldOf(ch.item), c.public(ch.place), n, ch.kind, maxTerms-2)
	}
	return nil
}

func (c *core) hash(ch *change) string { return c.schema.Tables[ch.table].Hash }

// guarded lists the attributes whose old values a change without a version is
// conditional on.
func (c *core) guarded(ch *change) []string {
	var names []string
	if ch.kind == KindUpdate {
		for _, a := range append(slices.Clone(ch.attributes), ch.removed...) {
			names = append(names, a.name)
		}
		return names
	}
	t := c.schema.Tables[ch.table]
	for name := range ch.row.raw {
		if name != t.Hash && name != t.Range {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// absent is the condition of an insert: nothing is there, or what is there is
// expired, or left over from a staged write that never went live.
func (c *core) absent(x *expression, ch *change) string {
	text := "attribute_not_exists(" + x.name(c.hash(ch)) + ")"
	if c.schema.TTL != "" {
		text += " OR " + x.name(c.schema.TTL) + " <= " + x.value(epoch(c.now()))
	}
	switch g := ch.ghost; {
	case g == nil, g.expired:
	case g.stage != nil:
		text += " OR " + x.name(schema.State) + " = " + x.value(g.stage)
	case g.attempt != nil:
		text += " OR " + x.name(schema.Attempt) + " = " + x.value(g.attempt)
	}
	return text
}

var zero = &types.AttributeValueMemberN{Value: "0"}

func epoch(t time.Time) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(t.Unix(), 10)}
}
