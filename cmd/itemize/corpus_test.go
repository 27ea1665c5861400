package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/advice/charge"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/testing/draws"
)

// collection is a collection of documents in a package of a registry.
type collection struct {
	Name, Registry, Package, Version, Licence string
	// Files is a pattern in the package. At is the path of the documents in a file, "" for the file or its array, and
	// Inner the member of each that is the document.
	Files, At, Inner string
	// Key is the attribute that identifies a document, "" for the name of its file or member.
	Key string
}

// The limits of discover for each collection.
const (
	longestDiscover = 10 * time.Second
	mostMemory      = 300 << 20
)

// Real documents are discovered, moved, changed and moved back: each step costs the predicted units, and every document
// comes back. A short run takes the first collection, and .ci/long takes all. ITEMIZE_CORPUS names one.
func TestCorpus(t *testing.T) {
	text, err := os.ReadFile("testdata/corpus/collections.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []collection
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	only := os.Getenv("ITEMIZE_CORPUS")
	if only == "" {
		all = all[:min(len(all), draws.Times(1, 1, 1000))]
	}
	for _, c := range all {
		if only != "" && c.Name != only {
			continue
		}
		t.Run(c.Name, func(t *testing.T) { c.check(t, draws.Times(40, 40, 2000)) })
	}
}

func (c collection) check(t *testing.T, most int) {
	docs := c.documents(t, most)
	d := newDiscovery(t, corpusKey+":S", "", docs)
	var lines bytes.Buffer
	for _, doc := range docs {
		if err := json.NewEncoder(&lines).Encode(charge.PlainJSON(mapOf(doc))); err != nil {
			t.Fatal(err)
		}
	}
	d.write(c.Name+".jsonl", lines.Bytes())
	took, memory := d.measured("discover", "-key", corpusKey, "-sample", "0", "-json", c.Name+".jsonl")
	if took > longestDiscover || memory > mostMemory {
		t.Errorf("discover took %v and %s (limits %v and %s)", took, attr.Bytes(memory), longestDiscover,
			attr.Bytes(mostMemory))
	}
	first := json.NewDecoder(
		strings.NewReader(d.itemize(0, "discover", "-json", "-endpoint", d.endpoint, "-sample", "0",
			d.table)),
	)
	var r discovered
	if err := first.Decode(&r); err != nil {
		t.Fatal(err)
	}
	if len(r.Types) != 1 {
		t.Fatalf("%d types of one kind of documents", len(r.Types))
	}
	row := fmt.Sprintf(
		"%s: %d documents, %v, %s, ",
		c.Name,
		len(docs),
		took.Round(10*time.Millisecond),
		attr.Bytes(memory),
	)
	if r.Types[0].NoModel != "" {
		t.Logf("%sno model: %s", row, r.Types[0].NoModel)
		return
	}
	r = d.discover("-type", r.Types[0].Name)
	x := r.Types[0]
	d.itemize(0, "gen", "./store")
	d.itemize(0, "vet", "./store")
	d.makeTables()
	flags := []string{"-lock", "store/itemize.lock.json", "-model", x.Name, "-endpoint", d.endpoint}
	dead := 0
	for _, step := range []string{"plan", "run", "verify", "cutover"} {
		if x.Reshaped {
			d.goRun(
				"./store/migrate",
				"-lock",
				"store/itemize.lock.json",
				"-model",
				x.Name,
				"-endpoint",
				d.endpoint,
				step,
			)
			continue
		}
		args := slices.Concat([]string{"migrate", step}, flags, []string{d.table})
		if step != "plan" {
			d.itemize(min(1, dead), args...)
			continue
		}
		dead = d.planned(args)
		if dead < x.Migration.Unmovable {
			t.Errorf("discover found %d documents of its sample that cannot be moved, and plan %d of all",
				x.Migration.Unmovable, dead)
		}
	}
	saved := d.changeAll(x.Name)
	if saved.Unequal > 0 || len(saved.Errors) > 0 || saved.Entities != len(docs)-dead {
		t.Errorf(
			"%d entities, %d saves, %d not as predicted: %v",
			saved.Entities,
			saved.Saves,
			saved.Unequal,
			saved.Errors,
		)
	}
	if x.Reshaped {
		d.goRun(
			"./store/migrate",
			"-lock",
			"store/itemize.lock.json",
			"-model",
			x.Name,
			"-endpoint",
			d.endpoint,
			"rollback",
		)
	} else {
		d.itemize(0, slices.Concat([]string{"migrate", "rollback"}, flags, []string{d.table})...)
	}
	differences := d.differences(docs)
	if differences > 0 {
		t.Errorf("%d documents came back with a difference", differences)
	}
	structs := bytes.Count(readAll(t, filepath.Join(d.dir, "store", "models.go")), []byte("\ntype "))
	t.Logf(
		"%s1 model of %d structs, %d entities moved, %d cannot be, %d saves for %s WCU as predicted, %d differences",
		row,
		structs,
		saved.Entities,
		dead,
		saved.Saves,
		number(saved.Consumed),
		differences,
	)
}

// planned plans a migration, and returns how many entities it would leave.
func (d *discovery) planned(args []string) (dead int) {
	d.Helper()
	var out, errs bytes.Buffer
	code := run(context.Background(), append(args, "-json"), d.dir, &out, &errs)
	var plan struct {
		Dead        int
		DeadLetters []struct {
			Key     string
			Reasons []string
		}
	}
	if err := json.Unmarshal(out.Bytes(), &plan); err != nil || code != min(1, plan.Dead) {
		d.Fatalf("itemize %s: status %d, %v\n%s%s", strings.Join(args, " "), code, err, out.String(), errs.String())
	}
	for _, l := range plan.DeadLetters {
		d.Logf("%s cannot be moved: %s", l.Key, strings.Join(l.Reasons, "; "))
	}
	return plan.Dead
}

// corpusKey is the attribute that identifies the documents.
const corpusKey = "docid"

// documents returns the first documents that fit an item.
func (c collection) documents(t *testing.T, most int) []attributes {
	t.Helper()
	dir := c.fetched(t)
	paths, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(c.Files)))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files %s in %s, %v", c.Files, dir, err)
	}
	var out []attributes
	seen := map[string]bool{}
	add := func(name string, v any) {
		m, ok := v.(map[string]any)
		if inner, is := m[c.Inner].(map[string]any); is {
			m = inner
		}
		if !ok || len(out) == most {
			return
		}
		if c.Key != "" {
			name = fmt.Sprint(m[c.Key])
		}
		m = maps.Clone(m)
		m[corpusKey] = name
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		it, err := charge.ItemFromPlainJSON(text)
		if err == nil && !nameless(m) && !seen[name] && name != "" && cost.ItemSize(it) < cost.MaxItem-2048 {
			seen[name] = true
			out = append(out, it)
		}
	}
	for _, path := range paths {
		dec := json.NewDecoder(bytes.NewReader(readAll(t, path)))
		dec.UseNumber()
		var v any
		if err := dec.Decode(&v); err != nil {
			t.Fatal(err)
		}
		rel, _ := filepath.Rel(dir, path)
		each(rel, v, strings.Split(c.At, "."), add)
	}
	return out
}

// nameless reports whether a member has the empty name, which DynamoDB does not take.
func nameless(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			if name == "" || nameless(x) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, nameless)
	}
	return false
}

// each calls add with the documents at a path: members of an object, or elements of an array. * are all elements.
func each(name string, v any, at []string, add func(name string, v any)) {
	if len(at) == 1 && at[0] == "" { // no path
		at = nil
		if all, ok := v.([]any); ok {
			for i, x := range all {
				add(fmt.Sprint(name, " ", i), x)
			}
			return
		}
		add(name, v)
		return
	}
	if len(at) > 0 && at[0] != "" {
		switch v := v.(type) {
		case []any:
			for i, x := range v {
				each(fmt.Sprint(name, " ", i), x, at[1:], add)
			}
		case map[string]any:
			each(name, v[at[0]], at[1:], add)
		}
		return
	}
	switch v := v.(type) {
	case []any:
		for i, x := range v {
			add(fmt.Sprint(name, " ", i), x)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			add(k, v[k])
		}
	}
}

// fetched returns the folder of a package, which the client of its registry downloads once.
func (c collection) fetched(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "itemize-corpus", strings.ReplaceAll(c.Package, "/", "+")+"@"+c.Version)
	if _, err := os.Stat(dir); err == nil {
		return inPackage(dir)
	}
	tmp := t.TempDir()
	do := func(name string, args ...string) {
		cmd := exec.Command(name, args...)
		cmd.Dir = tmp
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
	}
	if c.Registry == "npm" {
		do("npm", "pack", "--silent", c.Package+"@"+c.Version)
		do("sh", "-c", "tar xzf *.tgz && rm *.tgz")
	} else {
		do("pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--python-version=3.13",
			c.Package+"=="+c.Version)
		do("sh", "-c", "python3 -m zipfile -e *.whl . && rm *.whl")
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	do("cp", "-r", tmp, dir)
	return inPackage(dir)
}

// inPackage returns the folder in an unpacked archive that has its files.
func inPackage(dir string) string {
	if _, err := os.Stat(filepath.Join(dir, "package")); err == nil {
		return filepath.Join(dir, "package")
	}
	return dir
}

// measured runs the command as a process, and returns its time and its largest memory in bytes, 0 if it is unknown.
func (d *discovery) measured(args ...string) (time.Duration, int) {
	d.Helper()
	self, err := os.Executable()
	if err != nil {
		d.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	memory := filepath.Join(d.TempDir(), "memory")
	cmd.Dir, cmd.Env = d.dir, append(os.Environ(), "ITEMIZE_TEST_COMMAND=1", "ITEMIZE_TEST_MEMORY="+memory)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	begun := time.Now()
	if err := cmd.Run(); err != nil {
		d.Fatalf("itemize %s: %v\n%s", strings.Join(args, " "), err, errs.Bytes())
	}
	took := time.Since(begun)
	status, _ := os.ReadFile(memory) // other systems than Linux do not have it
	kilobytes := 0
	if _, rest, ok := strings.Cut(string(status), "VmHWM:"); ok {
		_, _ = fmt.Sscan(rest, &kilobytes)
	}
	return took, kilobytes << 10
}

// changed is the output of the program of testdata/corpus.
type changed struct {
	Entities, Saves, Unequal int
	Predicted, Consumed      float64
	Errors                   []string
}

// changeAll changes and saves all entities, and changes them back.
func (d *discovery) changeAll(model string) changed {
	d.Helper()
	d.write(
		"change/main.go",
		bytes.ReplaceAll(readAll(d.T, "testdata/corpus/main.go.txt"), []byte("MODEL"), []byte(model)),
	)
	d.write("change/mutate.go", readAll(d.T, "testdata/replay/mutate.go.txt"))
	var out changed
	if err := json.Unmarshal(d.goRun("./change", d.endpoint), &out); err != nil {
		d.Fatal(err)
	}
	return out
}

// differences counts the documents that are not in the table as they were.
func (d *discovery) differences(docs []attributes) int {
	d.Helper()
	stored := map[string]attributes{}
	in := &dynamodb.ScanInput{TableName: &d.table}
	for {
		out, err := d.client.Scan(context.Background(), in)
		if err != nil {
			d.Fatal(err)
		}
		for _, it := range out.Items {
			delete(it, "_v")
			id, _ := attr.ScalarOf(it[corpusKey])
			stored[id.Text] = it
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			break
		}
	}
	n := 0
	for _, doc := range docs {
		id, _ := attr.ScalarOf(doc[corpusKey])
		if !attr.SameItem(stored[id.Text], doc) {
			if n++; n < 4 {
				names := slices.DeleteFunc(slices.Sorted(maps.Keys(doc)), func(name string) bool {
					return attr.Same(doc[name], stored[id.Text][name])
				})
				d.Logf(
					"%s: %s, %d attributes, %d stored",
					id.Text,
					strings.Join(names, ", "),
					len(doc),
					len(stored[id.Text]),
				)
			}
		}
	}
	return cmp.Or(n, max(0, len(stored)-len(docs)))
}
