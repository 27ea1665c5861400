// The program shop puts a model over a table that other programs have written for years: keys of
// theirs, no versions, unknown attributes and items. It shows what a save protects, and what it cannot.
// docs/existing-tables.md describes the steps.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/integration"
	"github.com/itemize/itemize/mapper"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	engine, err := integration.Start(ctx)
	if err == nil {
		defer engine.Stop()
		err = run(ctx, os.Stdout, engine)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

// run runs the program in a table of its own, which it deletes at the end.
func run(ctx context.Context, w io.Writer, engine *integration.Engine) (err error) {
	table := fmt.Sprintf("shop-%d", time.Now().UnixNano())
	if err := engine.CreateTable(ctx, table, "pk:S", "sk:S"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.DeleteTable(context.WithoutCancel(ctx), table)) }()
	before := old{engine.Client(), table}
	if err := before.fill(ctx); err != nil {
		return err
	}
	customers, err := mapper.New[Customer](engine.Client(), mapper.Table(table))
	if err != nil {
		return err
	}
	p := &program{w, before, customers}
	for _, step := range []func(context.Context) error{p.read, p.save, p.conflict, p.elsewhere, p.add, p.close} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

type program struct {
	io.Writer
	old       old
	customers *mapper.Mapper[Customer]
}

func (p *program) say(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// read loads what the other programs have written.
func (p *program) read(ctx context.Context) error {
	e, err := p.customers.Load(ctx, CustomerByNumber("4711"))
	if err != nil {
		return err
	}
	c := e.Value
	p.say("load: %s <%s>, edition %d, %d cents, an order of %s, %s", c.Name, c.Mail, c.Edition, c.Balance.Cents,
		c.Orders[0].Placed.Format(time.DateOnly), c.Orders[0].State)
	p.say("      %d item of no field stays out", e.Unknown())
	return nil
}

// save changes one item. Its first write gives the item a version.
func (p *program) save(ctx context.Context) error {
	_, err := p.customers.Update(ctx, CustomerByNumber("4711"), func(c *Customer) error {
		c.Mail = "ann@example.org"
		c.Edition++ // for the other programs, which compare it
		return nil
	})
	if err != nil {
		return err
	}
	return p.show(ctx, "save", "profile")
}

// conflict saves over a change of another program.
func (p *program) conflict(ctx context.Context) error {
	e, err := p.customers.Load(ctx, CustomerByNumber("4711"))
	if err != nil {
		return err
	}
	if err := p.old.setMail(ctx, "4711", "ann@old.example"); err != nil {
		return err
	}
	e.Value.Mail = "ann@new.example"
	_, err = p.customers.Save(ctx, e)
	var conflict *mapper.ConflictError
	if !errors.As(err, &conflict) {
		return fmt.Errorf("the change of the other program was overwritten: %w", err)
	}
	p.say("another program changes the address first: a conflict")
	return nil
}

// elsewhere saves next to a change of an attribute that the save does not write: both stay.
func (p *program) elsewhere(ctx context.Context) error {
	e, err := p.customers.Load(ctx, CustomerByNumber("4711"))
	if err != nil {
		return err
	}
	if err := p.old.setCarrier(ctx, "4711", "order|2019-03-04|17", "bicycle"); err != nil {
		return err
	}
	e.Value.Orders[0].State = "sent"
	if _, err := p.customers.Save(ctx, e); err != nil {
		return err
	}
	return p.show(ctx, "another program changes the carrier, and the save the state: both stay", "order|2019-03-04|17")
}

// add adds an order, which the other programs find under their key.
func (p *program) add(ctx context.Context) error {
	order := Order{time.Date(2026, time.November, 27, 0, 0, 0, 0, time.UTC), "18", "new", 2100}
	if _, err := CustomerByNumber("4711").Orders().Add(order).Exec(ctx, p.customers); err != nil {
		return err
	}
	return p.show(ctx, "add an order", "order|2026-11-27|18")
}

// close shows a delete by another program: it leaves items, and the entity does not exist any more.
func (p *program) close(ctx context.Context) error {
	e, err := p.customers.Load(ctx, CustomerByNumber("4711"))
	if err != nil {
		return err
	}
	if err := p.old.closeAccount(ctx, "4711"); err != nil {
		return err
	}
	e.Value.Orders = append(e.Value.Orders, Order{Placed: time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC), No: "19"})
	if _, err := p.customers.Save(ctx, e); !errors.Is(err, mapper.ErrNotFound) {
		return fmt.Errorf("an order was added to a closed account: %w", err)
	}
	p.say("another program deletes the profile: a save that adds an order is refused")
	_, err = p.customers.Save(ctx, p.customers.New(Customer{Number: "4711", Name: "Cid"}))
	if err != nil {
		return err
	}
	e, err = p.customers.Load(ctx, CustomerByNumber("4711"))
	if err != nil {
		return err
	}
	p.say("a new customer with this number has %d orders: the other program left them, without an incarnation",
		len(e.Value.Orders))
	return nil
}

// show prints an item as the other programs see it.
func (p *program) show(ctx context.Context, what, sk string) error {
	item, err := p.old.get(ctx, "4711", sk)
	if err != nil {
		return err
	}
	var texts []string
	for name, v := range item {
		var value any
		switch v := v.(type) {
		case *types.AttributeValueMemberB:
			value = fmt.Sprintf("(%d bytes)", len(v.Value))
		case *types.AttributeValueMemberN:
			value = v.Value
		default:
			if err := attributevalue.Unmarshal(v, &value); err != nil {
				return err
			}
		}
		texts = append(texts, fmt.Sprintf("%s: %v", name, value))
	}
	slices.Sort(texts)
	p.say("%s\n      %s", what, strings.Join(texts, ", "))
	return nil
}
