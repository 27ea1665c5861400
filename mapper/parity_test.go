package mapper_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/internal/modeltest"
	generated "github.com/itemize/itemize/internal/modeltest/generated"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/mapper"
)

// Law 8: with reflection and with generated code a mapper plans the same, and sends the
// same requests, for inserts, edits and deletes of random values.
func TestBothMappersSendTheSame(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for i, check := range []func(*testing.T, uint64){
		parity[generated.User],
		parity[generated.Scalars],
		parity[generated.Sized],
		parity[generated.Omitting],
		parity[generated.Nulling],
		parity[generated.Times],
		parity[generated.Quoted],
		parity[generated.Sets],
		parity[generated.Slices],
		parity[generated.Maps],
		parity[generated.Pointers],
		parity[generated.Nested],
		parity[generated.Embedding],
		parity[generated.EmbeddedPointer],
		parity[generated.Spread],
		parity[generated.SharedSpread],
		parity[generated.Interfaces],
		parity[generated.Marshalers],
		parity[generated.Decimals],
		parity[generated.NamedTypes],
		parity[generated.TimeElements],
		parity[generated.MapElements],
		parity[generated.ScalarElements],
		parity[generated.Members],
		parity[generated.PointerElements],
		parity[generated.Composite],
		parity[generated.OwnerKeys],
		parity[generated.Product],
		parity[generated.Satellites],
		parity[generated.Thread],
		parity[generated.Reading],
		parity[generated.Chunk],
		parity[generated.Order],
		parity[generated.Bare],
		parity[generated.OneTable],
		parity[generated.NoVersion],
		parity[generated.NamedVersion],
		parity[generated.Expiring],
		parity[generated.ExpiringAll],
		parity[generated.Slashes],
		parity[generated.TextKeys],
		parity[generated.BinaryKey],
		parity[generated.Wide],
		parity[generated.EmbeddedElements],
		parity[generated.SameKeys],
		parity[generated.Lossy],
		parity[generated.Nothing],
	} {
		t.Run(reflect.TypeOf(generated.All[i]).Elem().Name(), func(t *testing.T) { check(t, seed) })
	}
}

// tape is a transport that keeps the requests.
type tape struct{ requests []string }

func (x *tape) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return nil, err
	}
	sorted, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	x.requests = append(x.requests, r.Header.Get("X-Amz-Target")+" "+random.ReplaceAllString(string(sorted), "TOKEN"))
	return (canned{[]byte("{}")}).Do(r.Clone(context.Background()).WithContext(r.Context()))
}

// random matches what differs from run to run: versions, and tokens of transactions.
var random = regexp.MustCompile(`"B":"[A-Za-z0-9+/]{11}="|"ClientRequestToken":"[^"]*"|"N":"1[0-9]{9}"`)

func (x *tape) client() *dynamodb.Client {
	return dynamodb.New(cannedClient("{}").Options(), func(o *dynamodb.Options) { o.HTTPClient = x })
}

func parity[T any](t *testing.T, seed uint64) {
	var tapes [2]tape
	g, err := mapper.New[T](tapes[0].client(), mapper.CursorKey(make([]byte, 16)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := mapper.NewReflected[T](tapes[1].client(), mapper.CursorKey(make([]byte, 16)))
	if err != nil {
		t.Fatal(err)
	}
	e, err := schema.Of(reflect.TypeFor[T]())
	if err != nil {
		t.Fatal(err)
	}
	gen := modeltest.NewGen(rand.New(rand.NewPCG(seed, 0)), e)
	for range 10 {
		v := gen.New().(*T)
		x, y := g.New(*v), r.New(*v)
		for n := range 5 {
			if n > 0 {
				gen.Edit(v)
				x.Value, y.Value = *v, *v
			}
			sameAs(t, "Plan", plan(g, x), plan(r, y))
			_, errX := g.Save(context.Background(), x, mapper.Independent())
			_, errY := r.Save(context.Background(), y, mapper.Independent())
			sameAs(t, "Save", fmt.Sprint(errX), fmt.Sprint(errY))
		}
		_, errX := g.Delete(context.Background(), x, mapper.Independent())
		_, errY := r.Delete(context.Background(), y, mapper.Independent())
		sameAs(t, "Delete", fmt.Sprint(errX), fmt.Sprint(errY))
	}
	// Entries of maps come in any order.
	slices.Sort(tapes[0].requests)
	slices.Sort(tapes[1].requests)
	sameAs(t, "requests", tapes[0].requests, tapes[1].requests)
	if len(tapes[0].requests) < 10 {
		t.Errorf("only %d requests", len(tapes[0].requests))
	}
}

func plan[T any](m *mapper.Mapper[T], e *mapper.Entity[T]) string {
	p, err := m.Plan(e, mapper.Independent())
	if err != nil {
		return err.Error()
	}
	slices.SortFunc(p.Items, func(a, b mapper.ItemPlan) int { return bytes.Compare([]byte(a.Key.String()), []byte(b.Key.String())) })
	b, err := json.Marshal(p)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func sameAs(t *testing.T, what string, generated, reflected any) {
	t.Helper()
	if d := cmp.Diff(reflected, generated); d != "" {
		t.Fatalf("%s (-reflected +generated):\n%s", what, d)
	}
}
