package migrate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/migrate"
)

// moved is a migration of some entities that was run and verified.
func moved(t *testing.T, n int) *setup {
	t.Helper()
	ctx := context.Background()
	s := newSetup(t)
	for i := range n {
		s.put(document(fmt.Sprint("p", i), 3))
	}
	if _, err := s.migration().Run(ctx); err != nil {
		t.Fatal(err)
	}
	if v, err := s.migration().Verify(ctx); err != nil || !v.Clean() {
		t.Fatalf("%+v, %v", v, err)
	}
	return s
}

func refused(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, and not %q", err, want)
	}
}

// A monolith that is written behind the cut-over keeps the contract from removing it.
func TestContractVerifiesAgain(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := moved(t, 3)
	if _, err := s.migration().Cutover(ctx); err != nil {
		t.Fatal(err)
	}
	s.put(document("late", 2))
	_, err := s.migration().Contract(ctx, s.source, false)
	refused(t, err, "since the cut-over 1 monoliths were written in the old layout")
	if _, err := s.migration().Run(ctx); err != nil {
		t.Fatal(err)
	}
	if r, err := s.migration().Contract(ctx, s.source, true); err != nil || r.This.Moved != 4 {
		t.Errorf("%+v, %v", r, err)
	}
}

// stopping is a client that fails from one of its calls on.
type stopping struct {
	migrate.Client
	fails func(call string) bool
}

var errStopped = errors.New("stopped")

func (c *stopping) PutItem(ctx context.Context, in *dynamodb.PutItemInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	if c.fails("PutItem " + text(in.Item[aws.ToString(c.sortKey(in.Item))])) {
		return nil, errStopped
	}
	return c.Client.PutItem(ctx, in, o...)
}

func (c *stopping) sortKey(a map[string]types.AttributeValue) *string {
	if a["SK"] != nil {
		return aws.String("SK")
	}
	return aws.String("name")
}

func (c *stopping) BatchExecuteStatement(ctx context.Context, in *dynamodb.BatchExecuteStatementInput,
	o ...func(*dynamodb.Options),
) (*dynamodb.BatchExecuteStatementOutput, error) {
	if c.fails("BatchExecuteStatement") {
		return nil, &types.ResourceNotFoundException{Message: aws.String("stopped")}
	}
	return c.Client.BatchExecuteStatement(ctx, in, o...)
}

// An entity whose move was interrupted between its mark and its root's going live keeps the cut-over from passing.
func TestCutoverSeesWhatIsNotLive(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := moved(t, 3)
	s.put(document("late", 2))
	c := &stopping{Client: s.client, fails: func(call string) bool { return call == "PutItem HEAD" }}
	_, _ = s.over(c).Run(ctx)
	_, err := s.migration().Cutover(ctx)
	refused(t, err, "0 monoliths were written in the old layout, and 1 entities went wrong")
	if _, err := s.migration().Run(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := s.migration().Verify(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := s.migration().Cutover(ctx); err != nil {
		t.Error(err)
	}
}

// A cut-over during which all was rolled back does not take effect.
func TestCutoverDuringARollback(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := moved(t, 3)
	began := false
	c := &stopping{Client: s.client, fails: func(call string) bool {
		if call == "PutItem phase" && !began {
			began = true
			if _, err := s.migration().Rollback(ctx); err != nil {
				t.Error(err)
			}
		}
		return false
	}}
	_, err := s.over(c).Cutover(ctx)
	refused(t, err, "another program has changed the phase")
	_, err = s.migration().Contract(ctx, s.source, false)
	refused(t, err, "it needs the cut-over first")
	s.came()
}

// The table that the entities did not go to is no target: nothing is taken for deleted.
func TestWrongTarget(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := moved(t, 2)
	s.target = testengine.Table(t, "PK:S", "SK:S")
	_, err := s.migration().Verify(ctx)
	refused(t, err, "no migration of "+s.source+" was begun into the table "+s.target)
	_, err = s.migration().Rollback(ctx)
	refused(t, err, "run itemize migrate run, or name its target table (-table)")
	_, err = s.migration().Cutover(ctx)
	refused(t, err, "run and verify it first")
	if n := len(s.all(s.source)); n != 2 {
		t.Errorf("%d monoliths of 2", n)
	}
}

// Roots that another program has deleted are found, and not taken for deleted entities.
func TestVerifyFindsLostRoots(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := moved(t, 2)
	for _, a := range s.all(s.target) {
		if text(a["SK"]) != "HEAD" {
			continue
		}
		if _, err := s.client.DeleteItem(ctx,
			&dynamodb.DeleteItemInput{
				TableName: &s.target,
				Key:       map[string]types.AttributeValue{"PK": a["PK"], "SK": a["SK"]},
			}); err != nil {
			t.Fatal(err)
		}
	}
	v, err := s.migration().Verify(ctx)
	if err != nil || v.Wrong != 2 || v.Clean() || !strings.Contains(v.Findings[0].Reasons[0], "removed the root item") {
		t.Errorf("%+v, %v", v, err)
	}
}

// A claim whose monolith was deleted blocks nothing: neither an insert through Wrap, nor one after the
// contract.
func TestClaimWithoutAMonolith(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, contract := range []bool{false, true} {
		s := newSetup(t)
		s.put(document("a", 2))
		s.put(document("b", 2))
		n := 0
		c := &stopping{Client: s.client, fails: func(call string) bool {
			if call == "BatchExecuteStatement" {
				n++ // the claims, and then the parts
			}
			return n > 1
		}}
		_, _ = s.over(c, migrate.Segments(1)).Run(ctx)
		for _, a := range s.all(s.source) {
			if _, err := s.client.DeleteItem(ctx,
				&dynamodb.DeleteItemInput{
					TableName: &s.source,
					Key:       map[string]types.AttributeValue{"name": a["name"]},
				}); err != nil {
				t.Fatal(err)
			}
		}
		m, err := mapper.New[Package](s.client, mapper.Table(s.target))
		if err != nil {
			t.Fatal(err)
		}
		if contract {
			for _, step := range []func() error{
				func() error { _, err := s.migration(migrate.Segments(1)).Run(ctx); return err },
				func() error { _, err := s.migration(migrate.Segments(1)).Verify(ctx); return err },
				func() error { _, err := s.migration(migrate.Segments(1)).Cutover(ctx); return err },
				func() error { _, err := s.migration(migrate.Segments(1)).Contract(ctx, s.source, false); return err },
			} {
				if err := step(); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range []string{"a", "b"} {
				if _, err := m.Save(ctx, m.New(Package{Name: name})); err != nil {
					t.Errorf("an insert behind the contract: %v", err)
				}
			}
			continue
		}
		w := migrate.Wrap(m, s.migration())
		for _, name := range []string{"a", "b"} {
			if _, err := w.Insert(ctx, Package{Name: name, Description: "new"}); err != nil {
				t.Errorf("an insert: %v", err)
			}
		}
	}
}

// An entity with a thousand faults, and one with a long key, are dead letters that can be recorded. A
// dead letter that was deleted is removed from the list.
func TestDeadLettersOfAnySize(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newSetup(t)
	many := document("many", 2)
	var all []types.AttributeValue
	for range 9000 {
		all = append(all,
			&types.AttributeValueMemberM{
				Value: map[string]types.AttributeValue{"What": &types.AttributeValueMemberS{Value: "x"}},
			})
	}
	many["events"] = &types.AttributeValueMemberL{Value: all}
	s.put(many)
	long := document(strings.Repeat("n", 1500), 2)
	long["events"] = &types.AttributeValueMemberS{Value: "none"}
	s.put(long)
	s.put(document("good", 2))
	r, err := s.migration().Run(ctx)
	if err != nil || r.This.Dead != 2 || r.This.Moved != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	status, err := s.migration().Status(ctx)
	if err != nil || len(status.DeadLetters) != 2 {
		t.Fatalf("%+v, %v", status, err)
	}
	for _, d := range status.DeadLetters {
		if d.Key == "many" && (len(d.Reasons) != 21 || d.Reasons[20] != "and 8980 more") {
			t.Errorf("%d reasons: %v", len(d.Reasons), d.Reasons[len(d.Reasons)-1])
		}
	}
	for _, name := range []string{"many", strings.Repeat("n", 1500)} {
		if _, err := s.client.DeleteItem(ctx,
			&dynamodb.DeleteItemInput{
				TableName: &s.source,
				Key:       map[string]types.AttributeValue{"name": &types.AttributeValueMemberS{Value: name}},
			}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.migration().Run(ctx); err != nil {
		t.Fatal(err)
	}
	if status, err = s.migration().Status(ctx); err != nil || len(status.DeadLetters) != 0 {
		t.Errorf("%+v, %v", status, err)
	}
}

// A run that cannot continue counts exactly its own work.
func TestCountsOfARunThatFails(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	for i := range 3 {
		s.put(document(fmt.Sprint("p", i), 3))
	}
	c := &stopping{Client: s.client, fails: func(call string) bool { return call == "BatchExecuteStatement" }}
	r, err := s.over(c).Run(context.Background())
	if err == nil || r.This.Entities != 0 || r.This.Before != 0 || r.This.Moved != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// Sited is a model whose root's keys name what the monolith's do not.
type Sited struct {
	_    struct{} `ddb:"table=sited"`
	ID   string   `ddb:"pk=S#{Site}#{ID}" dynamodbav:"name"`
	Site string   `ddb:"sk=HEAD"`
}

// Ambiguous migrations are refused before anything is read: two entities of one monolith, and a table
// that is both source and target.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newSetup(t)
	l, err := migrate.ReadLayout(s.lock, "Package")
	if err != nil {
		t.Fatal(err)
	}
	same := migrate.Tables(func(string) string { return s.target })
	_, err = migrate.Open(ctx, s.client, l, s.target, same)
	refused(t, err, "write its template for monoliths, such as -sort DOC")
	_, err = migrate.Open(ctx, s.client, l, s.source, same, migrate.ReadRate(-1))
	refused(t, err, "ReadRate is -1")
	_, err = migrate.Open(ctx, s.client, l, s.source, same, migrate.Segment(3, 3))
	refused(t, err, "write 0 to 1 less than their number")
	_, err = migrate.ReadLayout(s.lock, "Parcel")
	refused(t, err, "no model Parcel: the models are Package")
	e, err := schema.Of(reflect.TypeFor[Sited]())
	if err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(t.TempDir(), "lock")
	content, err := json.Marshal(map[string]any{"models": []schema.Layout{e.Layout()}})
	if err == nil {
		err = os.WriteFile(lock, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if l, err = migrate.ReadLayout(lock, "Sited"); err != nil {
		t.Fatal(err)
	}
	_, err = migrate.Open(ctx, s.client, l, s.source, same)
	refused(t, err, "the field Site is in the keys of the model's root, but not of the monoliths")
}

// withoutDelete is a client that may delete no table.
type withoutDelete struct{ migrate.Client }

func (withoutDelete) DeleteTable(context.Context, *dynamodb.DeleteTableInput,
	...func(*dynamodb.Options),
) (*dynamodb.DeleteTableOutput, error) {
	return nil, &smithy.GenericAPIError{
		Code:    "AccessDeniedException",
		Message: "not authorized to perform dynamodb:DeleteTable",
	}
}

// A contract whose table may not be deleted leaves the migration as it was: it can be rolled back yet.
func TestContractThatIsRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := moved(t, 3)
	if _, err := s.migration().Verify(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := s.migration().Cutover(ctx); err != nil {
		t.Fatal(err)
	}
	_, err := s.over(withoutDelete{s.client}).Contract(ctx, s.source, false)
	refused(t, err, "not authorized")
	if status, err := s.migration().Status(ctx); err != nil || status.Phase != "cutOver" {
		t.Errorf("%+v, %v", status, err)
	}
	if _, err := s.migration().Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	s.came()
}

// Ver is a model with other names for the library's attributes.
type Ver struct {
	_    struct{} `ddb:"table=vers,version=ver,state=phase,incarnation=life,migration=moved"`
	Name string   `ddb:"pk=V#{Name}" dynamodbav:"name"`
	Text string   `ddb:"sk=A"`
	Old  string   `ddb:"sk=B" dynamodbav:"_a"`
}

// A monolith's own attributes with the default names of the library's are moved and restored if the model
// renames these. A monolith's own attribute with the name of the version is a dead letter.
func TestOwnNames(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newSetup(t)
	s.put(attributes{
		"name": textValue("a"), "Text": textValue("x"), "_v": textValue("mine"), "_a": textValue("of A"),
		"_s": textValue("new"), "_m": &types.AttributeValueMemberM{Value: attributes{"state": textValue("moved")}},
	})
	s.put(attributes{"name": textValue("b"), "Text": textValue("x"), "ver": textValue("mine")})
	m, err := migrate.Open(ctx, s.client, layoutOf[Ver](t), s.source,
		migrate.Tables(func(string) string { return s.target }))
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.Run(ctx)
	if err != nil || r.This.Dead != 1 || r.This.Moved != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	vers, err := mapper.New[Ver](s.client, mapper.Table(s.target))
	if err != nil {
		t.Fatal(err)
	}
	if e, err := vers.Load(ctx, vers.Key("a")); err != nil || e.Value != (Ver{Name: "a", Text: "x", Old: "of A"}) {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := m.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	for _, a := range s.all(s.source) {
		delete(a, "ver")
		was := s.docs[text(a["name"])]
		if text(a["name"]) == "b" {
			a["ver"] = textValue("mine")
		}
		if !attr.SameItem(a, was) {
			t.Errorf("%v was %v", a, was)
		}
	}
}
