package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/large/s3store"
	"github.com/itemize/itemize/mapper"
)

// Film is a model of large values, as gcSource has it.
type Film struct {
	_      struct{} `ddb:"table=films"`
	ID     string   `ddb:"pk={ID}"`
	Title  string   `ddb:"sk=HEAD"`
	Script string   `ddb:"sk=SCRIPT,chunk,table=FilmParts,inline=1KB"`
	Poster []byte   `ddb:"sk=POSTER,s3=posters,inline=1KB"`
}

const gcSource = "package films\n\ntype Film struct {\n\t_ struct{} `ddb:\"table=films\"`\n\tID string " +
	"`ddb:\"pk={ID}\"`\n\tTitle string `ddb:\"sk=HEAD\"`\n" +
	"\tScript string `ddb:\"sk=SCRIPT,chunk,table=FilmParts,inline=1KB\"`\n\tPoster []byte " +
	"`ddb:\"sk=POSTER,s3=posters,inline=1KB\"`\n}\n"

// The command reports leftover values, records them, and deletes them after their grace period, and
// strays too. It reports the values that it cannot handle.
func TestGC(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module films\n\ngo 1.26\n", "films.go": gcSource,
		"none/none.go": "package none\n", "other/other.go": strings.Replace(gcSource, "package films", "package other",
			1),
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	engine := testengine.Start(t)
	gateway, bucket := testengine.S3(t)
	as, err := engine.Client().Options().Credentials.Retrieve(ctx) // tables belong to who made them
	if err != nil {
		t.Fatal(err)
	}
	films, parts, records := testengine.Table(t, "PK:S", "SK:S"), testengine.Table(t, "PK:S", ""),
		testengine.Table(t, "PK:S", "SK:S")
	names := map[string]string{"films": films, "FilmParts": parts}
	m, err := mapper.New[Film](engine.Client(), mapper.Tables(func(n string) string { return names[n] }),
		mapper.LargeRecords(records),
		s3store.Objects(s3.NewFromConfig(gateway.Config()), s3store.Buckets(func(string) string { return bucket })))
	if err != nil {
		t.Fatal(err)
	}
	e := m.New(Film{
		ID: "a", Title: "x", Script: strings.Repeat("first ", 500),
		Poster: []byte(strings.Repeat("first ", 500)),
	})
	for range 2 {
		if _, err := m.Save(ctx, e); err != nil {
			t.Fatal(err)
		}
		e.Value.Script, e.Value.Poster = strings.Repeat("second ", 500), []byte(strings.Repeat("second ", 500))
	}
	c, err := door.Mapper.Engine(m).Collector()
	if err != nil {
		t.Fatal(err)
	}
	c.Act, c.Now = true, func() time.Time { return time.Now().Add(-3 * time.Hour) }
	if _, err := c.Run(ctx, ""); err != nil { // notes it, three hours ago
		t.Fatal(err)
	}
	gc := func(code int, args ...string) string {
		t.Helper()
		t.Setenv("AWS_ACCESS_KEY_ID", as.AccessKeyID)
		t.Setenv("AWS_SECRET_ACCESS_KEY", as.SecretAccessKey)
		var out bytes.Buffer
		if got := run(ctx, append([]string{"gc"}, args...), dir, &out, &out); got != code {
			t.Fatalf("gc %v: exit status %d, and not %d: %s", args, got, code, out.String())
		}
		return out.String()
	}
	says := func(text string, all ...string) {
		t.Helper()
		for _, want := range all {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in:\n%s", want, text)
			}
		}
	}
	all := []string{
		"-endpoint", engine.Endpoint, "-s3-endpoint", gateway.Endpoint, "-table", "films=" + films,
		"-table", "FilmParts=" + parts, "-bucket", "posters=" + bucket,
	}
	says(gc(1, all...), "Film.", `name a table with keys PK and SK: mapper.LargeRecords("NAME")`, "-records")
	all = append(all, "-records", records)
	says(gc(0, all...), "4 values in 2 records\n  2 unreferenced values whose grace period has not ended\nremoved "+
		"0 values", "nothing was written: add -delete to delete")
	says(gc(0, append(all, "-delete", "-scan", "-rate", "500")...),
		"removed 2 values: 1 parts, 1 objects\nscanned: 2 values, 0 without a record\n", "in S3 ")
	var done extern.Report
	if text := gc(0, append(all, "-json")...); json.Unmarshal([]byte(text), &done) != nil || done.Records != 1 ||
		done.Values != 2 || done.Requests == 0 {
		t.Errorf("%s", text)
	}
	says(gc(1, append(all, "-model", "Movie")...), "no model in . has the name Movie: write one of films.Film")
	says(gc(1, append(all, "./none")...), "no model in ./none has external values")
	says(gc(1, append(all, "-table", "film=x")...),
		"-table film: Film has no table of that name, only FilmParts, films")
	says(gc(1, append(all, "-bucket", "poster=x")...),
		"-bucket poster: Film has no bucket of that name, only posters")
	says(gc(2, append(all, "-rate", "-1")...), "-rate -1: write a number of capacity units per second")
	says(gc(2, append(all, "-grace", "1m")...), "-grace 1m0s: a signed request may arrive up to 20m0s later")
	says(gc(2, "-endpoint", engine.Endpoint, "-scan", "-delete"),
		"objects would be compared with the tables of another place")
	says(gc(1, append(all, "./...")...), "the models films.Film, films/other.Film in ./... have external values: "+
		"choose one by -model")
	says(gc(0, append(all, "-model", "films.Film", "./...")...), "2 values in 1 records")
}
