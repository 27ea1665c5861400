// Package generated tests generated code. Reflection and generated code behave the same (law 8).
// TestReflectionAndGeneratedCodeAgree generates code for the models of package models and for random
// models, in a folder of its own, and runs the tests that it writes there. Nodes select and change the
// items of their names: the other tests use the generated code of this package's models.
package generated

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
	"strings"
	"testing"
	"unsafe"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/testing/models"
	"github.com/itemize/itemize/mapper"
)

// Requests requires that mappers of two models plan the same, and send the same requests,
// for inserts, edits and deletes of random values. The models are one and the same, with
// generated code and without: copies of one source.
func Requests[G, R any](t *testing.T, seed uint64) {
	t.Helper()
	g, r := newSide[G](t), newSide[R](t)
	e, err := schema.Of(reflect.TypeFor[R]())
	if err != nil {
		t.Fatal(err)
	}
	gen := models.NewGen(rand.New(rand.NewPCG(seed, 0)), e)
	for range 10 {
		v := gen.New().(*R)
		// The types have the same fields, and so values the same place in memory.
		twin := (*G)(unsafe.Pointer(v))
		x, y := g.mapper.New(*twin), r.mapper.New(*v)
		for n := range 5 {
			if n > 0 {
				gen.Edit(v)
				x.Value, y.Value = *twin, *v
			}
			same(t, "Plan", g.plan(x), r.plan(y))
			same(t, "Save", g.save(x), r.save(y))
		}
		same(t, "Delete", g.remove(x), r.remove(y))
	}
	// Entries of maps come in any order.
	slices.Sort(g.tape.requests)
	slices.Sort(r.tape.requests)
	same(t, "requests", g.tape.requests, r.tape.requests)
	if len(r.tape.requests) < 10 {
		t.Errorf("only %d requests", len(r.tape.requests))
	}
}

func same(t *testing.T, what string, generated, reflected any) {
	t.Helper()
	if d := cmp.Diff(reflected, generated); d != "" {
		t.Fatalf("%s (-reflected +generated):\n%s", what, d)
	}
}

// side is a mapper whose requests are kept.
type side[T any] struct {
	mapper *mapper.Mapper[T]
	tape   *tape
}

func newSide[T any](t *testing.T) side[T] {
	t.Helper()
	x := &tape{}
	m, err := mapper.New[T](x.client(), mapper.CursorKey(make([]byte, 16)))
	if err != nil {
		t.Fatal(err)
	}
	return side[T]{m, x}
}

func (s side[T]) save(e *mapper.Entity[T]) string {
	_, err := s.mapper.Save(context.Background(), e, mapper.Independent())
	return fmt.Sprint(err)
}

func (s side[T]) remove(e *mapper.Entity[T]) string {
	_, err := s.mapper.Delete(context.Background(), e, mapper.Independent())
	return fmt.Sprint(err)
}

func (s side[T]) plan(e *mapper.Entity[T]) string {
	p, err := s.mapper.PlanSave(e, mapper.Independent())
	if err != nil {
		return err.Error()
	}
	slices.SortFunc(p.Items, func(a, b mapper.ItemPlan) int { return strings.Compare(a.Key.String(), b.Key.String()) })
	b, err := json.Marshal(p)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// tape is a transport that keeps the requests, and answers that all went well.
type tape struct{ requests []string }

// Do keeps a request.
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
	x.requests = append(x.requests, r.Header.Get("X-Amz-Target")+" "+changing.ReplaceAllString(string(sorted), "TOKEN"))
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(bytes.NewReader([]byte("{}"))), Request: r,
	}, nil
}

// changing matches the parts that differ between runs: versions, and tokens of transactions.
var changing = regexp.MustCompile(`"B":"[A-Za-z0-9+/]{11}="|"ClientRequestToken":"[^"]*"|"N":"1[0-9]{9}"`)

func (x *tape) client() *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "us-east-1", HTTPClient: x, Retryer: aws.NopRetryer{},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
		}),
	})
}
