package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/migrate"
)

// Shop is the model of the monoliths.
type Shop struct {
	_      struct{}       `ddb:"table=shops"`
	Name   string         `ddb:"pk=SHOP#{Name}" dynamodbav:"name"`
	City   string         `ddb:"sk=HEAD"`
	Prices map[string]int `ddb:"sk=PRICE#{key}" dynamodbav:"prices"`
	Visits []Visit        `ddb:"sk=VISIT#{At}"  dynamodbav:"visits"`
}

// Visit is a visit.
type Visit struct {
	At  time.Time
	Who string
}

// migrating is a table of monoliths, and the command on it.
type migrating struct {
	*testing.T
	client         *dynamodb.Client
	dir            string
	source, target string
	docs           map[string]map[string]types.AttributeValue
}

func newMigrating(t *testing.T, n int) *migrating {
	t.Helper()
	e, err := schema.Of(reflect.TypeFor[Shop]())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"version": 1, "models": []schema.Layout{e.Layout()}})
	dir := t.TempDir()
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "itemize.lock.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	// tables belong to who made them
	as, err := testengine.Start(t).Client().Options().Credentials.Retrieve(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", as.AccessKeyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", as.SecretAccessKey)
	m := &migrating{
		t, testengine.Start(t).Client(), dir, testengine.Table(t, "name:S", ""),
		testengine.Table(t, "PK:S", "SK:S"),
		map[string]map[string]types.AttributeValue{},
	}
	for i := range n {
		v := Shop{Name: fmt.Sprint("s", i), City: "Wien", Prices: map[string]int{"a": i}}
		for k := range 5 {
			v.Visits = append(v.Visits, Visit{time.Unix(int64(1e9+k*7%5), 0).UTC(), "x"})
		}
		doc, err := attributevalue.MarshalMap(v)
		if err != nil {
			t.Fatal(err)
		}
		m.docs[v.Name] = doc
		if _, err := m.client.PutItem(context.Background(),
			&dynamodb.PutItemInput{TableName: &m.source, Item: doc}); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func (m *migrating) args(step string, more ...string) []string {
	args := []string{
		"migrate", step, "-model", "Shop", "-endpoint", testengine.Start(m.T).Endpoint, "-table",
		"shops=" + m.target, m.source,
	}
	return append(args, more...)
}

// itemize runs the command, and returns what it says.
func (m *migrating) itemize(code int, step string, more ...string) string {
	m.Helper()
	var out bytes.Buffer
	if got := run(context.Background(), m.args(step, more...), m.dir, &out, &out); got != code {
		m.Fatalf("migrate %s: exit status %d, and not %d: %s", step, got, code, out.String())
	}
	return out.String()
}

func (m *migrating) says(text string, parts ...string) {
	m.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			m.Errorf("%q is not in:\n%s", part, text)
		}
	}
}

// Each step of the command, with its output and its exit status.
func TestMigrateCommand(t *testing.T) {
	m := newMigrating(t, 12)
	m.says(m.itemize(0, "plan", "-rate", "100", "-update", "City=500"), "12 monoliths read\n", "Prices",
		"12 for claims", "time at that rate: 1s", "visits (12)")
	m.says(m.itemize(1, "plan", "-update", "NONE=5"),
		"updates of NONE, which is not an item: the items are City, Prices, Visits")
	m.says(m.itemize(1, "cutover"), "the migration is \"not begun\": run and verify it first")
	m.says(m.itemize(1, "verify"), "no migration of "+m.source+" was begun into the table "+m.target)
	m.says(m.itemize(2, "plan", "-table", "shop=x"), "-table shop: Shop has no table of that name, only shops")
	m.says(m.itemize(0, "run", "-rate", "5000"), "12 entities in ",
		"12 moved, 0 moved before, 0 cannot be moved, 0 left for the next run")
	m.says(m.itemize(0, "plan", "-rate", "100"), "12 moved before", "a rollback of all: $0.0001")
	m.says(m.itemize(0, "plan", "-segments", "4"), "a rollback of all: $0.0001",
		"the migration was begun with 8 segments: a run takes only -segments 8")
	m.says(m.itemize(2, "plan", "other"), "several sources: ")
	m.says(m.itemize(2, "run", "-segment", "5", "-of", "3"), "segments are numbered from 0: write 0 to 2")
	m.says(m.itemize(1, "cutover"), "nothing is verified: run itemize migrate verify")
	m.says(m.itemize(2, "cutover", "-segment", "0", "-of", "8"),
		"unknown flag -segment: it belongs to plan, run, verify: leave it out")
	m.says(m.itemize(0, "run"), "0 moved, 12 moved before")
	m.says(m.itemize(1, "run", "-segment", "0", "-of", "4"),
		"the migration was begun with 8 segments, not 4")
	m.says(m.itemize(0, "verify"), "12 monoliths: 12 as they were moved", "clean")
	m.says(m.itemize(0, "status"), "running since ", "8 of 8 segments done; ", ": clean")
	m.says(m.itemize(1, "contract", "-confirm", m.source), "it needs the cut-over first: run itemize migrate cutover")
	m.says(m.itemize(0, "cutover"), "cut over: 12 monoliths")
	m.says(m.itemize(1, "contract"), "does not confirm it")
	m.says(m.itemize(0, "rollback"), "12 are monoliths again")
	m.same()
	m.says(m.itemize(0, "status"), "not begun")
	m.itemize(0, "run", "-json")
	m.itemize(0, "verify")
	m.itemize(0, "cutover")
	m.says(m.itemize(0, "contract", "-confirm", m.source), "deleted the table "+m.source)
	m.says(m.itemize(1, "plan"), m.source)
}

// What verify says leads out: settle decides for one of two layouts.
func TestMigrateSettles(t *testing.T) {
	m := newMigrating(t, 3)
	m.itemize(0, "run")
	for name := range m.docs {
		if name != "s2" {
			_, err := m.client.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
				TableName: &m.source,
				Key: map[string]types.AttributeValue{
					"name": &types.AttributeValueMemberS{Value: name},
				},
				UpdateExpression: aws.String("SET City = :x"),
				ExpressionAttributeValues: map[string]types.AttributeValue{
					":x": &types.AttributeValueMemberS{Value: "Graz"},
				},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	m.says(m.itemize(1, "verify"), "itemize migrate settle -keep monolith or -keep collection")
	m.says(m.itemize(2, "settle", "s0"), "-keep \"\": write -keep monolith or -keep collection")
	m.says(m.itemize(1, "settle", "-keep", "monolith"), "the key of a monolith in "+m.source+" is name")
	m.says(m.itemize(1, "settle", "-keep", "monolith", "none"), "Shop: none: no monolith has that key")
	m.says(m.itemize(1, "settle", "-keep", "monolith", "s2"), "Shop: s2: the entity is in one layout")
	m.says(m.itemize(0, "settle", "-keep", "monolith", "s0"), "settled: the monolith of s0 stays")
	m.says(m.itemize(0, "settle", "-keep", "collection", "s1"), "settled: the collection of s1 stays")
	m.says(m.itemize(0, "run"), "1 moved, 2 moved before")
	m.says(m.itemize(0, "verify"), "clean")
	m.itemize(0, "rollback")
	m.docs["s0"]["City"] = &types.AttributeValueMemberS{Value: "Graz"}
	m.same()
}

// Faults of the command line are reported before anything is sent.
func TestMigrateCommandWrong(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                                   "usage: itemize migrate COMMAND",
		"move":                               "unknown command migrate move: the commands are plan, run, verify",
		"roll":                               "unknown command migrate roll",
		"settel":                             "did you mean migrate settle?",
		"plan":                               "name one table of monoliths",
		"plan -model X":                      "name one table of monoliths",
		"plan docs":                          "no model: write -model NAME",
		"plan -model X -segment 3 docs":      "-segment without -of, or -of without -segment",
		"plan -model X -lock none.json docs": "name the file that itemize gen wrote in the model's package (-lock)",
		"plan -model X -table shops docs":    "write NAME=REAL",
		"plan -model X -update HEAD=many docs": "no number in it: write ITEM=N, with N updates a " +
			"month",
		"plan -model X -update HEAD=Inf docs": "no number in it: write ITEM=N, with N updates a " +
			"month",
		"plan -model X -rate NaN docs":      "-rate is NaN: write a number",
		"plan -model X -keep monolith docs": "unknown flag -keep: it belongs to settle: leave it out",
	} {
		var out bytes.Buffer
		code := run(context.Background(), append([]string{"migrate"}, strings.Fields(args)...), t.TempDir(), &out, &out)
		if !strings.Contains(out.String(), want) || (code == 0) != (args == "") {
			t.Errorf("migrate %s: exit status %d: %s", args, code, out.String())
		}
	}
}

// same requires that all monoliths are unchanged, and that there are no other items.
func (m *migrating) same() {
	m.Helper()
	p := dynamodb.NewScanPaginator(m.client, &dynamodb.ScanInput{TableName: &m.source, ConsistentRead: aws.Bool(true)})
	n := 0
	for p.HasMorePages() {
		out, err := p.NextPage(context.Background())
		if err != nil {
			m.Fatal(err)
		}
		for _, a := range out.Items {
			n++
			delete(a, "_v")
			if want := m.docs[a["name"].(*types.AttributeValueMemberS).Value]; !attr.SameItem(a, want) {
				m.Errorf("%v is there, and was %v", a, want)
			}
		}
	}
	if n != len(m.docs) {
		m.Errorf("%d monoliths of %d", n, len(m.docs))
	}
}

// A run, a rollback and a verification that get SIGTERM print what they did: with -json the last progress, which has
// ended, and the result. Another run continues.
func TestTerminatedStepsPrintTheirResults(t *testing.T) {
	m := newMigrating(t, 60)
	binary, err := os.Executable() // it is the command (TestMain)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("ITEMIZE_TEST_COMMAND", "yes")
	for _, step := range []string{"run", "rollback"} {
		args := slices.Insert(
			m.args(step, "-json", "-rate", "60"),
			2,
			"-lock",
			filepath.Join(m.dir, "itemize.lock.json"),
		)
		cmd := exec.Command(binary, args...)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Fatalf("%s: it ended before the signal: %s", step, out.String())
		}
		var result migrate.Report
		if err := json.Unmarshal(out.Bytes(), &result); err != nil || result.Done || result.This.WCU == 0 {
			t.Errorf("%s: %v: %s", step, err, out.String())
		}
		lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
		last := ""
		for _, l := range lines {
			if strings.HasPrefix(l, "{") {
				last = l
			}
		}
		var progress struct{ Ended bool }
		if err := json.Unmarshal([]byte(last), &progress); err != nil || !progress.Ended {
			t.Errorf("%s: the last progress is %q, %v", step, last, err)
		}
		m.itemize(0, step)
	}
	m.same()
}

// A plan of a sample predicts a run within a fifth, also of monoliths with fewer items.
func TestSampledPlans(t *testing.T) {
	m := newMigrating(t, 300)
	other := map[string]types.AttributeValue{}
	for i := range 100 {
		other["name"] = &types.AttributeValueMemberS{Value: fmt.Sprint("s", 1000+i)}
		other["City"] = &types.AttributeValueMemberS{Value: "Graz"}
		if _, err := m.client.PutItem(context.Background(),
			&dynamodb.PutItemInput{TableName: &m.source, Item: other}); err != nil {
			t.Fatal(err)
		}
	}
	plan := func(args ...string) (p struct{ WCU, RCU float64 }) {
		if err := json.Unmarshal([]byte(m.itemize(0, "plan", append(args, "-json")...)), &p); err != nil {
			t.Fatal(err)
		}
		return p
	}
	all, sample := plan(), plan("-sample", "80")
	if math.Abs(sample.WCU/all.WCU-1) > 0.2 || math.Abs(sample.RCU-all.RCU) > max(2, 0.2*all.RCU) {
		t.Errorf("all %+v, of a sample %+v", all, sample)
	}
}

// Killed (SIGKILL) again and again, and begun again, also by two at once, it ends as if nothing had happened: forwards,
// and back.
func TestMigrateKilled(t *testing.T) {
	n := draws.Times(30, 60, 200)
	m := newMigrating(t, n)
	binary, err := os.Executable() // it is the command (TestMain)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("ITEMIZE_TEST_COMMAND", "yes")
	killed := 0
	for _, step := range []string{"run", "rollback"} {
		delay := 20 * time.Millisecond
		for try := 0; ; try++ {
			args := m.args(step)
			for i, a := range args {
				if a == "-model" {
					args = append(args[:i:i],
						append([]string{"-lock", filepath.Join(m.dir, "itemize.lock.json")}, args[i:]...)...)
					break
				}
			}
			other := exec.Command(binary, args...)
			if try%3 == 1 {
				if err := other.Start(); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(binary, args...)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			timer := time.AfterFunc(delay, func() { _ = cmd.Process.Kill() })
			delay += delay / time.Duration(draws.Times(1, 4, 10)) // on an engine of any speed
			err = cmd.Wait()
			timer.Stop()
			if try%3 == 1 {
				_ = other.Process.Kill()
				_ = other.Wait()
			}
			if err == nil {
				break
			}
			if cmd.ProcessState.Exited() && try%3 != 1 {
				t.Fatalf("%s: %v: %s\n%s", step, err, out.String(), m.itemize(0, "status"))
			}
			killed++
		}
		if step == "run" {
			m.says(m.itemize(0, "run"), fmt.Sprintf("%d moved before", n))
			m.says(m.itemize(0, "verify"), fmt.Sprintf("%d monoliths: %d as they were moved", n, n))
		}
	}
	m.itemize(0, "rollback")
	m.same()
	if killed < 4 {
		t.Errorf("killed %d times only", killed)
	}
	t.Logf("killed %d times", killed)
}

// No step prints names of attributes that are data: one for each monolith, and addresses.
func TestStepsShowNoNamesThatAreData(t *testing.T) {
	m := newMigrating(t, 40)
	i := 0
	for _, doc := range m.docs {
		i++
		doc[fmt.Sprint("secretname", i)] = &types.AttributeValueMemberS{Value: "secretvalue"}
		doc["ann@example.com"] = &types.AttributeValueMemberS{Value: "secretvalue"}
		if _, err := m.client.PutItem(context.Background(),
			&dynamodb.PutItemInput{TableName: &m.source, Item: doc}); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []string{"plan", "run", "status", "verify", "cutover", "rollback"} {
		for _, flags := range [][]string{{"-json"}, nil} {
			out := m.itemize(0, step, flags...)
			if strings.Contains(out, "secret") || strings.Contains(out, "@example") {
				t.Errorf("%s %v: a name that is data, or a value:\n%s", step, flags, out)
			}
			if step == "plan" && !strings.Contains(out, "{...}") {
				t.Errorf("%s %v: names that are hidden are not counted:\n%s", step, flags, out)
			}
		}
	}
	m.same()
}

// Entities whose values do not decode into their fields are planned and reported as such, in each place of a model.
// The others move, and these move when their values are changed.
func TestStepsReportValuesThatDoNotFit(t *testing.T) {
	m := newMigrating(t, 6)
	list := &types.AttributeValueMemberL{}
	text := &types.AttributeValueMemberS{Value: "secretvalue"}
	was := map[string]attributes{}
	put := func(name string, doc attributes) {
		m.docs[name] = doc
		if _, err := m.client.PutItem(context.Background(),
			&dynamodb.PutItemInput{TableName: &m.source, Item: doc}); err != nil {
			t.Fatal(err)
		}
	}
	for name, change := range map[string]func(attributes){
		"s0": func(doc attributes) { doc["City"] = list },
		"s1": func(doc attributes) {
			doc["prices"] = &types.AttributeValueMemberM{Value: attributes{"a": text}}
		},
		"s2": func(doc attributes) {
			doc["visits"].(*types.AttributeValueMemberL).Value[2].(*types.AttributeValueMemberM).Value["Who"] = list
		},
		"s3": func(doc attributes) { doc["City"] = &types.AttributeValueMemberN{Value: "1"} }, // it fits
	} {
		was[name] = attr.CopyItem(m.docs[name])
		doc := attr.CopyItem(m.docs[name])
		change(doc)
		put(name, doc)
	}
	named := []string{
		"City: it is of type L, and not S", `prices["a"]: it is of type S, and not N`,
		"visits[2].Who: it is of type L, and not S",
	}
	out := m.itemize(1, "plan")
	m.says(out, named...)
	m.says(m.itemize(1, "run"), "3 moved", "3 cannot be moved")
	out += m.itemize(0, "status")
	m.says(out, named...)
	if strings.Contains(out, "secret") {
		t.Errorf("a value is printed:\n%s", out)
	}
	m.says(m.itemize(1, "verify"), "3")
	m.itemize(1, "cutover")
	for _, name := range []string{"s0", "s1", "s2"} {
		put(name, was[name])
	}
	m.says(m.itemize(0, "run"), "6")
	m.itemize(0, "verify")
	m.itemize(0, "rollback")
	m.same()
}
