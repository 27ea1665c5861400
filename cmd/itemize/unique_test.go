package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

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

// The command adopts, verifies, checks and drops the guards of a table with data.
func TestUnique(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module clubs\n\ngo 1.26\n", "clubs.go": uniqueSource} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	engine := testengine.Start(t)
	as, err := engine.Client().Options().Credentials.Retrieve(ctx) // tables belong to who made them
	if err != nil {
		t.Fatal(err)
	}
	clubs, tags := testengine.Table(t, "PK:S", "SK:S"), testengine.Table(t, "PK:S", "")
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": as.AccessKeyID, "AWS_SECRET_ACCESS_KEY": as.SecretAccessKey,
	} {
		t.Setenv(name, value)
	}
	where := []string{"-endpoint", engine.Endpoint, "-table", "clubs=" + clubs, "-table", "ClubTags=" + tags}
	call := func(code int, wants ...string) func(args ...string) {
		return func(args ...string) {
			t.Helper()
			var out bytes.Buffer
			if got := run(ctx, args, dir, &out, &out); got != code {
				t.Errorf("%v: exit status %d, want %d:\n%s", args, got, code, &out)
			}
			for _, want := range wants {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%v: no %q in:\n%s", args, want, &out)
				}
			}
		}
	}
	pass := func(word string, more ...string) []string {
		return append(append([]string{"unique", word}, where...), append(more, "-model", "Guild")...)
	}
	named := mapper.Tables(func(name string) string {
		return map[string]string{
			"clubs":    clubs,
			"ClubTags": tags,
		}[name]
	})
	old, err := mapper.New[oldGuild](engine.Client(), named)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []oldGuild{{ID: "1", Name: "Chess", Tag: "x"}, {ID: "2", Name: "chess", Tag: "y"}, {
		ID:   "3",
		Name: "Go",
	}} {
		if _, err := old.Save(ctx, old.New(v)); err != nil {
			t.Fatal(err)
		}
	}
	other, err := mapper.New[band](engine.Client(), named) // another model with the same root item
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Save(ctx, other.New(band{ID: "1", Name: "Queen"})); err != nil {
		t.Fatal(err)
	}
	call(exitOK, "3 entities, 5 unique values", "verify: about")(pass("plan")...)
	call(exitFaults, "the table of guards nosuch, with the partition key PK (S), cannot be described")("unique", "plan",
		"-endpoint", engine.Endpoint, "-table", "clubs="+clubs, "-table", "ClubTags=nosuch", "-model", "Guild")
	call(exitFaults, "5 values without a guard")(pass("verify")...)
	call(exitFaults, "4 guards written", "1 duplicate:", "has the value of GUILD#")(pass("run", "-segments", "1")...)
	call(exitFaults, `"duplicates": 1`, `"field": "Name"`, `"duplicateList"`)(pass("verify", "-json")...)
	m, err := mapper.New[Guild](engine.Client(), named)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Load(ctx, m.Unique("Name", "go")); !errors.Is(err, mapper.ErrUnverified) {
		t.Errorf("a lookup before verify: %v", err)
	}
	call(exitFaults, "guard: clubs.Guild: GUILD#", "the guard of Name names another entity")("check", "-endpoint",
		engine.Endpoint, "-table", "clubs="+clubs, "-table", "ClubTags="+tags, clubs)
	if _, err := m.Update(ctx, m.Key("2"), func(c *Guild) error { c.Name = "Checkers"; return nil }); err != nil {
		t.Fatal(err)
	}
	call(exitOK, "when no program without the tag writes any "+
		"more")(pass("run")...) // the other one may be without a guard
	call(exitOK, "5 values with a guard", "verified: lookups work")(pass("verify")...)
	m, _ = mapper.New[Guild](engine.Client(), named)
	if c, err := m.Load(ctx, m.Unique("Name", "GO")); err != nil || c.Value.ID != "3" {
		t.Errorf("a lookup: %v, %v", c, err)
	}
	call(exitFaults, "clubs.Guild.Name is unique", "remove unique from its tag")("unique", "drop", "-endpoint",
		engine.Endpoint, clubs, "Guild#Name")
	call(exitFaults, "no model in . has the name Nope: write one of clubs.Guild, clubs.Team")(append(append([]string{
		"unique", "run",
	}, where...), "-model", "Nope")...)
	without := strings.NewReplacer(",unique=fold", "", ",unique,guards=ClubTags", "", ",unique",
		"").Replace(uniqueSource)
	if err := os.WriteFile(filepath.Join(dir, "clubs.go"), []byte(without), 0o600); err != nil {
		t.Fatal(err)
	}
	call(exitOK, "3 guards deleted")("unique", "drop", "-endpoint", engine.Endpoint, clubs, "Guild#Name")
	call(exitOK, "2 guards deleted")("unique", "drop", "-endpoint", engine.Endpoint, tags, "Guild#Tag")
	if err := os.WriteFile(filepath.Join(dir, "clubs.go"), []byte(uniqueSource), 0o600); err != nil {
		t.Fatal(err)
	}
	call(exitFaults, "the method Normal", "unique.Run")(append(append([]string{"unique", "run"}, where...), "-model",
		"Team")...)
	call(exitFaults, "choose one by -model")(append([]string{"unique", "run"}, where[:2]...)...)
	call(exitUsage, "such as itemize unique drop")("unique", "drop", "clubs")
	call(exitUsage, "plan reads a sample")(pass("plan", "-from", "x")...)
	var out bytes.Buffer
	if got := run(ctx, pass("run", "-from", "x"), dir, &out, &out); got == exitOK ||
		strings.Contains(out.String(), "itemize unique verify") {
		t.Errorf("an invalid place to continue at: %d, %s", got, &out)
	}
	// Another folder of the module shows its models too.
	below := filepath.Join(dir, "below")
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := run(ctx, []string{"unique", "drop", "-endpoint", engine.Endpoint, clubs, "Guild#Name"}, below, &out,
		&out); got == exitOK || !strings.Contains(out.String(), "clubs.Guild.Name is unique") {
		t.Errorf("drop in a folder of the module: %d, %s", got, &out)
	}
	call(exitFaults, "create it with the partition key PK (S) alone")("unique", "run", "-endpoint", engine.Endpoint,
		"-table", "clubs="+clubs, "-table", "ClubTags="+testengine.Table(t, "PK:S", "SK:S"), "-model", "Guild")
}
