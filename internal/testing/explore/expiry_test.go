package explore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/explore"
	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
)

// Items that patches create expire with the root item, which saves move. The law is that of Expiry.tla.

// lasting has items that expire with the root.
type lasting struct {
	_      struct{}  `ddb:"table=docs,ttl=expires"`
	ID     string    `ddb:"pk=DOC#{ID}"`
	Origin string    `ddb:"sk=A"`
	Until  time.Time `ddb:"sk=A,ttl,all"`
	Fixed  string    `ddb:"sk=F"`
	Parts  []part    `ddb:"sk=M#{Name}"`
}

// event is a call that has ended: of items that it creates, or of a save that moves the expiry.
type event struct {
	what       string
	creates    []string
	start, end int
	err        error
	crashed    bool
	// echoes reports that a copy of a put can arrive later, with the expiry of then.
	echoes bool
	// atomic reports that the call checks the root item with the write, and does not read it afterwards. An answer was
	// lost: the write can be at any time before the end.
	atomic bool
}

// unsure reports that nothing says whether the call has written, or writes once more.
func (e *event) unsure() bool {
	var partial *mapper.PartialError
	var unknown *mapper.OutcomeUnknownError
	return e.crashed || e.echoes || errors.As(e.err, &partial) || errors.As(e.err, &unknown)
}

// lastings are the actors on one entity.
type lastings struct {
	lab    *lab
	run    *explore.Run
	id     string
	begin  time.Time
	events []*event
}

var (
	fixedOfLasting  = handmade.String[lasting, string]("Fixed", "", func(v *lasting) *string { return &v.Fixed })
	originOfLasting = handmade.String[lasting, string]("Origin", "", func(v *lasting) *string { return &v.Origin })
)

func (x *lastings) mapperOf(client mapper.Client) *mapper.Mapper[lasting] {
	m, err := mapper.New[lasting](client, mapper.Table(x.lab.table["docs"]))
	if err != nil {
		panic(err)
	}
	return m
}

// patch returns a patch that creates items, by its number.
func (x *lastings) patch(m *mapper.Mapper[lasting], n int) (p *mapper.Patch[lasting], creates []string) {
	k := m.Key(x.id)
	parts := handmade.Elements[lasting, part]{Node: handmade.Node(k), Item: 2}
	set := mapperimpl.Item[lasting, lasting](k.Item("F"), 1).Patch(fixedOfLasting.Set(fmt.Sprint("v", n)))
	root := mapperimpl.Item[lasting, lasting](k.Item("A"), 0).Patch(originOfLasting.Set(fmt.Sprint("o", n)))
	name := fmt.Sprint("P", n%3)
	switch n % 6 {
	case 0:
		return parts.Add(part{name, "x"}), []string{"M#" + name}
	case 1:
		return parts.Put(part{name, "x"}), []string{"M#" + name}
	case 2:
		return parts.Put(part{name, "x"}).And(set), []string{"M#" + name, "F"}
	case 3:
		return parts.Add(part{name, "x"}).And(root), []string{"M#" + name}
	case 4:
		return parts.Put(part{name, "x"}).IfEntityExists(), []string{"M#" + name}
	}
	return new(mapper.Patch[lasting]).And(set), []string{"F"}
}

// adder creates items by a patch, alone or in a transaction with another entity's.
func (x *lastings) adder(name string, n int, inTransaction bool) explore.Actor {
	return explore.Actor{Name: name, Do: func(ctx context.Context, net *explore.Transport) {
		m := x.mapperOf(newClient(x.lab.base, net, setup{}))
		p, creates := x.patch(m, n)
		e := &event{what: fmt.Sprint("patch ", n), creates: creates, start: x.run.Now()}
		if inTransaction {
			other := mapperimpl.Item[lasting, lasting](m.Key(x.id+"b").Item("A"), 0).Patch(originOfLasting.Set(name))
			_, e.err = mapper.Transact(ctx, p.PatchPart(m), other.PatchPart(m))
		} else {
			_, e.err = p.Exec(ctx, m)
		}
		e.end, e.crashed = x.run.Now(), net.Crashed()
		e.atomic = net.Faulty && (inTransaction || n%6 == 3)
		e.echoes = net.Faulty && !inTransaction && (n%6 == 1 || n%6 == 4)
		x.events = append(x.events, e)
	}}
}

// mover loads the entity, and saves it with another expiry.
func (x *lastings) mover(name string, to time.Time) explore.Actor {
	return explore.Actor{Name: name, Do: func(ctx context.Context, net *explore.Transport) {
		m := x.mapperOf(newClient(x.lab.base, net, setup{}))
		e := &event{what: "move", start: x.run.Now()}
		loaded, err := m.Load(ctx, m.Key(x.id), mapper.Strong())
		if err == nil {
			loaded.Value.Until = to
			_, err = m.Save(ctx, loaded)
		}
		e.err, e.end, e.crashed = err, x.run.Now(), net.Crashed()
		x.events = append(x.events, e)
	}}
}

// excused reports that a save may have moved the expiry after a call had created an item, without having read it.
func (x *lastings) excused(of *event) bool {
	for _, e := range x.events {
		late := e.unsure()
		written := of.end
		if of.atomic {
			written = of.start // or later, but before its end
		}
		if e.what == "move" && e.start <= of.end && (late || e.err == nil && e.end >= written) {
			return true
		}
	}
	return false
}

// check compares the expiry of each item with that of the root item.
func (x *lastings) check() error {
	out, err := x.lab.base().Query(context.Background(), &dynamodb.QueryInput{
		TableName: aws.String(x.lab.table["docs"]), KeyConditionExpression: aws.String("PK = :p"),
		ConsistentRead: aws.Bool(true),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":p": &types.AttributeValueMemberS{Value: "DOC#" + x.id},
		},
	})
	if err != nil {
		return err
	}
	at := map[string]string{}
	for _, item := range out.Items {
		text := ""
		if n, ok := item["expires"].(*types.AttributeValueMemberN); ok {
			text = n.Value
		}
		at[item["SK"].(*types.AttributeValueMemberS).Value] = text
	}
	for sk, expiry := range at {
		certain := expiry != at["A"]
		for _, e := range x.events {
			if strings.Contains(fmt.Sprint(" ", e.creates, " "), sk) && (e.unsure() || e.err == nil && x.excused(e)) {
				certain = false
			}
		}
		if certain {
			return fmt.Errorf("%s expires at %q, the root item at %q", sk, expiry, at["A"])
		}
	}
	return nil
}

// Each acknowledged item of a patch expires with the root item, with faults at every request.
func TestExploreExpiry(t *testing.T) {
	l := newLab(t)
	begin := time.Now().Truncate(time.Second).Add(time.Hour)
	for _, seed := range draws.Schedules(t, draws.For(time.Second, 20*time.Second, 10*time.Minute)) {
		r := explore.NewRandom(seed)
		x := &lastings{lab: l, id: fmt.Sprint("e", l.runs.Add(1)), begin: begin}
		if err := x.play(r, r.Rand); err != nil {
			t.Errorf("%s=%d: %v\n%s", draws.ScheduleVariable, seed, err, x.run)
			return
		}
	}
}

func (x *lastings) play(chooser explore.Chooser, r *rand.Rand) error {
	ctx := context.Background()
	m := x.mapperOf(x.lab.base())
	times := []time.Time{x.begin, x.begin.Add(time.Hour), x.begin.Add(2 * time.Hour), {}}
	for _, id := range []string{x.id, x.id + "b"} {
		v := lasting{ID: id, Until: times[r.IntN(4)], Origin: "o", Fixed: []string{"", "f"}[r.IntN(2)]}
		if _, err := m.Save(ctx, m.New(v)); err != nil {
			return err
		}
	}
	x.run = &explore.Run{Chooser: chooser, Engine: http.DefaultTransport, Limits: explore.Limits{
		Faults: r.IntN(3), Crashes: r.IntN(2), Late: r.IntN(2), Throttles: r.IntN(2),
	}}
	var actors []explore.Actor
	for i := range 2 + r.IntN(3) {
		name := fmt.Sprint("actor ", i)
		if i == 0 || r.IntN(2) == 0 {
			actors = append(actors, x.adder(name, r.IntN(18), r.IntN(4) == 0))
		} else {
			actors = append(actors, x.mover(name, times[r.IntN(4)]))
		}
	}
	x.run.Go(ctx, actors...)
	x.run.ArriveAll()
	return x.check()
}
