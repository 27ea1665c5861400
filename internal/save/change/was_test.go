package change_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/save/change"
	"github.com/itemize/itemize/internal/save/write"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/models"
)

// renaming is a random model whose attributes are renamed again and again: each field has the names
// that its attribute had.
type renaming struct {
	r     *rand.Rand
	names int
}

// next returns the type with some of its attributes renamed.
func (x *renaming) next(t reflect.Type) reflect.Type {
	fields := make([]reflect.StructField, t.NumField())
	for i := range fields {
		f := t.Field(i)
		ddb := f.Tag.Get("ddb")
		elements := strings.Contains(ddb, "#{") && i > 1
		switch {
		case f.Name == "_", strings.HasPrefix(ddb, "pk="):
		case elements && isStruct(f.Type.Elem()):
			switch elem := f.Type.Elem(); {
			case elem.Kind() == reflect.Pointer && f.Type.Kind() == reflect.Slice:
				f.Type = reflect.SliceOf(reflect.PointerTo(x.element(elem.Elem())))
			case elem.Kind() == reflect.Struct && f.Type.Kind() == reflect.Slice:
				f.Type = reflect.SliceOf(x.element(elem))
			case elem.Kind() == reflect.Struct:
				f.Type = reflect.MapOf(f.Type.Key(), x.element(elem))
			}
		default:
			f.Tag = x.renamed(f)
		}
		fields[i] = f
	}
	return reflect.StructOf(fields)
}

func isStruct(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct
}

// element renames attributes of a struct whose fields are spread.
func (x *renaming) element(t reflect.Type) reflect.Type {
	if t.Name() != "" {
		return t
	}
	fields := make([]reflect.StructField, t.NumField())
	for i := range fields {
		f := t.Field(i)
		if f.Name != "K" && f.Name != "N" {
			f.Tag = x.renamed(f)
		}
		fields[i] = f
	}
	return reflect.StructOf(fields)
}

// renamed returns a field's tag, half of the time with another name for its attribute, and those
// that it had. An embedded struct has none.
func (x *renaming) renamed(f reflect.StructField) reflect.StructTag {
	if f.Anonymous || x.r.IntN(2) == 0 {
		return f.Tag
	}
	name, options, _ := strings.Cut(f.Tag.Get("dynamodbav"), ",")
	if name == "" {
		name = f.Name
	}
	was := []string{name}
	var ddb []string
	for _, o := range strings.Split(f.Tag.Get("ddb"), ",") {
		if o != "" && len(ddb) < 2 && !strings.Contains(f.Tag.Get("ddb"), "was=") {
			ddb = append(ddb, o)
		}
	}
	if before, old, ok := strings.Cut(f.Tag.Get("ddb"), "was="); ok {
		ddb = strings.FieldsFunc(before, func(r rune) bool { return r == ',' })
		was = append(was, strings.Split(strings.Trim(old, "'"), ",")...)
	}
	x.names++
	ddb = append(ddb, "was='"+strings.Join(was, ",")+"'")
	tag := fmt.Sprintf("ddb:%q dynamodbav:%q", strings.Join(ddb, ","),
		strings.TrimSuffix(fmt.Sprintf("r%d,%s", x.names, options), ","))
	return reflect.StructTag(tag)
}

// modelOf is the model of a type that was made at random.
func modelOf(t *testing.T, typ reflect.Type) *model.Model {
	t.Helper()
	e, err := schema.Of(typ)
	if err != nil {
		t.Fatalf("%v\n%v", err, typ)
	}
	return model.New(e, codec.ReflectedModel(e), []string{"random"})
}

// Random histories of renames (was=) over random data, several at once, with half of the items written
// between renames. Every version of the model reads the items of the versions before, and a written
// item has no earlier name.
func TestRenamesLoseNothing(t *testing.T) {
	seed := draws.Seed(t)
	r := rand.New(rand.NewPCG(seed, 1))
	renames, rewritten := 0, 0
	for n := range 40 {
		x := &renaming{r: r}
		typ := models.Type(r, n)
		m := modelOf(t, typ)
		g := models.NewGen(r, m.Schema)
		h := &history{t: t, seed: seed, m: m, g: g}
		for range 4 {
			h.insert(g.New())
		}
		for range 5 {
			typ = x.next(typ)
			h.become(modelOf(t, typ), models.NewGen(r, modelOf(t, typ).Schema))
			for i := range h.entities {
				h.check(i, r.IntN(2) == 0)
			}
		}
		renames, rewritten = renames+x.names, rewritten+h.rewritten
	}
	if renames < 100 || rewritten < 100 {
		t.Errorf("seed %d: %d renames, %d items rewritten", seed, renames, rewritten)
	}
	t.Logf("seed %d: %d renames, %d items with old names rewritten", seed, renames, rewritten)
}

// history has the written items of some entities.
type history struct {
	t         *testing.T
	seed      uint64
	m         *model.Model
	g         *models.Gen
	entities  []entity
	rewritten int
}

type entity struct {
	table store
	value any
}

func (h *history) insert(v any) {
	e := entity{store{}, v}
	h.save(&e, snapshot.New(h.m, v))
	h.entities = append(h.entities, e)
}

// become makes the values those of another version of the model.
func (h *history) become(m *model.Model, g *models.Gen) {
	h.m, h.g = m, g
	for i := range h.entities {
		e := &h.entities[i]
		now := reflect.New(m.Schema.Type.Go.(reflect.Type))
		now.Elem().Set(reflect.ValueOf(e.value).Elem().Convert(now.Elem().Type()))
		e.value = now.Interface()
	}
}

// check loads an entity, sees that nothing is lost, and perhaps changes it.
func (h *history) check(i int, edit bool) {
	h.t.Helper()
	e := &h.entities[i]
	s, v := h.load(e)
	h.same(v, e.value)
	if d, err := change.Of(s, nil, v, change.Options{}); err != nil || len(d.Changes) > 0 {
		h.t.Fatalf("seed %d: a load has dirtied it: %v", h.seed, err)
	}
	if !edit {
		return
	}
	h.g.Edit(v)
	e.value = v
	h.save(e, s)
	s, again := h.load(e)
	h.same(again, v)
	if d, err := change.Of(s, nil, again, change.Options{}); err != nil || len(d.Changes) > 0 {
		h.t.Fatalf("seed %d: still changed: %v", h.seed, err)
	}
}

func (h *history) same(got, want any) {
	h.t.Helper()
	a, b := reflect.New(reflect.TypeOf(got).Elem()), reflect.New(reflect.TypeOf(want).Elem())
	a.Elem().Set(reflect.ValueOf(got).Elem())
	b.Elem().Set(reflect.ValueOf(want).Elem())
	h.g.Normalize(a.Interface())
	h.g.Normalize(b.Interface())
	if d := cmp.Diff(a.Elem().Interface(), b.Elem().Interface(), models.Options); d != "" {
		h.t.Fatalf("seed %d: %s", h.seed, d)
	}
}

func (h *history) load(e *entity) (*snapshot.Snapshot, any) {
	h.t.Helper()
	s, err := snapshot.Loaded(h.m, snapshot.New(h.m, e.value).Selection)
	if err != nil {
		h.t.Fatal(err)
	}
	v := h.m.Codec.New()
	images, err := h.m.Describe(h.m.Tables[0], slices.Collect(maps.Values(e.table)))
	if err == nil {
		err = s.Identify(v)
	}
	if err == nil {
		err = s.Decode(v, images)
	}
	if err != nil {
		h.t.Fatalf("seed %d: %v", h.seed, err)
	}
	return s, v
}

// save writes the changes, and checks that the written items have no earlier names.
func (h *history) save(e *entity, s *snapshot.Snapshot) {
	h.t.Helper()
	d, err := change.Of(s, nil, e.value, change.Options{})
	if err != nil {
		h.t.Fatalf("seed %d: %v", h.seed, err)
	}
	for _, ch := range d.Changes {
		ch.Prepare()
		had := len(h.former(ch, e.table[ch.SK.Text])) > 0
		if err := e.table.write(&ch.Request); err != nil {
			h.t.Fatalf("seed %d: %v", h.seed, err)
		}
		if left := h.former(ch, e.table[ch.SK.Text]); ch.Kind != write.Delete && len(left) > 0 {
			h.t.Fatalf("seed %d: %s of %s leaves %v", h.seed, ch.Kind, ch.Place, left)
		}
		if had {
			h.rewritten++
		}
	}
	s.Apply(d.Keys, change.Effects(d.Changes, change.Requests(d.Changes)))
	if rest, err := change.Of(s, nil, e.value, change.Options{}); err != nil || len(rest.Changes) > 0 {
		h.t.Fatalf("seed %d: still changed after the save: %v", h.seed, err)
	}
}

// former lists the old names that a stored item has.
func (h *history) former(ch *change.Change, stored item.Attributes) []string {
	var left []string
	for name := range stored {
		if ch.Item.Former(name) >= 0 {
			left = append(left, name)
		}
	}
	return left
}
