package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/itemize/itemize/cost/forecast"
	"github.com/itemize/itemize/internal/testing/testengine"
)

// The tags of an advice compile in a model, and the model costs what the advice says. The workloads
// are those of examples, and the files of ITEMIZE_WORKLOADS.
func TestTagsOfAdvice(t *testing.T) {
	names, err := filepath.Glob(cmp.Or(os.Getenv("ITEMIZE_WORKLOADS"), "testdata/workloads/*.json"))
	if err != nil || len(names) == 0 {
		t.Fatal(err)
	}
	for _, name := range append(names, "../../examples/tracker/month.json") {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			d := &discovery{script: &script{T: t, dir: t.TempDir()}}
			d.module()
			d.write("month.json", text)
			advise := func(args ...string) (a struct {
				*forecast.Advice
				Tags string
			},
			) {
				t.Helper()
				out := d.itemize(0, append([]string{"cost", "advise", "-json", "month.json"}, args...)...)
				if err := json.Unmarshal([]byte(out), &a); err != nil {
					t.Fatal(err)
				}
				return a
			}
			var w forecast.Workload
			_ = json.Unmarshal(text, &w)
			d.write("store/models.go", []byte(pasted(w, advise().Tags)))
			d.itemize(0, "gen", "./store")
			d.itemize(0, "vet", "./store")
			// with the overhead of the model's keys, the advice is the model
			a := advise("./store")
			for _, c := range a.Changes {
				if c.Included && c.Dollars > 0.01*a.Today.Total {
					t.Errorf("a model with the advised tags is to change: %+v", c)
				}
			}
			// keys of other lengths than the mean can put an item over a boundary of 1 KB
			if math.Abs(a.Best.Total-a.Today.Total) > 0.01*a.Today.Total {
				t.Errorf("advised $%v a month, the model $%v", a.Best.Total, a.Today.Total)
			}
			t.Logf("advised $%.6g a month, the model $%.6g", a.Best.Total, a.Today.Total)
			e := testengine.Start(t)
			as, err := e.Client().Options().Credentials.Retrieve(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Setenv("AWS_ACCESS_KEY_ID", as.AccessKeyID)
			t.Setenv("AWS_SECRET_ACCESS_KEY", as.SecretAccessKey)
			if !testengine.ReportsTransactions(t) {
				return
			}
			t.Log(d.itemize(0, "cost", "advise", "-verify", "-endpoint", e.Endpoint, "month.json", "./store"))
		})
	}
}

// pasted is a model with the tags of an advice.
func pasted(w forecast.Workload, tags string) string {
	var b strings.Builder
	b.WriteString("package store\n\ntype Doc struct {\n\t_ struct{} `ddb:\"table=docs\"`\n\tDocID string " +
		"`ddb:\"pk=DOC#{DocID}\"`\n")
	types := ""
	for line := range strings.Lines(tags) {
		name, tag, _ := strings.Cut(strings.TrimSpace(line), "\t")
		tag, _, _ = strings.Cut(tag, " //")
		typ := "string"
		field := "F" + strings.Map(func(r rune) rune {
			if r == '-' || r == ' ' || r == '.' {
				return '_'
			}
			return r
		}, name)
		for _, a := range w.Attributes {
			if a.Name == name && a.Elements != nil && strings.Contains(tag, "{KEY}") {
				typ = "[]E" + field
				types += "\ntype E" + field + " struct {\n\tKEY string\n"
				for i, x := range a.Elements.Attributes {
					types += fmt.Sprintf("\tX%d string `dynamodbav:%q`\n", i, x.Name)
				}
				types += "}\n"
			}
		}
		fmt.Fprintf(&b, "\t%s %s %s dynamodbav:%q`\n", field, typ, strings.TrimSuffix(tag, "`"), name)
	}
	return b.String() + "}\n" + types
}

// Advice lists changes that save, or cost, at least 1 % of the price, and counts the others.
func TestAdviceListsChangesThatMatter(t *testing.T) {
	change := func(what string, dollars float64) forecast.Change {
		return forecast.Change{What: what, Dollars: dollars}
	}
	for _, x := range []struct {
		today, best forecast.Forecast
		changes     []forecast.Change
		want        []string
		rest        string
	}{
		{
			forecast.Forecast{Total: 10},
			forecast.Forecast{Total: 4},
			[]forecast.Change{
				change("a", 6), change("b", 0.0000033), change("c", 0), change("d", -0.2),
				change("e", 0.05), change("f", -0.01),
				change("possible", 0.05),
			},
			[]string{"a", "d", "e", "possible"},
			"3 more changes save or cost less than 1 % of the price each: -json lists them",
		},
		{
			forecast.Forecast{Total: 10},
			forecast.Forecast{Total: 10},
			[]forecast.Change{change("a", 0)},
			nil,
			"1 more change saves or costs less than 1 % of the price: -json lists it",
		},
		{
			forecast.Forecast{Total: 0.0001},
			forecast.Forecast{},
			[]forecast.Change{change("a", 0.00005)},
			[]string{"a"},
			"",
		},
		{
			forecast.Forecast{NotStorable: "too large"},
			forecast.Forecast{Total: 1},
			[]forecast.Change{
				change("a", 0.5), change("b", 0.001),
			},
			[]string{"a"},
			"1 more change saves or costs less than 1 % of the price: -json lists it",
		},
		{
			forecast.Forecast{},
			forecast.Forecast{},
			[]forecast.Change{change("a", 0)},
			nil,
			"1 more change saves or costs less than 1 % of the price: -json lists it",
		},
	} {
		changes, rest := worth(&forecast.Advice{Today: x.today, Best: x.best, Changes: x.changes})
		var got []string
		for _, c := range changes {
			got = append(got, c.What)
		}
		if !slices.Equal(got, x.want) || rest != x.rest {
			t.Errorf("%v %q, and not %v %q", got, rest, x.want, x.rest)
		}
	}
}
