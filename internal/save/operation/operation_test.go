package operation

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/expr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/read/search"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/internal/save/estimate"
	"github.com/itemize/itemize/internal/save/staging"
	"github.com/itemize/itemize/internal/save/write"
	fake "github.com/itemize/itemize/internal/testing/fakedynamo"
)

// shop is the entity that the operations of a test write.
type shop struct {
	t      *testing.T
	env    *Env
	client *fake.Client
	entity *Entity
	value  *fake.Shop
}

// newShop returns a loaded shop with a root item and the line a, or with none of its items a new one.
func newShop(t *testing.T, client *fake.Client, items ...item.Attributes) *shop {
	t.Helper()
	m := fake.Of[fake.Shop](t)
	sizes, err := estimate.NewSizes(m, nil)
	if err != nil {
		t.Fatal(err)
	}
	reader := &read.Reader{Client: client, Label: m.Label(), TableOf: m.TableOf, Describe: m.Describe}
	sender := &write.Sender{Client: client, Now: m.Now}
	protocol := &staging.Protocol{Reader: reader, Sender: sender, Describe: m.Image, Now: m.Now}
	x := &shop{t: t, client: client, value: &fake.Shop{ID: "1", Name: "n"}, env: &Env{
		Model: m, Protocol: protocol, Sender: sender,
		Search:   &search.Engine{Model: m, Source: reader, Reader: reader, Protocol: protocol},
		Estimate: &estimate.Estimator{Model: m, Protocol: protocol, Sizes: sizes},
	}}
	if len(items) == 0 {
		x.entity = &Entity{Snapshot: snapshot.New(m, x.value)}
		return x
	}
	s, err := snapshot.Loaded(m, m.Select([]any{"1"}))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Identify(x.value), s.Decode(x.value, fake.Images(t, m, items...))); err != nil {
		t.Fatal(err)
	}
	x.entity = &Entity{Snapshot: s}
	return x
}

// of returns an item of the shop, with a version and an incarnation.
func of(sk, version, incarnation string) item.Attributes {
	a := fake.Item("SHOP#1", sk, item.Attributes{"_v": fake.B(version), "_a": fake.B(incarnation)})
	switch {
	case sk == "HEAD":
		a["Name"], a["Open"], a["Visits"] = fake.S("n"), fake.Bool(false), fake.N("0")
	case strings.HasPrefix(sk, "LINE#"):
		a["SKU"], a["Count"], a["Text"] = fake.S(sk[len("LINE#"):]), fake.N("0"), fake.S("")
	}
	return a
}

// rename saves another name.
func (x *shop) rename() error {
	x.value.Name += "!"
	return x.run(NewSave(x.env, x.entity, x.value, Options{}))
}

// addLine saves one more line.
func (x *shop) addLine() error {
	x.value.Lines = append(x.value.Lines, fake.Line{SKU: "b"})
	return x.run(NewSave(x.env, x.entity, x.value, Options{}))
}

// insert saves a new shop with a line.
func (x *shop) insert() error {
	x.value.Lines = []fake.Line{{SKU: "b"}}
	return x.rename()
}

// delete deletes the loaded shop, and deleteByKey a shop that is not loaded.
func (x *shop) delete() error {
	return x.run(NewDelete(x.env, x.entity.Selection, x.entity, Options{}))
}

func (x *shop) deleteByKey() error {
	return x.run(NewDelete(x.env, x.env.Model.Select([]any{"1"}), nil, Options{}))
}

// deleteLine deletes a line without reading it.
func (x *shop) deleteLine() error {
	sel := x.env.Model.Select([]any{"1"})
	sel.Whole, sel.Parts[0].Range = false, selection.Range{Kind: selection.One, Low: fake.Text("LINE#a")}
	return x.run(NewDelete(x.env, sel, nil, Options{}))
}

func (x *shop) run(o *Operation, err error) error {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
	return o.Run(x.t.Context(), &Tally{})
}

// patch writes changes without reading.
func (x *shop) patch(changes ...expr.Change) error {
	o, _, err := NewPatch(x.env, PatchSpec{Selection: x.env.Model.Select([]any{"1"}), Changes: changes}, Options{})
	return x.run(o, err)
}

// raw writes the shop in a transaction with an item of another table.
func (x *shop) raw() error {
	x.value.Name += "!"
	save, err := Save(x.env, x.entity, x.value, Options{}, nil)
	if err != nil {
		return err
	}
	part, err := Raw(types.TransactWriteItem{Put: &types.Put{
		TableName: aws.String("logs"), Item: item.Attributes{"id": fake.S("1")},
	}}, func(string) *item.Table { return nil })
	if err != nil {
		return err
	}
	return Transaction(x.env.Sender, []Part{save, part}).Run(x.t.Context(), &Tally{})
}

// set, count and add are changes of the fixed item EXTRA, the root item and a new line.
func set(x *shop) expr.Change {
	return expr.Change{
		Kind: expr.Set, Item: kindAt(x.env.Model, "EXTRA"), Field: fieldOf("Extra"),
		Apply: func(v any) { v.(*fake.Shop).Extra = "x" },
	}
}

func count(x *shop) expr.Change {
	return expr.Change{Kind: expr.Increment, Item: kindAt(x.env.Model, "HEAD"), Field: fieldOf("Visits"), By: "1"}
}

func add(x *shop) expr.Change {
	return expr.Change{Kind: expr.Add, Item: kindAt(x.env.Model, "LINE"), Record: &fake.Line{SKU: "b"}}
}

func fieldOf(name string) expr.Field { return expr.Field{{Name: name, Attribute: name}} }

func kindAt(m *model.Model, begin string) int {
	return slices.IndexFunc(m.Schema.Items, func(it *schema.Item) bool { return strings.HasPrefix(it.Key.Text, begin) })
}

// kindOf names the kind of an error. An unknown outcome is so for good if no entity resolves it.
func kindOf(err error) string {
	var unknown *Unknown
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, new(*Partial)):
		return "partial"
	case errors.As(err, &unknown) && unknown.Patch:
		return "unknown for good"
	case unknown != nil:
		return "unknown"
	case errors.As(err, new(*Exhausted)):
		return "exhausted"
	case errors.As(err, new(*Exists)):
		return "exists"
	case errors.As(err, new(*Conflict)):
		return "conflict"
	case errors.Is(err, search.ErrNotFound):
		return "not found"
	}
	return "error"
}

// keep has an answer remember the version that its request writes, in an item that a later answer returns.
func keep(a fake.Answer, in item.Attributes) fake.Answer {
	a.Do = func(c fake.Call) {
		if u, ok := c.Input.(*dynamodb.UpdateItemInput); ok {
			for name, v := range u.ExpressionAttributeValues {
				if _, isBytes := v.(*types.AttributeValueMemberB); isBytes && !attr.Same(v, fake.B("1")) {
					in["_v"] = u.ExpressionAttributeValues[name]
				}
			}
		}
	}
	return a
}

// The loop sends these requests after these answers, and ends with this error. The entity keeps unknown outcomes.
func TestLoop(t *testing.T) {
	root := of("HEAD", "1", "e")
	loaded := []item.Attributes{root, of("LINE#a", "1", "e")}
	mine, dead, deleted := of("HEAD", "", "e"), of("LINE#b", "9", "d"), item.Attributes{}
	pending := of("HEAD", "1", "d")
	pending["_s"] = item.NewStage(item.Inserting, fake.Now).Value()
	refused := func(stored ...item.Attributes) fake.Answer {
		var reasons []types.CancellationReason
		for _, a := range stored {
			code := "None"
			if a != nil {
				code = "ConditionalCheckFailed"
			}
			reasons = append(reasons, fake.Because(code, a))
		}
		return fake.Canceled(reasons...)
	}
	for name, c := range map[string]struct {
		items     []item.Attributes
		unwatched bool
		answers   []fake.Answer
		run       func(x *shop) error
		want      string // the requests
		kind      string
		open      int // unresolved writes
	}{
		"applied": {
			items: loaded, answers: []fake.Answer{fake.OK()},
			run: (*shop).rename, want: "UpdateItem HEAD", kind: "ok",
		},
		"refused": {
			items: loaded, answers: []fake.Answer{fake.Refused(of("HEAD", "2", "e"))},
			run: (*shop).rename, want: "UpdateItem HEAD", kind: "conflict",
		},
		"failed": {
			items: loaded, answers: []fake.Answer{fake.Failed("AccessDeniedException")},
			run: (*shop).rename, want: "UpdateItem HEAD", kind: "error",
		},
		"lost, and the version shows it": {
			items: loaded, answers: []fake.Answer{keep(fake.Dropped(), mine), fake.Stored(mine)},
			run: (*shop).rename, want: "UpdateItem HEAD, GetItem HEAD", kind: "ok",
		},
		"overwritten: a copy may have been applied": {
			items: loaded, answers: []fake.Answer{fake.Dropped(), fake.Stored(of("HEAD", "2", "e"))},
			run: (*shop).rename, want: "UpdateItem HEAD, GetItem HEAD", kind: "unknown", open: 1,
		},
		"unanswered": {
			items: loaded, answers: []fake.Answer{fake.Dropped(), fake.Failed("InternalServerError")},
			run: (*shop).rename, want: "UpdateItem HEAD, GetItem HEAD", kind: "unknown", open: 1,
		},
		"harmless: an unwatched client may have made a copy": {
			items: loaded, unwatched: true, answers: []fake.Answer{fake.Refused(of("HEAD", "2", "e"))},
			run: (*shop).rename, want: "UpdateItem HEAD", kind: "unknown", open: 1,
		},
		"the next save finds an unresolved write": {
			items: loaded,
			answers: []fake.Answer{
				keep(fake.Dropped(), mine), fake.Failed("InternalServerError"), fake.Stored(mine), fake.OK(),
			},
			run:  func(x *shop) error { return errors.Join(x.rename(), x.rename()) },
			want: "UpdateItem HEAD, GetItem HEAD, GetItem HEAD, UpdateItem HEAD", kind: "unknown",
		},
		"an addition is confirmed": {
			items: loaded, answers: []fake.Answer{fake.OK(), fake.Stored(root)}, run: (*shop).addLine,
			want: "PutItem LINE#b, GetItem HEAD", kind: "ok",
		},
		"an addition to a deleted entity is taken back": {
			items: loaded, answers: []fake.Answer{fake.OK(), fake.Stored(nil), fake.OK()}, run: (*shop).addLine,
			want: "PutItem LINE#b, GetItem HEAD, DeleteItem LINE#b", kind: "not found",
		},
		"an addition replaces a leftover item": {
			items: loaded,
			answers: []fake.Answer{
				fake.Refused(dead), fake.Stored(root), fake.OK(), fake.Stored(root),
			},
			run: (*shop).addLine, want: "PutItem LINE#b, GetItem HEAD, PutItem LINE#b, GetItem HEAD", kind: "ok",
		},
		"open, and applied: a leftover item refuses an unwatched client": {
			items: loaded, unwatched: true,
			answers: []fake.Answer{
				fake.Refused(dead), fake.Stored(root), fake.OK(), fake.Stored(root),
			},
			run: (*shop).addLine, want: "PutItem LINE#b, GetItem HEAD, PutItem LINE#b, GetItem HEAD", kind: "ok",
		},
		"open, and not applied later": {
			items: loaded, unwatched: true,
			answers: []fake.Answer{fake.Refused(dead), fake.Stored(root), fake.Failed("AccessDeniedException")},
			run:     (*shop).addLine, want: "PutItem LINE#b, GetItem HEAD, PutItem LINE#b", kind: "unknown", open: 1,
		},
		"an addition finds another's": {
			items: loaded, answers: []fake.Answer{fake.Refused(of("LINE#b", "9", "e"))}, run: (*shop).addLine,
			want: "PutItem LINE#b", kind: "conflict",
		},
		"an insert finds its entity": {
			answers: []fake.Answer{fake.Refused(of("HEAD", "1", "e"))}, run: (*shop).rename,
			want: "PutItem HEAD", kind: "exists",
		},
		"a patch of a missing entity": {
			answers: []fake.Answer{fake.Refused(nil)}, run: func(x *shop) error { return x.patch(count(x)) },
			want: "UpdateItem HEAD", kind: "not found",
		},
		"a patch makes a missing item": {
			answers: []fake.Answer{fake.Refused(nil), fake.Stored(root), fake.OK(), fake.Stored(root)},
			run:     func(x *shop) error { return x.patch(set(x)) },
			want:    "UpdateItem EXTRA, GetItem HEAD, UpdateItem EXTRA, GetItem HEAD", kind: "ok",
		},
		"a patch that counts is not sent again": {
			answers: []fake.Answer{fake.Dropped()}, run: func(x *shop) error { return x.patch(count(x)) },
			want: "UpdateItem HEAD, GetItem HEAD", kind: "unknown for good",
		},
		"a patch replaces a leftover item": {
			answers: []fake.Answer{
				fake.Stored(root), fake.Refused(dead), fake.Stored(root), fake.OK(),
				fake.Stored(root),
			},
			run:  func(x *shop) error { return x.patch(add(x)) },
			want: "GetItem HEAD, PutItem LINE#b, GetItem HEAD, PutItem LINE#b, GetItem HEAD", kind: "ok",
		},
		"an insert takes over a pending root item": {
			answers: []fake.Answer{refused(pending, nil), fake.OK()}, run: (*shop).insert,
			want: "TransactWriteItems, TransactWriteItems", kind: "ok",
		},
		"an insert replaces a leftover item": {
			answers: []fake.Answer{refused(nil, dead), fake.Stored(nil), fake.OK()}, run: (*shop).insert,
			want: "TransactWriteItems, GetItem HEAD, TransactWriteItems", kind: "ok",
		},
		"a delete looks for additions of other writers, and deletes them": {
			items: loaded,
			answers: []fake.Answer{
				fake.OK(), fake.Page("", of("LINE#b", "9", "e")), fake.Stored(nil), fake.OK(),
			},
			run: (*shop).delete, want: "TransactWriteItems, Query, GetItem HEAD, DeleteItem LINE#b", kind: "ok",
		},
		"a delete of an entity that another writer changed": {
			items: loaded, answers: []fake.Answer{refused(nil, of("HEAD", "2", "e"))}, run: (*shop).delete,
			want: "TransactWriteItems", kind: "conflict",
		},
		"a delete of an entity that another writer deleted": {
			items: loaded, answers: []fake.Answer{refused(deleted, deleted)}, run: (*shop).delete,
			want: "TransactWriteItems", kind: "not found",
		},
		"a delete by key reads again after a refusal": {
			answers: []fake.Answer{
				fake.Page("", loaded...), refused(nil, of("HEAD", "2", "e")),
				fake.Page("", of("HEAD", "2", "e"), loaded[1]), fake.OK(), fake.Page(""),
			},
			run: (*shop).deleteByKey, want: "Query, TransactWriteItems, Query, TransactWriteItems, Query", kind: "ok",
		},
		"a delete without an answer finds no item": {
			answers: []fake.Answer{fake.Dropped(), fake.Stored(nil), fake.Stored(root)}, run: (*shop).deleteLine,
			want: "DeleteItem LINE#a, GetItem LINE#a, GetItem HEAD", kind: "ok",
		},
		"a delete without an answer finds no item, since its entity moved": {
			answers: []fake.Answer{fake.Dropped(), fake.Stored(nil), fake.Stored(nil)}, run: (*shop).deleteLine,
			want: "DeleteItem LINE#a, GetItem LINE#a, GetItem HEAD", kind: "unknown",
		},
		"a repeated transaction is refused": {
			items: loaded,
			answers: []fake.Answer{
				fake.Dropped(), fake.Dropped(), fake.Dropped(), fake.Stored(root),
				fake.Canceled(fake.Because("ConditionalCheckFailed", of("HEAD", "2", "e")), fake.Because("None", nil)),
				fake.Stored(of("HEAD", "2", "e")),
			},
			run: func(x *shop) error {
				if err := x.raw(); kindOf(err) != "unknown for good" {
					return err
				}
				x.value.Name = "n"
				return x.raw()
			},
			want: strings.Repeat("TransactWriteItems, ", 3) + "GetItem HEAD, TransactWriteItems, GetItem HEAD",
			kind: "unknown for good", open: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newShop(t, &fake.Client{Answers: c.answers, Unwatched: c.unwatched}, c.items...)
				err := c.run(x)
				if got := strings.Join(x.client.Names(), ", "); got != c.want {
					t.Errorf("requests %s, want %s", got, c.want)
				}
				if kind := kindOf(err); kind != c.kind || len(x.entity.unresolved) != c.open || x.client.Left() > 0 {
					t.Errorf("%s with %d unresolved writes and %d answers left, want %s and %d: %v", kind,
						len(x.entity.unresolved), x.client.Left(), c.kind, c.open, err)
				}
			})
		})
	}
}

// An open try is recorded before the step whose outcome is unknown, so that the latest write is resolved first.
func TestOpenTriesAreOlder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := of("HEAD", "1", "e")
		x := newShop(t, &fake.Client{Unwatched: true, Answers: []fake.Answer{
			fake.Refused(of("LINE#b", "9", "d")), fake.Stored(root), fake.Dropped(), fake.Failed("InternalServerError"),
		}}, root)
		if err := x.addLine(); kindOf(err) != "unknown" || len(x.entity.unresolved) != 2 {
			t.Fatalf("%d unresolved writes: %v", len(x.entity.unresolved), err)
		}
		sent := slices.DeleteFunc(x.client.Calls(), func(c fake.Call) bool { return c.Name != "PutItem LINE#b" })
		for i, d := range x.entity.unresolved {
			if v := sent[i].Input.(*dynamodb.PutItemInput).Item["_v"]; !attr.Same(d.Changes[0].Token, v) {
				t.Errorf("unresolved write %d is not request %d", i, i)
			}
		}
	})
}

// A part may be sent again despite an assumed copy if its requests require the items as they were read, or a version.
// Only a plain delete of a single item may be sent again after a lost answer.
func TestPartsChooseTheirHarmlessCopies(t *testing.T) {
	root := of("HEAD", "1", "e")
	x := newShop(t, &fake.Client{}, root)
	whole := x.env.Model.Select([]any{"1"})
	some, one := whole, whole
	some.Parts, one.Parts = slices.Clone(whole.Parts), slices.Clone(whole.Parts)
	some.Whole, some.Parts[0].Range = false, selection.Range{Kind: selection.Prefix, Low: fake.Text("LINE#")}
	one.Whole, one.Parts[0].Range = false, selection.Range{Kind: selection.One, Low: fake.Text("LINE#a")}
	deletes := func(sel selection.Selection, e *Entity, o Options) (*Operation, error) {
		return NewDelete(x.env, sel, e, o)
	}
	patches := func(o Options, changes ...expr.Change) (*Operation, error) {
		op, _, err := NewPatch(x.env, PatchSpec{Selection: whole, Changes: changes}, o)
		return op, err
	}
	for name, c := range map[string]struct {
		make          func() (*Operation, error)
		lost, assumed bool
	}{
		"a save": {
			func() (*Operation, error) { return NewSave(x.env, x.entity, x.value, Options{}) }, false, true,
		},
		"a delete of a loaded entity": {
			func() (*Operation, error) { return deletes(whole, x.entity, Options{}) }, false, true,
		},
		"a delete by key": {func() (*Operation, error) { return deletes(whole, nil, Options{}) }, false, true},
		"a delete of elements, which another writer may have added since": {
			func() (*Operation, error) { return deletes(some, nil, Options{}) }, false, false,
		},
		"a delete of one item": {func() (*Operation, error) { return deletes(one, nil, Options{}) }, true, true},
		"a delete of one item, exactly once": {
			func() (*Operation, error) { return deletes(one, nil, Options{ExactlyOnce: true}) }, false, false,
		},
		"a patch of a missing item": {func() (*Operation, error) { return patches(Options{}, set(x)) }, false, true},
		"a patch of a missing item, exactly once": {
			func() (*Operation, error) { return patches(Options{ExactlyOnce: true}, set(x)) }, false, false,
		},
		"a patch that counts": {
			func() (*Operation, error) {
				plan := kindAt(x.env.Model, "PLAN")
				return patches(Options{}, expr.Change{
					Kind: expr.Increment, Item: plan, Part: true, Field: fieldOf("Seats"), By: "1",
				})
			}, false, false,
		},
		"a patch of two items without versions": {
			func() (*Operation, error) {
				return patches(Options{}, set(x), expr.Change{Kind: expr.Delete, Item: kindAt(x.env.Model, "PLAN")})
			}, false, false,
		},
	} {
		op, err := c.make()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r, err := op.parts[0].requests(&op.readers)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		missing := slices.Repeat([]item.Attributes{{}}, len(r.Writes))
		for what, want := range map[bool]bool{false: c.lost, true: c.assumed} {
			o := &write.Outcome{State: write.Rejected, Requests: r.Writes, Stored: missing, Unsure: true, Assumed: what}
			if got := op.parts[0].base().harmless(op.parts[0], o); got != want {
				t.Errorf("%s, assumed %v: harmless %v, want %v", name, what, got, want)
			}
		}
	}
}

// The incarnation and mark of a stored item, and the root item, say how it blocks a patch.
func TestBlockers(t *testing.T) {
	x := newShop(t, &fake.Client{}, of("HEAD", "1", "e"))
	m := x.env.Model
	staged := m.Reserved.MarkStaged().Value
	root := &fake.Images(t, m, of("HEAD", "1", "e"))[0]
	mine, dead := item.Header{Incarnation: fake.B("e")}, item.Header{Incarnation: fake.B("d")}
	for name, c := range map[string]struct {
		stored item.Header
		root   *item.Image
		exists bool
		ofRoot bool
		want   blocker
	}{
		"the root item":                       {dead, root, true, true, blockerRoot},
		"of the live entity":                  {mine, root, true, false, blockerOwn},
		"of a pending entity":                 {mine, root, false, false, blockerPending},
		"of a deleted entity":                 {dead, root, true, false, blockerLeftover},
		"of a deleted entity, without a root": {dead, nil, false, false, blockerLeftover},
		"without an incarnation":              {item.Header{}, root, true, false, blockerBare},
		"with a mark":                         {item.Header{Stage: staged}, root, true, false, blockerMarked},
		"with a mark, without an entity":      {item.Header{Stage: staged}, nil, false, false, blockerUnrooted},
	} {
		of := set(x)
		if c.ofRoot {
			of = count(x)
		}
		p, err := change.NewPatch(m, m.Select([]any{"1"}), []expr.Change{of})
		if err != nil {
			t.Fatal(err)
		}
		if got := blockerOf(p.Items[0], c.stored, c.root, c.exists); got != c.want {
			t.Errorf("%s: blocker %d, want %d", name, got, c.want)
		}
	}
}
