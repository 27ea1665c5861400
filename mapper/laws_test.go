package mapper

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"reflect"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/codec"
	"github.com/itemize/itemize/internal/model/expr"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/snapshot"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/models"
	"github.com/itemize/itemize/internal/testing/testengine"
)

// lawsOn are the laws of values for one random model.
type lawsOn struct {
	*fixture
	r      *rand.Rand
	client *dynamodb.Client
	table  string
	typ    reflect.Type
	id     int
	counts map[string]int
}

// drawn returns a new value of the model with a key of its own.
func (l *lawsOn) drawn() any {
	v := reflect.New(l.typ)
	for i := range l.typ.NumField() {
		if f := v.Elem().Field(i); f.CanSet() {
			models.Draw(l.r, f, 0)
		}
	}
	l.id++
	v.Elem().FieldByName("ID").SetString(fmt.Sprint("id", l.id))
	return v.Interface()
}

// stored returns the items of an entity by their sort keys.
func (l *lawsOn) stored(v any) map[string]map[string]types.AttributeValue {
	l.Helper()
	keyFields, err := l.KeyFields(v)
	if err != nil {
		l.Fatal(err)
	}
	at, err := l.Schema.Partition(keyFields)
	if err != nil {
		l.Fatal(err)
	}
	out, err := l.client.Query(context.Background(), &dynamodb.QueryInput{
		TableName: &l.table, KeyConditionExpression: ptr("PK = :p"), ConsistentRead: ptr(true),
		ExpressionAttributeValues: map[string]types.AttributeValue{":p": attr.ValueOf(at.PK)},
	})
	if err != nil {
		l.Fatal(err)
	}
	items := map[string]map[string]types.AttributeValue{}
	for _, it := range out.Items {
		items[it["SK"].(*types.AttributeValueMemberS).Value] = it
	}
	return items
}

func ptr[V any](v V) *V { return &v }

// encoded returns the encodings of all attributes of a value, or texts that say why there is none: those of fixed
// items by their names, those of elements by their keys. The error is the first of them.
func (l *lawsOn) encoded(v any) (map[string]types.AttributeValue, error) {
	all := map[string]types.AttributeValue{}
	var failed error
	for _, it := range l.Schema.Items {
		record := l.Codec.Record(it.Index)
		put := func(prefix string, rec any) {
			for i, a := range it.Attributes {
				av, err := record.Encode(rec, i)
				// Which gives a float64 for each number.
				if err == nil && av != nil && holds(a.Value.Type, schema.Interface) {
					av, err = recode(record, l.blank(it), i, av)
				}
				if failed == nil {
					failed = err
				}
				if err != nil {
					av = &types.AttributeValueMemberS{Value: "no encoding: " + err.Error()}
				}
				if av != nil {
					all[prefix+a.Name] = av
				}
			}
		}
		if !it.Element() {
			if it == l.Schema.Root || record.Present(v) {
				put("", v)
				continue
			}
			before := failed
			put("", l.Codec.New()) // it is not written: its -0 loads as 0
			failed = before
			continue
		}
		field := reflect.ValueOf(v).Elem().FieldByName("List")
		for i := range field.Len() {
			rec := field.Index(i).Addr().Interface()
			var key strings.Builder
			for n := range it.Key.Sources {
				value, err := record.Key(rec, n)
				if err != nil {
					failed = err
				}
				text, _ := it.Key.Format(n).Append(nil, value, '#')
				key.Write(text)
			}
			put("L#"+key.String()+"#", rec)
		}
	}
	return all, failed
}

// raw returns the encodings of the root item.
func (l *lawsOn) raw(v any) map[string]types.AttributeValue {
	all := map[string]types.AttributeValue{}
	for i, a := range l.Schema.Root.Attributes {
		if av, err := l.Codec.Record(l.Schema.Root.Index).Encode(v, i); err == nil && attr.Check(av) == nil {
			all[a.Name] = av
		}
	}
	return all
}

// blank returns an empty record of an item.
func (l *lawsOn) blank(it *schema.Item) any {
	if it.Element() {
		return l.Codec.Elements(it.Index).NewElement()
	}
	return l.Codec.New()
}

// recode decodes an attribute and encodes it again.
func recode(record codec.Record, rec any, i int, av types.AttributeValue) (types.AttributeValue, error) {
	if attr.Check(av) != nil {
		return av, nil // it is not stored
	}
	if err := record.Decode(rec, i, av); err != nil {
		return nil, err
	}
	return record.Encode(rec, i)
}

// holds reports whether a type is of a kind, or has one in it.
func holds(t *schema.Type, kind schema.Kind) bool {
	var in func(t *schema.Type, seen map[*schema.Type]bool) bool
	in = func(t *schema.Type, seen map[*schema.Type]bool) bool {
		if t == nil || seen[t] {
			return false
		}
		seen[t] = true
		return t.Kind == kind || in(t.Elem, seen) || in(t.Key, seen) ||
			slices.ContainsFunc(t.Fields, func(f *schema.Field) bool { return in(f.Type, seen) })
	}
	return in(t, map[*schema.Type]bool{})
}

// lossy reports whether values of a stored form differ from those that were stored: sets have no order, and seconds
// no fraction.
func lossy(w schema.Wire) bool {
	if w.Format == "unixtime" || w.Type == "any" || w.Type == "own" || w.Type == "SS" || w.Type == "NS" ||
		w.Type == "BS" {
		return true
	}
	return w.Of != nil && lossy(*w.Of) ||
		slices.ContainsFunc(w.Fields, func(f schema.WireField) bool { return lossy(f.Wire) })
}

// sameValues fails the test unless the fields of two values are equal: times as instants, numbers by their digits, and
// empty ones like nil.
func (l *lawsOn) sameValues(a, b any) {
	l.Helper()
	options := append(cmp.Options{
		cmp.Comparer(
			func(x, y attributevalue.Number) bool { return attr.Canonical(string(x)) == attr.Canonical(string(y)) },
		),
		cmp.Comparer(func(x, y json.Number) bool { return attr.Canonical(string(x)) == attr.Canonical(string(y)) }),
		cmp.Comparer(func(x, y big.Int) bool { return x.Cmp(&y) == 0 }),
		cmp.Comparer(func(x, y big.Float) bool { return codec.BigText(&x) == codec.BigText(&y) }),
	}, models.Options...)
	for _, it := range l.Schema.Items {
		if it.Element() {
			continue
		}
		for _, at := range it.Attributes {
			x, y := reflect.ValueOf(a).
				Elem().
				FieldByIndex(at.Value.Path),
				reflect.ValueOf(b).
					Elem().
					FieldByIndex(at.Value.Path)
			empties := at.AV.Has("omitempty") || at.AV.Has("nullempty") || at.AV.Has("omitemptyelem") ||
				at.AV.Has("nullemptyelem")
			if empties || strings.Contains(fmt.Sprintf("%T", x.Interface()), "empty") ||
				lossy(at.Value.Type.Wire(at.AV.Options)) ||
				strings.Contains(fmt.Sprint(x.Type()), "UnixTime") ||
				holds(at.Value.Type, schema.Pointer) {
				continue // what is left out is not loaded
			}
			if d := cmp.Diff(x.Interface(), y.Interface(), options); d != "" {
				l.Errorf("%v: %s (-saved +loaded):\n%s", l.typ, at.Name, d)
			}
			l.counts["equal"]++
		}
	}
}

// sameEncodings fails the test unless two values encode alike.
func (l *lawsOn) sameEncodings(what string, a, b any) {
	l.Helper()
	x, _ := l.encoded(a)
	y, _ := l.encoded(b)
	for _, names := range []map[string]types.AttributeValue{x, y} {
		for name := range names {
			if a, b := withoutNull(x[name]), withoutNull(y[name]); (a == nil) != (b == nil) ||
				a != nil && !attr.Same(a, b) {
				l.Errorf("%s: %v\n%s is %s, and then %s", what, l.typ, name, shown(x[name]), shown(y[name]))
			}
		}
	}
}

// withoutNull leaves out what is NULL, also inside lists and maps: an empty set is stored as NULL, and a nil set that
// is loaded is left out.
func withoutNull(v types.AttributeValue) types.AttributeValue {
	switch v := v.(type) {
	case *types.AttributeValueMemberNULL:
		return nil
	case *types.AttributeValueMemberL:
		l := &types.AttributeValueMemberL{}
		for _, e := range v.Value {
			if e = withoutNull(e); e != nil {
				l.Value = append(l.Value, e)
			}
		}
		return l
	case *types.AttributeValueMemberM:
		m := &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}}
		for name, e := range v.Value {
			if e = withoutNull(e); e != nil {
				m.Value[name] = e
			}
		}
		return m
	}
	return v
}

func shown(v types.AttributeValue) string {
	if v == nil {
		return "nothing"
	}
	b, err := attributevalue.MarshalMapJSON(map[string]types.AttributeValue{"v": v})
	if err != nil {
		return err.Error()
	}
	for _, long := range []string{strings.Repeat("x", 50), strings.Repeat("0", 50)} {
		b = bytes.ReplaceAll(b, []byte(long), nil)
	}
	return string(b)
}

// loads is law (a): what a kind of write has saved with a nil error loads, and is what attributevalue stores.
func (l *lawsOn) loads(kind string, save func(v any) error) {
	l.Helper()
	v := l.drawn()
	if err := save(v); err != nil {
		l.refused(kind, err)
		return
	}
	l.counts["saved"]++
	got, s, err := l.read(v)
	if err != nil {
		l.Fatalf("%v was saved (%s), and cannot be loaded: %v: %v", l.typ, kind, err, l.stored(v))
	}
	l.sameEncodings(kind+" and loaded", v, got)
	l.sameValues(v, got)
	if s.Unknown > 0 {
		l.Errorf("%v: %d of its own items are unknown", l.typ, s.Unknown)
	}
	if r, err := l.again(s, got); err != nil || r.Predicted().Requests != 0 {
		l.Errorf("%v: a save of what was loaded sends %v: %v", l.typ, r, err)
	}
	l.parity(v)
	l.sameKeys(got)
}

// sameKeys fails the test unless a value that was loaded has the index keys that are stored.
func (l *lawsOn) sameKeys(got any) {
	l.Helper()
	items, err := models.PutsOf(l.Model, got)
	if err != nil {
		l.Errorf("%v: what was loaded cannot be inserted: %v", l.typ, err)
		return
	}
	all := l.stored(got)
	for _, it := range items {
		stored := all[it["SK"].(*types.AttributeValueMemberS).Value]
		for _, name := range []string{"IPK", "ISK"} {
			if shown(it[name]) != shown(stored[name]) {
				l.Errorf("%v: %s is stored as %s, and a save of what was loaded makes it %s", l.typ, name,
					shown(stored[name]), shown(it[name]))
			}
			if stored[name] != nil {
				l.counts["index keys"]++
			}
		}
	}
}

// patch writes all fields of fixed items, and elements, with a patch that creates the entity.
func (l *lawsOn) patch(v any) error {
	var all []expr.Change
	for _, it := range l.Schema.Items {
		for i, a := range it.Attributes {
			if it.Element() {
				break
			}
			av, err := l.Codec.Record(it.Index).Encode(v, i)
			if err == nil {
				err = attr.Check(av)
			}
			from := reflect.ValueOf(v).Elem().FieldByIndex(a.Value.Path)
			all = append(all, expr.Change{
				Item: it.Index, Field: expr.Field{{Name: a.Value.Name, Attribute: a.Name}}, Value: av, Unstorable: err,
				Apply: func(rec any) { reflect.ValueOf(rec).Elem().FieldByIndex(a.Value.Path).Set(from) },
			})
		}
		if !it.Element() {
			continue
		}
		for i, list := 0, reflect.ValueOf(v).Elem().FieldByName("List"); i < list.Len(); i++ {
			all = append(all, expr.Change{Kind: expr.Put, Item: it.Index, Record: list.Index(i).Addr().Interface()})
		}
	}
	p := patchOfNode(l.whole(v), all...).upsert()
	return l.public(l.writePatch(context.Background(), p, writeOptionsOf(nil), &draft{}))
}

// bulk inserts an entity with a bulk load.
func (l *lawsOn) bulk(v any, options ...BulkOption) error {
	r, err := l.bulkLoad(context.Background(), func(yield func(any, error) bool) { yield(v, nil) }, options)
	if err == nil && len(r.Failures) > 0 {
		err = r.Failures[0].Err
	}
	return err
}

// parity compares the stored fields of fixed items with those that attributevalue would store.
func (l *lawsOn) parity(v any) {
	l.Helper()
	all := l.stored(v)
	var own map[string]types.AttributeValue
	func() {
		defer func() { _ = recover() }() // attributevalue panics on some types
		if m, err := attributevalue.MarshalMapWithOptions(v, models.AsWritten); err == nil {
			own = m
		}
	}()
	if own == nil {
		return
	}
	for _, it := range l.Schema.Items {
		for _, a := range it.Attributes {
			stored := all[map[bool]string{true: "A", false: "B"}[it.Key != nil && it.Key.Text == "A"]][a.Name]
			if it.Element() || stored == nil || differs(a.Value.Type, map[*schema.Type]bool{}) {
				continue
			}
			if want := own[a.Name]; want == nil || !attr.Same(want, stored) {
				l.Errorf(
					"%v: %s is stored as %s, and attributevalue stores %s",
					l.typ,
					a.Name,
					shown(stored),
					shown(want),
				)
			}
			l.counts["as attributevalue"]++
		}
	}
}

// differs reports whether the library stores a type in another form than attributevalue: big numbers.
func differs(t *schema.Type, seen map[*schema.Type]bool) bool {
	if t == nil || seen[t] {
		return false
	}
	seen[t] = true
	if t.Kind == schema.BigInt || t.Kind == schema.BigFloat {
		return true
	}
	return differs(t.Elem, seen) ||
		slices.ContainsFunc(t.Fields, func(f *schema.Field) bool { return differs(f.Type, seen) })
}

// refused fails the test if a save was refused by the service, or failed in another way than for a value.
func (l *lawsOn) refused(what string, err error) {
	l.Helper()
	var value *ValueError
	var large *TooLargeError
	twice := strings.Contains(err.Error(), "that exclude each other") // of a patch
	if !errors.As(err, &value) && !errors.As(err, &large) && !twice {
		l.Errorf("%s of %v is no fault of a value: %v", what, l.typ, err)
	}
	l.counts["refused"]++
}

// insertForeign stores an entity as another program does, and returns its key's value.
func (l *lawsOn) insertForeign() (v any, ok bool) {
	v = l.drawn()
	if f := reflect.ValueOf(v).Elem().FieldByName("List"); f.IsValid() {
		f.SetZero()
	}
	all, err := l.encoded(v)
	if err != nil {
		return nil, false
	}
	keyFields, err := l.KeyFields(v)
	if err != nil {
		return nil, false
	}
	at, err := l.Schema.Partition(keyFields)
	if err != nil {
		return nil, false
	}
	for _, it := range l.Schema.Items {
		if it.Element() {
			continue
		}
		put := map[string]types.AttributeValue{
			"PK": attr.ValueOf(at.PK), "SK": &types.AttributeValueMemberS{Value: it.Key.Text},
			"foreign": &types.AttributeValueMemberN{Value: "12345678901234567890123456789012345678"},
		}
		if l.r.IntN(2) == 0 {
			put["_v"] = &types.AttributeValueMemberB{Value: []byte("12345678")}
		}
		for _, a := range it.Attributes {
			if av := all[a.Name]; av != nil && a.Name != "Body" && attr.Check(av) == nil {
				put[a.Name] = models.Foreign(l.r, av)
			}
		}
		if _, err := l.client.PutItem(context.Background(), &dynamodb.PutItemInput{
			TableName: &l.table,
			Item:      put,
		}); err != nil {
			return nil, false
		}
	}
	return v, true
}

// attributeNamed finds the attributes that an error names.
var attributeNamed = regexp.MustCompile(`attribute "([^"]+)"`)

// keeps is law (b): a change leaves what it does not touch byte for byte as it is.
func (l *lawsOn) keeps() {
	l.Helper()
	key, ok := l.insertForeign()
	if !ok {
		return
	}
	v, s, err := l.read(key)
	if err != nil {
		return // the model cannot read the item of the other program
	}
	before := l.stored(key)
	it := l.Schema.Items[0]
	old, _ := l.encoded(v)
	rawOld := l.raw(v)
	root := reflect.ValueOf(v).Elem()
	switch l.r.IntN(4) {
	case 0: // a put of the whole item
		root.FieldByName("Body").SetString(strings.Repeat("x", 404_000))
	case 1:
		root.FieldByName("Body").SetString("changed")
	}
	var changed []string
	for _, a := range it.Attributes {
		if a.Name == "Body" || l.r.IntN(3) > 0 {
			continue
		}
		alter(l.r, root.FieldByIndex(a.Value.Path))
		changed = append(changed, a.Name)
	}
	all := slices.Clone(changed)
	moved := l.r.IntN(4) == 0
	options := []WriteOption{}
	if moved {
		l.id++
		root.FieldByName("ID").SetString(fmt.Sprint("moved", l.id))
		options = append(options, Move())
	}
	now, _ := l.encoded(v)
	for name, av := range l.raw(v) {
		if rawOld[name] != nil && av != nil && attr.Same(old[name], now[name]) && !attr.Same(av, rawOld[name]) {
			changed = slices.DeleteFunc(changed, func(c string) bool { return c == name })
			delete(before[it.Key.Text], name) // nil and empty are the same after a load
		}
	}
	first, err := l.again(s, v, options...)
	if err != nil {
		l.refused("change", err)
		for _, named := range attributeNamed.FindAllStringSubmatch(err.Error(), -1) {
			if name := named[1]; name != "Body" && !slices.Contains(all, name) {
				l.Errorf("%v: a change of %v is refused because of %s, which did not change: %v", l.typ, all, name, err)
			}
		}
		return
	}
	l.counts["changed"]++
	after := l.stored(v)
	for sk, was := range before {
		for name, stored := range was {
			if name == "_v" || name == "_a" || name == "PK" || name == "Body" {
				continue
			}
			if sk != it.Key.Text || !slices.Contains(changed, name) || now[name] == nil || old[name] == nil {
				if sk == it.Key.Text && slices.Contains(changed, name) && (now[name] == nil || old[name] == nil) {
					continue
				}
				if !identical(after[sk][name], stored) {
					l.Errorf(
						"%v: %s of %s was %s, and is %s after a change of %v (moved %t)",
						l.typ,
						name,
						sk,
						shown(stored),
						shown(after[sk][name]),
						changed,
						moved,
					)
				}
				continue
			}
			if path := touched(stored, old[name], now[name], after[sk][name], name); path != "" {
				l.Errorf(
					"%v: the change of %s has touched %s:\nstored %s\nold %s\nnew %s\nwritten %s",
					l.typ,
					name,
					path,
					shown(stored),
					shown(old[name]),
					shown(now[name]),
					shown(after[sk][name]),
				)
			}
		}
	}
	got, s2, err := l.read(v)
	if err != nil {
		l.Fatalf("%v was changed, and cannot be loaded: %v", l.typ, err)
	}
	l.sameEncodings("changed and loaded", v, got)
	root.FieldByName("Body").SetString("again") // the snapshot knows what is stored
	if _, err := l.again(s, v); err != nil && first.Predicted().Requests == 0 {
		l.refused("first change", err)
	} else if err != nil {
		l.Errorf("%v: a second change, after %v (moved %t): %v", l.typ, changed, moved, err)
	}
	_ = s2
}

// absent is the law of NULL: Exists, Absent and SetIfAbsent take it for a missing attribute.
func (l *lawsOn) absent() {
	l.Helper()
	v, ok := l.insertForeign()
	if !ok {
		return
	}
	other := l.drawn()
	root := l.Schema.Root
	for i, a := range root.Attributes {
		if a.Name == "Body" {
			continue
		}
		stored := l.stored(v)[root.Key.Text][a.Name]
		missing := stored == nil || shown(stored) == `{"v":{"NULL":true}}`
		h := new(field.Value[*any, any])
		door.Field.Bind(h, codec.Row{
			Name: a.Value.Name, Tag: strings.Join(append([]string{a.Name}, a.AV.Options...), ","),
			Form: codec.Reflected(a.Value.Type),
		})
		conditions := []field.Condition[any]{h.Absent(), h.Exists()}
		of := door.Field.Conditions(unsafe.Pointer(unsafe.SliceData(conditions)), 2)
		at := expr.Change{Item: root.Index}
		note := expr.Change{
			Item: root.Index, Field: expr.Field{{Name: "Body", Attribute: "Body"}},
			Apply: func(any) {}, Value: &types.AttributeValueMemberS{Value: fmt.Sprint(l.r.Int())},
		}
		for want, c := range map[bool]expr.Condition{
			missing:  of[0],
			!missing: of[1],
		} {
			p := patchOfNode(l.whole(v), note).onlyIf(at, []expr.Condition{c})
			err := l.public(l.writePatch(context.Background(), p, writeOptionsOf(nil), &draft{}))
			if conflict := new(ConflictError); want != (err == nil) || err != nil && !errors.As(err, &conflict) {
				l.Errorf("%v: %s is %s, and a patch if %v returns %v", l.typ, a.Name, shown(stored), c, err)
			}
			l.counts["conditions"]++
		}
		av, err := l.Codec.Record(root.Index).Encode(other, i)
		if err != nil || attr.Check(av) != nil || withoutNull(av) == nil || a.Name == "X" {
			continue // X is in the key of an index
		}
		set := expr.Change{
			Kind: expr.SetIfAbsent, Item: root.Index, Field: expr.Field{{Name: a.Value.Name, Attribute: a.Name}},
			Apply: func(any) {}, Value: av,
		}
		p := patchOfNode(l.whole(v), set)
		if err := l.public(l.writePatch(context.Background(), p, writeOptionsOf(nil), &draft{})); err != nil {
			l.refused("set if absent", err)
			continue
		}
		if missing {
			stored = av
		}
		if got := l.stored(v)[root.Key.Text][a.Name]; !attr.Same(got, stored) {
			l.Errorf("%v: %s is %s after SetIfAbsent, and not %s", l.typ, a.Name, shown(got), shown(stored))
		}
	}
}

// alter changes a part of a value, or all of it.
func alter(r *rand.Rand, v reflect.Value) {
	switch {
	case v.Kind() == reflect.Interface && !v.IsNil() && r.IntN(3) > 0:
		c := reflect.New(v.Elem().Type()).Elem()
		c.Set(v.Elem())
		alter(r, c)
		v.Set(c)
	case v.Kind() == reflect.Map && v.Len() > 0 && r.IntN(3) > 0:
		c := reflect.MakeMap(v.Type())
		for it := v.MapRange(); it.Next(); {
			c.SetMapIndex(it.Key(), it.Value())
		}
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int {
			return strings.Compare(fmt.Sprint(a.Interface()), fmt.Sprint(b.Interface()))
		})
		k := keys[r.IntN(len(keys))]
		e := reflect.New(v.Type().Elem()).Elem()
		e.Set(v.MapIndex(k))
		alter(r, e)
		c.SetMapIndex(k, e)
		v.Set(c)
	case v.Kind() == reflect.Slice && v.Len() > 0 && r.IntN(3) > 0:
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(c, v)
		alter(r, c.Index(r.IntN(v.Len())))
		if r.IntN(3) == 0 {
			e := reflect.New(v.Type().Elem()).Elem()
			models.Draw(r, e, 3)
			c = reflect.Append(c, e)
		}
		v.Set(c)
	case v.Kind() == reflect.Struct && v.NumField() > 0 && v.Field(0).CanSet() &&
		v.Type() != reflect.TypeFor[time.Time]() && r.IntN(3) > 0:
		if f := v.Field(r.IntN(v.NumField())); f.CanSet() {
			alter(r, f)
		}
	default:
		models.Draw(r, v, 2)
	}
}

// identical compares values to the letter of their numbers; sets have no order.
func identical(a, b types.AttributeValue) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return attr.Same(a, b) && len(shown(a)) == len(shown(b))
}

// touched returns the path of a part of a stored value that did not change, from old to now, and is written in
// another way, "" for none.
func touched(stored, old, now, written types.AttributeValue, path string) string {
	if attr.Same(old, now) {
		if identical(stored, written) {
			return ""
		}
		return path
	}
	switch s := stored.(type) {
	case *types.AttributeValueMemberM:
		o, okO := old.(*types.AttributeValueMemberM)
		n, okN := now.(*types.AttributeValueMemberM)
		w, okW := written.(*types.AttributeValueMemberM)
		if !okO || !okN || !okW {
			return ""
		}
		for name, e := range s.Value {
			if o.Value[name] != nil && n.Value[name] != nil && w.Value[name] != nil {
				if p := touched(e, o.Value[name], n.Value[name], w.Value[name], path+"."+name); p != "" {
					return p
				}
			}
		}
	case *types.AttributeValueMemberL:
		o, okO := old.(*types.AttributeValueMemberL)
		n, okN := now.(*types.AttributeValueMemberL)
		w, okW := written.(*types.AttributeValueMemberL)
		cut := okO && okN && okW && len(o.Value) < len(s.Value) && len(n.Value) == len(o.Value) &&
			len(w.Value) < len(s.Value)
		if cut && !slices.ContainsFunc(s.Value, func(v types.AttributeValue) bool { return withoutNull(v) == nil }) {
			return path // the array is shorter
		}
		if !okO || !okN || !okW || len(o.Value) != len(s.Value) || len(n.Value) != len(s.Value) ||
			len(w.Value) != len(n.Value) {
			return ""
		}
		for i, e := range s.Value {
			if slices.ContainsFunc(o.Value, func(v types.AttributeValue) bool { return attr.Same(v, n.Value[i]) }) {
				continue // it can have been another element before
			}
			if slices.ContainsFunc(n.Value, func(v types.AttributeValue) bool { return attr.Same(v, o.Value[i]) }) &&
				slices.ContainsFunc(w.Value, func(v types.AttributeValue) bool { return identical(v, e) }) {
				continue // it is at another position now
			}
			if p := touched(e, o.Value[i], n.Value[i], w.Value[i], fmt.Sprintf("%s[%d]", path, i)); p != "" {
				return p
			}
		}
	}
	return ""
}

// The laws of values: a saved value loads, stored as attributevalue stores it, and an unchanged value stays. The models
// are random, of all that attributevalue documents. The values are random and at the edges of their types, or are
// stored as other programs store them.
func TestLawsOfValues(t *testing.T) {
	t.Parallel()
	r := random(t)
	table := testengine.Table(t, "PK:S", "SK:S")
	client := testengine.Start(t).Client()
	counts := map[string]int{}
	until := time.Now().Add(draws.For(0, 0, 60*time.Minute))
	n := draws.Times(60, 400, 4_000)
	for i := 0; i < n || time.Now().Before(until); i++ {
		typ := models.Documented(r, i)
		var err error
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Fatalf("%v: a panic of the schema: %v\n%s", typ, p, debug.Stack())
				}
			}()
			_, err = schema.Of(typ)
		}()
		if err != nil {
			counts["models refused"]++
			continue
		}
		counts["models"]++
		lawsOfModel(t, &lawsOn{
			fixture: fixtureOn(
				t,
				r,
				typ,
				map[string]string{"random": table},
			), r: r, client: client, table: table, typ: typ,
			counts: counts,
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("%v", counts)
}

// lawsOfModel draws values of one model.
func lawsOfModel(t *testing.T, l *lawsOn) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Fatalf("%v: panic: %v\n%s", l.typ, p, debug.Stack())
		}
	}()
	for range 3 {
		l.loads("inserted", func(v any) error { _, _, err := l.insert(v); return err })
		l.loads("inserted in two saves", func(v any) error { // an insert of the key alone, then all of it
			only := reflect.New(l.typ)
			only.Elem().FieldByName("ID").Set(reflect.ValueOf(v).Elem().FieldByName("ID"))
			s := l.newState(snapshot.New(l.Model, only.Interface()))
			if _, err := l.again(s, only.Interface()); err != nil {
				return err
			}
			_, err := l.again(s, v)
			return err
		})
		l.loads("patched", l.patch)
		l.loads("bulk", func(v any) error { return l.bulk(v) })
		l.loads("bulk with Overwrite", func(v any) error { return l.bulk(v, Overwrite()) })
		l.loads("transaction", func(v any) error {
			s := l.newState(snapshot.New(l.Model, v))
			_, err := Transact(context.Background(), l.saving(s, v, nil, nil))
			return err
		})
		l.loads("staged", func(v any) error { _, _, err := l.insert(v, Staged()); return err })
		l.keeps()
		l.keeps()
		l.absent()
	}
}
