package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/stream"
)

const streamOverview = `Look at the consumers of a change stream (package stream).

  itemize stream plan       print what an idle consumer costs
  itemize stream letters    list the dead letters of a consumer group
  itemize stream drive      let a running worker handle them again
  itemize stream delete     delete the positions of a consumer group
`

var streamWords = []string{"plan", "letters", "drive", "delete"}

var streamHelp = map[string]help{
	"plan": {
		"stream plan", "", "Print the predicted price of a consumer that has nothing to handle. It sends nothing.",
		[]string{"stream plan -shards 1000 -workers 3"},
	},
	"letters": {
		"stream letters", "", "List the dead letters of a consumer group: positions, keys and errors.",
		[]string{"stream letters -table users", "stream letters -table users -group search -leases prod-leases -json"},
	},
	"drive": {
		"stream drive", "",
		"Let a running worker of a group handle its dead letters again. A letter that succeeds is " +
			"deleted.\nIt comes after later changes of its item.",
		[]string{"stream drive -table users", "stream drive -table users -group search -leases prod-leases"},
	},
	"delete": {
		"stream delete", "",
		"Delete the leases of a consumer group, so that it begins again, or another group can read the stream.\n" +
			"Stop its workers before. If the command fails, run it again. Dead letters stay.",
		[]string{"stream delete -table users -group search"},
	},
}

// stream runs itemize stream.
func (c *command) stream(args []string) error {
	return c.subcommand("stream", streamOverview, streamWords, args, func(word string, args []string) error {
		f := c.flags(streamHelp[word])
		if word == "plan" {
			return c.streamPlan(f, args)
		}
		return c.streamLetters(word, f, args)
	})
}

// parseAlone parses flags of a command without arguments.
func parseAlone(f *flags, args []string) error {
	if err := f.parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return usagef("unexpected argument %s: the command has flags only", f.Arg(0))
	}
	return nil
}

func (c *command) streamPlan(f *flags, args []string) error {
	asJSON := f.Bool("json", false, "print JSON")
	shards := f.Int("shards", 10, "`number` of open shards: about one for each partition of the table")
	workers := f.Int("workers", 1, "`number` of workers")
	interval := f.Duration("interval", 5*time.Second, "`time` between two beats")
	poll := f.Duration("poll", time.Second, "`time` between two reads of a shard without new records")
	if err := parseAlone(f, args); err != nil {
		return err
	}
	for name, d := range map[string]time.Duration{"-interval": *interval, "-poll": *poll} {
		if d < time.Millisecond {
			return usagef("%s %v: write a millisecond or more, such as 5s", name, d)
		}
	}
	p, err := stream.PlanConsumer(*shards, *workers, stream.Interval(*interval), stream.Poll(*poll))
	switch {
	case err != nil:
		return usageError{err}
	case *asJSON:
		return c.printJSON(p)
	}
	fmt.Fprintf(c.stdout, "%s, %s: %s\n", plural(*shards, "shard"), plural(*workers, "worker"), p)
	return nil
}

func (c *command) streamLetters(word string, f *flags, args []string) error {
	var r remote
	r.flags(f)
	asJSON := false
	if word == "letters" {
		f.BoolVar(&asJSON, "json", false, "print JSON")
	}
	table := f.String("table", "", "real `name` of the table with the stream")
	leases := f.String("leases", "stream-leases", "real `name` of the table of leases")
	group := f.String("group", "default", "`name` of the consumer group")
	if word == "delete" {
		*group = "" // it is named
	}
	if err := parseAlone(f, args); err != nil {
		return err
	}
	if *table == "" {
		return usagef("-table is missing: write the name of the table with the stream")
	}
	if *group == "" {
		return usagef("-group is missing: write the name of the group to delete")
	}
	client, err := c.client(&r, usualAttempts)
	if err != nil {
		return err
	}
	switch word {
	case "drive":
		return c.streamDrive(client, *leases, *table, *group)
	case "delete":
		if err := stream.DeleteGroup(c.ctx, client, *leases, *table, *group); err != nil {
			return err
		}
		fmt.Fprintf(c.stdout, "deleted the group %s of the table %s\n", *group, *table)
		return nil
	}
	letters, err := stream.Letters(c.ctx, client, *leases, *table, *group)
	if err != nil && len(letters) == 0 {
		return err
	}
	out := make([]shownLetter, len(letters))
	for i, l := range letters {
		keys, err := attributevalue.MarshalMapJSON(l.Keys)
		if err != nil {
			return err
		}
		text := l.Err.Error()
		if l.Attempts > 0 && l.New == nil && l.Old == nil {
			text += " (its text was not kept)"
		}
		out[i] = shownLetter{l.Shard, l.SequenceNumber, keys, l.Time, l.Attempts, text, l.New != nil ||
			l.Old != nil}
	}
	if asJSON {
		return errors.Join(c.printJSON(out), err)
	}
	fmt.Fprintln(c.stdout, plural(len(out), "dead letter"))
	for _, l := range out {
		fmt.Fprintf(c.stdout, "%s %s %s %s: %s after %s\n", l.Shard, strings.TrimLeft(l.Sequence, "0"),
			l.Time.UTC().Format(time.RFC3339), l.Keys, l.Error, plural(l.Attempts, "attempt"))
	}
	return err // about letters that cannot be read
}

func (c *command) streamDrive(client *dynamodb.Client, leases, table, group string) error {
	letters, err := stream.Letters(c.ctx, client, leases, table, group)
	if err == nil && len(letters) > 0 {
		err = stream.Drive(c.ctx, client, leases, table, group)
	}
	if err != nil {
		return err
	}
	fmt.Fprint(c.stdout, plural(len(letters), "dead letter"))
	if len(letters) > 0 {
		fmt.Fprint(c.stdout, ": a running worker of the group, or the next one, handles them again")
	}
	fmt.Fprintln(c.stdout)
	return nil
}

// shownLetter is a dead letter as it is printed.
type shownLetter struct {
	Shard    string          `json:"shard"`
	Sequence string          `json:"sequenceNumber"`
	Keys     json.RawMessage `json:"keys"`
	Time     time.Time       `json:"time"`
	Attempts int             `json:"attempts"`
	Error    string          `json:"error"`
	Values   bool            `json:"values"`
}
