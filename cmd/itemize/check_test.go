package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// Club is a model with an index, large values and items that expire, as clubSource has it.
type Club struct {
	_      struct{}         `ddb:"table=clubs,ttl=expires"`
	_      struct{}         `ddb:"index=byCity,hash=GSI1PK,range=GSI1SK,pk=CITY#{City},sk=NAME#{Name}"`
	ID     string           `ddb:"pk=CLUB#{ID}"`
	Name   string           `ddb:"sk=HEAD"`
	City   string           `ddb:"sk=HEAD"`
	Seats  int              `ddb:"sk=HEAD"`
	People []Person         `ddb:"sk=PERSON#{Joined:date}#{ID}"`
	Offer  *Offer           `ddb:"sk=OFFER"`
	Rooms  map[string]*Room `ddb:"sk=ROOM#{key}"`
}

// Person is in a club.
type Person struct {
	Joined time.Time
	ID     string
	Letter string `ddb:"chunk,inline=1KB"`
}

// Offer expires.
type Offer struct {
	Text  string
	Until time.Time `ddb:"ttl"`
}

// Room is a room of a club.
type Room struct {
	Beds int
	Size [2]int
}

const clubSource = "package clubs\n\nimport \"time\"\n\ntype Club struct {\n" +
	"\t_ struct{} `ddb:\"table=clubs,ttl=expires\"`\n" +
	"\t_ struct{} `ddb:\"index=byCity,hash=GSI1PK,range=GSI1SK,pk=CITY#{City},sk=NAME#{Name}\"`\n" +
	"\tID string `ddb:\"pk=CLUB#{ID}\"`\n\tName string `ddb:\"sk=HEAD\"`\n\tCity string `ddb:\"sk=HEAD\"`\n" +
	"\tSeats int `ddb:\"sk=HEAD\"`\n\tPeople  []Person `ddb:\"sk=PERSON#{Joined:date}#{ID}\"`\n" +
	"\tOffer *Offer `ddb:\"sk=OFFER\"`\n\tRooms map[string]*Room `ddb:\"sk=ROOM#{key}\"`\n}\n\n" +
	"type Person struct {\n\tJoined time.Time\n\tID string\n\tLetter string `ddb:\"chunk,inline=1KB\"`\n}\n\n" +
	"type Offer struct {\n\tText string\n\tUntil time.Time `ddb:\"ttl\"`\n}\n\ntype Room struct {\n\tBeds int\n\tSize [2]int\n}\n"

// clubs is a table of clubs, in which faults are planted.
type clubs struct {
	*testing.T
	client *dynamodb.Client
	table  string
	m      *mapper.Mapper[Club]
	want   map[string]int
}

// club saves a club, and returns its items by their sort keys.
func (s *clubs) club(id string) map[string]attributes {
	s.Helper()
	joined := time.Date(2021, 11, 14, 9, 30, 0, 0, time.UTC)
	e := s.m.New(Club{
		ID: id, Name: "n" + id, City: "Oslo", Seats: 3,
		People: []Person{
			{joined, "a", strings.Repeat("letter of a ", 200)}, {joined, "b", strings.Repeat("letter of b ", 200)},
		},
		Offer: &Offer{"o", time.Now().Add(time.Hour)},
		Rooms: map[string]*Room{"x": {Beds: 1}},
	})
	if _, err := s.m.Save(context.Background(), e); err != nil {
		s.Fatal(err)
	}
	return s.items("CLUB#" + id)
}

type attributes = map[string]types.AttributeValue

func str(text string) types.AttributeValue { return &types.AttributeValueMemberS{Value: text} }

func random() types.AttributeValue {
	b := make([]byte, 8)
	_, _ = rand.Read(b)
	return &types.AttributeValueMemberB{Value: b}
}

func stage(state string, age time.Duration) types.AttributeValue {
	return &types.AttributeValueMemberM{Value: attributes{
		"state": str(state), "since": &types.AttributeValueMemberN{Value: fmt.Sprint(time.Now().Add(-age).Unix())},
		"by": random(),
	}}
}

func (s *clubs) items(pk string) map[string]attributes {
	s.Helper()
	out, err := s.client.Query(context.Background(), &dynamodb.QueryInput{
		TableName: &s.table, KeyConditionExpression: new("PK = :pk"),
		ExpressionAttributeValues: attributes{":pk": str(pk)},
	})
	if err != nil {
		s.Fatal(err)
	}
	all := map[string]attributes{}
	for _, a := range out.Items {
		all[a["SK"].(*types.AttributeValueMemberS).Value] = a
	}
	return all
}

// put writes an item as a program without the library does.
func (s *clubs) put(a attributes) {
	s.Helper()
	if _, err := s.client.PutItem(context.Background(), &dynamodb.PutItemInput{
		TableName: &s.table,
		Item:      a,
	}); err != nil {
		s.Fatal(err)
	}
}

func (s *clubs) delete(a attributes) {
	s.Helper()
	if _, err := s.client.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{
		TableName: &s.table, Key: attributes{"PK": a["PK"], "SK": a["SK"]},
	}); err != nil {
		s.Fatal(err)
	}
}

// with returns an item with some attributes changed; nil removes one.
func with(a attributes, changes attributes) attributes {
	a = maps.Clone(a)
	for name, v := range changes {
		if a[name] = v; v == nil {
			delete(a, name)
		}
	}
	return a
}

// plants notes that a check has to find a fault.
func (s *clubs) plants(rule, id, sk string) { s.want[rule+" CLUB#"+id+" "+sk]++ }

// parts returns the parts of the letter of a person.
func (s *clubs) parts(person attributes) map[string]attributes {
	p := person["Letter"].(*types.AttributeValueMemberM).Value
	pk, id := person["PK"].(*types.AttributeValueMemberS), p["id"].(*types.AttributeValueMemberS)
	return s.items(pk.Value + "#~" + id.Value)
}

const (
	personA = "PERSON#2021-11-14#a"
	personB = "PERSON#2021-11-14#b"
)

// newClubs returns a table for clubs, a folder with the source of the model, and a function that runs itemize check.
func newClubs(t *testing.T) (s *clubs, dir string, check func(code int, args ...string) string) {
	t.Helper()
	ctx := context.Background()
	dir = t.TempDir()
	for name, text := range map[string]string{"go.mod": "module clubs\n\ngo 1.26\n", "clubs.go": clubSource} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	engine := testengine.Start(t)
	s = &clubs{T: t, client: engine.Client(), table: testengine.Table(t, "PK:S", "SK:S"), want: map[string]int{}}
	var err error
	if s.m, err = mapper.New[Club](s.client, mapper.Table(s.table)); err != nil {
		t.Fatal(err)
	}
	as, err := s.client.Options().Credentials.Retrieve(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", as.AccessKeyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", as.SecretAccessKey)
	check = func(code int, args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		args = append([]string{
			"check", "-endpoint", engine.Endpoint, "-s3-endpoint", "http://127.0.0.1:1", "-table",
			"clubs=" + s.table,
		}, args...)
		if got := run(ctx, args, dir, &out, &errs); got != code {
			t.Fatalf("%v: exit status %d, and not %d: %s %s", args, got, code, out.String(), errs.String())
		}
		return out.String() + errs.String()
	}
	return s, dir, check
}

// A check of a table with planted faults finds all of them and nothing else. It finds none in operations that
// have just begun, and none in items that other programs may write.
func TestCheckFindsPlantedFaults(t *testing.T) {
	s, dir, check := newClubs(t)
	says := func(text string, all ...string) {
		t.Helper()
		for _, want := range all {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in:\n%s", want, text)
			}
		}
	}
	seen := filepath.Join(dir, "seen.json")

	// Allowed items.
	s.club("fine")
	foreign := s.club("foreign")
	s.put(with(foreign["ROOM#x"], attributes{"SK": str("ROOM#y"), "_a": nil, "_v": nil}))
	s.put(with(foreign["HEAD"], attributes{"_v": str("7"), "Color": str("red"), "Seats": nil}))
	s.put(attributes{"PK": str("CLUB#foreign"), "SK": str("LOG#1"), "Text": str("of another program")})
	s.put(attributes{"PK": str("SHOP#1"), "SK": str("HEAD")})
	bare := s.club("bare")
	for _, a := range bare {
		s.put(with(a, attributes{"_v": nil, "_a": nil}))
	}
	recent := s.club("recent")
	s.put(with(recent["HEAD"], attributes{"_s": stage("inserting", time.Minute), "GSI1PK": nil, "GSI1SK": nil}))
	s.put(with(recent["ROOM#x"], attributes{"_s": &types.AttributeValueMemberBOOL{Value: true}}))
	moved := s.club("moved")
	claim := stage("migrating", time.Minute).(*types.AttributeValueMemberM)
	claim.Value["took"] = &types.AttributeValueMemberL{Value: []types.AttributeValue{moved["HEAD"]["_a"]}}
	s.put(with(moved["HEAD"], attributes{"_a": random(), "_s": claim, "GSI1PK": nil, "GSI1SK": nil}))
	old := s.club("old")
	s.put(with(old["OFFER"], attributes{"expires": &types.AttributeValueMemberN{Value: "1"}, "_a": random()}))
	s.put(with(s.club("nulls")["HEAD"], attributes{"Name": &types.AttributeValueMemberNULL{Value: true}}))
	says(check(0, "-plan", s.table), "to read")
	says(check(0, "-remember", seen, s.table), ": 0 findings", "items of no model", "external values")

	// Faults.
	v1, v2 := s.items("CLUB#fine")["HEAD"], s.items("CLUB#fine")["ROOM#x"]
	s.put(with(v1, attributes{"Seats": &types.AttributeValueMemberN{Value: "9"}}))
	s.put(with(v2, attributes{"Beds": nil}))
	s.plants("version", "fine", "HEAD")
	s.plants("version", "fine", "ROOM#x")
	for id, plant := range map[string]func(id string, a map[string]attributes){
		"hidden": func(id string, a map[string]attributes) {
			s.put(with(a["HEAD"], attributes{"_a": nil}))
			for _, sk := range []string{personA, personB, "OFFER"} {
				s.delete(a[sk])
			}
			s.plants("hidden", id, "ROOM#x")
		},
		"rootless": func(id string, a map[string]attributes) {
			s.delete(a["HEAD"])
			for _, sk := range []string{personA, personB, "OFFER"} {
				s.delete(a[sk])
			}
			s.put(with(a["ROOM#x"], attributes{"SK": str("ROOM#z"), "_a": nil}))
			s.plants("leftover", id, "ROOM#x")
			s.plants("orphan", id, "ROOM#z")
		},
		"again": func(id string, a map[string]attributes) {
			s.put(with(a["ROOM#x"], attributes{"_a": random()}))
			s.plants("leftover", id, "ROOM#x")
		},
		"inserting": func(id string, a map[string]attributes) {
			s.put(with(a["HEAD"], attributes{"_s": stage("inserting", 2*time.Hour)}))
			s.plants("pending", id, "HEAD")
			s.plants("index", id, "HEAD")
			s.plants("index", id, "HEAD")
		},
		"deleting": func(id string, a map[string]attributes) {
			s.put(with(a["HEAD"], attributes{
				"_s": stage("deleting", 2*time.Hour), "GSI1PK": nil, "GSI1SK": nil,
			}))
			s.put(with(a["ROOM#x"], attributes{"_a": random()}))
			s.plants("pending", id, "HEAD")
			s.plants("leftover", id, "ROOM#x")
		},
		"stated": func(id string, a map[string]attributes) {
			s.put(with(a["HEAD"], attributes{"_s": str("live"), "GSI1PK": nil, "GSI1SK": nil}))
			s.plants("state", id, "HEAD")
		},
		"marked": func(id string, a map[string]attributes) {
			s.put(with(a["ROOM#x"], attributes{"_s": &types.AttributeValueMemberN{Value: "1"}}))
			s.plants("state", id, "ROOM#x")
		},
		"incarnated": func(id string, a map[string]attributes) {
			s.put(with(a["ROOM#x"], attributes{"_a": str("one")}))
			s.plants("incarnation", id, "ROOM#x")
			b := s.club(id + "-root")
			s.put(with(b["HEAD"], attributes{"_a": str("one")}))
			s.plants("incarnation", id+"-root", "HEAD")
		},
		"keyed": func(id string, a map[string]attributes) {
			s.put(with(a[personA], attributes{"SK": str("PERSON#2021-11-14T09:30:00Z#c"), "Letter": nil}))
			s.put(with(a["OFFER"], attributes{"SK": str("Offer")}))
			s.plants("key", id, "PERSON#2021-11-14T09:30:00Z#c")
			s.plants("key", id, "Offer")
			s.put(with(a["ROOM#x"], attributes{"PK": str("CLUB#a%2db")}))
			s.plants("key", "a%2db", "ROOM#x")
			s.put(with(a["ROOM#x"], attributes{"SK": str("ROOM#x#NOTE#1")})) // of another program
		},
		"typed": func(id string, a map[string]attributes) {
			s.put(with(a["HEAD"], attributes{"Seats": str("three")}))
			s.put(with(a[personA], attributes{"Joined": str("yesterday")}))
			s.put(with(a["ROOM#x"], attributes{"Beds": &types.AttributeValueMemberN{Value: "1.5"}}))
			s.plants("type", id, "HEAD")
			s.plants("type", id, personA)
			s.plants("type", id, "ROOM#x")
			long := s.club(id + "-long")
			n := &types.AttributeValueMemberN{Value: "1"}
			s.put(with(long["ROOM#x"], attributes{
				"Size": &types.AttributeValueMemberL{Value: []types.AttributeValue{n, n, n}},
			}))
			s.plants("type", id+"-long", "ROOM#x")
		},
		"expiring": func(id string, a map[string]attributes) {
			s.put(with(a["OFFER"], attributes{"expires": str("1636882200")}))
			s.plants("expiry", id, "OFFER")
			b := s.club(id + "-ms")
			s.put(with(b["OFFER"], attributes{"expires": &types.AttributeValueMemberN{Value: "1900000000000"}}))
			s.plants("expiry", id+"-ms", "OFFER")
		},
		"indexed": func(id string, a map[string]attributes) {
			s.put(with(a["HEAD"], attributes{"GSI1PK": nil, "GSI1SK": nil}))
			s.plants("index", id, "HEAD")
			s.plants("index", id, "HEAD")
		},
		"stale": func(id string, a map[string]attributes) {
			s.put(with(a["HEAD"], attributes{"City": str("Rome")}))
			s.plants("index", id, "HEAD")
		},
		"pointing": func(id string, a map[string]attributes) {
			for _, part := range s.parts(a[personA]) {
				s.delete(part)
			}
			for _, part := range s.parts(a[personB]) {
				data := part["~data"].(*types.AttributeValueMemberB).Value
				data[7] ^= 1
				s.put(part)
			}
			s.plants("value", id, personA)
			s.plants("value", id, personB)
		},
		"copied": func(id string, a map[string]attributes) {
			s.put(with(a[personA], attributes{"Letter": a[personB]["Letter"]}))
			s.plants("value", id, personA)
		},
	} {
		plant(id, s.club(id))
	}
	text := check(1, "-remember", seen, "-all", s.table)
	got := map[string]int{}
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		if rule, rest, ok := strings.Cut(line, ": clubs.Club: "); ok {
			at, _, _ := strings.Cut(rest, ": ")
			got[rule+" "+at]++
			n++
		}
	}
	for _, what := range slices.Sorted(maps.Keys(s.want)) {
		if got[what] != s.want[what] {
			t.Errorf("%s: planted %d times, and found %d times", what, s.want[what], got[what])
		}
		delete(got, what)
	}
	for what := range got {
		t.Errorf("%s: found, and not planted", what)
	}
	if n < 20 || t.Failed() {
		t.Errorf("%d findings:\n%s", n, text)
	}
	for _, value := range []string{"three", "Rome", "letter of"} {
		if strings.Contains(text, value) {
			t.Errorf("the value %q is in the report", value)
		}
	}
	s.put(attributes{
		"PK": str("~format#Club"), "SK": str("format"),
		"version": &types.AttributeValueMemberN{Value: "2"},
	})
	says(check(1, s.table), "has a later format than this version of itemize reads: update itemize")
	says(check(1, "nosuch"), "no model in . has items in the table nosuch, only in clubs: write the declared name of "+
		"the table: -table clubs=nosuch")
	says(check(2), "no table: write itemize check TABLE [packages]")
	says(check(2, "-sample", "0", s.table), "-sample 0: write a number of items, or -all")
}

// A sample has the number of items that was asked for, at several places of the table.
func TestCheckSample(t *testing.T) {
	s, _, check := newClubs(t)
	for range 20 {
		var all []types.WriteRequest
		for range 25 {
			all = append(all, types.WriteRequest{PutRequest: &types.PutRequest{Item: attributes{
				"PK": str("CLUB#" + fmt.Sprintf("%x", random().(*types.AttributeValueMemberB).Value)),
				"SK": str("HEAD"),
			}}})
		}
		if _, err := s.client.BatchWriteItem(context.Background(), &dynamodb.BatchWriteItemInput{
			RequestItems: map[string][]types.WriteRequest{s.table: all},
		}); err != nil {
			t.Fatal(err)
		}
	}
	if text := check(0, "-sample", "100", s.table); !strings.Contains(text, "100 items of 100 entities in") {
		t.Error(text)
	}
	if text := check(0, "-sample", "400", s.table); !strings.Contains(text, "400 items of 400 entities in") {
		t.Error(text)
	}
}

// A check reports nothing while the library inserts, saves and deletes entities with the same keys.
func TestCheckDuringWrites(t *testing.T) {
	s, _, check := newClubs(t)
	ctx, stop := context.WithCancel(context.Background())
	var writers sync.WaitGroup
	for n := range 3 {
		writers.Go(func() {
			for ctx.Err() == nil {
				e := s.m.New(Club{ID: fmt.Sprint(n), Name: "n", City: "Oslo", Rooms: map[string]*Room{}})
				for i := range 20 {
					e.Value.Rooms[fmt.Sprint(i)] = &Room{Beds: i}
				}
				_, err := s.m.Save(context.Background(), e, mapper.Staged())
				if err == nil {
					e.Value.Rooms["more"] = &Room{Beds: 1}
					_, err = s.m.Save(context.Background(), e)
				}
				if err == nil {
					_, err = s.m.Delete(context.Background(), e)
				}
				if err != nil {
					t.Errorf("writer %d: %v", n, err)
					return
				}
			}
		})
	}
	for range 3 {
		check(0, "-all", s.table)
	}
	stop()
	writers.Wait()
}
