package discover

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/advice/charge"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/naming"
)

// census counts the items of a sample that have a name, as an attribute or as an entry of a map at any depth. It
// decides for all entity types of the sample which names are data.
type census struct {
	items  int
	counts map[string]int
	// last is the latest item that has a name.
	last map[string]int
}

// maxCensus bounds the names that a census counts, and censusDepth the depth at which it looks for them. Names beyond
// that count as data.
const (
	maxCensus   = 200_000
	censusDepth = 12
)

// censusOf counts the names of a sample of some items in all. A text that is a JSON object counts as a map.
func censusOf(items []item.Attributes, all int) *census {
	c := &census{counts: map[string]int{}, last: map[string]int{}}
	for _, it := range items {
		c.items++
		c.entries(it, 0)
	}
	c.last = nil
	c.items = max(c.items, all)
	return c
}

func (c *census) entries(all item.Attributes, depth int) {
	for name, v := range all {
		if c.last[name] != c.items && (len(c.counts) < maxCensus || c.counts[name] > 0) {
			c.counts[name]++
			c.last[name] = c.items
		}
		c.value(v, depth+1)
	}
}

func (c *census) value(v types.AttributeValue, depth int) {
	if depth > censusDepth {
		return
	}
	switch v := v.(type) {
	case *types.AttributeValueMemberM:
		c.entries(v.Value, depth)
	case *types.AttributeValueMemberL:
		for _, e := range v.Value {
			c.value(e, depth+1)
		}
	case *types.AttributeValueMemberS:
		if strings.HasPrefix(v.Value, "{") {
			if all, err := charge.ItemFromPlainJSON([]byte(v.Value)); err == nil {
				c.entries(all, depth)
			}
		}
	}
}

// isData reports whether a name counts as data: by its form, or because few items of a large sample have it.
func (c *census) isData(name string) bool { return naming.IsData(name, c.counts[name], c.items) }

// hides reports whether a name is left out of reports and written files: it is data, or cannot be in a tag.
func (c *census) hides(name string) bool { return !naming.Printable(name) || c.isData(name) }
