// Package law8 tests that reflection and generated code behave the same: its test
// generates code for the models of package modeltest/models, and for models that are
// drawn at random, in a temporary folder, and runs the tests that it writes there.
package law8

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

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/itemize/itemize/internal/modeltest"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/mapper"
)

// Requests requires that mappers of two models plan the same, and send the same requests,
// for inserts, edits and deletes of random values. The models are one and the same, with
// generated code and without.
func Requests[G, R any](t *testing.T, seed uint64) {
	t.Helper()
	generated, reflected := record[G](t, seed), record[R](t, seed)
	if d := cmp.Diff(reflected, generated); d != "" {
		t.Fatalf("(-reflected +generated):\n%s", d)
	}
	if len(generated) < 10 {
		t.Errorf("only %d requests, plans and errors", len(generated))
	}
}

// record lists what a mapper plans and sends.
func record[T any](t *testing.T, seed uint64) []string {
	t.Helper()
	var x tape
	m, err := mapper.New[T](x.client(), mapper.CursorKey(make([]byte, 16)))
	if err != nil {
		t.Fatal(err)
	}
	e, err := schema.Of(reflect.TypeFor[T]())
	if err != nil {
		t.Fatal(err)
	}
	ctx, gen := context.Background(), modeltest.NewGen(rand.New(rand.NewPCG(seed, 0)), e)
	note := func(what string, err error) { x.notes = append(x.notes, what+" "+fmt.Sprint(err)) }
	for range 10 {
		v := gen.New().(*T)
		entity := m.New(*v)
		for n := range 5 {
			if n > 0 {
				gen.Edit(v)
				entity.Value = *v
			}
			x.notes = append(x.notes, plan(m, entity))
			_, err := m.Save(ctx, entity, mapper.Independent())
			note("Save", err)
		}
		_, err := m.Delete(ctx, entity, mapper.Independent())
		note("Delete", err)
	}
	slices.Sort(x.notes) // entries of maps come in any order
	return x.notes
}

func plan[T any](m *mapper.Mapper[T], e *mapper.Entity[T]) string {
	p, err := m.Plan(e, mapper.Independent())
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
type tape struct{ notes []string }

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
	x.notes = append(x.notes, r.Header.Get("X-Amz-Target")+" "+changing.ReplaceAllString(string(sorted), "TOKEN"))
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(bytes.NewReader([]byte("{}"))), Request: r,
	}, nil
}

// changing matches what differs from run to run: versions, and tokens of transactions.
var changing = regexp.MustCompile(`"B":"[A-Za-z0-9+/]{11}="|"ClientRequestToken":"[^"]*"|"N":"1[0-9]{9}"`)

func (x *tape) client() *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "us-east-1", HTTPClient: x, Retryer: aws.NopRetryer{},
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})
}
