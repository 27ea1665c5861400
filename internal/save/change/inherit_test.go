package change_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/mapper/mapperimpl"
	"github.com/itemize/itemize/query"
	"github.com/itemize/itemize/tables"
)

// rental expires as a whole.
type rental struct {
	_     struct{}            `ddb:"table=rentals,ttl=gone"`
	ID    string              `ddb:"pk=RENTAL#{ID}"`
	Until time.Time           `ddb:"sk=HEAD,ttl,all"`
	Owner string              `ddb:"sk=HEAD"`
	Note  string              `ddb:"sk=NOTE"`
	Parts []kit.Part          `ddb:"sk=PART#{N:02}"`
	Named map[string]kit.Part `ddb:"sk=NAMED#{key}"`
	Extra string              `ddb:"sk=EXTRA"`
}

var (
	rentalNote  = handmade.String[rental, string]("Note", "", func(v *rental) *string { return &v.Note })
	rentalExtra = handmade.String[rental, string]("Extra", "", func(v *rental) *string { return &v.Extra })
	rentalOwner = handmade.String[rental, string]("Owner", "", func(v *rental) *string { return &v.Owner })
)

// nth calls a function before the request with a number, from 0.
type nth struct {
	next dynamodb.HTTPClient
	n    int
	do   func()
}

func (x *nth) Do(r *http.Request) (*http.Response, error) {
	if x.n--; x.n == -1 {
		x.do()
	}
	return x.next.Do(r)
}

type rentals struct {
	t       *testing.T
	table   string
	m, free *mapper.Mapper[rental]
	at      nth
}

func newRentals(t *testing.T, options ...mapper.Option) *rentals {
	x := &rentals{t: t, table: testengine.Table(t, "PK:S", "SK:S")}
	c := testengine.Start(t).Client()
	x.free = kit.Must(mapper.New[rental](c, mapper.Table(x.table)))(t)
	x.m = kit.Must(mapper.New[rental](dynamodb.New(c.Options(), func(o *dynamodb.Options) {
		x.at.next, o.HTTPClient = o.HTTPClient, &x.at
	}), append(options, mapper.Table(x.table))...))(t)
	x.at.n = -1
	return x
}

func (x *rentals) parts(id string) handmade.Elements[rental, kit.Part] {
	return handmade.Elements[rental, kit.Part]{Node: handmade.Node(x.m.Key(id)), Item: 2}
}

// moves sets the expiry.
func (x *rentals) moves(id string, to time.Time) {
	e := kit.Must(x.free.Load(context.Background(), x.free.Key(id)))(x.t)
	e.Value.Until = to
	kit.Must(x.free.Save(context.Background(), e))(x.t)
}

// expirations returns the TTL attribute of each item, "" for none.
func (x *rentals) expirations(id string) map[string]string {
	out := kit.Must(testengine.Start(x.t).Client().Query(context.Background(), &dynamodb.QueryInput{
		TableName: &x.table, KeyConditionExpression: ptr("PK = :p"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":p": &types.AttributeValueMemberS{Value: "RENTAL#" + id},
		},
	}))(x.t)
	all := map[string]string{}
	for _, item := range out.Items {
		expiry := ""
		if n, ok := item["gone"].(*types.AttributeValueMemberN); ok {
			expiry = n.Value
		}
		all[item["SK"].(*types.AttributeValueMemberS).Value] = expiry
	}
	return all
}

// leaves puts an item that an earlier entity of the key has left.
func (x *rentals) leaves(id, sk, incarnation string) {
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	kit.Must(testengine.Start(x.t).Client().PutItem(context.Background(), &dynamodb.PutItemInput{
		TableName: &x.table, Item: map[string]types.AttributeValue{
			"PK": text("RENTAL#" + id), "SK": text(sk), "_a": &types.AttributeValueMemberB{Value: []byte(incarnation)},
			"gone": &types.AttributeValueMemberN{Value: "9999999999"},
		},
	}))(x.t)
}

func ptr[T any](v T) *T { return &v }

type patched interface {
	Exec(ctx context.Context, src query.Source[rental], options ...mapper.WriteOption) (*mapper.Receipt, error)
}

// rentalPatches are patches that create items of an entity.
func rentalPatches(x *rentals, id string) map[string]func() (*mapper.Receipt, error) {
	ctx := context.Background()
	named := mapperimpl.Add(handmade.Node(x.m.Key(id)), 3, "a", &kit.Part{N: 1, Text: "x"})
	note := mapperimpl.Item[rental, rental](x.m.Key(id).Item("NOTE"), 1)
	owner := mapperimpl.Item[rental, rental](x.m.Key(id).Item("HEAD"), 0).Patch(rentalOwner.Set("new"))
	exec := func(p patched) func() (*mapper.Receipt, error) {
		return func() (*mapper.Receipt, error) { return p.Exec(ctx, x.m) }
	}
	return map[string]func() (*mapper.Receipt, error){
		"an added element":    exec(x.parts(id).Add(kit.Part{N: 1, Text: "x"})),
		"an added entry":      exec(named),
		"a put element":       exec(x.parts(id).Put(kit.Part{N: 1, Text: "x"})),
		"a put that replaces": exec(x.parts(id).Put(kit.Part{N: 9, Text: "x"})),
		"two elements": exec(x.parts(id).Add(kit.Part{
			N:    1,
			Text: "x",
		}).And(x.parts(id).Put(kit.Part{N: 2, Text: "y"}))),
		"a fixed item":              exec(note.Patch(rentalNote.Set("n"))),
		"a fixed item and one more": exec(note.Patch(rentalNote.Set("n")).And(named)),
		"with the root item":        exec(owner.And(x.parts(id).Add(kit.Part{N: 1, Text: "x"}))),
		"a fixed item with the root item": exec(
			mapperimpl.Item[rental, rental](x.m.Key(id).Item("HEAD"), 0).Patch(rentalOwner.Set("new")).
				And(note.Patch(rentalNote.Set("n")))),
		"if the entity exists": exec(x.parts(id).Add(kit.Part{N: 1, Text: "x"}).IfEntityExists()),
		"in a transaction": func() (*mapper.Receipt, error) {
			return mapper.Transact(ctx, x.parts(id).Add(kit.Part{N: 1, Text: "x"}).PatchPart(x.m),
				x.parts("second").Put(kit.Part{N: 1, Text: "x"}).PatchPart(x.m))
		},
		"in a transaction with a save": func() (*mapper.Receipt, error) {
			e, err := x.m.Load(ctx, x.m.Key(id))
			if err != nil {
				return nil, err
			}
			e.Value.Owner = "saved"
			return mapper.Transact(ctx, x.m.SavePart(e), x.parts(id).Add(kit.Part{N: 1, Text: "x"}).PatchPart(x.m))
		},
		"a fixed item in a transaction": func() (*mapper.Receipt, error) {
			return mapper.Transact(ctx, note.Patch(rentalNote.Set("n")).PatchPart(x.m),
				x.parts("second").Put(kit.Part{N: 1, Text: "x"}).PatchPart(x.m))
		},
		"a fixed item and an element, in two parts": func() (*mapper.Receipt, error) {
			return mapper.Transact(ctx, note.Patch(rentalNote.Set("n")).PatchPart(x.m),
				x.parts(id).Add(kit.Part{N: 1, Text: "x"}).PatchPart(x.m))
		},
		"elements in three parts": func() (*mapper.Receipt, error) {
			return mapper.Transact(ctx, x.parts(id).Add(kit.Part{N: 1, Text: "x"}).PatchPart(x.m),
				x.parts(id).Add(kit.Part{N: 2, Text: "x"}).PatchPart(x.m), x.parts(id).Put(kit.Part{
					N:    3,
					Text: "x",
				}).PatchPart(x.m))
		},
		"exactly once": func() (*mapper.Receipt, error) {
			return x.parts(id).Add(kit.Part{N: 1, Text: "x"}).Exec(ctx, x.m, mapper.ExactlyOnce())
		},
	}
}

// With ttl,all a patch gives the items that it creates the expiry of the root item, also if another writer moves that
// before any of its requests.
func TestPatchedItemsExpireWithRoot(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	begins := map[string]time.Time{"an expiry": now.Add(time.Hour), "none": {}}
	moves := map[string]time.Time{
		"": {}, "later than a leftover item": now.Add(3 * time.Hour),
		"later": now.Add(2 * time.Hour), "earlier": now.Add(30 * time.Minute), "to none": {},
	}
	x := newRentals(t)
	ctx := context.Background()
	kit.Must(x.free.Save(ctx, x.free.New(rental{ID: "second", Until: now.Add(9 * time.Hour)})))(t)
	id := 0
	for begin, from := range begins {
		for name := range rentalPatches(x, "") {
			for move, to := range moves {
				for n := 0; ; n++ {
					id++
					at := fmt.Sprint(id)
					v := rental{ID: at, Until: from, Owner: "o", Parts: []kit.Part{{N: 9, Text: "z"}}}
					kit.Must(x.free.Save(ctx, x.free.New(v)))(t)
					if strings.Contains(move, "leftover") {
						x.leaves(at, "PART#01", "12345678")
					}
					write := rentalPatches(x, at)[name]
					moved := false
					x.at.n, x.at.do = n, func() {
						if moved = true; move != "" {
							x.moves(at, to)
						}
					}
					_, err := write()
					x.at.n = -1
					what := fmt.Sprintf("%s of %s, moved %s before request %d", name, begin, move, n)
					var conflict *mapper.ConflictError
					if err != nil && !(strings.Contains(name, "save") && errors.As(err, &conflict)) {
						t.Fatalf("%s: %v", what, err)
					}
					all := x.expirations(at)
					if len(all) < 3 && err == nil && name != "a put that replaces" {
						t.Errorf("%s: %v", what, all)
					}
					for sk, expiry := range all {
						patched := err == nil && (strings.Contains(name, "element") || name == "with the root item")
						if expiry == "9999999999" && !patched {
							continue // it is not the patch's
						}
						if expiry != all["HEAD"] {
							t.Errorf("%s: %s expires at %q, the root item at %q", what, sk, expiry, all["HEAD"])
						}
					}
					if !moved || move == "" {
						break
					}
				}
			}
		}
	}
}

// A patch whose items expire with the root item needs its expiry, and a live root item.
func TestItemsThatExpireWithRootNeedItsExpiry(t *testing.T) {
	t.Parallel()
	ctx, until := context.Background(), time.Now().Add(time.Hour)
	x := newRentals(t)
	kit.Must(x.free.Save(ctx, x.free.New(rental{ID: "1", Until: until})))(t)
	sent := 0
	x.at.n, x.at.do = 0, func() { sent++ }
	_, err := x.parts("1").Add(kit.Part{N: 1, Text: "x"}).Exec(ctx, x.m, mapper.Blind())
	if !errors.Is(err, mapper.ErrUsage) || sent > 0 {
		t.Error(err, sent)
	}
	x.at.n = -1
	e := kit.Must(x.m.Load(ctx, x.m.Key("1")))(t)
	e.Value.Until = until.Add(time.Hour)
	_, err = mapper.Transact(ctx, x.m.SavePart(e), x.parts("1").Add(kit.Part{N: 1, Text: "x"}).PatchPart(x.m))
	if !errors.Is(err, mapper.ErrUsage) || !strings.Contains(err.Error(), "moves the expiry") {
		t.Error(err)
	}
	blind := newRentals(t, mapper.Blind())
	kit.Must(blind.free.Save(ctx, blind.free.New(rental{ID: "1", Until: until})))(t)
	kit.Must(blind.parts("1").Add(kit.Part{N: 1, Text: "x"}).Exec(ctx, blind.m))(t)
	if all := blind.expirations("1"); all["PART#01"] == "" || all["PART#01"] != all["HEAD"] {
		t.Error(all)
	}
	over := time.Now().Add(-time.Minute)
	kit.Must(x.free.Save(ctx, x.free.New(rental{ID: "2", Until: over})))(t)
	for what, write := range rentalPatches(x, "2") {
		_, err := write()
		if !errors.Is(err, mapper.ErrNotFound) || len(x.expirations("2")) > 1 {
			t.Errorf("%s of an expired entity: %v, %v", what, err, x.expirations("2"))
		}
	}
}

// A patch whose first items had another expiry than the root item looks at the other ones again.
func TestAllItemsOfPatchExpireWithRoot(t *testing.T) {
	t.Parallel()
	ctx, now := context.Background(), time.Now().Truncate(time.Second)
	x := newRentals(t)
	sets := func(id, sk, expiry string) { // as a save of a program that has not read the other items
		kit.Must(testengine.Start(t).Client().UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &x.table, UpdateExpression: ptr("SET gone = :g, #v = :v"),
			Key: map[string]types.AttributeValue{
				"PK": &types.AttributeValueMemberS{Value: "RENTAL#" + id},
				"SK": &types.AttributeValueMemberS{Value: sk},
			},
			ExpressionAttributeNames: map[string]string{"#v": "_v"},
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":g": &types.AttributeValueMemberN{Value: expiry},
				":v": &types.AttributeValueMemberB{Value: fmt.Appendf(nil, "%08d", x.at.n)},
			},
		}))(t)
	}
	for n := range 4 {
		id := fmt.Sprint(n)
		kit.Must(x.free.Save(ctx, x.free.New(rental{ID: id, Until: now.Add(time.Hour)})))(t)
		x.at.n, x.at.do = 2, func() {
			x.moves(id, now.Add(2*time.Hour))
			sets(id, "PART#02", "9999999990")
			x.at.n, x.at.do = n, func() {
				to := x.expirations(id)["HEAD"]
				sets(id, "PART#01", "9999999991")
				sets(id, "HEAD", to)
			}
		}
		_, err := x.parts(id).Add(kit.Part{N: 1, Text: "x"}).And(x.parts(id).Add(kit.Part{N: 2, Text: "x"})).Exec(ctx,
			x.m)
		all := x.expirations(id)
		if err != nil || all["PART#01"] != all["HEAD"] || all["PART#02"] != all["HEAD"] || x.at.n >= 0 {
			t.Errorf("%d: %v, %v, %d requests left", n, err, all, x.at.n+1)
		}
	}
}

// The root item may get a later expiry at the last moment: an item that a patch has created is over then, and not lost.
func TestPatchedItemExpiresWithRootThatWasExtendedLately(t *testing.T) {
	t.Parallel()
	ctx, over := context.Background(), time.Now().Truncate(time.Second).Add(2*time.Second)
	x := newRentals(t)
	kit.Must(x.free.Save(ctx, x.free.New(rental{ID: "1", Until: over})))(t)
	e := kit.Must(x.free.Load(ctx, x.free.Key("1")))(t)
	e.Value.Until = over.Add(time.Hour)
	x.at.n, x.at.do = 2, func() {
		kit.Must(x.free.Save(ctx, e))(t)
		time.Sleep(time.Until(over.Add(time.Second)))
	}
	kit.Must(x.parts("1").Add(kit.Part{N: 1, Text: "x"}).Exec(ctx, x.m))(t)
	if all := x.expirations("1"); all["PART#01"] != all["HEAD"] {
		t.Error(all)
	}
}

// A patch reads the root item for its expiry only if it creates items, and its plan says so.
func TestPatchOfExistingItemReadsNoExpiry(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	x := newRentals(t)
	kit.Must(x.free.Save(ctx, x.free.New(rental{ID: "1", Until: time.Now().Add(time.Hour), Note: "o"})))(t)
	note := mapperimpl.Item[rental, rental](x.m.Key("1").Item("NOTE"), 1).Patch(rentalNote.Set("n")).IfEntityExists()
	plan := kit.Must(note.Plan(x.m))(t)
	if r := kit.Must(note.Exec(ctx, x.m))(t).Predicted(); r.RootReads != plan.RootReads {
		t.Errorf("%d reads of the root item, not %d", r.RootReads, plan.RootReads)
	}
}

// A patch that puts an item in place of a leftover one makes sure that its entity is still the live one.
func TestPatchReplacesLeftoverItemsOfLiveEntityOnly(t *testing.T) {
	t.Parallel()
	ctx, until := context.Background(), time.Now().Add(time.Hour)
	x := newRentals(t)
	for n := 0; ; n++ {
		id := fmt.Sprint(n)
		kit.Must(x.free.Save(ctx, x.free.New(rental{ID: id, Until: until})))(t)
		kit.Must(x.m.Load(ctx, x.m.Key(id)))(t)
		x.leaves(id, "NOTE", "12345678")
		again := false
		x.at.n, x.at.do = n, func() {
			again = true
			kit.Must(x.free.DeleteByKey(ctx, x.free.Key(id)))(t)
			kit.Must(x.free.Save(ctx, x.free.New(rental{ID: id, Until: until})))(t)
		}
		_, err := mapperimpl.Item[rental, rental](x.m.Key(id).Item("NOTE"), 1).Patch(rentalNote.Set("n")).Exec(ctx, x.m)
		e := kit.Must(x.free.Load(ctx, x.free.Key(id)))(t)
		if all := x.expirations(id); err != nil || e.Value.Note != "n" || all["NOTE"] != all["HEAD"] {
			t.Errorf("inserted again before request %d: %v, %q, %v", n, err, e.Value.Note, all)
		}
		if !again {
			break
		}
	}
}

// Each item that a patch puts in place of a leftover one has the expiry that the root item has in the end.
func TestReplacedLeftoverItemsExpireWithRoot(t *testing.T) {
	t.Parallel()
	ctx, until := context.Background(), time.Now().Add(time.Hour)
	x := newRentals(t)
	kit.Must(x.free.Save(ctx, x.free.New(rental{ID: "1", Until: until})))(t)
	kit.Must(x.m.Load(ctx, x.m.Key("1")))(t)
	x.leaves("1", "NOTE", "12345678")
	x.leaves("1", "EXTRA", "12345678")
	x.at.n, x.at.do = 2, func() {
		x.moves("1", until.Add(time.Hour))
		x.leaves("1", "EXTRA", "87654321")
	}
	kit.Must(mapperimpl.Item[rental, rental](x.m.Key("1").Item("NOTE"), 1).Patch(rentalNote.Set("n")).
		And(mapperimpl.Item[rental, rental](x.m.Key("1").Item("EXTRA"), 4).Patch(rentalExtra.Set("e"))).
		Exec(ctx, x.m))(t)
	if all := x.expirations("1"); all["NOTE"] != all["HEAD"] || all["EXTRA"] != all["HEAD"] {
		t.Error(all)
	}
}

// charter expires as a whole, and its stops are in an index.
type charter struct {
	_     struct{}   `ddb:"table=charters,ttl=gone"`
	_     struct{}   `ddb:"index=whole,hash=IPK,range=ISK,pk=TEXT#{Text},sk={N},on=Stops"`
	ID    string     `ddb:"pk=CHARTER#{ID}"`
	Until time.Time  `ddb:"sk=HEAD,ttl,all"`
	Stops []kit.Part `ddb:"sk=STOP#{N:02}"`
}

// The plan of a patch that adds elements has their sizes with the expiry, in the table and in indexes.
func TestPlanOfPatchCountsExpiryOfRoot(t *testing.T) {
	t.Parallel()
	ctx, client := context.Background(), testengine.Start(t).Client()
	m := kit.Must(mapper.New[charter](client, mapper.Table("charters"+strings.ReplaceAll(t.Name(), "/", ""))))(t)
	kit.Must(client.CreateTable(ctx, tables.Of(m)[0].Create))(t)
	kit.Must(m.Save(ctx, m.New(charter{ID: "1", Until: time.Now().Add(time.Hour)})))(t)
	stops := handmade.Elements[charter, kit.Part]{Node: handmade.Node(m.Key("1")), Item: 1}
	add := stops.Add(kit.Part{N: 1, Text: strings.Repeat("x", 500)})
	plan := kit.Must(add.Plan(m))(t)
	r := kit.Must(add.Exec(ctx, m))(t).Predicted()
	if got, want := plan.Items[0].NewBytes, r.Items[0].NewBytes; got != want {
		t.Errorf("the plan has %d bytes, the receipt %d", got, want)
	}
	for name, u := range plan.Indexes {
		if u.Expected != r.Indexes[name].Expected {
			t.Errorf("%s: the plan has %v, the receipt %v", name, u, r.Indexes[name])
		}
	}
}
