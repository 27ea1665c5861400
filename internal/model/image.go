package model

import (
	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/key"
)

// Room is memory for what is known of the items of one answer, given out in parts.
type Room struct {
	// Items is how many there are.
	Items  int
	values []key.Value
	sizes  []int32
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

// Image describes one item of a table.
func (m *Model) Image(t *item.Table, a item.Attributes) (item.Image, error) {
	var img item.Image
	err := m.describe(&img, t, a, &Room{})
	return img, err
}

func (m *Model) describe(img *item.Image, t *item.Table, a item.Attributes, room *Room) error {
	img.Table, img.Attributes, img.Header = t, a, m.Reserved.Header(a)
	var ok bool
	if img.PK, ok = attr.ScalarOf(a[t.Hash]); !ok {
		return m.wrongKey(t, t.Hash)
	}
	if t.Range != "" {
		if img.SK, ok = attr.ScalarOf(a[t.Range]); !ok {
			return m.wrongKey(t, t.Range)
		}
	}
	img.Kind, img.Values = m.Schema.MatchIn(t.Index, img.SK, room.forValues)
	if img.Kind != nil && t.Period != "" && !m.inPeriod(img) {
		img.Kind, img.Values = nil, nil // where no key leads to it
	}
	img.Expired = m.Reserved.Expired(a, m.Now())
	measure(img, room)
	return nil
}

func measure(img *item.Image, room *Room) {
	if img.Kind != nil {
		img.Sizes = room.forSizes(len(img.Kind.Attributes))
	}
	for name, v := range img.Attributes {
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
	return m.Errorf("an item of the table %q has no key attribute %q: declare the table's own with hash= and range=", t.Name, attribute)
}
