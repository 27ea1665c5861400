package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/testing/testengine"
)

// The commands of streams name what they need, and list the letters of a group.
func TestStreamCommands(t *testing.T) {
	engine, leases := testengine.Start(t), testengine.Table(t, "PK:S", "SK:S")
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"stream plan -shards 1000 -workers 3", exitOK, "1,000 shards, 3 workers: idle: 2160 WCU, "},
		{"stream plan -shards -1", exitUsage, "pass at least 0 and 1"},
		{"stream letters", exitUsage, "-table is missing"},
		{
			"stream letters -endpoint URL -leases LEASES -table users", exitFaults,
			"the group default of the table users: it does not exist",
		},
		{"stream letters -endpoint URL -leases nosuch -table users", exitFaults, "create it with stream.LeaseTable"},
		{"stream plan -interval 5", exitUsage, "-interval: not a time: write a number with its unit, such as 5s"},
		{"stream plan more", exitUsage, "unexpected argument more"},
		{
			"stream drive -endpoint URL -leases LEASES -table users", exitFaults,
			"the group default of the table users: it does not exist",
		},
		{"stream letter", exitUsage, "did you mean stream letters?"},
	} {
		var out bytes.Buffer
		args := strings.NewReplacer("URL", engine.Endpoint, "LEASES", leases).Replace(c.args)
		if got := run(context.Background(), strings.Fields(args), ".", &out, &out); got != c.code ||
			!strings.Contains(out.String(), c.want) {
			t.Errorf("%s: exit status %d, want %d, %q in:\n%s", c.args, got, c.code, c.want, &out)
		}
	}
}

// Names in a list may have blanks around them.
func TestModelsAreNamedWithBlanks(t *testing.T) {
	t.Parallel()
	all := []*schema.Entity{{Name: "Shop"}, {Name: "Owner"}, {Name: "Price"}}
	got, err := modelsNamed(all, "Shop, Owner")
	if err != nil || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
}
