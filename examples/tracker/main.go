// Tracker is a project tracker: members, tickets, comments, counters and activity in one table, with an
// HTTP interface. Without flags it starts an engine, runs the operations of a day, and prints the
// charge of each. With -listen it serves HTTP.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/examples/tracker/store"
	"github.com/itemize/itemize/examples/tracker/web"
	"github.com/itemize/itemize/integration"
	"github.com/itemize/itemize/mapper"
)

func main() {
	listen := flag.String("listen", "", "serve on this address, such as localhost:8080")
	flag.Parse()
	if err := start(context.Background(), *listen); err != nil {
		fmt.Fprintln(os.Stderr, "tracker:", err)
		os.Exit(1)
	}
}

func start(ctx context.Context, listen string) error {
	engine, err := integration.Start(ctx)
	if err != nil {
		return err
	}
	defer engine.Stop()
	client := engine.Client()
	if err := createTable(ctx, client, "tracker"); err != nil {
		return err
	}
	if listen == "" {
		return day(ctx, os.Stdout, client)
	}
	t, err := NewTracker(client, []byte(cursorKey()))
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "on http://%s, with %s\n", listen, engine.Name)
	return http.ListenAndServe(listen, web.Handler(served{t}))
}

// cursorKey returns the key that signs cursors. Processes that continue each other's lists share it.
func cursorKey() string {
	if k := os.Getenv("TRACKER_CURSOR_KEY"); k != "" {
		return k
	}
	return "for examples only: 32 random bytes"
}

func createTable(ctx context.Context, client *dynamodb.Client, name string) error {
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("PK"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("SK"), KeyType: types.KeyTypeRange},
		},
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("PK"), AttributeType: "S"},
			{AttributeName: aws.String("SK"), AttributeType: "S"},
		},
	})
	return err
}

// day runs the operations of a day, and prints the charge of each. The units of transactions are
// predicted, because local engines do not report all of them.
func day(ctx context.Context, out io.Writer, client mapper.Client, options ...mapper.Option) error {
	t, err := NewTracker(client, []byte(cursorKey()), options...)
	if err != nil {
		return err
	}
	at := time.Date(2021, time.November, 14, 9, 0, 0, 0, time.UTC)
	t.now = func() time.Time { at = at.Add(time.Minute); return at }
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(what string, r *mapper.Receipt, err error) error {
		if err == nil {
			fmt.Fprintf(w, "%s\t%d requests\t%.1f WCU\t%.1f RCU\n", what, r.Predicted().Requests,
				r.Predicted().WCU.Expected, r.Predicted().RCU.Expected)
		}
		return err
	}
	const tenant, project = "acme", "rockets"
	r, err := t.CreateProject(ctx, tenant, project, "Rockets")
	if err := row("create a project", r, err); err != nil {
		return err
	}
	r, err = t.SetMember(ctx, tenant, project, "ada", store.Member{Role: "lead", Email: "ada@example.com"})
	if err := row("add a member", r, err); err != nil {
		return err
	}
	for i := range 80 {
		_, r, err = t.OpenTicket(ctx, tenant, project, fmt.Sprintf("Ticket %d", i+1), strings.Repeat("x", 20_000))
		if err != nil {
			return err
		}
	}
	if err := row("open a ticket, with a text of 20 KB", r, nil); err != nil {
		return err
	}
	r, err = t.Comment(ctx, web.At{Tenant: tenant, Project: project, Number: 7},
		store.Comment{At: t.now(), Author: "ada", Text: "I have seen that too."})
	if err := row("comment on it", r, err); err != nil {
		return err
	}
	r, err = t.CloseTicket(ctx, web.At{Tenant: tenant, Project: project, Number: 7})
	if err := row("close it", r, err); err != nil {
		return err
	}
	r, err = t.Label(ctx, web.At{Tenant: tenant, Project: project, Number: 8}, []string{"urgent"}, nil)
	if err := row("label it", r, err); err != nil {
		return err
	}
	page, err := t.Tickets(ctx, tenant, project, 20, "")
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "list the heads of %d of 80\t1 request\t0.0 WCU\t%.1f RCU\n", len(page.Items), page.RCU)
	var read mapper.Receipt
	opened := keyOf(web.At{Tenant: tenant, Project: project, Number: 7})
	if _, err := t.tickets.Load(ctx, opened, mapper.ReceiptTo(&read)); err != nil {
		return err
	}
	if err := row("open one, with text and comments", &read, nil); err != nil {
		return err
	}
	return w.Flush()
}
