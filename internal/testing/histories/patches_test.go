package histories

import (
	"context"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/mapper"
)

// draw draws a patch of an entity.
func (c *cast[T]) draw(m *mapper.Mapper[T], id string) *mapper.Patch[T] {
	k := c.key(m, id)
	p := new(mapper.Patch[T])
	for range 1 + c.r.IntN(2) {
		p = p.And(c.one(m, id))
	}
	switch c.r.IntN(6) {
	case 0:
		p = p.IfEntityExists()
	case 1:
		p = p.Upsert()
	case 2:
		p = p.And(elementOf(k, pick(c.stage, "p2", "p3")).Delete())
	}
	return p
}

// one draws a patch of one item, or of the fields of the entity.
func (c *cast[T]) one(m *mapper.Mapper[T], id string) mapper.Patcher[T] {
	k, name := c.key(m, id), pick(c.stage, "p0", "p1", "p2", "w")
	parts := partsOf(k)
	entity := handmade.EntityOf(k)
	switch c.r.IntN(10) {
	case 0:
		return parts.Add(part{name, c.word(), 3})
	case 1:
		return parts.Put(part{name, c.word(), 4})
	case 2:
		return put(k, "k1", part{"n", c.word(), 5})
	case 3:
		return elementOf(k, name).Patch(valueOfPart.Set(c.word()), numberOfPart.Increment(1))
	case 4:
		return elementOf(k, name).Patch(numberOfPart.Increment(2)).If(numberOfPart.Less(5))
	case 5:
		return elementOf(k, name).Delete()
	case 6:
		return entity.Patch(fixedOf[T]().Set(c.word()))
	case 7:
		return entity.Patch(c.changes()...).If(countOf[T]("Count").Greater(2))
	case 8:
		return entity.Patch(originOf[T]().SetIfAbsent(c.word()), fixedOf[T]().Set(c.word())).Upsert()
	}
	return entity.Patch(c.changes()...)
}

// changes draws changes of the root item and of the fixed item.
func (c *cast[T]) changes() []field.Change[T] {
	all := []field.Change[T]{countOf[T]("Count").Increment(1)}
	switch c.r.IntN(6) {
	case 0:
		all = append(all, originOf[T]().Set(c.word()))
	case 1:
		all = append(all, fixedOf[T]().Remove())
	case 2:
		all = append(all, fixedOf[T]().SetIfAbsent("absent"))
	case 3:
		if !is[timed, T]() {
			all = append(all, untilOf[T]().Set(c.expiry("")))
		}
	case 4:
		all = []field.Change[T]{fixedOf[T]().Set(c.word())}
	}
	return all
}

func (c *cast[T]) patch(ctx context.Context) {
	id := c.id()
	var o []mapper.WriteOption
	switch c.r.IntN(8) {
	case 0:
		o = append(o, mapper.Blind())
	case 1:
		o = append(o, mapper.ExactlyOnce())
	case 2:
		if e := c.entity(ctx); e != nil {
			id = document(e.Value).ID
			if tag := e.Tag(); tag != "" {
				o = append(o, mapper.IfTag(tag))
			}
		}
	}
	if c.r.IntN(5) == 0 {
		var v part
		p := elementOf(c.key(c.m, id), pick(c.stage, "p0", "p1")).Patch(numberOfPart.Increment(1)).Return(&v)
		c.note("> patch and return")
		r, err := p.Exec(ctx, c.m, o...)
		c.result(r, err)
		c.result(v, nil)
		return
	}
	p := c.draw(c.m, id)
	c.note("> patch")
	r, err := p.Exec(ctx, c.m, o...)
	c.result(r, err)
}
