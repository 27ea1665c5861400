package migrate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost/forecast"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/migrate"
)

// Package is a package of a registry.
type Package struct {
	_           struct{}          `ddb:"table=packages"`
	Name        string            `ddb:"pk=PACKAGE#{Name}" dynamodbav:"name"`
	Description string            `ddb:"sk=HEAD" dynamodbav:"description"`
	License     string            `ddb:"sk=HEAD" dynamodbav:"license"`
	Keywords    []string          `ddb:"sk=HEAD" dynamodbav:"keywords"`
	Tags        map[string]string `ddb:"sk=TAG#{key}" dynamodbav:"dist-tags"`
	Times       map[string]string `ddb:"sk=TIME#{key}" dynamodbav:"time"`
	Versions    []string          `ddb:"sk=VERSIONS" dynamodbav:"versions"`
	Scripts     map[string]string `ddb:"sk=SCRIPTS" dynamodbav:"scripts"`
	Events      []Event           `ddb:"sk=EVENT#{At}" dynamodbav:"events"`
}

// Event is something that happened to a package.
type Event struct {
	At   time.Time
	What string
}

// setup is a source and a target table.
type setup struct {
	testing.TB
	client         *dynamodb.Client
	lock           string
	source, target string
	docs           map[string]map[string]types.AttributeValue
}

func newSetup(t testing.TB) *setup {
	t.Helper()
	e, err := schema.Of(reflect.TypeFor[Package]())
	if err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(t.TempDir(), "itemize.lock.json")
	text, err := json.Marshal(map[string]any{"version": 1, "models": []schema.Layout{e.Layout()}})
	if err == nil {
		err = os.WriteFile(lock, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &setup{
		t, testengine.Start(t).Client(), lock,
		testengine.Table(t, "name:S", ""), testengine.Table(t, "PK:S", "SK:S"),
		map[string]map[string]types.AttributeValue{},
	}
}

func (s *setup) migration(o ...migrate.Option) *migrate.Migration {
	s.Helper()
	return s.over(s.client, o...)
}

func (s *setup) over(c migrate.Client, o ...migrate.Option) *migrate.Migration {
	s.Helper()
	o = append([]migrate.Option{migrate.Tables(func(string) string { return s.target }), migrate.Segments(3)}, o...)
	m, err := migrate.Open(context.Background(), c, s.layout(), s.source, o...)
	if err != nil {
		s.Fatal(err)
	}
	return m
}

func (s *setup) layout() *migrate.Layout {
	s.Helper()
	l, err := migrate.ReadLayout(s.lock, "Package")
	if err != nil {
		s.Fatal(err)
	}
	return l
}

func (s *setup) put(doc map[string]types.AttributeValue) {
	s.Helper()
	if _, err := s.client.PutItem(context.Background(),
		&dynamodb.PutItemInput{TableName: &s.source, Item: doc}); err != nil {
		s.Fatal(err)
	}
	s.docs[text(doc["name"])] = doc
}

func text(v types.AttributeValue) string { return v.(*types.AttributeValueMemberS).Value }

// document is a generated monolith: of so many events, with a few that are odd.
func document(name string, events int) map[string]types.AttributeValue {
	p := Package{
		Name: name, Description: "of " + name, License: "MIT", Keywords: []string{"a"},
		Tags: map[string]string{"latest": "2"}, Versions: []string{"2", "1"},
	}
	for i := range events {
		p.Events = append(p.Events,
			Event{time.Unix(int64(1e9+i*7919%10007), int64(i)).UTC(), strings.Repeat("x", i%50)})
	}
	doc, err := attributevalue.MarshalMap(p)
	if err != nil {
		panic(err)
	}
	doc["stars"] = &types.AttributeValueMemberN{Value: fmt.Sprint(events)}
	return doc
}

func (s *setup) all(table string) []map[string]types.AttributeValue {
	s.Helper()
	var all []map[string]types.AttributeValue
	p := dynamodb.NewScanPaginator(s.client, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	for p.HasMorePages() {
		out, err := p.NextPage(context.Background())
		if err != nil {
			s.Fatal(err)
		}
		all = append(all, out.Items...)
	}
	return all
}

// came requires that all monoliths are as they were put.
func (s *setup) came() {
	s.Helper()
	back := s.all(s.source)
	for _, a := range back {
		delete(a, "_v")
		if want := s.docs[text(a["name"])]; !attr.SameItem(a, want) {
			s.Errorf("%s has come back as %v, and was %v", text(a["name"]), a, want)
		}
	}
	if len(back) != len(s.docs) {
		s.Errorf("%d monoliths are there, of %d", len(back), len(s.docs))
	}
}

// A complete migration: plan, run, verify, cut over, reads and writes of a mapper, and a rollback with
// these writes.
func TestWholeMigration(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	s := newSetup(t)
	for i := range 40 {
		s.put(document(fmt.Sprint("p", i), min(i*3, draws.Times(30, 120, 120))))
	}
	plan, err := s.migration().Plan(ctx, migrate.PlanOptions{Rate: 100, Updates: map[string]float64{"HEAD": 1000}})
	if err != nil || !plan.OK() || plan.Entities != 40 {
		t.Fatalf("%+v, %v", plan, err)
	}
	free := s.migration(migrate.Prices(forecast.Prices{}))
	if p, err := free.Plan(ctx, migrate.PlanOptions{}); err != nil || p.Price != 0 || plan.Price == 0 ||
		p.WCU != plan.WCU {
		t.Errorf("without prices %+v, %v", p, err)
	}
	if _, err := s.migration().Cutover(ctx); err == nil || !strings.Contains(err.Error(), "run and verify it first") {
		t.Errorf("a cut-over before a verification: %v", err)
	}
	r, err := s.migration().Run(ctx)
	if err != nil || r.This.Moved != 40 || r.This.WCU != plan.WCU || float64(r.This.Items) != plan.Items {
		t.Fatalf("%+v, %v; planned were %+v", r, err, plan)
	}
	// DynamoDB Local reports nothing of statements
	if testengine.ReportsTransactions(t) && r.This.ConsumedWCU != plan.WCU {
		t.Errorf("it took %v WCU, and %v were planned", r.This.ConsumedWCU, plan.WCU)
	}
	users, err := mapper.New[Package](s.client, mapper.Table(s.target))
	if err != nil {
		t.Fatal(err)
	}
	e, err := users.Load(ctx, users.Key("p7"))
	if err != nil || len(e.Value.Events) != 21 || e.Value.Description != "of p7" || e.Value.Tags["latest"] != "2" {
		t.Fatalf("%+v, %v", e, err)
	}
	v, err := s.migration().Verify(ctx)
	if err != nil || !v.Clean() || v.Same != 40 {
		t.Fatalf("%+v, %v", v, err)
	}
	e.Value.Description, e.Value.Events = "another", e.Value.Events[:20]
	if _, err := users.Save(ctx, e); err != nil {
		t.Fatal(err)
	}
	if _, err := users.Save(ctx, users.New(Package{Name: "new", Description: "of new"})); err != nil {
		t.Fatal(err)
	}
	if _, err := users.DeleteByKey(ctx, users.Key("p9")); err != nil {
		t.Fatal(err)
	}
	if v, err := s.migration().Verify(ctx); err != nil || !v.Clean() || v.Same != 38 || v.Changed != 1 ||
		v.Deleted != 1 {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := s.migration().Cutover(ctx); err != nil {
		t.Error(err)
	}
	if _, err := s.migration().Contract(ctx, "wrong", false); err == nil ||
		!strings.Contains(err.Error(), "does not confirm it") {
		t.Errorf("a contract without the word: %v", err)
	}
	if _, err := s.migration().Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	delete(s.docs, "p9")
	s.docs["p7"]["description"] = &types.AttributeValueMemberS{Value: "another"}
	events := s.docs["p7"]["events"].(*types.AttributeValueMemberL)
	ended := e.Value.Events
	events.Value = nil
	for _, ev := range ended { // in the order of their keys, since they are others than when they moved
		m, err := attributevalue.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		events.Value = append(events.Value, m)
	}
	s.docs["new"] = map[string]types.AttributeValue{
		"name":        &types.AttributeValueMemberS{Value: "new"},
		"description": &types.AttributeValueMemberS{Value: "of new"},
		"license":     &types.AttributeValueMemberS{}, "keywords": &types.AttributeValueMemberNULL{Value: true},
	}
	s.came()
	for _, a := range s.all(s.target) {
		if !strings.HasPrefix(text(a["PK"]), "~migrate#") {
			t.Errorf("%v is left", a)
		}
	}
}

// Real documents, there and back.
func TestPackages(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	s := newSetup(t)
	files, err := filepath.Glob("testdata/packages/*.json")
	if err != nil || len(files) < 6 {
		t.Fatal(files, err)
	}
	for _, n := range draws.Some(draws.Seed(t), len(files), draws.Times(1, draws.All, draws.All)) {
		file := files[n]
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var doc map[string]any
		if err := json.Unmarshal(content, &doc); err != nil {
			t.Fatal(err)
		}
		a, err := attributevalue.MarshalMap(doc)
		if err != nil {
			t.Fatal(err)
		}
		s.put(a)
	}
	r, err := s.migration().Run(ctx)
	if err != nil || r.This.Moved != len(s.docs) || r.This.Dead != 0 {
		status, _ := s.migration().Status(ctx)
		t.Fatalf("%+v, %v: %+v", r, err, status)
	}
	if v, err := s.migration().Verify(ctx); err != nil || !v.Clean() || v.Same != len(s.docs) {
		t.Fatalf("%+v, %v", v, err)
	}
	if _, err := s.migration().Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	s.came()
}

// A program that knows only the old layout writes an entity after it moved: a verification finds it, a cut-over is
// refused, and both are kept.
func TestOldProgram(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newSetup(t)
	for i := range 5 {
		s.put(document(fmt.Sprint("p", i), 4))
	}
	if _, err := s.migration().Run(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := s.migration().Verify(ctx); err != nil {
		t.Fatal(err)
	}
	set := func(name, expression string) {
		_, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &s.source,
			Key: map[string]types.AttributeValue{
				"name": &types.AttributeValueMemberS{Value: name},
			},
			UpdateExpression: &expression,
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":x": &types.AttributeValueMemberS{Value: "late"},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	set("p1", "SET description = :x")
	s.put(document("p2", 5)) // the whole item, so that its mark is removed
	if _, err := s.migration().Cutover(ctx); err == nil ||
		!strings.Contains(err.Error(),
			"since the verification 1 monoliths were written in the old layout, and 1 entities went wrong") {
		t.Errorf("a cut-over: %v", err)
	}
	v, err := s.migration().Verify(ctx)
	if err != nil || v.Wrong != 1 || v.Unmoved != 1 || v.Clean() {
		t.Errorf("%+v, %v", v, err)
	}
	r, err := s.migration().Run(ctx)
	if err != nil || r.This.Conflicts != 1 || r.This.Before != 4 {
		t.Errorf("%+v, %v", r, err)
	}
	status, err := s.migration().Status(ctx)
	if err != nil || len(status.DeadLetters) != 1 ||
		!strings.Contains(status.DeadLetters[0].Reasons[0], "wrote a monolith after the entity moved") {
		t.Errorf("%+v, %v", status, err)
	}
}
