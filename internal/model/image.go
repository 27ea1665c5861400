package model

import (
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/request/wire"
)

// Room is the memory that the items of one answer share. It also keeps the plans of the shapes of items
// from the wire.
type Room struct {
	// Items is how many there are.
	Items  int
	values []key.Value
	sizes  []int32
	now    time.Time
	kind   *schema.Item // of the item before
	light  bool
	wire   wireRoom
}

func (s *Room) forValues(n int) []key.Value {
	if len(s.values) < n {
		s.values = make([]key.Value, max(n, n*s.Items))
	}
	out := s.values[:n:n]
	s.values = s.values[n:]
	return out
}

func (s *Room) forSizes(n int) []int32 {
	if len(s.sizes) < n {
		s.sizes = make([]int32, max(n, n*s.Items))
	}
	out := s.sizes[:n:n]
	s.sizes = s.sizes[n:]
	return out
}

// Describe makes images of the items of one answer, as they were read from a table.
func (m *Model) Describe(t *item.Table, items []item.Attributes) ([]item.Image, error) {
	room := &Room{Items: len(items)}
	images := make([]item.Image, len(items))
	for i, a := range items {
		if err := m.describe(&images[i], t, a, room); err != nil {
			return nil, err
		}
	}
	return images, nil
}

// DescribeWire is Describe for items that the SDK has not decoded, into zero images; light has the
// meaning of package read. Items with the keys of at reuse them.
func (m *Model) DescribeWire(at item.Place, items []wire.Item, light bool, into []item.Image) error {
	room := &Room{Items: len(items), light: light, wire: wireRoom{pk: at.PK, sk: at.SK}}
	for i, it := range items {
		if err := m.describeWire(&into[i], at.Table, it, room); err != nil {
			return err
		}
	}
	return nil
}

// DescribeItems is Describe of items that were described for another model.
func (m *Model) DescribeItems(t *item.Table, items []*item.Image) ([]item.Image, error) {
	room := &Room{Items: len(items)}
	images := make([]item.Image, len(items))
	for i, was := range items {
		var err error
		if was.Wire.Shape != nil {
			err = m.describeWire(&images[i], t, was.Wire, room)
		} else {
			err = m.describe(&images[i], t, was.Arguments, room)
		}
		if err != nil {
			return nil, err
		}
		images[i].Answer = was.Answer
	}
	return images, nil
}

// Image describes one item of a table.
func (m *Model) Image(t *item.Table, a item.Attributes) (item.Image, error) {
	var img item.Image
	err := m.describe(&img, t, a, &Room{})
	return img, err
}

func (m *Model) describe(img *item.Image, t *item.Table, a item.Attributes, room *Room) error {
	img.Table, img.Arguments, img.Header = t, a, m.Reserved.Header(a)
	var ok bool
	if img.PK, ok = attr.ScalarOf(a[t.Hash]); !ok {
		return m.wrongKey(t, t.Hash)
	}
	if t.Range != "" {
		if img.SK, ok = attr.ScalarOf(a[t.Range]); !ok {
			return m.wrongKey(t, t.Range)
		}
	}
	m.match(img, room)
	measure(img, room)
	return nil
}

// match finds out of which kind an item is, and whether its time is over.
func (m *Model) match(img *item.Image, room *Room) {
	img.Kind, img.Values = m.Schema.MatchIn(img.Table.Index, img.SK, room.kind, room.forValues)
	if img.Kind != nil && img.Table.Period != "" && !m.inPeriod(img) {
		img.Kind, img.Values = nil, nil // where no key leads to it
	}
	room.kind = img.Kind
	if img.Header.Expiry != nil {
		if room.now.IsZero() {
			room.now = m.Now()
		}
		img.Expired = img.Header.Expired(room.now)
	}
}

func measure(img *item.Image, room *Room) {
	if img.Kind != nil {
		img.Sizes = room.forSizes(len(img.Kind.Attributes))
	}
	for name, v := range img.Arguments {
		n := attr.AttributeSize(name, v)
		img.Size += n
		if img.Kind == nil {
			continue
		}
		if i := img.Kind.Attribute(name); i >= 0 {
			img.Sizes[i] = int32(n)
			img.Listed++
		} else if img.Kind.Former(name) >= 0 {
			img.Former = append(img.Former, name)
		}
	}
}

func (m *Model) wrongKey(t *item.Table, attribute string) error {
	return m.Errorf("an item of the table %q lacks the key attribute %q: declare the table's own with hash= and "+
		"range=",
		t.Name, attribute)
}

// wireRoom is the memory that items from the wire share.
type wireRoom struct {
	// plan is that of the item before.
	plan *plan
	// pk and incarnation are those of the item before, which the next one mostly has as well.
	pk          key.Scalar
	incarnation *types.AttributeValueMemberB
	versions    []item.Token
	// sk is the sort key that was asked for, the zero one for several.
	sk key.Scalar
}

// plan has, for a shape of items and a model, the positions of the keys and the reserved attributes (-1
// for one that is absent), and the possible kinds.
type plan struct {
	shape      *wire.Shape
	table      int
	hash, sort int
	header     item.Places
	kinds      []kindPlan
}

// kindPlan relates a shape to a kind of item: see [item.Image].
type kindPlan struct {
	kind   *schema.Item
	at     []int32
	listed int
	former []string
}

func (m *Model) describeWire(img *item.Image, t *item.Table, it wire.Item, room *Room) error {
	r := &room.wire
	p := r.planOf(m, t, it.Shape)
	img.Table, img.Wire, img.Size = t, it, it.Bytes()
	var ok bool
	if img.PK, ok = scalar(it, p.hash, r.pk); !ok {
		return m.wrongKey(t, t.Hash)
	}
	r.pk = img.PK
	if t.Range != "" {
		if img.SK, ok = scalar(it, p.sort, r.sk); !ok {
			return m.wrongKey(t, t.Range)
		}
	}
	img.Header = item.Header{
		Incarnation: r.same(it, p.header.Incarnation), Stage: value(it, p.header.Stage),
		Expiry: value(it, p.header.Expiry),
	}
	if !room.light {
		img.Header.Version = r.version(it, p.header.Version, room.Items)
	}
	m.match(img, room)
	if img.Kind == nil {
		return nil
	}
	k := p.of(img.Kind)
	img.At, img.Listed, img.Former = k.at, k.listed, k.former
	if room.light {
		return nil
	}
	img.Sizes = room.forSizes(len(k.at))
	for i, at := range k.at {
		if at >= 0 {
			img.Sizes[i] = int32(it.Size(int(at)))
		}
	}
	return nil
}

// planOf returns the plan of a shape. Plans are kept with the model: shapes come again.
func (r *wireRoom) planOf(m *Model, t *item.Table, s *wire.Shape) *plan {
	if p := r.plan; p != nil && p.shape == s && p.table == t.Index {
		return p
	}
	plans := m.plans.Load()
	if plans == nil || len(*plans) >= maxPlans {
		plans = &[]*plan{}
	}
	for _, p := range *plans {
		if p.shape == s && p.table == t.Index {
			r.plan = p
			return p
		}
	}
	r.plan = newPlan(m, t, s)
	all := append(slices.Clip(*plans), r.plan)
	m.plans.Store(&all) // another one that is lost is made again
	return r.plan
}

// maxPlans bounds how many plans a model keeps.
const maxPlans = 64

func newPlan(m *Model, t *item.Table, s *wire.Shape) *plan {
	p := &plan{shape: s, table: t.Index, hash: s.Index(t.Hash), sort: s.Index(t.Range), header: m.Reserved.Places(s)}
	for _, it := range m.Schema.Items {
		if it.Table.Index == t.Index {
			p.kinds = append(p.kinds, newKindPlan(it, s))
		}
	}
	return p
}

// of returns what the shape is to a kind.
func (p *plan) of(it *schema.Item) *kindPlan {
	for i := range p.kinds {
		if p.kinds[i].kind == it {
			return &p.kinds[i]
		}
	}
	panic("a kind of another table")
}

func newKindPlan(it *schema.Item, s *wire.Shape) kindPlan {
	k := kindPlan{kind: it, at: make([]int32, len(it.Attributes))}
	for i := range k.at {
		k.at[i] = -1
	}
	for at, name := range s.Names {
		if i := it.Attribute(name); i >= 0 {
			k.at[i] = int32(at)
			k.listed++
		} else if it.Former(name) >= 0 {
			k.former = append(k.former, name)
		}
	}
	return k
}

// value returns an attribute as the SDK decodes it, nil for none.
func value(it wire.Item, at int) types.AttributeValue {
	if at < 0 {
		return nil
	}
	return it.Value(at).Attribute()
}

// scalar returns the value of a key attribute: what it is likely to be, without a copy, if that is so.
func scalar(it wire.Item, at int, likely key.Scalar) (s key.Scalar, ok bool) {
	if at < 0 {
		return s, false
	}
	v := it.Value(at)
	switch {
	case v.Kind() != wire.S:
		return attr.ScalarOf(v.Attribute())
	case likely.Type == 'S' && likely.Text == v.Peek():
		return likely, true
	}
	return key.Scalar{Type: 'S', Text: v.String()}, true
}

// same returns the incarnation, which is that of the item before if it is the same: it is not changed by anybody.
func (r *wireRoom) same(it wire.Item, at int) types.AttributeValue {
	if at < 0 {
		return nil
	}
	v := it.Value(at)
	if v.Kind() != wire.B {
		return v.Attribute()
	}
	switch {
	case r.incarnation != nil && string(r.incarnation.Value) == v.Peek():
	case len(v.Peek()) == item.TokenSize:
		r.incarnation = new(item.Token).Set(v.Peek())
	default:
		r.incarnation = &types.AttributeValueMemberB{Value: v.Bytes()}
	}
	return r.incarnation
}

// version returns an item's version, in memory that those of an answer share.
func (r *wireRoom) version(it wire.Item, at, items int) types.AttributeValue {
	if at < 0 {
		return nil
	}
	v := it.Value(at)
	if v.Kind() != wire.B || len(v.Peek()) != item.TokenSize {
		return v.Attribute()
	}
	if len(r.versions) == 0 {
		r.versions = make([]item.Token, max(items, 1))
	}
	t := &r.versions[0]
	r.versions = r.versions[1:]
	return t.Set(v.Peek())
}
