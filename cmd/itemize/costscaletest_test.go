package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/testing/engines"
)

// The command reads from a table, reports the results and the hottest key, and leaves no items.
func TestScaletest(t *testing.T) {
	ctx := context.Background()
	engine, err := engines.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Stop()
	as, err := engine.Client().Options().Credentials.Retrieve(ctx) // tables belong to who made them
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", as.AccessKeyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", as.SecretAccessKey)
	if err := engine.CreateTable(ctx, "scaletest-events", "PK:S", "SK:S"); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = engine.DeleteTable(ctx, "scaletest-events") }()
	var out, errs bytes.Buffer
	missing := func() (all []string) {
		for _, want := range []string{
			" requests in 3", "0 throttled, 0 failed", "hottest key", "itemize-scaletest#0000001",
		} {
			if !strings.Contains(out.String(), want) {
				all = append(all, want)
			}
		}
		return all
	}
	for _, long := range []string{"300ms", "3s", "30s"} { // a busy machine may send few requests in a short time
		out.Reset()
		args := strings.Fields("cost scaletest -table scaletest-events -keys 20 -skew 1 -rate 200 -writes 0.5 " +
			"-for " + long + " -endpoint " + engine.Endpoint)
		if code := run(ctx, args, ".", &out, &errs); code != exitOK {
			t.Fatalf("%d: %s", code, errs.String())
		}
		if missing() == nil {
			break
		}
	}
	if all := missing(); all != nil {
		t.Errorf("no %q in\n%s", all, out.String())
	}
	out.Reset()
	if code := run(ctx, strings.Fields("cost scaletest -table nowhere -for 1s -endpoint "+engine.Endpoint), ".", &out,
		&errs); code == exitOK || !strings.Contains(errs.String(), "the table nowhere") {
		t.Errorf("%d: %s", code, errs.String())
	}
}
