package histories

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// cast has the writers of one history, and the entities that they hold.
type cast[T model] struct {
	*stage
	// m sends the calls, and other is another writer between their requests.
	m, other *mapper.Mapper[T]
	purses   *mapper.Mapper[purse]
	// connection is the client of m.
	connection mapper.Client
	ids        []string
	held       []*mapper.Entity[T]
}

func newCast[T model](s *stage) player {
	attempts, unwatched := 1+s.r.IntN(3), s.r.IntN(6) == 0
	var options []mapper.Option
	if s.r.IntN(6) == 0 {
		options = append(options, mapper.Blind())
	}
	if s.r.IntN(6) == 0 {
		options = append(options, mapper.ClientNeverRetries())
	}
	if s.r.IntN(4) == 0 {
		options = append(options, mapper.VersionsOnly())
	}
	if s.r.IntN(6) == 0 {
		options = append(options, mapper.Caching(mapper.NewCache(memory{}, time.Hour)))
	}
	if is[timed, T]() {
		options = append(options, mapper.InTimeTables(mapper.TimeTables{Since: months[1]}))
	}
	client := s.client(s.base, attempts, unwatched)
	c := &cast[T]{
		stage: s, m: open[T](s, client, options...), other: open[T](s, s.client(s.base, 1, false)),
		purses: open[purse](s, client), connection: client,
	}
	for _, letter := range "abm" {
		c.ids = append(c.ids, fmt.Sprintf("h%d%c", s.seed, letter))
	}
	c.meddle = c.meddler
	return c
}

// memory is a store of a cache that drops nothing.
type memory map[string]any

// Get returns a stored value.
func (m memory) Get(key string) (any, bool) { v, ok := m[key]; return v, ok }

// Set stores a value.
func (m memory) Set(key string, value any, _ int, _ time.Duration) { m[key] = value }

// group is the group of all entities of a history.
func (c *cast[T]) group() string { return fmt.Sprint("g", c.seed) }

func (c *cast[T]) id() string { return c.ids[c.r.IntN(len(c.ids))] }

func (c *cast[T]) key(m *mapper.Mapper[T], id string) *query.Key[T] { return keyOf(m, c.group(), id) }

// pick returns one of some values.
func pick[V any](c *stage, values ...V) V { return values[c.r.IntN(len(values))] }

// result records what a call returned.
func (s *stage) result(got any, err error) {
	text, _ := json.Marshal(got) // receipts and reports
	if s, ok := got.(string); ok {
		text = []byte(s)
	}
	s.note(fmt.Sprintf("< %s | %s", text, describe(err)))
}

// describe returns an error with its type.
func describe(err error) string {
	if err == nil {
		return "no error"
	}
	var all []string
	for e := err; e != nil; e = errors.Unwrap(e) {
		if strings.HasPrefix(fmt.Sprintf("%T", e), "*mapper.") {
			all = append(all, fmt.Sprintf("%T", e))
		}
	}
	for name, class := range map[string]error{
		"not found": mapper.ErrNotFound, "exists": mapper.ErrExists, "usage": mapper.ErrUsage,
	} {
		if errors.Is(err, class) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return fmt.Sprintf("%q %s", err, all)
}

// value draws a value of an entity.
func (c *cast[T]) value(id string) T {
	d := document{
		Group: c.group(), ID: id, Origin: c.word(), Count: 1 + c.r.IntN(5), Until: c.expiry(id),
		Fixed: pick(c.stage, "", "f"), Body: c.body(),
	}
	if !grouped[T]() {
		d.Group = ""
	}
	for i := range c.r.IntN(4) {
		d.Parts = append(d.Parts, part{fmt.Sprint("p", i), c.word(), c.r.IntN(9)})
	}
	if c.r.IntN(2) == 0 {
		d.More = map[string]part{"k1": {Name: "n", Value: c.word()}}
	}
	if c.r.IntN(60) == 0 { // too many for a transaction
		for i := range 110 {
			d.Parts = append(d.Parts, part{fmt.Sprintf("q%03d", i), "v", i})
		}
	}
	return T(d)
}

func (c *cast[T]) word() string { return pick(c.stage, "x", "y", "z") + fmt.Sprint(c.r.IntN(100)) }

func (c *cast[T]) body() string {
	if !is[chunked, T]() && c.r.IntN(60) == 0 {
		return strings.Repeat("too large", 50_000)
	}
	return strings.Repeat(c.word(), pick(c.stage, 0, 0, 3, 100, 1500))
}

// expiry draws a time: some are over.
func (c *cast[T]) expiry(id string) time.Time {
	hours := pick(c.stage, 1, 2, 100, 0, -1)
	if is[timed, T]() {
		return monthOf(id)
	}
	if hours == 0 && (is[mortal, T]() || is[lasting, T]()) {
		return time.Time{}
	}
	return begin.Add(time.Duration(hours) * time.Hour)
}

// edit changes a value a little.
func (c *cast[T]) edit(v *T) {
	d := document(*v)
	for range 1 + c.r.IntN(3) {
		switch c.r.IntN(12) {
		case 0:
			d.Origin = c.word()
		case 1:
			d.Count++
		case 2:
			d.Labels = append(slices.Clone(d.Labels), c.word())
		case 3:
			d.Fixed = pick(c.stage, "", c.word())
		case 4:
			d.Facts = maps.Clone(d.Facts)
			if d.Facts == nil {
				d.Facts = map[string]string{}
			}
			d.Facts[c.word()] = "fact"
		case 5:
			d.Until = c.expiry(d.ID)
		case 6:
			d.Body = c.body()
		default:
			c.editParts(&d)
		}
	}
	*v = T(d)
}

func (c *cast[T]) editParts(d *document) {
	d.Parts = slices.Clone(d.Parts)
	switch n := len(d.Parts); {
	case n == 0 || c.r.IntN(3) == 0:
		d.Parts = append(d.Parts, part{fmt.Sprint("p", n+c.r.IntN(3)), c.word(), 1})
	case c.r.IntN(2) == 0:
		d.Parts = slices.Delete(d.Parts, 0, 1+c.r.IntN(n))
	default:
		d.Parts[c.r.IntN(n)].Value = c.word()
	}
	switch d.More = maps.Clone(d.More); c.r.IntN(4) {
	case 0:
		delete(d.More, "k1")
	case 1:
		if d.More == nil {
			d.More = map[string]part{}
		}
		d.More["k1"] = part{Name: "n", Value: c.word()}
	}
}

// writeOptions draws options of a save: most have none.
func (c *cast[T]) writeOptions() []mapper.WriteOption {
	switch c.r.IntN(16) {
	case 0, 1:
		return []mapper.WriteOption{mapper.Staged()}
	case 2, 3:
		return []mapper.WriteOption{mapper.Independent()}
	case 4:
		return []mapper.WriteOption{mapper.CheckLoaded()}
	case 5:
		return []mapper.WriteOption{mapper.CheckRoot()}
	case 6:
		return []mapper.WriteOption{mapper.ExactlyOnce()}
	case 7:
		return []mapper.WriteOption{mapper.Blind()}
	case 8:
		return []mapper.WriteOption{mapper.Reindex()}
	}
	return nil
}

func (c *cast[T]) readOptions() []mapper.ReadOption {
	switch c.r.IntN(5) {
	case 0, 1:
		return []mapper.ReadOption{mapper.Strong()}
	}
	return nil
}

func (c *cast[T]) hold(e *mapper.Entity[T]) {
	if e == nil {
		return
	}
	if c.held = append(c.held, e); len(c.held) > 4 {
		c.held = c.held[1:]
	}
}

// entity returns an entity that is held, or loads one, nil for none.
func (c *cast[T]) entity(ctx context.Context) *mapper.Entity[T] {
	if len(c.held) > 0 && c.r.IntN(3) > 0 {
		return c.held[c.r.IntN(len(c.held))]
	}
	c.load(ctx)
	if len(c.held) == 0 {
		return nil
	}
	return c.held[len(c.held)-1]
}

func textOf[T model](e *mapper.Entity[T]) string {
	if e == nil {
		return "none"
	}
	return document(e.Value).text()
}
