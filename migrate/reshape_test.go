package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/migrate"
)

// The monoliths have their name in a key only, what belongs to the head in a map, and their versions in a text.
func forth(doc attributes) (attributes, error) {
	head, ok := doc["head"].(*types.AttributeValueMemberM)
	if !ok {
		return nil, errors.New("it has no head")
	}
	out := attributes{"name": textValue(strings.TrimPrefix(text(doc["id"]), "pkg/"))}
	for name, v := range doc {
		if name != "head" && name != "id" {
			out[name] = v
		}
	}
	for name, v := range head.Value {
		out[name] = v
	}
	var versions []types.AttributeValue
	for _, v := range strings.Split(text(doc["versions"]), ",") {
		versions = append(versions, textValue(strings.TrimSpace(v)))
	}
	out["versions"] = &types.AttributeValueMemberL{Value: versions}
	return out, nil
}

func back(doc attributes) (attributes, error) {
	head := attributes{}
	out := attributes{}
	for name, v := range doc {
		switch name {
		case "description", "license", "keywords":
			head[name] = v
		case "name":
		default:
			out[name] = v
		}
	}
	var versions []string
	for _, v := range doc["versions"].(*types.AttributeValueMemberL).Value {
		versions = append(versions, text(v))
	}
	out["versions"], out["head"] = textValue(strings.Join(versions, ",")), &types.AttributeValueMemberM{Value: head}
	return out, nil
}

// Monoliths of another form than the model's are moved by a program's functions. They are read and
// updated all the time, and are the same after a rollback. A monolith that the functions refuse, or do
// not restore, is a dead letter.
func TestReshape(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newSetup(t)
	s.source = testengine.Table(t, "id:S", "")
	put := func(name string, change func(attributes)) {
		t.Helper()
		doc, err := back(document(name, 5))
		if err != nil {
			t.Fatal(err)
		}
		doc["id"] = textValue("pkg/" + name)
		change(doc)
		if _, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.source, Item: doc}); err != nil {
			t.Fatal(err)
		}
		s.docs[text(doc["id"])] = doc
	}
	for i := range 8 {
		put(fmt.Sprint("p", i), func(attributes) {})
	}
	put("headless", func(d attributes) { d["head"] = textValue("none") })
	put("spaced", func(d attributes) { d["versions"] = textValue("1, 2") })
	migration := func() *migrate.Migration {
		return s.migration(migrate.Reshape(forth, back), migrate.Keys("pkg/{Name}", ""))
	}
	plan, err := migration().Plan(ctx, migrate.PlanOptions{})
	if err != nil || plan.Dead != 2 || !strings.Contains(fmt.Sprint(plan.DeadLetters), "it has no head") ||
		!strings.Contains(fmt.Sprint(plan.DeadLetters),
			"versions: the program's functions change it on the way there and back") {
		t.Errorf("%+v, %v", plan, err)
	}
	users, err := mapper.New[Package](s.client, mapper.Table(s.target))
	if err != nil {
		t.Fatal(err)
	}
	w := migrate.Wrap(users, migration())
	check := func(when string) {
		t.Helper()
		for i := range 8 {
			e, err := w.Load(ctx, users.Key(fmt.Sprint("p", i)))
			if err != nil || !strings.HasPrefix(e.Value.Description, "of p") && i > 0 || len(e.Value.Events) != 5 ||
				len(e.Value.Versions) != 2 {
				t.Errorf("%s: %+v, %v", when, e, err)
			}
		}
	}
	check("before")
	if _, err := w.Update(ctx, users.Key("p0"),
		func(p *Package) error { p.Description = "another"; return nil }); err != nil {
		t.Fatal(err)
	}
	r, err := migration().Run(ctx)
	if err != nil || r.This.Moved != 7 || r.This.Before != 1 || r.This.Dead != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	check("after")
	if v, err := migration().Verify(ctx); err != nil || v.Same != 7 || v.Changed != 1 || v.Unmoved != 2 ||
		v.Wrong != 0 {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := migration().Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	s.docs["pkg/p0"]["head"].(*types.AttributeValueMemberM).Value["description"] = textValue("another")
	for _, a := range s.all(s.source) {
		delete(a, "_v")
		if want := s.docs[text(a["id"])]; !attr.SameItem(a, want) {
			t.Errorf("%v has come back as %v, and was %v", text(a["id"]), a, want)
		}
	}
	check("back")
	if _, err := migrate.Open(ctx, s.client, s.layout(), s.source, migrate.Reshape(forth, nil)); err == nil ||
		!strings.Contains(err.Error(), "a function of Reshape is nil") {
		t.Error(err)
	}
}

// A changed entity that the functions would not keep completely is not rolled back. A program without
// the functions cannot continue the migration. The result of a function still belongs to the program.
func TestReshapeKeeps(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newSetup(t)
	s.source = testengine.Table(t, "id:S", "")
	doc, err := back(document("p0", 2))
	if err != nil {
		t.Fatal(err)
	}
	doc["id"] = textValue("pkg/p0")
	if _, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.source, Item: doc}); err != nil {
		t.Fatal(err)
	}
	made, err := forth(doc)
	if err != nil {
		t.Fatal(err)
	}
	made["id"] = textValue("the program's")
	keys := migrate.Keys("pkg/{Name}", "")
	same := func(attributes) (attributes, error) { return made, nil }
	if _, err := s.migration(migrate.Reshape(same, back), keys).Plan(ctx, migrate.PlanOptions{}); err != nil ||
		made["id"] == nil {
		t.Errorf("the program's map is %v, %v", made, err)
	}
	n := 0
	another := func(d attributes) (attributes, error) {
		out, err := forth(d)
		n++
		out["seen"] = textValue(fmt.Sprint(n))
		return out, err
	}
	forgets := func(d attributes) (attributes, error) {
		out, err := back(d)
		delete(out, "seen")
		return out, err
	}
	if p, err := s.migration(migrate.Reshape(another, forgets), keys).Plan(ctx, migrate.PlanOptions{}); err != nil ||
		!strings.Contains(fmt.Sprint(p.DeadLetters), "the program's function returns different monoliths for it "+
			"each time (") {
		t.Errorf("%+v, %v", p, err)
	}
	m := func() *migrate.Migration { return s.migration(migrate.Reshape(forth, back), keys) }
	if _, err := m().Run(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := s.migration(keys).Rollback(ctx); err == nil ||
		!strings.Contains(err.Error(), "begun with a program's functions") {
		t.Errorf("%v", err)
	}
	users, err := mapper.New[Package](s.client, mapper.Table(s.target))
	if err != nil {
		t.Fatal(err)
	}
	w := migrate.Wrap(users, m())
	if _, err := w.Update(ctx, users.Key("p0"),
		func(p *Package) error { p.Versions = []string{"1,2", "3"}; return nil }); err != nil {
		t.Fatal(err)
	}
	r, err := m().Rollback(ctx)
	e, loadErr := w.Load(ctx, users.Key("p0"))
	if err != nil || r.This.Dead == 0 || loadErr != nil || len(e.Value.Versions) != 2 {
		t.Errorf("%+v, %v; %+v, %v", r, err, e, loadErr)
	}
	status, err := m().Status(ctx)
	if err != nil || !strings.Contains(fmt.Sprint(status.DeadLetters),
		"versions: the program's functions would change it") {
		t.Errorf("%+v, %v", status, err)
	}
}
