//go:build foreign

package docs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/models"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/unique"
)

// The tests of this file run programs in Python and TypeScript, and a Go program without the library. They need
// python3, node and npm: go test -tags foreign -run TestForeign ./docs

// user is the model of the README.
type user struct {
	_      struct{} `ddb:"table=users"`
	ID     string   `ddb:"pk=USER#{ID}"`
	Email  string   `ddb:"sk=U#Information" dynamodbav:"email"`
	Name   string   `ddb:"sk=U#Information" dynamodbav:"name,omitempty"`
	Home   address  `ddb:"sk=U#Address#Home"`
	Wishes []wish   `ddb:"sk=M#WishList#{AddedAt}"`
}

type address struct{ Street, City string }

type wish struct {
	AddedAt time.Time
	Title   string
}

// foreign runs a program in another language against an engine.
type foreign struct {
	*testing.T
	client  *dynamodb.Client
	command []string
}

// run runs the program, and returns its output and exit status.
func (f *foreign) run(input string, args ...string) (string, int) {
	f.Helper()
	cmd := exec.Command(f.command[0], append(f.command[1:len(f.command):len(f.command)], args...)...)
	o := f.client.Options()
	as, err := o.Credentials.Retrieve(context.Background()) // tables belong to who made them
	if err != nil {
		f.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "ENDPOINT="+*o.BaseEndpoint, "AWS_ACCESS_KEY_ID="+as.AccessKeyID,
		"AWS_SECRET_ACCESS_KEY="+as.SecretAccessKey, "AWS_REGION="+o.Region, "PYTHONDONTWRITEBYTECODE=1")
	cmd.Stdin = strings.NewReader(input)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		f.Fatal(err)
	}
	if errs.Len() > 0 {
		f.Logf("%v: %s", args, errs.String())
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// says runs the program, which has to print a text.
func (f *foreign) says(want string, args ...string) {
	f.Helper()
	out, code := f.run("", args...)
	if code != 0 || strings.ReplaceAll(strings.TrimSpace(out), " ", "") != strings.ReplaceAll(want, " ", "") {
		f.Errorf("%v: exit status %d: %s, and not %s", args, code, out, want)
	}
}

// in runs a command in a folder.
func in(t *testing.T, dir string, command ...string) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", command, err, out)
	}
}

// python installs boto3, and returns the interpreter.
func python(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	in(t, ".", "python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", dir,
		"--requirement",
		"recipes/foreign/requirements.txt")
	t.Setenv("PYTHONPATH", dir)
	return "python3"
}

// typescript returns the compiled program of the recipe.
func typescript(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"package.json", "tsconfig.json", "run.ts", "unique.ts", "user.ts"} {
		b, err := os.ReadFile(filepath.Join("recipes", "foreign", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	in(t, dir, "npm", "install", "--no-package-lock", "--no-audit", "--no-fund")
	in(t, dir, "npm", "run", "build")
	return filepath.Join(dir, "node_modules", ".built", "run.js")
}

// The programs of the recipe read what the library saves, and the library what they write. A change by one
// that the other has not read is a conflict.
func TestForeignRecipe(t *testing.T) {
	page, err := os.ReadFile("recipes/foreign-writers.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"user.py", "user.ts"} {
		b, err := os.ReadFile(filepath.Join("recipes", "foreign", name))
		if err != nil || !bytes.Contains(page, b) {
			t.Errorf("the recipe does not show %s, %v", name, err)
		}
	}
	for language, command := range map[string][]string{
		"python":     {python(t), "recipes/foreign/run.py"},
		"typescript": {"node", typescript(t)},
	} {
		t.Run(language, func(t *testing.T) {
			ctx := context.Background()
			f := &foreign{t, testengine.Start(t).Client(), command}
			table := testengine.Table(t, "PK:S", "SK:S")
			users, err := mapper.New[user](f.client, mapper.Table(table))
			if err != nil {
				t.Fatal(err)
			}
			const id = "~a#b%"
			at := time.Date(2021, 11, 14, 9, 30, 0, 0, time.UTC)
			e := users.New(user{ID: id, Email: "a@example.com", Wishes: []wish{{at, "a lamp"}}})
			if _, err := users.Save(ctx, e); err != nil {
				t.Fatal(err)
			}
			f.says(`{"email":"a@example.com","wishes":["a lamp"]}`, "read", table, id)
			f.says("null", "read", table, "none")
			f.says("", "email", table, id, "b@example.com")
			f.says("", "wish", table, id, "2021-11-15T09:30:00.000000000Z", "a chair")
			e.Value.Email = "c@example.com"
			var conflict *mapper.ConflictError
			if _, err := users.Save(ctx, e); !errors.As(err, &conflict) {
				t.Errorf("a save over a change of another program: %v", err)
			}
			if e, err = users.Load(ctx, users.Key(id)); err != nil || e.Value.Email != "b@example.com" ||
				len(e.Value.Wishes) != 2 || e.Value.Wishes[1].Title != "a chair" {
				t.Fatalf("%+v, %v", e, err)
			}
			e.Value.Email, e.Value.Wishes = "c@example.com", e.Value.Wishes[1:]
			if _, err := users.Save(ctx, e); err != nil {
				t.Fatal(err)
			}
			f.says(`{"email":"c@example.com","wishes":["a chair"]}`, "read", table, id)
			if _, err := users.Delete(ctx, e); err != nil {
				t.Fatal(err)
			}
			f.says("null", "read", table, id)
			if _, code := f.run("", "email", table, id, "d@example.com"); code != 0 {
				t.Errorf("exit status %d", code)
			}
			f.says("null", "wish", table, id, "2021-11-15T09:30:00.000000000Z", "a chair")
			if _, err := users.Load(ctx, users.Key(id)); !errors.Is(err, mapper.ErrNotFound) {
				t.Error(err)
			}
		})
	}
}

// subscriber is the model of the recipe of unique values.
type subscriber struct {
	_     struct{} `ddb:"table=users"`
	ID    string   `ddb:"pk=USER#{ID}"`
	Email string   `ddb:"sk=HEAD,unique=fold,as='User#Email'"`
}

// The programs of the recipe keep the guards of unique values: they refuse what an entity of the library has, and the
// library refuses what they have taken.
func TestForeignUniqueValues(t *testing.T) {
	page, err := os.ReadFile("recipes/foreign-writers.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"unique.py", "unique.ts"} {
		b, err := os.ReadFile(filepath.Join("recipes", "foreign", name))
		if err != nil || !bytes.Contains(page, b) {
			t.Errorf("the recipe does not show %s, %v", name, err)
		}
	}
	for language, command := range map[string][]string{
		"python":     {python(t), "recipes/foreign/run.py"},
		"typescript": {"node", typescript(t)},
	} {
		t.Run(language, func(t *testing.T) {
			ctx := context.Background()
			f := &foreign{t, testengine.Start(t).Client(), command}
			table := testengine.Table(t, "PK:S", "SK:S")
			users, err := mapper.New[subscriber](f.client, mapper.Table(table))
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range []subscriber{
				{ID: "1", Email: "ann@example.com"},
				{ID: "2", Email: "\u212aurt #1"},
				{ID: "3"},
			} {
				if _, err := users.Save(ctx, users.New(v)); err != nil {
					t.Fatal(err)
				}
			}
			f.says("false", "unique", table, "3", "Ann@Example.COM")
			f.says("false", "unique", table, "3", "KURT #1")
			f.says("true", "unique", table, "3", "~Straße ı"+strings.Repeat("x", 1000))
			f.says("true", "unique", table, "1", "bob@example.com")
			f.says("true", "unique", table, "2", "ANN@example.com")
			if r, err := unique.Verify(ctx, users); err != nil || !r.Verified() || r.Guarded != 3 {
				t.Errorf("verify: %+v, %v", r, err)
			}
			if e, err := users.Load(ctx, users.Unique("Email", "ann@example.com")); err != nil || e.Value.ID != "2" {
				t.Errorf("lookup: %v, %v", e, err)
			}
			if _, err := users.Save(ctx, users.New(subscriber{ID: "4", Email: "Bob@example.com"})); !errors.Is(err,
				mapper.ErrTaken) {
				t.Errorf("insert: %v", err)
			}
			f.says("true", "unique", table, "1", "")
			if _, err := users.Save(ctx, users.New(subscriber{ID: "4", Email: "Bob@example.com"})); err != nil {
				t.Error(err)
			}
		})
	}
}

// clinic returns a random clinic, without a large scan.
func clinic(r *rand.Rand, g *models.Gen, id string) models.Clinic {
	c := *g.New().(*models.Clinic)
	c.ID = id
	if len(c.Scan) > 1000 {
		c.Scan = c.Scan[:1000]
	}
	if r.IntN(2) == 0 {
		c.Letter = strings.Repeat("Dear patient, ", r.IntN(100))
	}
	if c.Offer != nil {
		c.Offer.Until = time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	}
	return c
}

// The exit statuses of the programs of internal/testdata/foreign.
const (
	statusExists = 3
	statusFaster = 4
)

// A reader and writer in Python, and one in Go without the library, were written from docs/format.md alone. What the
// library saves is the same for them, and what they write is the same for the library.
func TestForeignPrograms(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "clinic")
	in(t, "../internal/testdata/foreign/go", "go", "build", "-o", program, ".")
	for language, command := range map[string][]string{
		"python": {python(t), "../internal/testdata/foreign/clinic.py"},
		"go":     {program},
	} {
		t.Run(language, func(t *testing.T) {
			ctx := context.Background()
			f := &foreign{t, testengine.Start(t).Client(), command}
			table := testengine.Table(t, "PK:S", "SK:S")
			clinics, err := mapper.New[models.Clinic](f.client, mapper.Table(table))
			if err != nil {
				t.Fatal(err)
			}
			entity, err := schema.Of(reflect.TypeFor[models.Clinic]())
			if err != nil {
				t.Fatal(err)
			}
			seed := draws.Seed(t)
			r := rand.New(rand.NewPCG(seed, 1))
			g := models.NewGen(r, entity)
			for i := range draws.Times(3, 3, 50) {
				f.roundTrip(ctx, clinics, table, clinic(r, g, fmt.Sprintf("%c%d#%%", "~a"[i%2], i)), i%3 == 2)
				if t.Failed() {
					t.Fatalf("seed %d, clinic %d", seed, i)
				}
			}
		})
	}
}

// loaded loads a clinic and compares it.
func (f *foreign) loaded(ctx context.Context, clinics *mapper.Mapper[models.Clinic],
	want models.Clinic,
) *mapper.Entity[models.Clinic] {
	f.Helper()
	e, err := clinics.Load(ctx, clinics.Key(want.ID), mapper.Strong())
	if err != nil {
		f.Fatal(err)
	}
	if d := diff(f.T, want, e.Value, cmpopts.SortSlices(less)); d != "" {
		f.Errorf("the library loads (-want +got):\n%s", d)
	}
	return e
}

// reads compares what the program reads.
func (f *foreign) reads(table string, want models.Clinic) {
	f.Helper()
	out, code := f.run("", "read", table, want.ID)
	var got models.Clinic
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 {
		f.Fatalf("exit status %d: %s, %v", code, out, err)
	}
	if d := diff(f.T, want, got); d != "" {
		f.Errorf("the program reads (-want +got):\n%s", d)
	}
}

// status runs the program, which has to end with an exit status.
func (f *foreign) status(want int, input string, args ...string) {
	f.Helper()
	if out, code := f.run(input, args...); code != want {
		f.Errorf("%v: exit status %d, and not %d: %s", args, code, want, out)
	}
}

// diff compares two clinics as the programs print them.
func diff(t *testing.T, a, b models.Clinic, options ...cmp.Option) string {
	t.Helper()
	var x, y any
	for to, c := range map[*any]models.Clinic{&x: a, &y: b} {
		text, err := json.Marshal(c)
		if err == nil {
			err = json.Unmarshal(text, to)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return cmp.Diff(x, y, options...)
}

// less orders values of JSON in any way.
func less(a, b any) bool { return fmt.Sprint(a) < fmt.Sprint(b) }

// roundTrip writes a clinic by one side, and reads, changes and deletes it by the other.
func (f *foreign) roundTrip(ctx context.Context, clinics *mapper.Mapper[models.Clinic], table string, c models.Clinic,
	large bool,
) {
	text, err := json.Marshal(c)
	if err != nil {
		f.Fatal(err)
	}
	if large { // more items than a transaction has
		for i := range 120 {
			c.Wards = append(c.Wards, fmt.Sprintf("ward %03d", i))
		}
		if text, err = json.Marshal(c); err != nil {
			f.Fatal(err)
		}
	}
	// The library inserts, and the program reads.
	e := clinics.New(c)
	if _, err := clinics.Save(ctx, e); err != nil {
		f.Fatal(err)
	}
	c = f.loaded(ctx, clinics, c).Value
	f.reads(table, c)
	f.status(statusExists, string(text), "insert", table)
	// The program changes what the library has loaded.
	f.status(0, "", "rename", table, c.ID, "new name")
	e.Value.Name = "other name"
	var conflict *mapper.ConflictError
	if _, err := clinics.Save(ctx, e); !errors.As(err, &conflict) {
		f.Errorf("a save over a change of the program: %v", err)
	}
	visit := models.Visit{At: time.Date(2031, 1, 2, 3, 4, 5, 600, time.UTC), Patient: "~p#1", Reason: "flu", Cost: 7}
	added, err := json.Marshal(visit)
	if err != nil {
		f.Fatal(err)
	}
	f.status(0, string(added), "visit", table, c.ID)
	c.Name, c.Visits = "new name", append(c.Visits, visit)
	e = f.loaded(ctx, clinics, c)
	e.Value.Name, e.Value.Scan = "third name", bytes.Repeat([]byte{1, 2, 3}, 100_000) // in parts
	if _, err := clinics.Save(ctx, e); err != nil {
		f.Fatal(err)
	}
	f.reads(table, e.Value)
	// The library deletes, the program inserts, and so on.
	if _, err := clinics.Delete(ctx, e); err != nil {
		f.Fatal(err)
	}
	if out, code := f.run("", "read", table, c.ID); strings.TrimSpace(out) != "null" || code != 0 {
		f.Errorf("exit status %d: %s, of a deleted entity", code, out)
	}
	f.status(statusExists, "", "rename", table, c.ID, "x")
	f.status(0, string(text), "insert", table)
	var back models.Clinic
	if err := json.Unmarshal(text, &back); err != nil {
		f.Fatal(err)
	}
	e = f.loaded(ctx, clinics, back)
	e.Value.Rooms, e.Value.Beds = nil, 77
	if _, err := clinics.Save(ctx, e); err != nil {
		f.Fatal(err)
	}
	f.reads(table, e.Value)
	f.status(0, "", "delete", table, c.ID)
	if _, err := clinics.Load(ctx, clinics.Key(c.ID)); !errors.Is(err, mapper.ErrNotFound) {
		f.Errorf("a load after the program has deleted the entity: %v", err)
	}
	f.status(statusExists, "", "delete", table, c.ID)
	if _, err := clinics.Save(ctx, clinics.New(models.Clinic{ID: c.ID, Name: "again"})); err != nil {
		f.Error(err)
	}
	f.loaded(ctx, clinics, models.Clinic{ID: c.ID, Name: "again"})
}
