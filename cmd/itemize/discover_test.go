package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/cost/forecast"
	"github.com/itemize/itemize/internal/advice/charge"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/testengine"
)

// discovery is a table that is discovered in a module.
type discovery struct {
	*script
	client          *dynamodb.Client
	endpoint, table string
}

// newDiscovery stores items in a table.
func newDiscovery(t *testing.T, hash, sort string, items []attributes) *discovery {
	t.Helper()
	e := testengine.Start(t)
	as, err := e.Client().Options().Credentials.Retrieve(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", as.AccessKeyID) // tables belong to who made them
	t.Setenv("AWS_SECRET_ACCESS_KEY", as.SecretAccessKey)
	d := &discovery{&script{T: t, dir: t.TempDir()}, e.Client(), e.Endpoint, testengine.Table(t, hash, sort)}
	d.module()
	for _, it := range items {
		if _, err := d.client.PutItem(context.Background(), &dynamodb.PutItemInput{
			TableName: &d.table,
			Item:      it,
		}); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// itemize runs the command, which has to end with a status.
func (d *discovery) itemize(want int, args ...string) string {
	d.Helper()
	var out, errs bytes.Buffer
	if code := run(context.Background(), args, d.dir, &out, &errs); code != want {
		d.Fatalf("itemize %s: status %d\n%s%s", strings.Join(args, " "), code, out.String(), errs.String())
	}
	return out.String()
}

// discovered is the part of the JSON of discover that tests read.
type discovered struct {
	Types []struct {
		Name, Key, Sort, NoModel string
		Reshaped                 bool
		Sampled                  int
		Workload                 *forecast.Workload
		Forecasts                []forecast.Forecast
		Migration                *struct {
			WCU       float64
			Unmovable int
			Reasons   []string
		}
	}
}

// discover writes the models, and returns the report.
func (d *discovery) discover(args ...string) discovered {
	d.Helper()
	args = append([]string{
		"discover", "-json", "-endpoint", d.endpoint, "-sample", "0", "-write", "store", "-force",
	}, append(args, d.table)...)
	text := d.itemize(0, args...)
	text, _, _ = strings.Cut(text, "\nNext:")
	var r discovered
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		d.Fatal(err)
	}
	return r
}

// migrate generates code, makes the table of a model, and moves its entities.
func (d *discovery) migrate(r discovered, model int) {
	d.Helper()
	d.itemize(0, "gen", "./store")
	d.itemize(0, "vet", "./store")
	d.makeTables()
	x := r.Types[model]
	flags := []string{"-lock", "store/itemize.lock.json", "-model", x.Name, "-endpoint", d.endpoint}
	if x.Key != "" {
		flags = append(flags, "-key", x.Key)
	}
	if x.Sort != "" {
		flags = append(flags, "-sort", x.Sort)
	}
	for _, step := range []string{"plan", "run", "verify", "cutover"} {
		if x.Reshaped {
			d.goRun("./store/migrate", "-lock", "store/itemize.lock.json", "-model", x.Name, "-endpoint", d.endpoint,
				step)
			continue
		}
		out := d.itemize(0, slices.Concat([]string{"migrate", step}, flags, []string{d.table})...)
		if want := "run: " + number(x.Migration.WCU) + " WCU"; step == "plan" && !strings.Contains(out, want) {
			d.Errorf("discover predicts %s, and the plan is\n%s", want, out)
		}
	}
}

// makeTables makes the tables of the models.
func (d *discovery) makeTables() {
	d.Helper()
	ctx := context.Background()
	dec := json.NewDecoder(strings.NewReader(d.itemize(0, "tables", "-format", "json", "./store")))
	for dec.More() {
		var in dynamodb.CreateTableInput
		if err := dec.Decode(&in); err != nil {
			d.Fatal(err)
		}
		if _, err := d.client.CreateTable(ctx, &in); err != nil {
			d.Fatal(err)
		}
		d.Cleanup(func() {
			_, _ = d.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: in.TableName})
		})
	}
}

// goRun runs a program of the module.
func (d *discovery) goRun(args ...string) []byte {
	d.Helper()
	var errs bytes.Buffer
	cmd := exec.Command("go", append([]string{"run"}, args...)...)
	cmd.Dir, cmd.Stderr = d.dir, &errs
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod '-gcflags=-N -l'", "GOPROXY=off", "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		d.Fatalf("go run %s: %v\n%s%s", strings.Join(args, " "), err, out, errs.Bytes())
	}
	return out
}

// replay runs the operations on the migrated entities, and compares the consumed units with those of the forecast.
func (d *discovery) replay(r discovered, model int) {
	d.Helper()
	x := r.Types[model]
	text, err := os.ReadFile("testdata/replay/main.go.txt")
	if err != nil {
		d.Fatal(err)
	}
	d.write("replay/main.go", bytes.ReplaceAll(text, []byte("MODEL"), []byte(x.Name)))
	d.write("replay/mutate.go", readAll(d.T, "testdata/replay/mutate.go.txt"))
	out := d.goRun("./replay", d.endpoint, filepath.Join("store", strings.ToLower(x.Name)+".workload.json"))
	var got []struct {
		Name     string
		WCU, RCU float64
		N        int
	}
	if err := json.Unmarshal(out, &got); err != nil {
		d.Fatal(err)
	}
	for i, op := range x.Forecasts[1].Operations {
		n := float64(x.Sampled)
		d.Logf("%-40s predicted %8s WCU %8s RCU, consumed %8s WCU %8s RCU, for %v entities", op.Name,
			number(op.OnceWCU*n),
			number(op.OnceRCU*n), number(got[i].WCU), number(got[i].RCU), n)
		// the units of transactions and numbers are wrong on some engines
		same := !testengine.ReportsTransactions(d) || math.Abs(got[i].WCU-op.OnceWCU*n) < 1e-6 &&
			math.Abs(got[i].RCU-op.OnceRCU*n) < 1e-6
		if got[i].N != x.Sampled || !same {
			d.Errorf("%s: predicted %v WCU and %v RCU, consumed %v and %v", op.Name, op.OnceWCU*n, op.OnceRCU*n,
				got[i].WCU,
				got[i].RCU)
		}
	}
}

// itemsOfFiles reads items from JSON files.
func itemsOfFiles(t *testing.T, names ...string) []attributes {
	t.Helper()
	var out []attributes
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var all []json.RawMessage
		if json.Unmarshal(text, &all) != nil {
			all = []json.RawMessage{text}
		}
		for _, one := range all {
			it, err := charge.ItemFromJSON(one)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, it)
		}
	}
	return out
}

// The document of the example as a monolith: the written model compiles, the migration costs what discover predicts,
// and so does each operation afterwards. For other documents, ITEMIZE_DOCUMENTS are files, ITEMIZE_KEYS the key
// attributes, and ITEMIZE_WORKLOAD is a workload for the first type.
func TestDiscoverDocuments(t *testing.T) {
	names, err := filepath.Glob(cmp.Or(os.Getenv("ITEMIZE_DOCUMENTS"), "../../examples/packages/testdata/express.json"))
	if err != nil {
		t.Fatal(err)
	}
	hash, sort, two := strings.Cut(cmp.Or(os.Getenv("ITEMIZE_KEYS"), "name"), ",")
	if two {
		sort += ":S"
	}
	d := newDiscovery(t, hash+":S", sort, itemsOfFiles(t, names...))
	var args []string
	if w := os.Getenv("ITEMIZE_WORKLOAD"); w != "" {
		args = []string{"-workload", w}
	}
	r := d.discover(args...)
	d.migrate(r, 0)
	d.replay(r, 0)
}

// mapOf and listOf make values.
func mapOf(entries attributes) types.AttributeValue {
	return &types.AttributeValueMemberM{Value: entries}
}

func listOf(all ...types.AttributeValue) types.AttributeValue {
	return &types.AttributeValueMemberL{Value: all}
}

func num(n int) types.AttributeValue { return &types.AttributeValueMemberN{Value: fmt.Sprint(n)} }

// patient is a document of a clinic, with visits.
func patient(n int) attributes {
	d := attributes{
		"name": str(fmt.Sprint("secret", n)), "born": num(1950 + n), "notes": str(strings.Repeat("a long note ",
			200+n)),
	}
	var visits []types.AttributeValue
	for k := range 10 + n {
		visits = append(visits, mapOf(attributes{
			"at": str(fmt.Sprintf("2024-03-%02dT10:%02d:00Z", k%28+1, k/28)), "text": str(strings.Repeat("x", 300)),
		}))
	}
	slices.SortFunc(visits, func(a, b types.AttributeValue) int {
		at := func(v types.AttributeValue) string {
			return v.(*types.AttributeValueMemberM).Value["at"].(*types.AttributeValueMemberS).Value
		}
		return strings.Compare(at(a), at(b))
	})
	d["visits"] = listOf(visits...)
	return d
}

func joined(d attributes, more attributes) attributes {
	maps.Copy(d, more)
	return d
}

// Monoliths of each form that discover converts: the written code compiles, and moves all entities.
func TestDiscoverForms(t *testing.T) {
	forms := []struct {
		name, hash, sort string
		item             func(n int) attributes
	}{
		{"a key that is an attribute", "id:S", "", func(n int) attributes {
			return joined(patient(n), attributes{"id": str(fmt.Sprint("p", n))})
		}},
		{"a number as key", "id:N", "", func(n int) attributes {
			return joined(patient(n),
				attributes{"id": num(n + 1)})
		}},
		{"templates of attributes", "PK:S", "SK:S", func(n int) attributes {
			return joined(patient(n), attributes{
				"PK": str(fmt.Sprint("PATIENT#p", n)), "SK": str("DATA"),
				"id": str(fmt.Sprint("p", n)),
			})
		}},
		{"a value only in the key", "PK:S", "SK:S", func(n int) attributes {
			return joined(patient(n), attributes{"PK": str(fmt.Sprint("PATIENT#p", n)), "SK": str("DATA")})
		}},
		{"a sort key that varies", "clinic:S", "no:S", func(n int) attributes {
			return joined(patient(n), attributes{"clinic": str(fmt.Sprint("c", n%3)), "no": str(fmt.Sprint("p", n))})
		}},
		{
			"values only in both keys, and a type that has the name of a placeholder", "PK:S", "SK:S",
			func(n int) attributes {
				if n%2 == 0 {
					return attributes{"PK": str(fmt.Sprint("IMPORT#p", n)), "SK": str("MODELS"), "x": str("y")}
				}
				return joined(patient(n), attributes{
					"PK": str(fmt.Sprint("PATIENT#p", n)), "SK": str(fmt.Sprint("CASE#", n)),
				})
			},
		},
		{"lists with names of generated code", "id:S", "", func(n int) attributes {
			d := attributes{"id": str(fmt.Sprint("p", n)), "text": str(strings.Repeat("long ", 500))}
			for _, name := range []string{"limit", "filter", "keys", "orderLines", "order_lines", "fields"} {
				d[name] = patient(n)["visits"]
			}
			return d
		}},
		{"one map", "id:S", "", func(n int) attributes {
			return attributes{"id": str(fmt.Sprint("p", n)), "data": mapOf(patient(n)), "rev": num(1)}
		}},
		{"JSON", "id:S", "", func(n int) attributes {
			text, err := json.Marshal(charge.PlainJSON(mapOf(patient(n))))
			if err != nil {
				t.Fatal(err)
			}
			return attributes{"id": str(fmt.Sprint("p", n)), "data": str(string(text))}
		}},
		{"hostile names", "id:S", "", func(n int) attributes {
			return joined(patient(n), attributes{
				"id": str(fmt.Sprint("p", n)), "type": str("a"), "func": str("b"), "PK": str("c"), "SK": str("d"),
				"_v": str("e"),
				"_a": num(1), "a,b": str("f"), "q\"`": str("g"), "ü b": str("h"), "1st": str("i"), "Name": str("j"),
				"_":           str("k"),
				"line\nbreak": str("l"), "{x}": str("m"), "a#b": str("n"), strings.Repeat("long", 60): str("o"),
				"Limit": str("p"),
			})
		}},
	}
	for _, i := range draws.Some(draws.Seed(t), len(forms), draws.Times(3, 10, 10)) {
		c := forms[i]
		t.Run(c.name, func(t *testing.T) {
			testengine.Need(t)
			var items []attributes
			for n := range 24 {
				items = append(items, c.item(n))
			}
			d := newDiscovery(t, c.hash, c.sort, items)
			r := d.discover()
			if r.Types[0].NoModel != "" || r.Types[0].Migration.Unmovable > 0 {
				t.Fatalf("%+v", r.Types[0])
			}
			d.migrate(r, 0)
			if text := d.itemize(0, "discover", "-endpoint", d.endpoint, d.table); strings.Contains(text, "secret") {
				t.Errorf("the report has values:\n%s", text)
			}
		})
	}
}

// A table with indexes and a time to live: the model has them, each operation on the migrated entities costs what the
// forecast says, also in the indexes, and entities are found by the index.
func TestDiscoverIndexes(t *testing.T) {
	ctx := context.Background()
	var items []attributes
	for n := range 12 {
		items = append(items, joined(patient(n), attributes{
			"id": str(fmt.Sprint("p", n)), "email": str(fmt.Sprintf("secret%d@example.com", n)),
			"doctor": str(fmt.Sprint("d", n%3)),
			"ward":   num(n % 2), "until": num(1_900_000_000 + n), "state": str("open"),
		}))
		if n%3 == 0 {
			delete(items[n], "until") // never expires
		}
	}
	d := newDiscovery(t, "id:S", "", nil)
	name := d.table + "-indexed"
	key := func(hash, sort string) []types.KeySchemaElement {
		out := []types.KeySchemaElement{{AttributeName: &hash, KeyType: types.KeyTypeHash}}
		if sort != "" {
			out = append(out, types.KeySchemaElement{AttributeName: &sort, KeyType: types.KeyTypeRange})
		}
		return out
	}
	definition := func(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: kind}
	}
	_, err := d.client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest, KeySchema: key("id", ""),
		AttributeDefinitions: []types.AttributeDefinition{
			definition("id", "S"), definition("email", "S"), definition("doctor", "S"), definition("ward", "N"),
		},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{
			{
				IndexName: new("byEmail"), KeySchema: key("email", ""),
				Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
			},
			{
				IndexName: new("byDoctor"), KeySchema: key("doctor", "ward"),
				Projection: &types.Projection{
					ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{"name"},
				},
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = d.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name}) }()
	if _, err := d.client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: &name, TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: new("until"), Enabled: new(true),
		},
	}); err != nil {
		t.Fatal(err)
	}
	for _, it := range items {
		if _, err := d.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: it}); err != nil {
			t.Fatal(err)
		}
	}
	d.table = name
	r := d.discover()
	source := string(readAll(t, filepath.Join(d.dir, "store/models.go")))
	for _, text := range []string{
		"index=byEmail,pk={Email}", "index=byDoctor,pk={Doctor},sk={Ward}", ",ttl=until", ",ttl,all",
	} {
		if !strings.Contains(source, text) {
			t.Errorf("the model lacks %s:\n%s", text, source)
		}
	}
	d.migrate(r, 0)
	d.replay(r, 0)
}

func readAll(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// discover reads an export from a folder: the name of the table is that of the export.
func TestDiscoverExport(t *testing.T) {
	dir := t.TempDir()
	var data bytes.Buffer
	zip := gzip.NewWriter(&data)
	for n := range 12 {
		text, err := attributevalue.MarshalMapJSON(joined(patient(n), attributes{"id": str(fmt.Sprint("p", n))}))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(zip, "{\"Item\":%s}\n", text)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"manifest-summary.json": `{"itemCount":12,"outputFormat":"DYNAMODB_JSON",` +
			`"tableArn":"arn:aws:dynamodb:us-east-1:1:table/patients"}`,
		"manifest-files.json": `{"itemCount":12,"dataFileS3Key":"AWSDynamoDB/1/data/a.json.gz"}` + "\n",
		"data/a.json.gz":      data.String(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	if code := run(context.Background(), []string{"discover", "-key", "id", dir}, dir, &out, &errs); code != 0 {
		t.Fatal(errs.String())
	}
	for _, text := range []string{"patients: about 12 items", "12 items read", "Patient\n", "key {at}"} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("the report lacks %q:\n%s", text, out.String())
		}
	}
}

// No output of discover has names that are data: addresses as names of attributes, one for each item.
func TestDiscoverShowsNoNamesThatAreData(t *testing.T) {
	dir := t.TempDir()
	var lines strings.Builder
	for i := range 40 {
		fmt.Fprintf(&lines, "{\"day\": \"2026-01-%02d-%d\", \"user%d@example.com\": {\"visits\": 0, \"note\": %q}, "+
			"\"secretname%d\": %q}\n", i%28+1, i, i, strings.Repeat("n", 3000), i, strings.Repeat("s", 2000))
	}
	if err := os.WriteFile(filepath.Join(dir, "days.jsonl"), []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"-html", "page.html", "-write", "store", "-type", "Day"}, {"-json"}, {},
	} {
		var out bytes.Buffer
		args = append(append([]string{"discover", "-key", "day"}, args...), "days.jsonl")
		if code := run(context.Background(), args, dir, &out, &out); code != exitOK {
			t.Fatalf("%v: %d: %s", args, code, &out)
		}
		if text := out.String(); strings.Contains(text, "@example") || strings.Contains(text, "secretname") {
			t.Errorf("%v: a name that is data:\n%s", args, text)
		}
	}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) == ".jsonl" {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "@example") || strings.Contains(string(text), "secretname") {
			t.Errorf("%s has a name that is data", filepath.Base(path))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// Structs that are named after parts of an item take no name that the generated code of others has.
func TestDiscoverNamesOfGeneratedCode(t *testing.T) {
	words := []string{
		"fields", "handles", "key", "keys", "index", "path", "items", "entities", "query", "patch", "form", "byId",
		"byID", "idQuery", "layout", "forth", "back", "codec", "itemizeCodec",
	}
	inner := func(n, depth int) attributes {
		d := attributes{"b": str("x"), "c": num(n), "z": str(fmt.Sprint("y", n))}
		if depth == 0 {
			return d
		}
		for _, w := range words {
			d[w] = mapOf(attributes{"q": str("r"), "s": num(n), "of" + w: str("t")})
		}
		return d
	}
	var docs []attributes
	for n := range 30 {
		d := attributes{"id": str(fmt.Sprint("d", n)), "t": str(strings.Repeat(fmt.Sprint(n), 1500))}
		d["p"], d["els"] = mapOf(inner(n, 1)), listOf(mapOf(joined(inner(n, 1), attributes{"id": str("a")})),
			mapOf(joined(inner(n, 1), attributes{"id": str("b")})))
		for _, w := range words {
			d["p"+strings.ToUpper(w[:1])+w[1:]], d[w] = mapOf(inner(n, 0)), mapOf(inner(n, 0))
		}
		docs = append(docs, d)
	}
	d := newDiscovery(t, "id:S", "", docs)
	r := d.discover()
	if r.Types[0].NoModel != "" {
		t.Fatal(r.Types[0].NoModel)
	}
	d.itemize(0, "gen", "./store")
	d.itemize(0, "vet", "./store")
}
