package histories

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/large"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// step makes one call, or a few.
func (c *cast[T]) step(ctx context.Context) {
	calls := []func(context.Context){
		c.insert, c.insert, c.insert, c.save, c.save, c.save, c.save, c.load, c.load, c.loadPart, c.delete,
		c.deleteByKey, c.patch, c.patch, c.patch, c.patch, c.race, c.race, c.update, c.transact, c.transact,
		c.updateAll, c.bulk, c.move, c.move, c.plans, c.foreign, c.foreign, c.collect, c.wait,
		func(ctx context.Context) { c.read(ctx, c.query) },
		func(ctx context.Context) { c.read(ctx, c.query) },
		func(ctx context.Context) { c.read(ctx, c.queryEntities) },
		func(ctx context.Context) { c.read(ctx, c.scan) },
	}
	calls[c.r.IntN(len(calls))](ctx)
}

// read makes a call that reads, of a layout with shards in any order.
func (c *cast[T]) read(ctx context.Context, do func(context.Context)) {
	if is[sharded, T]() || is[spread, T]() {
		c.inAnyOrder(ctx, do)
		return
	}
	do(ctx)
}

// beginning inserts one entity or two.
func (c *cast[T]) beginning(ctx context.Context) {
	for range 1 + c.r.IntN(2) {
		c.insert(ctx)
	}
}

// ending loads all entities.
func (c *cast[T]) ending(ctx context.Context) {
	for _, id := range c.ids {
		c.note("> final load")
		e, err := c.m.Load(ctx, c.key(c.m, id), mapper.Strong())
		c.result(textOf(e), err)
	}
}

// meddler is another writer.
func (c *cast[T]) meddler() {
	ctx, id := inOrder, c.id()
	k := c.key(c.other, id)
	var err error
	switch c.r.IntN(8) {
	case 0:
		_, err = c.other.Save(ctx, c.other.New(c.value(id)))
	case 1:
		_, err = c.other.DeleteByKey(ctx, k)
	case 2:
		_, err = partsOf(k).Put(part{"p1", c.word(), 2}).Exec(ctx, c.other)
	case 3:
		_, err = handmade.EntityOf(k).Patch(originOf[T]().Set(c.word())).Exec(ctx, c.other)
	case 4:
		_, err = elementOf(k, "p0").Delete().Exec(ctx, c.other)
	case 5:
		c.postpone(k)
		return
	default:
		_, err = c.other.Update(ctx, k, func(v *T) error { c.edit(v); return nil })
	}
	c.note("< other writer: " + describe(err))
}

// race adds a part by a patch or a save, while another writer moves the expiry, replaces the entity, or does something
// else.
func (c *cast[T]) race(ctx context.Context) {
	k, before := c.key(c.m, c.id()), c.meddle
	defer func() { c.meddle = before }()
	switch c.r.IntN(3) {
	case 0:
		c.meddle = func() { c.postpone(k) }
	case 1:
		c.meddle = func() { c.replace(k) }
	}
	p := part{pick(c.stage, "p2", "p3"), c.word(), 6}
	c.note("> race")
	e, err := c.m.Load(ctx, pick[query.Selection[T]](c.stage, k, k.Items("Parts")), c.readOptions()...)
	c.note("< " + describe(err))
	c.faults[c.sent+c.r.IntN(3)] = meddled
	if e == nil || c.r.IntN(2) == 0 {
		r, err := pick(c.stage, partsOf(k).Add, partsOf(k).Put)(p).Exec(ctx, c.m)
		c.result(r, err)
		return
	}
	d := document(e.Value)
	d.Parts = append(d.Parts, part{"added", c.word(), 7})
	e.Value = T(d)
	r, err := c.m.Save(ctx, e)
	c.result(r, err)
	c.hold(e)
}

// replace is another writer, which deletes an entity and inserts another one.
func (c *cast[T]) replace(k *query.Key[T]) {
	v := c.value(c.ids[0])
	if e, err := c.other.Load(inOrder, k); err == nil {
		v = e.Value
	}
	_, err := c.other.DeleteByKey(inOrder, k)
	c.note("< other writer: " + describe(err))
	_, err = c.other.Save(inOrder, c.other.New(v))
	c.note("< other writer: " + describe(err))
}

// postpone is another writer, which moves the expiry of an entity.
func (c *cast[T]) postpone(k *query.Key[T]) {
	_, err := c.other.Update(inOrder, k, func(v *T) error {
		d := document(*v)
		d.Until = c.expiry(d.ID)
		*v = T(d)
		return nil
	})
	c.note("< other writer: " + describe(err))
}

func (c *cast[T]) insert(ctx context.Context) {
	e, o := c.m.New(c.value(c.id())), c.writeOptions()
	c.note(fmt.Sprintf("> insert %T", o))
	r, err := c.m.Save(ctx, e, o...)
	c.result(r, err)
	c.hold(e)
}

func (c *cast[T]) load(ctx context.Context) {
	c.note("> load")
	e, err := c.m.Load(ctx, c.key(c.m, c.id()), c.readOptions()...)
	c.result(textOf(e), err)
	c.hold(e)
}

// loadPart loads a part of an entity, or several.
func (c *cast[T]) loadPart(ctx context.Context) {
	k := c.key(c.m, c.id())
	o := c.readOptions()
	var s query.Selection[T]
	switch c.r.IntN(4) {
	case 0:
		s = k.Items("Parts")
	case 1:
		s = query.Join[T](k.Items("Parts"), k.Items("More"))
	case 2:
		s = k.Items("Fixed")
		o = append(o, mapper.RequireRoot())
	default:
		c.note("> load many")
		all, err := c.m.LoadMany(ctx, []query.Selection[T]{k, c.key(c.m, c.id()), k.Items("Parts")}, o...)
		c.note("< " + describe(err))
		for _, e := range all {
			c.result(textOf(e), nil)
			c.hold(e)
		}
		return
	}
	c.note("> load part")
	e, err := c.m.Load(ctx, s, o...)
	c.result(textOf(e), err)
	c.hold(e)
}

func (c *cast[T]) save(ctx context.Context) {
	e, o := c.entity(ctx), c.writeOptions()
	if e == nil {
		return
	}
	if tag := e.Tag(); c.r.IntN(8) == 0 && tag != "" {
		o = append(o, mapper.IfTag(tag))
	}
	if c.r.IntN(5) > 0 {
		c.edit(&e.Value)
	}
	c.note("> save " + textOf(e))
	r, err := c.m.Save(ctx, e, o...)
	c.result(r, err)
	if err != nil && c.r.IntN(2) == 0 { // the next save resolves an unknown outcome
		c.note("> save again")
		r, err = c.m.Save(ctx, e)
		c.result(r, err)
	}
}

// move saves an entity at another key. Another writer may add a part at the old one.
func (c *cast[T]) move(ctx context.Context) {
	if c.r.IntN(2) == 0 {
		c.load(ctx)
	}
	e := c.entity(ctx)
	if e == nil {
		return
	}
	d := document(e.Value)
	if c.r.IntN(2) == 0 {
		_, err := partsOf(c.key(c.other, d.ID)).Put(part{pick(c.stage, "p1", "added"), c.word(), 2}).Exec(ctx, c.other)
		c.note("< other writer: " + describe(err))
	}
	if d.ID = c.id(); is[timed, T]() {
		d.Until = monthOf(d.ID)
	}
	e.Value = T(d)
	if c.r.IntN(2) == 0 {
		_, err := c.other.DeleteByKey(ctx, c.key(c.other, d.ID))
		c.note("< other writer: " + describe(err))
	}
	c.note("> move " + textOf(e))
	r, err := c.m.Save(ctx, e, mapper.Move())
	c.result(r, err)
}

// wait lets time pass, for claims and values that grow old.
func (c *cast[T]) wait(context.Context) {
	d := pick(c.stage, 20*time.Second, 31*time.Minute, 2*time.Hour)
	c.note(fmt.Sprint("> wait ", d))
	c.waited += d
}

func (c *cast[T]) delete(ctx context.Context) {
	e := c.entity(ctx)
	if e == nil {
		return
	}
	o := pick(c.stage, nil, nil, []mapper.WriteOption{mapper.Staged()}, []mapper.WriteOption{mapper.Independent()},
		[]mapper.WriteOption{mapper.ExactlyOnce()})
	c.note("> delete " + textOf(e))
	r, err := c.m.Delete(ctx, e, o...)
	c.result(r, err)
}

func (c *cast[T]) deleteByKey(ctx context.Context) {
	k := c.key(c.m, c.id())
	o := pick(c.stage, nil, nil, []mapper.WriteOption{mapper.Staged()}, []mapper.WriteOption{mapper.Independent()},
		[]mapper.WriteOption{mapper.Blind()})
	s := pick[query.Selection[T]](c.stage, k, k, k.Items("Parts"), k.Items("Fixed"), elementOf(k, "p0"))
	c.note("> delete by key")
	r, err := c.m.DeleteByKey(ctx, s, o...)
	c.result(r, err)
}

func (c *cast[T]) update(ctx context.Context) {
	c.note("> update")
	r, err := c.m.Update(ctx, c.key(c.m, c.id()), func(v *T) error { c.edit(v); return nil }, c.writeOptions()...)
	c.result(r, err)
}

// transact writes two or three parts.
func (c *cast[T]) transact(ctx context.Context) {
	var parts []mapper.Part
	for range 2 + c.r.IntN(2) {
		parts = append(parts, c.part(ctx))
	}
	c.note("> transact")
	r, err := mapper.Transact(ctx, parts...)
	c.result(r, err)
	if err != nil && c.r.IntN(2) == 0 { // entities remember a transaction with an unknown outcome
		c.note("> transact again")
		r, err = mapper.Transact(ctx, parts...)
		c.result(r, err)
	}
}

func (c *cast[T]) part(ctx context.Context) mapper.Part {
	id := c.id()
	switch c.r.IntN(8) {
	case 0:
		e := c.m.New(c.value(id))
		c.hold(e)
		return c.m.SavePart(e)
	case 1, 2:
		if e := c.entity(ctx); e != nil {
			c.edit(&e.Value)
			return c.m.SavePart(e, pick(c.stage, nil, []mapper.WriteOption{mapper.CheckLoaded()})...)
		}
	case 3:
		if e := c.entity(ctx); e != nil {
			return c.m.DeletePart(e)
		}
	case 4:
		return c.m.DeletePartByKey(c.key(c.m, id))
	case 5:
		return c.draw(c.m, id).PatchPart(c.m)
	case 6:
		return c.raw(id)
	}
	k := c.purses.Key(id)
	amount := handmade.EntityOf(k).Patch(countOf[purse]("Amount").Increment(1))
	return pick(c.stage, c.purses.SavePart(c.purses.New(purse{ID: id, Amount: 1})), amount.PatchPart(c.purses),
		amount.Upsert().PatchPart(c.purses))
}

// raw returns the put of an item of no model.
func (c *cast[T]) raw(id string) mapper.Part {
	put := &types.Put{TableName: aws.String(c.prefix + "docs"), Item: map[string]types.AttributeValue{
		"PK": &types.AttributeValueMemberS{Value: "RAW#" + id}, "SK": &types.AttributeValueMemberS{Value: "R"},
	}}
	if condition := pick(c.stage, "", "attribute_not_exists(PK)", "attribute_exists(PK)"); condition != "" {
		put.ConditionExpression = &condition
	}
	return mapper.RawPart(c.connection, types.TransactWriteItem{Put: put})
}

// updateAll updates two entities in one transaction.
func (c *cast[T]) updateAll(ctx context.Context) {
	var from, to T
	o := pick(c.stage, nil, []mapper.WriteOption{mapper.CheckLoaded()})
	parts := []mapper.Part{
		c.m.UpdatePart(&from, c.key(c.m, c.ids[0]), o...), c.m.UpdatePart(&to, c.key(c.m, c.ids[1])),
	}
	if c.r.IntN(2) == 0 {
		parts = append(parts, c.purses.SavePart(c.purses.New(purse{ID: c.ids[2], Amount: 5})))
	}
	c.note("> update all")
	r, err := mapper.UpdateAll(ctx, func() error {
		c.edit(&from)
		a, b := document(from), document(to)
		b.Count += a.Count
		to = T(b)
		return nil
	}, parts...)
	c.result(r, err)
}

func (c *cast[T]) bulk(ctx context.Context) {
	var all []T
	for _, id := range c.ids {
		all = append(all, c.value(id))
	}
	o := []mapper.BulkOption{mapper.Concurrency(1)}
	switch c.r.IntN(3) {
	case 0:
		o = append(o, mapper.Overwrite())
	case 1:
		o = append(o, mapper.LoadID("load"))
	}
	c.note("> bulk load")
	r, err := c.m.BulkLoad(ctx, mapper.NoErrors(slices.Values(all)), o...)
	if r != nil {
		r.Took = 0
	}
	c.result(r, err)
}

// plans records plans: they send nothing.
func (c *cast[T]) plans(ctx context.Context) {
	e := c.entity(ctx)
	if e == nil {
		return
	}
	c.note("> plans")
	p, err := c.m.PlanSave(e, c.writeOptions()...)
	c.result(p, err)
	p, err = c.m.PlanDelete(e)
	c.result(p, err)
	p, err = c.m.PlanLoad(e)
	c.result(p, err)
	p, err = c.draw(c.m, c.id()).Plan(c.m)
	c.result(p, err)
	p, err = mapper.PlanTransact(c.m.SavePart(e), c.draw(c.m, c.id()).PatchPart(c.m))
	c.result(p, err)
}

// foreign is a program without this library. It changes an item or deletes the root item. It leaves or removes the
// version.
func (c *cast[T]) foreign(ctx context.Context) {
	table, key, err := c.m.RootKey(c.key(c.m, c.id()))
	if err != nil {
		return
	}
	update := pick(c.stage, "SET Origin = :v", "SET Alien = :v", "SET Fixed = :v REMOVE #o", "REMOVE #o",
		"SET #o = Fixed REMOVE Fixed", "")
	if strings.Contains(update, "Fixed") && !grouped[T]() {
		key["SK"] = &types.AttributeValueMemberS{Value: "F"}
	}
	c.note("> foreign " + update)
	client := c.client(c.base, 1, false)
	if update == "" {
		_, err = client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &table, Key: key})
	} else {
		in := &dynamodb.UpdateItemInput{
			TableName: &table, Key: key, UpdateExpression: &update,
			ConditionExpression: aws.String("attribute_exists(PK)"),
		}
		if strings.Contains(update, ":v") {
			in.ExpressionAttributeValues = map[string]types.AttributeValue{
				":v": &types.AttributeValueMemberS{Value: c.word()},
			}
		}
		if strings.Contains(update, "#o") {
			in.ExpressionAttributeNames = map[string]string{"#o": "_v"}
			if strings.HasPrefix(update, "SET #o") {
				in.ExpressionAttributeNames["#o"] = "Old"
			}
		}
		_, err = client.UpdateItem(ctx, in)
	}
	c.note(fmt.Sprint("< ", err != nil))
}

// query queries the parts of an entity.
func (c *cast[T]) query(ctx context.Context) {
	k := c.key(c.m, c.id())
	items := k.Items("Parts")
	q := query.Of[part](items)
	if c.r.IntN(5) == 0 {
		q = q.Project(valueOfPart)
	}
	if c.r.IntN(3) == 0 {
		q = q.Filter(valueOfPart.BeginsWith("x"))
	}
	if c.r.IntN(3) == 0 {
		q = q.Reverse()
	}
	if c.r.IntN(3) == 0 {
		q = q.Limit(2)
	}
	c.note("> query")
	switch c.r.IntN(3) {
	case 0:
		n, err := q.Count(ctx, c.m)
		c.result(n, err)
	case 1:
		p, err := q.Limit(1).Page(ctx, c.m, c.readOptions()...)
		c.result("page", err)
		if err == nil {
			p, err = q.Limit(1).After(p.Next).Page(ctx, c.m)
			if err == nil {
				c.result(p.Items, nil)
			}
		}
	default:
		all, err := q.Collect(ctx, c.m, c.readOptions()...)
		c.result(all, err)
	}
}

// queryEntities queries entities of a group or an index.
func (c *cast[T]) queryEntities(ctx context.Context) {
	var s query.Selection[T]
	switch {
	case is[indexed, T]():
		if c.r.IntN(2) == 0 {
			c.note("> query parts in an index")
			all, err := query.Of[part](c.m.Index("byPart", c.id())).Collect(ctx, c.m)
			c.result(all, err)
			return
		}
		s = c.m.Index("byRoot", c.word())
	case grouped[T]():
		s = c.m.Key(c.group())
	default:
		return
	}
	q := query.Of[T](s)
	if is[indexed, T]() {
		q = pick(c.stage, q.Fetch(), q.Roots(), q, q.Project(originOf[T](), countOf[T]("Count")))
	}
	c.note("> query entities")
	for e, err := range c.m.Entities(ctx, q, c.readOptions()...) {
		c.result(textOf(e), err)
		c.hold(e)
	}
}

func (c *cast[T]) scan(ctx context.Context) {
	c.note("> scan")
	for e, err := range c.m.Scan(ctx, mapper.OnStray(func(s mapper.Stray) { c.note(fmt.Sprint("< stray ", s)) })) {
		c.result(textOf(e), err)
	}
}

// collect deletes large values without references.
func (c *cast[T]) collect(ctx context.Context) {
	if !is[chunked, T]() {
		return
	}
	c.note("> collect")
	r, err := large.Collect(ctx, c.m, large.Delete(), large.Grace(20*time.Minute))
	c.result(r, err)
}
