package discover

import (
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost/forecast"
	"github.com/itemize/itemize/internal/advice/charge"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/naming"
	"github.com/itemize/itemize/internal/testing/draws"
)

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func num(n int) types.AttributeValue { return &types.AttributeValueMemberN{Value: fmt.Sprint(n)} }

func list(all ...types.AttributeValue) types.AttributeValue {
	return &types.AttributeValueMemberL{Value: all}
}

func entries(m item.Attributes) types.AttributeValue { return &types.AttributeValueMemberM{Value: m} }

// sampled returns a sample of a table with the keys PK and SK.
func sampled(items ...item.Attributes) *Sample {
	return &Sample{
		Table: &Table{Name: "things", Hash: "PK", Range: "SK", HashType: "S", RangeType: "S", Items: len(items)},
		Items: items, Read: len(items),
	}
}

func reported(t *testing.T, s *Sample) *Report {
	t.Helper()
	r, err := Discover(s, Options{Prices: forecast.DefaultPrices(), Mix: Mix{30, 60}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Literals are words that at least 5 partitions share; everything else of a key is data.
func TestKeyPatterns(t *testing.T) {
	for _, c := range []struct {
		name string
		keys []string
		want string
	}{
		{"a prefix", []string{"USER#1", "USER#2", "USER#3", "USER#4", "USER#5"}, "USER#{...}"},
		{"a prefix of 4", []string{"USER#1", "USER#2", "USER#3", "USER#4"}, "{...}#{...}"},
		{"no delimiter", []string{"a", "b", "c", "d", "e"}, "{...}"},
		{"a suffix", []string{"1#HEAD", "2#HEAD", "3#HEAD", "4#HEAD", "5#HEAD"}, "{...}#HEAD"},
		{"numbers are data", []string{"1#a", "1#b", "1#c", "1#d", "1#e"}, "{...}#{...}"},
		{"another delimiter", []string{"a|1", "a|2", "a|3", "a|4", "a|5"}, "a|{...}"},
	} {
		var keys []types.AttributeValue
		for _, k := range c.keys {
			keys = append(keys, str(k))
		}
		for i, p := range patternsOf(keys, c.keys) {
			if p.String() != c.want {
				t.Errorf("%s: %s is %s; want %s", c.name, c.keys[i], p, c.want)
			}
		}
	}
}

// The keys of items in one table distinguish their types. Items with one key pattern are one type, whatever
// attributes they have: no command could separate them.
func TestEntityTypes(t *testing.T) {
	var items []item.Attributes
	for i := range 8 {
		pk := str(fmt.Sprint("USER#", i))
		items = append(items, item.Attributes{"PK": pk, "SK": str("PROFILE"), "name": str("n"), "mail": str("m")})
		for k := range 3 {
			items = append(items, item.Attributes{"PK": pk, "SK": str(fmt.Sprint("ORDER#", k)), "total": num(k)})
		}
	}
	var got []string
	for _, x := range reported(t, sampled(items...)).Types {
		got = append(got, fmt.Sprint(x.Name, " ", x.Keys, " ", x.Sampled))
	}
	if want := "[Order USER#{...} ORDER#{...} 24 User USER#{...} PROFILE 8]"; fmt.Sprint(got) != want {
		t.Errorf("%v; want %s", got, want)
	}
	items = nil
	for i := range 10 {
		items = append(items,
			item.Attributes{"PK": str(fmt.Sprint(i)), "name": str("n"), "mail": str("m"), "age": num(i)},
			item.Attributes{"PK": str(fmt.Sprint("x", i)), "title": str("n"), "price": num(i)})
	}
	s := sampled(items...)
	s.Table.Range = ""
	if r := reported(t, s); len(r.Types) != 1 || r.Types[0].Sampled != 20 {
		t.Errorf("%+v", r.Types)
	}
}

// A model whose migration would take items of another type is refused.
func TestTypesThatMigrationsCannotSeparate(t *testing.T) {
	var items []item.Attributes
	for i := range 10 {
		items = append(items,
			item.Attributes{"PK": str(fmt.Sprint("USER#", i)), "text": str(strings.Repeat("x", 9000)), "n": num(i)},
			item.Attributes{"PK": str(fmt.Sprint("x", i)), "text": str(strings.Repeat("x", 9000)), "price": num(i)})
	}
	s := sampled(items...)
	s.Table.Range = ""
	models := map[string]string{}
	for _, x := range reported(t, s).Types {
		models[x.Keys] = x.NoModel
	}
	if why := models["{...}"]; !strings.Contains(why, "would take items of User too") || models["USER#{...}"] != "" {
		t.Errorf("%v", models)
	}
}

// A name that fewer than 5 of at least 25 sampled items have is data, however the items are divided into types, and so
// is a name in the form of a value.
func TestNamesThatAreData(t *testing.T) {
	const day, secret = "2026-01-02", "alice"
	for name, c := range map[string]struct {
		items  int
		make   func(i int) item.Attributes
		secret string
	}{
		"an attribute of each item": {40, func(i int) item.Attributes {
			return item.Attributes{fmt.Sprint(secret, i): entries(item.Attributes{"visits": num(0), "note": str("n")})}
		}, secret},
		"with types of their own": {40, func(i int) item.Attributes {
			return item.Attributes{
				"PK": str(fmt.Sprint([]string{"A", "B", "C", "D"}[i%4], "#", i)), "SK": str("X"),
				fmt.Sprint(secret, i%4, i/16): str(strings.Repeat("x", 5000)),
			}
		}, secret},
		"addresses, in few items": {8, func(i int) item.Attributes {
			return item.Attributes{"ann@example.com": num(i), "text": str(strings.Repeat("x", 5000))}
		}, "ann@"},
		"an entry of an element": {40, func(i int) item.Attributes {
			return item.Attributes{"list": list(
				entries(item.Attributes{"id": str("a"), fmt.Sprint(secret, i): num(1)}),
				entries(item.Attributes{"id": str("b"), fmt.Sprint(secret, i): num(1)}))}
		}, secret},
		"an entry of JSON": {40, func(i int) item.Attributes {
			return item.Attributes{"doc": str(fmt.Sprintf(`{"a":1,"b":2,"%s%d":3,"text":"%s"}`, secret, i,
				strings.Repeat("x", 3000)))}
		}, secret},
		"larger than the attributes of its item": {40, func(i int) item.Attributes {
			it := item.Attributes{"body": str(strings.Repeat("b", 3000)), "n": num(i)}
			if i == 0 {
				it[secret] = str(strings.Repeat("x", 50))
			}
			return it
		}, secret},
		"the attribute of a document": {40, func(i int) item.Attributes {
			return item.Attributes{"ann@example.com": entries(item.Attributes{
				"a": str(strings.Repeat("a", 9000)), "b": str(strings.Repeat("b", 9000)), "c": num(i), "d": str("x"),
			})}
		}, "ann@"},
		"an element that is too large": {40, func(i int) item.Attributes {
			photos := item.Attributes{}
			for k := range 30 {
				photos[fmt.Sprint("p", 100*i+k)] = entries(item.Attributes{
					"t": str(strings.Repeat("t", 500)), "n": num(k),
				})
			}
			if i == 0 {
				photos[secret] = entries(item.Attributes{"t": str(strings.Repeat("t", 450_000)), "n": num(1)})
			}
			return item.Attributes{"photos": entries(photos)}
		}, secret},
		"outside of a document": {40, func(i int) item.Attributes {
			return item.Attributes{
				"doc": entries(item.Attributes{
					"a": num(1), "b": num(2), "c": num(3),
					"text": str(strings.Repeat("x", 3000)),
				}),
				fmt.Sprint(secret, i): num(1),
			}
		}, secret},
	} {
		var items []item.Attributes
		for i := range c.items {
			it := c.make(i)
			if it["PK"] == nil {
				it["PK"], it["SK"] = str(fmt.Sprint("k", i)), str(fmt.Sprint(day, i))
			}
			items = append(items, it)
		}
		x := reported(t, sampled(items...))
		if out := written(t, x); strings.Contains(out, c.secret) {
			i := strings.Index(out, c.secret)
			t.Errorf("%s: ...%.200s", name, out[max(0, i-100):])
		}
	}
}

// Names of models differ in more than the case of letters, and none is the name of code that is generated for another.
func TestNamesOfModels(t *testing.T) {
	taken := scope{}
	for _, c := range [][2]string{
		{"User", "User"},
		{"UserKey", "UserKey2"},
		{"user", "user2"},
		{"USER", "USER3"},
		{"ForthUser", "ForthUser4"},
		{"Order", "Order"},
		{"OrderItems", "OrderItems2"},
		{"OrderUser", "OrderUser"},
	} {
		if got := taken.takeModel(c[0]); got != c[1] {
			t.Errorf("%s: %s, want %s", c[0], got, c[1])
		}
	}
}

// A key is guessed only if its name and its values are those of a key.
func TestKeysAreGuessedIfSure(t *testing.T) {
	for name, c := range map[string]struct {
		items int
		make  func(i int) item.Attributes
		want  string
	}{
		"an id": {3, func(i int) item.Attributes { return item.Attributes{"id": num(i), "x": str("y")} }, "id"},
		"one key for all": {30, func(i int) item.Attributes {
			return item.Attributes{"pk": str("same"), "sk": str("same"), "code": str(fmt.Sprint("c", i))}
		}, "code"},
		"a map as a key": {30, func(i int) item.Attributes {
			return item.Attributes{"pk": entries(item.Attributes{}), "sk": num(i), "n": num(i)}
		}, ""},
		"a long text": {30, func(i int) item.Attributes {
			return item.Attributes{"documentation": str(fmt.Sprint(strings.Repeat("text ", 1000), i))}
		}, ""},
		"an amount": {30, func(i int) item.Attributes { return item.Attributes{"paid": num(100 + i)} }, ""},
		"a name of many": {30, func(i int) item.Attributes {
			return item.Attributes{"name": str(fmt.Sprint("n", i))}
		}, "name"},
		"a title of two": {2, func(i int) item.Attributes {
			return item.Attributes{"title": str(fmt.Sprint("n", i))}
		}, ""},
		"decimals": {30, func(i int) item.Attributes {
			return item.Attributes{"key": &types.AttributeValueMemberN{Value: fmt.Sprint(float64(i) + 0.5)}}
		}, ""},
	} {
		s := &Sample{Table: &Table{}}
		for i := range c.items {
			s.Items = append(s.Items, c.make(i))
		}
		err := s.Keys("", "")
		if s.Table.Hash != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, want %q, %v", name, s.Table.Hash, c.want, err)
		}
	}
}

// written is everything that a report gives a command: JSON, lines, and files.
func written(t *testing.T, x *Report) string {
	t.Helper()
	text, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	out := string(text) + strings.Join(x.About(), "\n")
	for _, typ := range x.Types {
		out += strings.Join(typ.About(), "\n") + typ.NoModel + strings.Join(typ.Notes, "\n")
		if typ.NoModel != "" { // also the model that is not written
			continue
		}
		x.only = typ.Name
		files, err := x.Files("store", "")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			out += string(f.Content)
		}
		out += x.Next("./store", " -endpoint http://localhost:8000", true)
	}
	x.only = ""
	return out
}

// The fields of a key identify the elements in every list, and are in the order of the list if possible.
func TestElementKeys(t *testing.T) {
	element := func(id int, at, text string) types.AttributeValue {
		return entries(item.Attributes{"id": str(fmt.Sprint("i", id)), "at": str(at), "text": str(text)})
	}
	const a, b, c = "2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z", "2024-01-03T00:00:00Z"
	for _, x := range []struct {
		name string
		list types.AttributeValue
		want string
	}{
		{"times that differ", list(element(3, a, "x"), element(1, b, "x"), element(2, c, "x")), "{at}"},
		{"times that repeat", list(element(1, a, "x"), element(2, a, "x"), element(1, c, "x")), "{at}#{id}"},
		{"ids", list(element(1, c, "x"), element(2, a, "x"), element(3, b, "x")), "{id}"},
		{"a unique field that is not the smallest", list(
			entries(item.Attributes{"sku": str("zebra-1"), "qty": num(1), "note": str("x")}),
			entries(item.Attributes{"sku": str("apple-2"), "qty": num(1), "note": str("x")})), "{sku}"},
		{"two fields together", list(
			entries(item.Attributes{"set": str("A"), "number": num(2)}),
			entries(item.Attributes{"set": str("B"), "number": num(2)}),
			entries(item.Attributes{"set": str("A"), "number": num(1)}),
			entries(item.Attributes{"set": str("B"), "number": num(2)})), ""},
		{"two fields together that differ", list(
			entries(item.Attributes{"set": str("A"), "number": num(2)}),
			entries(item.Attributes{"set": str("B"), "number": num(2)}),
			entries(item.Attributes{"set": str("A"), "number": num(1)})), "{number}#{set}"},
		{"nothing differs", list(element(1, a, "x"), element(1, a, "x")), ""},
		{"texts", list(str("a"), str("b")), "{.}"},
		{"equal texts", list(str("a"), str("a")), ""},
		{"empty text", list(str("a"), str("")), ""},
		{"numbers", list(num(1), num(2)), ""},
		{"several types", list(str("a"), num(2)), ""},
		{"NULL", list(str("a"), &types.AttributeValueMemberNULL{Value: true}), ""},
	} {
		p := newProfile(&reading{names: censusOf(nil, 0)}, 0)
		p.add(x.list)
		got := ""
		if e := elementsOf("l", p, []item.Attributes{{"l": x.list}}); e != nil {
			got = e.keyNames()
		}
		if got != x.want {
			t.Errorf("%s: %q; want %q", x.name, got, x.want)
		}
	}
}

// secretive returns an item whose values, keys and names of entries have a secret text.
func secretive(r *rand.Rand, i int, secret func() string) item.Attributes {
	it := item.Attributes{
		"PK": str(secret()), "SK": str(secret()), "name": str(secret()), "note": str(strings.Repeat(secret(), 300)),
		"bytes": &types.AttributeValueMemberB{Value: []byte(secret())},
		"set":   &types.AttributeValueMemberSS{Value: []string{secret()}},
		"map":   entries(item.Attributes{secret(): str(secret()), secret(): num(r.IntN(9))}),
	}
	var all []types.AttributeValue
	for k := range 5 + r.IntN(20) {
		all = append(all, entries(item.Attributes{
			"id": str(secret()), "n": num(k), "inner": entries(item.Attributes{secret(): str(secret())}),
		}))
	}
	it["list"] = list(all...)
	byID := item.Attributes{}
	for range 5 + i {
		byID[secret()] = entries(item.Attributes{"at": str(secret())})
	}
	it["byID"] = entries(byID)
	if i%7 == 0 {
		it[secret()] = str("a name that one item has")
	}
	return it
}

// No value, key or name that is data is in a report, in its JSON, or in the written files.
func TestReportHasNoValues(t *testing.T) {
	reportHasNoValues(t, draws.Seed(t), draws.Times(3, 10, 100))
}

// An item with lists alone gets a model too, if its sort key has a field of the model: the lists are not taken for
// elements. This seed draws such items.
func TestItemOfListsInFlatModel(t *testing.T) { reportHasNoValues(t, 8815505586841768627, 3) }

func reportHasNoValues(t *testing.T, seed uint64, times int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	n := 0
	secret := func() string {
		n++
		return fmt.Sprintf("se%dcret%d", n, r.IntN(1_000_000))
	}
	for range times {
		var items []item.Attributes
		for i := range 60 {
			items = append(items, secretive(r, i, secret))
		}
		s := sampled(items...)
		if r.IntN(2) == 0 { // one type, with a simple key
			s.Table.Range = ""
			for _, it := range s.Items {
				delete(it, "SK")
			}
		}
		out := written(t, reported(t, s))
		if i := strings.Index(out, "cret"); i >= 0 {
			t.Fatalf("a value: ...%.200s", out[max(0, i-100):])
		}
	}
}

// Any names give a file that parses, with a model that has no faults.
func TestSourceOfHostileNames(t *testing.T) {
	seed := draws.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	letters := []rune("aAzZ09_-.#|/:{}%~'\"`,\\ \n\tüß日😀\x00")
	word := func() string {
		var b strings.Builder
		for range 1 + r.IntN(6) {
			b.WriteRune(letters[r.IntN(len(letters))])
		}
		return b.String()
	}
	for range draws.Times(20, 60, 1000) {
		names := []string{"type", "Key", "Limit", "PK2", "_v", "_a"}
		for range 1 + r.IntN(12) {
			names = append(names, word())
		}
		var items []item.Attributes
		for i := range 8 {
			it := item.Attributes{"PK": str(fmt.Sprint("k", i)), "big": str(strings.Repeat("x", 3000))}
			for k, name := range names {
				switch k % 4 {
				case 0:
					it[name] = str(word())
				case 1:
					it[name] = entries(item.Attributes{word(): num(i), word(): str("x")})
				case 2:
					it[name] = list(entries(item.Attributes{"id": str("a"), word(): num(1)}),
						entries(item.Attributes{"id": str("b")}))
				default:
					it[name] = num(k)
				}
			}
			items = append(items, it)
		}
		s := sampled(items...)
		s.Table.Range = ""
		key := "PK"
		if r.IntN(3) == 0 { // the key has such a name too
			key = word()
			for _, it := range items {
				it[key] = it["PK"]
				delete(it, "PK")
			}
			s.Table.Hash = key
		}
		x := reported(t, s)
		for _, typ := range x.Types {
			if typ.NoModel != "" && naming.Printable(key) {
				t.Fatalf("%q, key %q: %s", names, key, typ.NoModel)
			}
			x.only = typ.Name
		}
		if !naming.Printable(key) {
			if x.Types[0].NoModel == "" {
				t.Fatalf("a model with the key %q", key)
			}
			continue
		}
		source, err := x.Source("store")
		if err != nil {
			t.Fatalf("%q: %v", names, err)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "models.go", source, 0); err != nil {
			t.Fatalf("%q: %v\n%s", names, err, source)
		}
	}
}

// randomValue returns a value of any type, of the form that a seed determines, so that items are alike.
func randomValue(r *rand.Rand, form, depth int) types.AttributeValue {
	switch form % 16 {
	case 0:
		return str([]string{"", "a", "2024-03-01T10:00:00Z", "x"}[r.IntN(4)])
	case 1:
		return num(1_700_000_000 + r.IntN(9))
	case 2:
		return &types.AttributeValueMemberN{
			Value: []string{"0", "1.5", "-3", "1E30", "123456789012345678901234567890"}[r.IntN(5)],
		}
	case 3:
		return &types.AttributeValueMemberBOOL{Value: r.IntN(2) == 0}
	case 4:
		return &types.AttributeValueMemberNULL{Value: true}
	case 5:
		return &types.AttributeValueMemberSS{Value: []string{"a", "b"}}
	case 6:
		return &types.AttributeValueMemberNS{Value: []string{"1", "2.5"}}
	case 7:
		return &types.AttributeValueMemberB{Value: []byte{1, 2}}
	case 8:
		return str(fmt.Sprintf("2024-03-01T10:00:%02dZ", r.IntN(60)))
	case 9:
		return num(r.IntN(1000))
	}
	if depth > 2 {
		return num(r.IntN(9))
	}
	inner := rand.New(rand.NewPCG(uint64(form), 0)) // the same forms in each item
	if form%16 < 13 {
		l := &types.AttributeValueMemberL{}
		kind := inner.IntN(1000)
		for range r.IntN(4) {
			l.Value = append(l.Value, randomValue(r, kind, depth+1))
		}
		return l
	}
	m := item.Attributes{}
	for k := range 1 + inner.IntN(4) {
		kind := inner.IntN(1000)
		if r.IntN(4) > 0 {
			m[fmt.Sprint("f", k)] = randomValue(r, kind, depth+1)
		}
	}
	return entries(m)
}

// A value that is read into a field and written again is the same value: a change of one part does not change others in
// the same value. Only empty and missing values of a whole attribute may replace each other, since such an attribute is
// written only if it changes.
func TestFieldsKeepValues(t *testing.T) {
	seed := draws.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	fields := 0
	for range draws.Times(40, 200, 5000) {
		forms := make([]int, 6)
		for i := range forms {
			forms[i] = r.IntN(1000)
		}
		var items []item.Attributes
		for i := range 12 {
			it := item.Attributes{"PK": str(fmt.Sprint("k", i)), "big": str(strings.Repeat("x", 2000))}
			for k, form := range forms {
				if r.IntN(5) > 0 {
					it[fmt.Sprint("a", k)] = randomValue(r, form, 0)
				}
			}
			items = append(items, it)
		}
		s := sampled(items...)
		s.Table.Range = ""
		x := reported(t, s)
		for _, typ := range x.Types {
			if typ.NoModel != "" {
				continue
			}
			for _, f := range typ.x.model.fields[1:] {
				if f.name == "_" || f.attribute == "PK" {
					continue
				}
				fields++
				keeps(t, typ.x, f)
			}
		}
	}
	if fields == 0 {
		t.Error("no fields")
	}
}

// keeps checks a field with the values of all items.
func keeps(t *testing.T, x *entityType, f field) {
	t.Helper()
	one := (&structure{fields: []field{f}}).reflected()
	for _, d := range x.docs {
		v := d[f.attribute]
		if v == nil || empty(v) {
			continue
		}
		value := reflect.New(one)
		if err := attributevalue.UnmarshalMap(item.Attributes{f.attribute: v}, value.Interface()); err != nil {
			t.Fatalf("%s %s: %v", f.name, f.typ.expr, err)
		}
		again, err := attributevalue.MarshalMap(value.Interface())
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(x.arranged.Elements, f.attribute) { // each element is an item with attributes
			keepsElements(t, f, v, again[f.attribute])
			continue
		}
		if !attr.Same(again[f.attribute], v) {
			a, _ := json.Marshal(charge.PlainJSON(v))
			b, _ := json.Marshal(charge.PlainJSON(again[f.attribute]))
			t.Fatalf("the field %s %s changes %s %s to %s %s", f.name, f.typ.expr, attr.TypeName(v), a,
				attr.TypeName(again[f.attribute]), b)
		}
	}
}

// keepsElements checks elements that are items.
func keepsElements(t *testing.T, f field, a, b types.AttributeValue) {
	t.Helper()
	before, after := sequence(a, &elements{}), sequence(b, &elements{})
	if len(before) != len(after) {
		t.Fatalf("%s %s: %d elements, %d afterwards", f.name, f.typ.expr, len(before), len(after))
	}
	for i := range before {
		x, ok := before[i].value.(*types.AttributeValueMemberM)
		y, same := after[i].value.(*types.AttributeValueMemberM)
		if !ok || !same {
			if !attr.Same(before[i].value, after[i].value) {
				t.Fatalf("%s %s changes an element", f.name, f.typ.expr)
			}
			continue
		}
		for name, v := range x.Value {
			if !empty(v) && !attr.Same(v, y.Value[name]) {
				p, _ := json.Marshal(charge.PlainJSON(v))
				q, _ := json.Marshal(charge.PlainJSON(y.Value[name]))
				t.Fatalf("%s %s changes %s of an element, a %s: %s, %s", f.name, f.typ.expr, name,
					attr.TypeName(v), p, q)
			}
		}
	}
}

func empty(v types.AttributeValue) bool {
	switch v := v.(type) {
	case *types.AttributeValueMemberNULL:
		return true
	case *types.AttributeValueMemberS:
		return v.Value == ""
	case *types.AttributeValueMemberL:
		return len(v.Value) == 0
	case *types.AttributeValueMemberM:
		return len(v.Value) == 0
	}
	return false
}

// An entity that cannot be moved is counted, with a reason that has no values, and the others have a model.
func TestUnmovableEntities(t *testing.T) {
	var items []item.Attributes
	for i := range 30 {
		var visits []types.AttributeValue
		for k := range 10 {
			visits = append(visits, entries(item.Attributes{
				"at": str(fmt.Sprintf("2024-03-%02dT10:00:00Z", k+1)), "text": str(strings.Repeat("x", 3000)),
			}))
		}
		if i == 7 { // one instant, written in two zones
			visits = append(
				visits,
				entries(item.Attributes{"at": str("2024-03-02T12:00:00+02:00"), "text": str("y")}),
			)
		}
		items = append(items, item.Attributes{"PK": str(fmt.Sprint("k", i)), "visits": list(visits...)})
	}
	s := sampled(items...)
	s.Table.Range = ""
	x := reported(t, s).Types[0]
	if x.NoModel != "" || x.Migration.Unmovable != 1 || len(x.Migration.Reasons) == 0 {
		t.Fatalf("%+v, %+v", x.NoModel, x.Migration)
	}
	if text := strings.Join(x.Migration.Reasons, " "); strings.Contains(text, "2024") {
		t.Errorf("a reason has values: %s", text)
	}
}

// Maps in maps take time and memory in proportion to their size.
func TestProfilesOfDeepMaps(t *testing.T) {
	deep := func() types.AttributeValue {
		v := num(1)
		for range 12 {
			v = entries(item.Attributes{"a": v, "b": v})
		}
		return v
	}()

	p := newProfile(&reading{names: censusOf(nil, 0)}, 0)
	for range 50 {
		p.add(deep)
	}
	n := 0
	var count func(*profile)
	count = func(p *profile) {
		n++
		for _, f := range p.fields {
			count(f)
		}
		if p.values != nil {
			count(p.values)
		}
	}
	if count(p); n > 1<<(maxDepth+2) {
		t.Errorf("%d profiles of maps with two entries, %d levels deep", n, maxDepth)
	}
}

// A census counts items, not occurrences, at any depth, in lists and in JSON texts.
func TestCensusCountsItems(t *testing.T) {
	var items []item.Attributes
	for i := range 30 {
		it := item.Attributes{"id": str(fmt.Sprint(i)), "json": str(`{"inner":{"deep":1}}`)}
		m := &types.AttributeValueMemberM{Value: item.Attributes{"shared": str("x"), fmt.Sprint("own", i): str("x")}}
		it["list"] = &types.AttributeValueMemberL{Value: []types.AttributeValue{m, m}}
		if i < 4 {
			it["rare"] = str("x")
		}
		items = append(items, it)
	}
	c := censusOf(items, 0)
	for name, want := range map[string]bool{
		"id": false, "shared": false, "deep": false, "inner": false, "own7": true, "rare": true, "unknown": true,
	} {
		if c.isData(name) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
	if few := censusOf(items[:20], 0); few.isData("own7") || few.isData("rare") {
		t.Error("a small sample has names that are data")
	}
}
