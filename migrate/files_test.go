package migrate_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/migrate"
)

// exported writes an export of the source, as ExportTableToPointInTime does, in so many files.
func (s *setup) exported(to migrate.Files, files int) {
	s.Helper()
	put := func(name string, content []byte) {
		if err := to.Put(context.Background(), name, content); err != nil {
			s.Fatal(err)
		}
	}
	all := s.all(s.source)
	var manifest bytes.Buffer
	for f := range files {
		var data bytes.Buffer
		zip := gzip.NewWriter(&data)
		n := 0
		for i := f; i < len(all); i += files {
			text, err := attributevalue.MarshalMapJSON(all[i])
			if err != nil {
				s.Fatal(err)
			}
			fmt.Fprintf(zip, "{\"Item\":%s}\n", text)
			n++
		}
		if err := zip.Close(); err != nil {
			s.Fatal(err)
		}
		sum := md5.Sum(data.Bytes())
		fmt.Fprintf(&manifest, `{"itemCount":%d,"md5Checksum":%q,"etag":"x",`+
			`"dataFileS3Key":"some/prefix/AWSDynamoDB/0123-abc/data/%d.json.gz"}`+
			"\n", n, base64.StdEncoding.EncodeToString(sum[:]), f)
		put(fmt.Sprintf("data/%d.json.gz", f), data.Bytes())
	}
	put("manifest-files.json", manifest.Bytes())
	put("manifest-summary.json", fmt.Appendf(nil, `{"version":"2023-08-01","exportArn":"arn","itemCount":%d,`+
		`"outputFormat":"DYNAMODB_JSON","exportType":"FULL_EXPORT"}`, len(all)))
}

// A run from an export moves unchanged entities as exported, changed ones as they are now, and no
// deleted ones. A later run without the export moves new ones. The run continues from its checkpoint.
func TestRunFromExport(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	files := migrate.Folder(t.TempDir())
	s := newSetup(t)
	for i := range 30 {
		s.put(document(fmt.Sprint("p", i), i))
	}
	s.exported(files, 4)
	changed := document("p3", 9)
	s.put(changed)
	if _, err := s.client.DeleteItem(ctx,
		&dynamodb.DeleteItemInput{TableName: &s.source, Key: attributes{"name": textValue("p4")}}); err != nil {
		t.Fatal(err)
	}
	delete(s.docs, "p4")
	s.put(document("new", 3))
	from := migrate.FromExport(files)
	plan, err := s.migration(from).Plan(ctx, migrate.PlanOptions{})
	if err != nil || !plan.OK() || plan.Entities != 30 || plan.RCU != 0 {
		t.Fatalf("%+v, %v", plan, err)
	}
	killed, kill := context.WithCancel(ctx)
	r, err := s.migration(from, migrate.Segments(2), migrate.OnProgress(func(p migrate.Report) { kill() })).Run(killed)
	t.Logf("killed after %+v, %v", r, err)
	r, err = s.migration(from, migrate.Segments(2)).Run(ctx)
	if err != nil || r.All.Entities != 30 && r.All.Entities != 15 || r.This.Dead+r.This.Conflicts != 0 ||
		r.This.ConsumedRCU > 60 {
		t.Fatalf("%+v, %v", r, err)
	}
	if v, err := s.migration().Verify(ctx); err != nil || v.Unmoved != 1 || v.Wrong != 0 {
		t.Fatalf("%+v, %v", v, err)
	}
	if r, err = s.migration(migrate.Segments(2)).Run(ctx); err != nil || r.This.Moved != 1 || r.This.Before != 29 {
		t.Fatalf("%+v, %v", r, err)
	}
	if v, err := s.migration().Verify(ctx); err != nil || !v.Clean() || v.Same != 30 {
		t.Fatalf("%+v, %v", v, err)
	}
	if _, err := s.migration().Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	s.came()
}

// broken are files with one of them in another state.
type broken struct {
	migrate.Files
	name    string
	content []byte
}

func (b broken) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if name == b.name {
		if b.content == nil {
			return b.Files.Open(ctx, "nothing")
		}
		return io.NopCloser(bytes.NewReader(b.content)), nil
	}
	return b.Files.Open(ctx, name)
}

// An export that is not whole, or is something else, is refused.
func TestExportsThatAreRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newSetup(t)
	for i := range 4 {
		s.put(document(fmt.Sprint("p", i), i))
	}
	whole := migrate.Folder(t.TempDir())
	s.exported(whole, 1)
	zip := func(text string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = io.WriteString(z, text)
		_ = z.Close()
		return b.Bytes()
	}
	for _, x := range []struct{ name, content, want string }{
		{"manifest-summary.json", "", "name the folder of one export"},
		{"manifest-summary.json", "{", "unexpected end of JSON input"},
		{"manifest-summary.json", `{"outputFormat":"ION"}`, `the export's format is "ION": export as DYNAMODB_JSON`},
		{
			"manifest-summary.json", `{"outputFormat":"DYNAMODB_JSON","exportType":"INCREMENTAL_EXPORT"}`,
			"the export is incremental",
		},
		{
			"manifest-summary.json", `{"outputFormat":"DYNAMODB_JSON","itemCount":7}`,
			"has 7 items, but manifest-files.json has 4: the export is incomplete",
		},
		{"data/0.json.gz", "none", "data/0.json.gz: unexpected EOF"},
		{"data/0.json.gz", string(zip("{}\n")), "data/0.json.gz, line 1: it has no Item"},
		{"data/0.json.gz", string(zip(`{"Item":{"name":"x"}}`)), "data/0.json.gz, line 1: "},
		{"data/0.json.gz", string(zip(`{"Item":{"id":{"S":"x"}}}`)), "has the checksum"},
	} {
		var content []byte
		if x.content != "" {
			content = []byte(x.content)
		}
		m, err := migrate.Open(ctx, s.client, s.layout(), s.source,
			migrate.Tables(func(string) string { return s.target }), migrate.FromExport(broken{whole, x.name, content}))
		if err == nil {
			_, err = m.Plan(ctx, migrate.PlanOptions{})
		}
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s %.20q: %v", x.name, x.content, err)
		}
	}
	refusedRun := func(f migrate.Files, want string) {
		_, err := s.migration(migrate.FromExport(f)).Run(ctx)
		refused(t, err, want)
	}
	refusedRun(broken{whole, "data/0.json.gz", zip(`{"Item":{"id":{"S":"x"}}}`)}, "has the checksum")
}

// loadFiles puts the items of the import files in a folder into a table, as ImportTable does. It returns how many.
func (s *setup) loadFiles(folder, table string) int {
	s.Helper()
	ctx := context.Background()
	n := 0
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		zip, err := gzip.NewReader(f)
		if err != nil {
			return err
		}
		for lines := json.NewDecoder(zip); lines.More(); n++ {
			var l struct{ Item json.RawMessage }
			if err := lines.Decode(&l); err != nil {
				return err
			}
			a, err := attributevalue.UnmarshalMapJSON(l.Item)
			if err != nil {
				return err
			}
			if _, err := s.client.PutItem(ctx,
				&dynamodb.PutItemInput{
					TableName: &table, Item: a,
					ConditionExpression: aws.String("attribute_not_exists(PK)"),
				}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.Fatal(err)
	}
	return n
}

// offline returns a migration before the model's table exists.
func (s *setup) offline(table string, o ...migrate.Option) *migrate.Migration {
	s.Helper()
	o = append([]migrate.Option{
		migrate.Tables(func(string) string { return table }), migrate.Segments(3),
		migrate.OfFiles(),
	}, o...)
	m, err := migrate.Open(context.Background(), s.client, s.layout(), s.source, o...)
	if err != nil {
		s.Fatal(err)
	}
	return m
}

// Import files, loaded into a new table, are claims: until a run makes them live, the monoliths are
// read. An entity that was written since is moved as it is now. The run does not put the parts of the
// others again.
func TestImport(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	s := newSetup(t)
	items := 0
	for i := range 20 {
		s.put(document(fmt.Sprint("p", i), i))
	}
	s.put(attributes{"name": textValue("dead"), "events": textValue("no list")})
	folder := t.TempDir()
	files := migrate.Folder(folder)
	x, err := s.offline("packages-new").Import(ctx, files)
	if err != nil || x.Entities != 21 || x.Dead != 1 || len(x.DeadLetters) != 1 || x.DeadLetters[0].Key != "dead" {
		t.Fatalf("%+v, %v", x, err)
	}
	items = s.loadFiles(filepath.Join(folder, "packages-new"), s.target)
	if items != x.Items["packages-new"] {
		t.Errorf("%d items are in the files, and %+v were written", items, x)
	}
	if _, err := s.offline("packages-new").Run(ctx); err == nil || !strings.Contains(err.Error(), "has only files") {
		t.Errorf("a run without the tables: %v", err)
	}
	w, m := s.wrapped()
	if e, err := w.Load(ctx, m.Key("p7")); err != nil || e.Value.Description != "of p7" || len(e.Value.Events) != 7 {
		t.Fatalf("%+v, %v", e, err)
	}
	s.put(document("p8", 30))
	delete(s.docs, "dead")
	if _, err := s.client.DeleteItem(ctx,
		&dynamodb.DeleteItemInput{TableName: &s.source, Key: attributes{"name": textValue("dead")}}); err != nil {
		t.Fatal(err)
	}
	r, err := s.migration().Run(ctx)
	if err != nil || r.This.Moved != 20 {
		t.Fatalf("%+v, %v", r, err)
	}
	units := 0.0
	for _, doc := range s.docs {
		units += 3 + float64((attr.ItemSize(doc)+1023)/1024+1)
	}
	if extra := 40.0; r.This.WCU > units+extra { // p8 is put again, with its parts
		t.Errorf("it took %v WCU, and the marks and roots take %v", r.This.WCU, units)
	}
	if v, err := s.migration().Verify(ctx); err != nil || !v.Clean() || v.Same != 20 {
		t.Fatalf("%+v, %v", v, err)
	}
	if _, err := s.migration().Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	s.came()
}

// Collections that are imported live are found by a mapper at once.
func TestImportLive(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newSetup(t)
	for i := range 5 {
		s.put(document(fmt.Sprint("p", i), i))
	}
	folder, out := t.TempDir(), t.TempDir()
	s.exported(migrate.Folder(folder), 2)
	files := migrate.Folder(out)
	x, err := s.offline("packages", migrate.FromExport(migrate.Folder(folder))).ImportLive(ctx, files)
	if err != nil || x.Entities != 5 {
		t.Fatalf("%+v, %v", x, err)
	}
	s.loadFiles(filepath.Join(out, "packages"), s.target)
	_, m := s.wrapped()
	e, err := m.Load(ctx, m.Key("p4"))
	if err != nil || len(e.Value.Events) != 4 || e.Value.Tags["latest"] != "2" {
		t.Fatalf("%+v, %v", e, err)
	}
	e.Value.License = "another"
	if _, err := m.Save(ctx, e); err != nil {
		t.Fatal(err)
	}
	if found, _ := filepath.Glob(filepath.Join(folder, "*")); len(found) != 3 {
		t.Error("an import of an export has written into it", found)
	}
}

// Another export is read from its start. An entity that was repaired since is moved as it is now, and
// no items of a deleted one remain.
func TestTwoExports(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	s := newSetup(t)
	for i := range 150 {
		s.put(document(fmt.Sprint("p", i), i%3))
	}
	s.put(attributes{"name": textValue("mended"), "events": textValue("no list")})
	s.put(attributes{"name": textValue("gone"), "events": textValue("no list")})
	first, second := migrate.Folder(t.TempDir()), migrate.Folder(t.TempDir())
	s.exported(first, 1)
	s.put(document("mended", 2))
	for _, name := range []string{"p2", "gone"} {
		if _, err := s.client.DeleteItem(ctx,
			&dynamodb.DeleteItemInput{TableName: &s.source, Key: attributes{"name": textValue(name)}}); err != nil {
			t.Fatal(err)
		}
		delete(s.docs, name)
	}
	r, err := s.migration(migrate.FromExport(first)).Run(ctx)
	if err != nil || r.This.Moved != 150 || r.This.Dead != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, a := range s.all(s.target) {
		if text(a["PK"]) == "PACKAGE#p2" {
			t.Errorf("%v is left of what was deleted before the run", a)
		}
	}
	for i := range 150 {
		s.put(document(fmt.Sprint("q", i), 0))
	}
	s.exported(second, 1)
	if r, err = s.migration(migrate.FromExport(second)).Run(ctx); err != nil || r.This.Moved != 150 {
		t.Fatalf("%+v, %v", r, err)
	}
	if v, err := s.migration().Verify(ctx); err != nil || !v.Clean() {
		t.Errorf("%+v, %v", v, err)
	}
	other := broken{second, "manifest-summary.json", []byte(`{"outputFormat":"DYNAMODB_JSON","itemCount":300,` +
		`"tableArn":"arn:aws:dynamodb:us-east-1:1:table/other"}`)}
	_, err = migrate.Open(ctx, s.client, s.layout(), s.source, migrate.Tables(func(string) string { return s.target }),
		migrate.FromExport(other))
	refused(t, err, "the export is of the table other, but the source is "+s.source)
}

// An import of which something is missing is put again; a second one is not mixed with the first.
func TestImportThatIsNotWhole(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newSetup(t)
	for i := range 6 {
		s.put(document(fmt.Sprint("p", i), 5))
	}
	folder := t.TempDir()
	files := migrate.Folder(folder)
	if _, err := s.offline("packages").Import(ctx, files); err != nil {
		t.Fatal(err)
	}
	_, err := s.offline("packages", migrate.Segments(2)).Import(ctx, files)
	refused(t, err, "the folder has files of another import (")
	s.loadFiles(filepath.Join(folder, "packages"), s.target)
	n := 0
	for _, a := range s.all(s.target) {
		if strings.HasPrefix(text(a["SK"]), "EVENT#") {
			if n++; n%4 == 0 {
				if _, err := s.client.DeleteItem(ctx,
					&dynamodb.DeleteItemInput{
						TableName: &s.target,
						Key:       attributes{"PK": a["PK"], "SK": a["SK"]},
					}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if r, err := s.migration().Run(ctx); err != nil || r.This.Moved != 6 {
		t.Fatalf("%+v, %v", r, err)
	}
	if v, err := s.migration().Verify(ctx); err != nil || !v.Clean() || v.Same != 6 {
		t.Fatalf("%+v, %v", v, err)
	}
}

// A run that continues from a checkpoint keeps the dead letters of the part before it.
func TestDeadLettersStay(t *testing.T) {
	t.Parallel()
	ctx := request.WithoutPauses(context.Background())
	s := newSetup(t)
	for i := range 250 {
		s.put(attributes{"name": textValue(fmt.Sprint("dead", i)), "events": textValue("no list")})
	}
	killed, kill := context.WithCancel(ctx)
	defer kill()
	_, err := s.migration(migrate.Segments(1), migrate.OnProgress(func(p migrate.Report) {
		if p.This.Dead >= 100 {
			kill()
		}
	})).Run(killed)
	if err == nil {
		t.Log("it was not killed")
	}
	if _, err := s.migration(migrate.Segments(1)).Run(ctx); err != nil {
		t.Fatal(err)
	}
	if status, err := s.migration(migrate.Segments(1)).Status(ctx); err != nil || len(status.DeadLetters) != 250 {
		t.Errorf("%d dead letters, %v", len(status.DeadLetters), err)
	}
}
