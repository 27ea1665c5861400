package schema

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/testing/draws"
)

// Two models in one table. Their keys may be equal for equal values in both of an item's keys, or
// always differ, or be keys that one table cannot have.
func TestCollisions(t *testing.T) {
	type (
		text struct{ T string }
		byID = struct {
			_  struct{} `ddb:"table=one"`
			ID string   `ddb:"pk=A#{ID}"`
			T  string   `ddb:"sk=H#{ID}"`
		}
		prefixed = struct {
			_  struct{}        `ddb:"table=one"`
			ID string          `ddb:"pk=A#x{ID}"`
			T  string          `ddb:"sk=HEAD"`
			M  map[string]text `ddb:"sk=H#{key}"`
		}
		literal = struct {
			_  struct{} `ddb:"table=one"`
			ID string   `ddb:"pk=A#x{ID}"`
			T  string   `ddb:"sk=H#y"`
		}
		org = struct {
			_   struct{} `ddb:"table=one"`
			Org string   `ddb:"pk=ORG#{Org}"`
			T   string   `ddb:"sk=ORG#{Org}"`
		}
		settings = struct {
			_  struct{} `ddb:"table=one"`
			ID string   `ddb:"pk=ORG#{ID}"`
			T  string   `ddb:"sk=ORG#SETTINGS"`
		}
		monthly = struct {
			_  struct{}  `ddb:"table=of_{At:month}"`
			ID string    `ddb:"pk=A#{ID}"`
			At time.Time `ddb:"sk={At}"`
		}
		alsoMonthly = struct {
			_    struct{}  `ddb:"table=of_{When:month}"`
			ID   string    `ddb:"pk=A#{ID}"`
			When time.Time `ddb:"sk={When}"`
		}
		number = struct {
			_  struct{} `ddb:"table=one"`
			ID int      `ddb:"pk=A#{ID:04}"`
			T  string   `ddb:"sk=H#{ID:04}"`
		}
		other = struct {
			_  struct{} `ddb:"table=one"`
			ID int      `ddb:"pk=A#1{ID:03}"`
			T  string   `ddb:"sk=H#2222"`
		}
		named = struct {
			_  struct{} `ddb:"table=one,hash=pk,range=sk"`
			ID string   `ddb:"pk=N#{ID}"`
			T  string   `ddb:"sk=HEAD"`
		}
		native = struct {
			_  struct{} `ddb:"table=one"`
			ID int64    `ddb:"pk={ID}"`
			T  string   `ddb:"sk=HEAD"`
		}
		guest = struct {
			_  struct{} `ddb:"table=one"`
			ID string   `ddb:"pk=G#{ID}"`
			T  string   `ddb:"sk=HEAD,unique,as='P#T'"`
		}
		host = struct {
			_  struct{} `ddb:"table=one"`
			ID string   `ddb:"pk=B#{ID}"`
			T  string   `ddb:"sk=HEAD,unique,as='P#T'"`
		}
		away = struct {
			_  struct{} `ddb:"table=two"`
			ID string   `ddb:"pk=B#{ID}"`
			T  string   `ddb:"sk=HEAD,unique,as='P#T'"`
		}
		sharing = struct {
			_  struct{} `ddb:"table=two"`
			ID string   `ddb:"pk=B#{ID}"`
			T  string   `ddb:"sk=HEAD,unique,as='P#T',guards=both"`
		}
		alsoSharing = struct {
			_  struct{} `ddb:"table=one"`
			ID string   `ddb:"pk=B#{ID}"`
			T  string   `ddb:"sk=HEAD,unique,as='P#T',guards=both"`
		}
	)
	for _, c := range []struct {
		a, b any
		want string
	}{
		{byID{}, prefixed{}, `"A#xA" "H#xA" is`},
		{byID{}, literal{}, ""},
		{org{}, settings{}, `"ORG#SETTINGS" "ORG#SETTINGS" is`},
		{number{}, other{}, ""},
		{byID{}, named{}, "the table one has the key PK (S), SK (S) by one, but pk (S), sk (S) by one"},
		{byID{}, native{}, "the table one has the key PK (S), SK (S) by one, but PK (N), SK (S) by one"},
		{byID{}, org{}, ""},
		{monthly{}, alsoMonthly{}, `" is`},
		{guest{}, host{}, "the guards of one.T and of one.T are named P#T: give one another name (as=)"},
		{sharing{}, alsoSharing{}, "are named P#T"},
		{guest{}, away{}, ""},
		{guest{}, alsoSharing{}, ""},
	} {
		x, errX := Build(TypeOf(reflect.TypeOf(c.a)))
		y, errY := Build(TypeOf(reflect.TypeOf(c.b)))
		if errX != nil || errY != nil {
			t.Fatal(errX, errY)
		}
		got, back := Collision(x, y), Collision(y, x)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) || (got == "") != (back == "") {
			t.Errorf("%T and %T: %s; %s", c.a, c.b, got, back)
		}
	}
}

// Law: keys that some values make equal are never said to be apart, and the keys that are said to be
// of both items are. Random templates, with values that both keys of an item share, are compared with
// all of a few values.
func TestCollisionsAgreeWithValues(t *testing.T) {
	seed := draws.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	collided, distinct := 0, 0
	for range draws.Times(1_000, 6_000, 100_000) {
		a, b := randomKeys(r), randomKeys(r)
		pk, sk, collide := overlap(newPair(a[0], a[1]), newPair(b[0], b[1]))
		x, y := rendered(a), rendered(b)
		for at := range x {
			if y[at] && !collide {
				t.Fatalf("%s and %s are apart, and both give %q", shownKeys(a), shownKeys(b), at)
			}
		}
		if !collide {
			distinct++
			continue
		}
		collided++
		for _, k := range [][2]*Key{a, b} {
			if !k[0].Template.Parse(pk, make([]key.Value, 9)) || !k[1].Template.Parse(sk, make([]key.Value, 9)) {
				t.Fatalf("%s: %v %v is no key of it", shownKeys(k), pk, sk)
			}
		}
	}
	if collided == 0 || distinct == 0 {
		t.Error("all meet, or none: the test proves nothing")
	}
}

// randomKeys draws the two keys of an item, over the fields 0 and 1 of its model.
func randomKeys(r *rand.Rand) [2]*Key {
	var out [2]*Key
	for i := range out {
		k := &Key{Template: &key.Template{Type: 'S', Delim: '#'}}
		for n := range 1 + r.IntN(2) {
			if n > 0 {
				k.Template.Parts = append(k.Template.Parts, key.Part{Text: "#"})
			}
			if r.IntN(2) == 0 {
				k.Template.Parts = append(k.Template.Parts, key.Part{Text: []string{"x", "y", "xy"}[r.IntN(3)]})
			}
			if r.IntN(3) > 0 {
				k.Template.Parts = append(k.Template.Parts,
					key.Part{Format: key.Format{Kind: key.Plain, Value: key.String}})
				k.Sources = append(k.Sources, Source{From: FromModel, KeyField: r.IntN(2)})
			}
		}
		out[i] = k
	}
	return out
}

// rendered are the keys that a few values give.
func rendered(k [2]*Key) map[[2]string]bool {
	out := map[[2]string]bool{}
	few := []string{"x", "y", "xx", "xy", "yx", "yy", "xxy", "xyx", "z"}
	for _, v := range few {
		for _, w := range few {
			var at [2]string
			for i := range k {
				var values []key.Value
				for _, s := range k[i].Sources {
					values = append(values, key.OfString([]string{v, w}[s.KeyField]))
				}
				text, err := k[i].Template.Render(values)
				if err != nil {
					continue
				}
				at[i] = text.Text
			}
			out[at] = true
		}
	}
	return out
}

func shownKeys(k [2]*Key) string {
	text := ""
	for i := range k {
		n := 0
		for _, p := range k[i].Template.Parts {
			if text += p.Text; p.Format.Kind != key.Literal {
				text += fmt.Sprint("{", k[i].Sources[n].KeyField, "}")
				n++
			}
		}
		text += " "
	}
	return text
}

// A table has one TTL attribute, by which DynamoDB deletes items, whichever model they are of.
func TestCollisionsOfExpiry(t *testing.T) {
	type (
		expiring = struct {
			_    struct{}  `ddb:"table=one,ttl=exp"`
			ID   string    `ddb:"pk=U#{ID}"`
			Till time.Time `ddb:"sk=HEAD,ttl"`
		}
		lasting = struct {
			_       struct{}  `ddb:"table=one"`
			ID      string    `ddb:"pk=P#{ID}"`
			Expires time.Time `ddb:"sk=HEAD" dynamodbav:"exp,unixtime"`
		}
		otherwise = struct {
			_    struct{}  `ddb:"table=one,ttl=gone"`
			ID   string    `ddb:"pk=Q#{ID}"`
			Till time.Time `ddb:"sk=HEAD,ttl"`
		}
		without = struct {
			_  struct{} `ddb:"table=one"`
			ID string   `ddb:"pk=R#{ID}"`
			A  string   `ddb:"sk=HEAD"`
		}
	)
	for _, c := range []struct {
		a, b reflect.Type
		want string
	}{
		{reflect.TypeFor[expiring](), reflect.TypeFor[lasting](), `the attribute "exp" of`},
		{reflect.TypeFor[lasting](), reflect.TypeFor[expiring](), `the attribute "exp" of`},
		{reflect.TypeFor[expiring](), reflect.TypeFor[otherwise](), `the TTL attribute "exp" by`},
		{reflect.TypeFor[expiring](), reflect.TypeFor[without](), ""},
	} {
		a, errA := Of(c.a)
		b, errB := Of(c.b)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if text := Collision(a, b); c.want == "" && text != "" || !strings.Contains(text, c.want) {
			t.Errorf("%s and %s: %s", c.a, c.b, text)
		}
	}
}
