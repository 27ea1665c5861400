package record

import (
	"container/list"
	"hash/maphash"
	"math/bits"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/advice/trace"
	"github.com/itemize/itemize/internal/model/attr"
)

// content has hashes of the attributes of an item, and of the elements of its lists and maps.
type content map[string]value

type value struct {
	hash uint64
	// elements are hashes: of the elements of a list, or of the entries of a map by their keys.
	elements []uint64
	entries  map[uint64]uint64
}

// maxElements is the number of elements of an attribute that are compared one by one.
const maxElements = 1000

// contentOf hashes an item.
func (r *Recorder) contentOf(it attributes) content {
	c := make(content, len(it))
	for name, v := range it {
		x := value{hash: r.hash(v)}
		switch v := v.(type) {
		case *types.AttributeValueMemberL:
			if len(v.Value) <= maxElements {
				x.elements = make([]uint64, len(v.Value))
				for i, e := range v.Value {
					x.elements[i] = r.hash(e)
				}
			}
		case *types.AttributeValueMemberM:
			if len(v.Value) <= maxElements {
				x.entries = make(map[uint64]uint64, len(v.Value))
				for k, e := range v.Value {
					x.entries[maphash.String(r.seed, k)] = r.hash(e)
				}
			}
		}
		c[name] = x
	}
	return c
}

// hash returns the hash of a value with the random seed. The order of sets and of entries does not matter.
func (r *Recorder) hash(v types.AttributeValue) uint64 {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return mix(maphash.String(r.seed, v.Value), 1)
	case *types.AttributeValueMemberN:
		return mix(maphash.String(r.seed, attr.Canonical(v.Value)), 2)
	case *types.AttributeValueMemberB:
		return mix(maphash.Bytes(r.seed, v.Value), 3)
	case *types.AttributeValueMemberBOOL:
		return mix(uint64(len(strconv.FormatBool(v.Value))), 4)
	case *types.AttributeValueMemberNULL:
		return mix(0, 5)
	case *types.AttributeValueMemberSS:
		return r.set(v.Value, 6)
	case *types.AttributeValueMemberNS:
		return r.set(v.Value, 7)
	case *types.AttributeValueMemberBS:
		return r.set(attr.Texts(v.Value), 8)
	case *types.AttributeValueMemberL:
		h := uint64(len(v.Value))
		for _, e := range v.Value {
			h = mix(h, r.hash(e))
		}
		return mix(h, 9)
	case *types.AttributeValueMemberM:
		h := uint64(len(v.Value))
		for k, e := range v.Value {
			h += mix(maphash.String(r.seed, k), r.hash(e))
		}
		return mix(h, 10)
	}
	return 0
}

func (r *Recorder) set(elements []string, kind uint64) uint64 {
	h := uint64(len(elements))
	for _, s := range elements {
		h += mix(maphash.String(r.seed, s), kind)
	}
	return mix(h, kind)
}

// mix joins two hashes. The order matters.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xd6e8feb86659fd93)
	return hi ^ lo ^ a<<1
}

// compare adds the differences of two contents to an operation: changed attributes, and of lists and maps the numbers
// of elements.
func compare(was, is content, keys []string, o *trace.Operation) {
	for name, old := range was {
		if _, ok := is[name]; !ok && !slices.Contains(keys, name) {
			include(&o.Writes, name)
			count(&o.Remove, name, old.size())
		}
	}
	for name, v := range is {
		old, ok := was[name]
		switch {
		case slices.Contains(keys, name) || ok && v.hash == old.hash:
		case v.elements != nil && (old.elements != nil || !ok):
			compareLists(name, old.elements, v.elements, o)
		case v.entries != nil && (old.entries != nil || !ok):
			compareMaps(name, old.entries, v.entries, o)
		default:
			include(&o.Writes, name)
		}
	}
}

func (v value) size() int { return len(v.elements) + len(v.entries) }

// compareLists counts the elements between the equal beginning and the equal end of two lists.
func compareLists(name string, was, is []uint64, o *trace.Operation) {
	for len(was) > 0 && len(is) > 0 && was[0] == is[0] {
		was, is = was[1:], is[1:]
	}
	for len(was) > 0 && len(is) > 0 && was[len(was)-1] == is[len(is)-1] {
		was, is = was[:len(was)-1], is[:len(is)-1]
	}
	left := map[uint64]int{}
	for _, h := range was {
		left[h]++
	}
	added, removed := 0, len(was)
	for _, h := range is {
		if left[h] > 0 {
			left[h]--
			removed--
		} else {
			added++
		}
	}
	changed := min(added, removed)
	count(&o.Change, name, changed)
	count(&o.Add, name, added-changed)
	count(&o.Remove, name, removed-changed)
	if added+removed == 0 { // only the order
		count(&o.Change, name, max(1, len(is)))
	}
}

func compareMaps(name string, was, is map[uint64]uint64, o *trace.Operation) {
	for k, h := range is {
		if old, ok := was[k]; !ok {
			count(&o.Add, name, 1)
		} else if old != h {
			count(&o.Change, name, 1)
		}
	}
	for k := range was {
		if _, ok := is[k]; !ok {
			count(&o.Remove, name, 1)
		}
	}
}

// contents has the contents of the items that were used last.
type contents struct {
	order *list.List // of *entry, the last used first
	at    map[uint64]*list.Element
	size  int // hashes
}

type entry struct {
	key     uint64
	content content // nil for a deleted item
	size    int
}

// Limits of the memory: of items, and of hashes.
const (
	maxItems  = 1000
	maxHashes = 500_000
)

func newContents() *contents { return &contents{list.New(), map[uint64]*list.Element{}, 0} }

// get returns the content of an item. ok is false if it is unknown.
func (c *contents) get(key uint64) (_ content, ok bool) {
	e := c.at[key]
	if e == nil {
		return nil, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*entry).content, true
}

// set keeps the content of an item, and forgets the items that were not used for longest.
func (c *contents) set(key uint64, x content) {
	c.forget(key)
	k := &entry{key, x, 1}
	for _, v := range x {
		k.size += 1 + v.size()
	}
	c.at[key] = c.order.PushFront(k)
	c.size += k.size
	for len(c.at) > maxItems || c.size > maxHashes {
		c.forget(c.order.Back().Value.(*entry).key)
	}
}

func (c *contents) forget(key uint64) {
	if e := c.at[key]; e != nil {
		c.size -= e.Value.(*entry).size
		c.order.Remove(e)
		delete(c.at, key)
	}
}

// maxRows is the number of elements of a list whose sizes a document has.
const maxRows = 60

// documentOf returns the sizes of an item.
func documentOf(it attributes, keys []string) trace.Document {
	d := trace.Document{Sizes: map[string]int{}, Lists: map[string]trace.List{}}
	for name, v := range it {
		if slices.Contains(keys, name) {
			continue
		}
		d.Sizes[name] = attr.AttributeSize(name, v)
		switch v := v.(type) {
		case *types.AttributeValueMemberL:
			l := trace.List{Count: len(v.Value)}
			for i := range min(maxRows, len(v.Value)) { // evenly spread
				l.Element(v.Value[i*len(v.Value)/min(maxRows, len(v.Value))])
			}
			d.Lists[name] = l
		case *types.AttributeValueMemberM:
			// a map is a list if its entries are alike: maps
			l := trace.List{Count: len(v.Value)}
			for k, e := range v.Value {
				if _, ok := e.(*types.AttributeValueMemberM); !ok {
					l = trace.List{}
					break
				}
				if len(l.Attributes) < maxRows {
					l.Keys = append(l.Keys, len(k))
					l.Element(e)
				}
			}
			if len(l.Attributes) > 0 {
				d.Lists[name] = l
			}
		}
	}
	return d
}
