package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/stream"
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
		{"stream plan -poll 0s", exitUsage, "-poll 0s: write a millisecond or more, such as 5s"},
		{"stream plan more", exitUsage, "unexpected argument more"},
		{
			"stream drive -endpoint URL -leases LEASES -table users", exitFaults,
			"the group default of the table users: it does not exist",
		},
		{"stream letter", exitUsage, "did you mean stream letters?"},
		{"stream delete -endpoint URL -leases LEASES -table users", exitUsage, "-group is missing"},
		{
			"stream delete -endpoint URL -leases LEASES -table users -group default", exitFaults,
			"the group default of the table users: it does not exist",
		},
	} {
		var out bytes.Buffer
		args := strings.NewReplacer("URL", engine.Endpoint, "LEASES", leases).Replace(c.args)
		if got := run(context.Background(), strings.Fields(args), ".", &out, &out); got != c.code ||
			!strings.Contains(out.String(), c.want) {
			t.Errorf("%s: exit status %d, want %d, %q in:\n%s", c.args, got, c.code, c.want, &out)
		}
	}
}

// A group that is deleted begins again.
func TestStreamDeleteEndsAGroup(t *testing.T) {
	engine, leases := testengine.Start(t), testengine.Table(t, "PK:S", "SK:S")
	ctx, client := context.Background(), engine.Client()
	in := stream.LeaseTable(leases + "-users")
	in.StreamSpecification = stream.Specification()
	if _, err := client.CreateTable(ctx, in); err != nil {
		t.Fatal(err)
	}
	o := client.Options()
	router := stream.NewRouter()
	router.Unmatched(func(context.Context, *stream.Record) error { return nil })
	c, err := stream.NewConsumer(client, dynamodbstreams.New(dynamodbstreams.Options{
		Region: o.Region, Credentials: o.Credentials, BaseEndpoint: o.BaseEndpoint,
	}), *in.TableName, router, stream.Leases(leases), stream.Interval(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- c.Run(running) }()
	for c.Stats().Shards == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	args := []string{
		"stream", "delete", "-endpoint", engine.Endpoint, "-leases", leases, "-table", *in.TableName, "-group",
		"default",
	}
	for i, want := range []string{"deleted the group default", "it does not exist"} {
		var out bytes.Buffer
		if code := run(ctx, args, ".", &out, &out); code != []int{exitOK, exitFaults}[i] ||
			!strings.Contains(out.String(), want) {
			t.Errorf("exit status %d, want %q in:\n%s", code, want, &out)
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
