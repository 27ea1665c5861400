// The program wishlist is the article "Use vertical partitioning to scale data efficiently in Amazon
// DynamoDB" as code: its user and each of its queries, in their order. It changes the e-mail address,
// which costs 150 WCU in one large item and 1 WCU in an item collection. It computes the number of
// updates after which the split has paid for itself. It starts a DynamoDB engine, and prints the
// figures that the engine reports.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/examples/wishlist/store"
	"github.com/itemize/itemize/integration"
	"github.com/itemize/itemize/mapper"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := start(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "wishlist:", err)
		os.Exit(1)
	}
}

// start runs the program on an engine that it starts.
func start(ctx context.Context, w io.Writer) error {
	engine, err := integration.Start(ctx)
	if err != nil {
		return err
	}
	defer engine.Stop()
	return run(ctx, w, engine)
}

// program has the mappers, one for each model.
type program struct {
	w         io.Writer
	asked     *recorder
	users     *mapper.Mapper[store.User]
	documents *mapper.Mapper[store.Document]
	profiles  *mapper.Mapper[store.Profile]
	large     *mapper.Mapper[store.ProfileDocument]
}

// run runs the program in tables of its own, which it deletes at the end.
func run(ctx context.Context, w io.Writer, engine *integration.Engine) (err error) {
	prefix := fmt.Sprintf("wishlist-%d-", time.Now().UnixNano())
	for name, key := range map[string][2]string{
		"users": {"PK:S", "SK:S"}, "documents": {"ID:S", ""},
		"profiles": {"ID:S", ""},
	} {
		if err := engine.CreateTable(ctx, prefix+name, key[0], key[1]); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, engine.DeleteTable(context.WithoutCancel(ctx), prefix+name)) }()
	}
	p, err := newProgram(w, engine.Client(), mapper.Tables(func(name string) string { return prefix + name }))
	if err != nil {
		return err
	}
	for _, chapter := range []func(context.Context) error{p.store, p.queries, p.email, p.breakEven} {
		if err := chapter(ctx); err != nil {
			return err
		}
	}
	return nil
}

func newProgram(w io.Writer, c *dynamodb.Client, tables mapper.Option) (*program, error) {
	client := &recorder{Client: c}
	p := &program{w: w, asked: client}
	var errs [4]error
	p.users, errs[0] = mapper.New[store.User](client, tables)
	p.documents, errs[1] = mapper.New[store.Document](client, tables)
	p.profiles, errs[2] = mapper.New[store.Profile](client, tables)
	p.large, errs[3] = mapper.New[store.ProfileDocument](client, tables)
	return p, errors.Join(errs[:]...)
}

func (p *program) printf(format string, args ...any) { fmt.Fprintf(p.w, format, args...) }

func (p *program) title(text string) { p.printf("\n%s\n\n", text) }
