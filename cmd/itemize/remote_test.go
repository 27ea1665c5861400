package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/testing/testengine"
)

// noSettings removes all settings of the AWS SDK.
func noSettings(t *testing.T) {
	t.Helper()
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "AWS_") && name != "AWS_CA_BUNDLE" {
			t.Setenv(name, "")
		}
	}
	for _, name := range []string{"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"} {
		t.Setenv(name, filepath.Join(t.TempDir(), "none"))
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

// Each command needs no region and no credentials with -endpoint, and finds the tables of integration.Start.
func TestEndpointAloneIsEnoughForEachCommand(t *testing.T) {
	dir := t.TempDir()
	workload := `{"attributes": [{"name": "Title", "sizes": [30]}],
		"operations": [{"name": "o", "perMonth": 1, "all": true}]}`
	for name, text := range map[string]string{
		"go.mod": "module films\n\ngo 1.26\n", "films.go": gcSource, "w.json": workload,
		"q.json": strings.Replace(workload, `[{"name": "o"`, `[{"name": "q", "perMonth": 1, "query": {"byTitle": 2}},
			{"name": "w", "perMonth": 1, "writes": ["Title"]}, {"name": "o"`, 1),
		"indexed/indexed.go": "package indexed\n\ntype Indexed struct {\n\t_ struct{} `ddb:\"table=films\"`\n\t_ " +
			"struct{} `ddb:\"index=byTitle,pk={Title}\"`\n\tID string `ddb:\"pk={ID}\"`\n\tTitle string " +
			"`ddb:\"sk=HEAD\"`\n}\n",
		"plain/plain.go": "package plain\n\ntype Plain struct {\n\t_ struct{} `ddb:\"table=films\"`\n\tID string " +
			"`ddb:\"pk={ID}\"`\n\tTitle string `ddb:\"sk=HEAD\"`\n}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	engine, films, parts := testengine.Start(t), testengine.Table(t, "PK:S", "SK:S"), testengine.Table(t, "PK:S", "")
	records := testengine.Table(t, "PK:S", "SK:S")
	noSettings(t)
	of := func(code int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if got := run(context.Background(), args, dir, &out, &out); got != code {
			t.Errorf("%v: exit status %d, and not %d: %s", args, got, code, out.String())
		}
		return out.String()
	}
	rename := "films=" + films
	at := []string{"-endpoint", engine.Endpoint}
	of(0, "gen", "./plain")
	for _, args := range [][]string{
		{"check", "-table", rename, films, "./plain"},
		{"gc", "-table", rename, "-table", "FilmParts=" + parts, "-records", records, "."},
		{"cost", "forecast", "-verify", "w.json"},
		{"cost", "model", "-verify", "-workload", "w.json", "-model", "Plain", "./plain"},
		{"cost", "model", "-verify", "-workload", "q.json", "./indexed"},
		{"cost", "advise", "-verify", "q.json", "./indexed"},
		{"cost", "advise", "-verify", "w.json"},
		{"cost", "scaletest", "-table", films, "-for", "100ms", "-rate", "20"},
		{
			"migrate", "plan", "-lock", "plain/itemize.lock.json", "-model", "Plain", "-key", "{ID}", "-table", rename,
			parts,
		},
	} {
		n := 1
		if args[0] == "cost" || args[0] == "migrate" {
			n = 2
		}
		all := append(append(append([]string{}, args[:n]...), at...), args[n:]...)
		of(0, all...)
	}
	for _, args := range [][]string{{"discover", "-endpoint", engine.Endpoint, "nothing"}, {
		"check", "-endpoint", engine.Endpoint, "-table", "films=nothing", "nothing", "./plain",
	}} {
		if text := of(1, args...); !strings.Contains(text, localCure) {
			t.Errorf("%v: %s", args, text)
		}
	}
}

// An endpoint of AWS is no local engine: its region and credentials must exist.
func TestEndpointOfAWSNeedsCredentials(t *testing.T) {
	noSettings(t)
	c := command{ctx: context.Background()}
	for url, local := range map[string]bool{
		"http://localhost:8000": true, "http://dynamodb.local": true, "": false,
		"https://dynamodb.eu-west-1.amazonaws.com": false, "https://dynamodb.cn-north-1.amazonaws.com.cn": false,
		"https://vpce-1.dynamodb.us-east-1.vpce.amazonaws.com": false, "https://dynamodb.us-east-1.api.aws": false,
	} {
		if _, err := c.access(&remote{endpoint: url}); (err == nil) != local {
			t.Errorf("%q: %v", url, err)
		}
		if _, err := c.access(&remote{s3: url}); (err == nil) != local {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// The command has the key and the Region of package integration if there are no others.
func TestLocalCredentialsAreThoseOfEngines(t *testing.T) {
	o := testengine.Start(t).Client().Options()
	as, err := o.Credentials.Retrieve(context.Background())
	if err != nil || as.AccessKeyID != localKey || o.Region != localRegion {
		t.Errorf("%q in %q, %v", as.AccessKeyID, o.Region, err)
	}
}
