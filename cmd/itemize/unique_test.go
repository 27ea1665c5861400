package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/testing/engines"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// Guild is a model of unique values, as uniqueSource has it.
type Guild struct {
	_    struct{} `ddb:"table=clubs"`
	ID   string   `ddb:"pk=GUILD#{ID}"`
	Name string   `ddb:"sk=HEAD,unique=fold"`
	Tag  string   `ddb:"sk=HEAD,unique,guards=ClubTags"`
}

// oldGuild is the same model before the values were unique.
type oldGuild struct {
	_    struct{} `ddb:"table=clubs"`
	ID   string   `ddb:"pk=GUILD#{ID}"`
	Name string   `ddb:"sk=HEAD"`
	Tag  string   `ddb:"sk=HEAD"`
}

// band is a model of the same table without unique values.
type band struct {
	_    struct{} `ddb:"table=clubs"`
	ID   string   `ddb:"pk=BAND#{ID}"`
	Name string   `ddb:"sk=HEAD"`
}

const uniqueSource = "package clubs\n\ntype Guild struct {\n\t_ struct{} `ddb:\"table=clubs\"`\n" +
	"\tID string `ddb:\"pk=GUILD#{ID}\"`\n\tName string `ddb:\"sk=HEAD,unique=fold\"`\n" +
	"\tTag string `ddb:\"sk=HEAD,unique,guards=ClubTags\"`\n}\n\ntype Text string\n\n" +
	"func (t Text) Normal() string { return string(t) }\n\ntype Team struct {\n\tID string `ddb:\"pk=TEAM#{ID}\"`\n" +
	"\tName Text `ddb:\"sk=HEAD,unique\"`\n}\n"

// clubStand is a module with the model Guild, and tables for it.
type clubStand struct {
	*testing.T
	dir, clubs, tags string
	engine           *engines.Engine
	named            mapper.Option
}

func newClubStand(t *testing.T) *clubStand {
	t.Helper()
	c := &clubStand{T: t, dir: t.TempDir(), engine: testengine.Start(t)}
	c.write("go.mod", "module clubs\n\ngo 1.26\n")
	c.write("clubs.go", uniqueSource)
	as, err := c.engine.Client().Options().Credentials.Retrieve(context.Background()) // tables belong to who made them
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", as.AccessKeyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", as.SecretAccessKey)
	c.clubs, c.tags = testengine.Table(t, "PK:S", "SK:S"), testengine.Table(t, "PK:S", "")
	c.named = mapper.Tables(func(name string) string {
		return map[string]string{"clubs": c.clubs, "ClubTags": c.tags}[name]
	})
	return c
}

func (c *clubStand) write(name, text string) {
	c.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		c.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.Fatal(err)
	}
}

// call returns a function that calls the command, and tests its exit status and output.
func (c *clubStand) call(code int, wants ...string) func(args ...string) {
	return func(args ...string) {
		c.Helper()
		var out bytes.Buffer
		if got := run(context.Background(), args, c.dir, &out, &out); got != code {
			c.Errorf("%v: exit status %d, want %d:\n%s", args, got, code, &out)
		}
		for _, want := range wants {
			if !strings.Contains(out.String(), want) {
				c.Errorf("%v: no %q in:\n%s", args, want, &out)
			}
		}
	}
}

// where are the flags of the engine and the tables, the one of guards named.
func (c *clubStand) where(guards string) []string {
	return []string{"-endpoint", c.engine.Endpoint, "-table", "clubs=" + c.clubs, "-table", "ClubTags=" + guards}
}

// pass are the arguments of a pass over the guilds.
func (c *clubStand) pass(word string, more ...string) []string {
	return slices.Concat([]string{"unique", word}, c.where(c.tags), more, []string{"-model", "Guild"})
}

// drop are the arguments that drop a unique value.
func (c *clubStand) drop(table, name string) []string {
	return []string{"unique", "drop", "-endpoint", c.engine.Endpoint, table, name}
}

func (c *clubStand) saveOldGuilds() {
	c.Helper()
	old := kit.Must(mapper.New[oldGuild](c.engine.Client(), c.named))(c.T)
	for _, v := range []oldGuild{
		{ID: "1", Name: "Chess", Tag: "x"}, {ID: "2", Name: "chess", Tag: "y"}, {ID: "3", Name: "Go"},
	} {
		kit.Must(old.Save(context.Background(), old.New(v)))(c.T)
	}
}

// A plan counts the entities of its model alone. A table of guards that is missing, or has other keys, is an error.
func TestUniquePlan(t *testing.T) {
	c := newClubStand(t)
	c.saveOldGuilds()
	other := kit.Must(mapper.New[band](c.engine.Client(), c.named))(t) // with the same root item
	kit.Must(other.Save(context.Background(), other.New(band{ID: "1", Name: "Queen"})))(t)
	c.call(exitOK, "3 entities, 5 unique values", "verify: about")(c.pass("plan")...)
	c.call(exitUsage, "plan reads a sample")(c.pass("plan", "-from", "x")...)
	guild := []string{"-model", "Guild"}
	c.call(exitFaults, "the table of guards nosuch cannot be described")(slices.Concat([]string{"unique", "plan"},
		c.where("nosuch"), guild)...)
	c.call(exitFaults, "create it with the partition key PK (S) alone")(slices.Concat([]string{"unique", "run"},
		c.where(testengine.Table(t, "PK:S", "SK:S")), guild)...)
}

// Drop looks for models in the whole module, in whatever folder of it the program is called, and not in modules below.
func TestUniqueDropAsksTheWholeModule(t *testing.T) {
	c := newClubStand(t)
	c.write("below/deep/text", "")
	t.Chdir(filepath.Join(c.dir, "below", "deep"))
	var out bytes.Buffer
	if code := run(context.Background(), c.drop(c.clubs, "Guild#Name"), ".", &out, &out); code == exitOK ||
		!strings.Contains(out.String(), "clubs.Guild.Name is unique") {
		t.Errorf("in a folder of the module: %d, %s", code, &out)
	}
	c.write("clubs.go", "package clubs\n")
	lock := `{"version": 1, "models": [{"model": "Guild", "delim": "#",
		"tables": [{"name": "clubs", "hash": "PK", "hashType": "S", "range": "SK", "rangeType": "S"}],
		"partitionKey": {"template": "GUILD#{ID}"}, "items": [{"name": "HEAD"}],
		"unique": [{"name": "Guild#Name", "attributes": ["Name"]}]}]}`
	c.write("other/go.mod", "module other\n")
	c.write("other/itemize.lock.json", lock)
	c.call(exitOK, "0 guards deleted")(c.drop(c.clubs, "Guild#Name")...)
	c.write("store/itemize.lock.json", lock)
	c.call(exitFaults, "store/itemize.lock.json has Guild#Name, of Guild")(c.drop(c.clubs, "Guild#Name")...)
}

// The command adopts, verifies, checks and drops the guards of a table with data.
func TestUnique(t *testing.T) {
	ctx, c := context.Background(), newClubStand(t)
	c.saveOldGuilds()
	c.call(exitFaults, "5 values without a guard")(c.pass("verify")...)
	c.call(exitFaults, "4 guards written", "1 duplicate:", "has the value of GUILD#")(
		c.pass("run", "-segments", "1")...)
	c.call(exitFaults, `"duplicates": 1`, `"field": "Name"`, `"duplicateList"`)(c.pass("verify", "-json")...)
	m := kit.Must(mapper.New[Guild](c.engine.Client(), c.named))(t)
	if _, err := m.Load(ctx, m.Unique("Name", "go")); !errors.Is(err, mapper.ErrUnverified) {
		t.Errorf("a lookup before verify: %v", err)
	}
	check := slices.Concat([]string{"check"}, c.where(c.tags), []string{c.clubs})
	c.call(exitFaults, "guard: clubs.Guild: GUILD#", "the guard of Name names another entity")(check...)
	kit.Must(m.Update(ctx, m.Key("2"), func(g *Guild) error { g.Name = "Checkers"; return nil }))(t)
	c.call(exitOK, "when no program without the tag writes any more")(c.pass("run")...) // one may be without a guard
	c.call(exitOK, "5 values with a guard", "verified: lookups work")(c.pass("verify")...)
	m = kit.Must(mapper.New[Guild](c.engine.Client(), c.named))(t)
	if e, err := m.Load(ctx, m.Unique("Name", "GO")); err != nil || e.Value.ID != "3" {
		t.Errorf("a lookup: %v, %v", e, err)
	}
	c.call(exitFaults, "clubs.Guild.Name is unique", "remove unique from its tag")(c.drop(c.clubs, "Guild#Name")...)
	nope := slices.Concat([]string{"unique", "run"}, c.where(c.tags), []string{"-model", "Nope"})
	c.call(exitFaults, "no model in . has the name Nope: write one of clubs.Guild, clubs.Team")(nope...)
	without := strings.NewReplacer(",unique=fold", "", ",unique,guards=ClubTags", "", ",unique",
		"").Replace(uniqueSource)
	c.write("clubs.go", without)
	c.call(exitOK, "3 guards deleted")(c.drop(c.clubs, "Guild#Name")...)
	c.call(exitOK, "2 guards deleted")(c.drop(c.tags, "Guild#Tag")...)
	c.write("clubs.go", uniqueSource)
	c.call(exitFaults, "the method Normal", "unique.Run")(slices.Concat([]string{"unique", "run"}, c.where(c.tags),
		[]string{"-model", "Team"})...)
	c.call(exitFaults, "choose one by -model")("unique", "run", "-endpoint", c.engine.Endpoint)
	c.call(exitUsage, "such as itemize unique drop")("unique", "drop", "clubs")
	var out bytes.Buffer
	if got := run(ctx, c.pass("run", "-from", "x"), c.dir, &out, &out); got == exitOK ||
		strings.Contains(out.String(), "itemize unique verify") {
		t.Errorf("an invalid place to continue at: %d, %s", got, &out)
	}
}
