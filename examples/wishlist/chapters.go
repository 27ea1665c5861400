package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/itemize/itemize/examples/internal/output"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/examples/wishlist/store"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

// store saves the user in both layouts, and shows the items.
func (p *program) store(ctx context.Context) error {
	u := theUser()
	one, err := p.documents.Save(ctx, p.documents.New(document(u)))
	if err != nil {
		return err
	}
	many, err := p.users.Save(ctx, p.users.New(u), mapper.Independent())
	if err != nil {
		return err
	}
	p.title("One user, 150 KB: one item, and an item collection")
	p.items(one)
	p.printf("\n")
	p.items(many)
	return nil
}

// items draws items as bars, by size.
func (p *program) items(r *mapper.Receipt) {
	w := tabwriter.NewWriter(p.w, 0, 0, 2, ' ', 0)
	for _, it := range r.Predicted().Items {
		sort := it.Sort
		if sort == "" {
			sort = "(everything)"
		}
		fmt.Fprintf(w, "  %s\t%s\t%8d B\t%s\n", it.Partition, sort, it.NewBytes,
			strings.Repeat("#", 1+it.NewBytes/(3*kb)))
	}
	w.Flush()
	items := "items"
	if len(r.Predicted().Items) == 1 {
		items = "item"
	}
	p.printf("  %d %s, %v WCU to store\n", len(r.Predicted().Items), items, output.WCU(r))
}

// queries runs the queries of the article in their order, and shows the request of each.
func (p *program) queries(ctx context.Context) error {
	user := store.UserByID(userID)
	public := user.Public()
	p.title("The queries of the article, eventually consistent")
	w := tabwriter.NewWriter(p.w, 0, 0, 2, ' ', 0)
	defer w.Flush()
	for _, q := range []struct {
		what string
		run  func(*mapper.Receipt) (string, error)
	}{
		{"all of the user", p.load(ctx, user)},
		{"the user's information", p.load(ctx, user.U())},
		{"the addresses", p.load(ctx, user.U().Address())},
		{"one item", p.load(ctx, user.Root())},
		{"all wish lists", p.wishes(ctx, user.M().WishList().Query())},
		{"the public list", p.wishes(ctx, public.Query())},
		{"the same, newest first", p.wishes(ctx, public.Reverse())},
		{"added in 2021", p.wishes(ctx, public.Year(2021).Query())},
		{"added in November 2021", p.wishes(ctx, public.Month(2021, time.November).Query())},
	} {
		var r mapper.Receipt
		found, err := q.run(&r)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "  %s\t%5.1f RCU\t%s\n  \t\t%s\n", q.what, output.RCU(&r), found, p.asked.last)
	}
	return nil
}

// load loads a selection and prints which items it had.
func (p *program) load(ctx context.Context, s query.Selection[store.User]) func(*mapper.Receipt) (string, error) {
	return func(r *mapper.Receipt) (string, error) {
		e, err := p.users.Load(ctx, s, mapper.ReceiptTo(r))
		if err != nil {
			return "", err
		}
		return contents(e.Value), nil
	}
}

// contents returns the names of the loaded parts of a user.
func contents(u store.User) string {
	var parts []string
	add := func(there bool, name string) {
		if there {
			parts = append(parts, name)
		}
	}
	add(u.Display != store.Display{}, "preferences")
	add(u.Cart != store.Cart{}, "cart")
	add(u.History != store.History{}, "history")
	add(len(u.Private) > 0, fmt.Sprint(len(u.Private), " private wish"))
	add(len(u.Public) > 0, fmt.Sprint(len(u.Public), " public wishes"))
	add(u.Delivery != nil, "delivery")
	add(u.Home != store.Address{}, "home")
	add(u.Email != "", u.Email)
	return strings.Join(parts, ", ")
}

func (p *program) wishes(ctx context.Context, q *query.Query[store.User, store.Wish]) func(*mapper.Receipt) (string,
	error) {
	return func(r *mapper.Receipt) (string, error) {
		var titles []string
		for wish, err := range q.All(ctx, p.users, mapper.ReceiptTo(r)) {
			if err != nil {
				return "", err
			}
			titles = append(titles, wish.Title)
		}
		return strings.Join(titles, ", "), nil
	}
}

// email reads and changes the e-mail address in both layouts.
func (p *program) email(ctx context.Context) error {
	p.title("Reading and changing the e-mail address")
	w := tabwriter.NewWriter(p.w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "  \tread\tchange\trequests\n")
	var read mapper.Receipt
	doc, err := p.documents.Load(ctx, store.DocumentByID(userID), mapper.ReceiptTo(&read))
	if err != nil {
		return err
	}
	doc.Value.Email = "ann@example.org"
	wrote, err := p.documents.Save(ctx, doc)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "  one item\t%v RCU\t%v WCU\t%d + %d\n", output.RCU(&read), output.WCU(wrote),
		read.Predicted().Requests, wrote.Predicted().Requests)
	user, err := p.users.Load(ctx, store.UserByID(userID).Root(), mapper.ReceiptTo(&read))
	if err != nil {
		return err
	}
	user.Value.Email = "ann@example.org"
	if wrote, err = p.users.Save(ctx, user); err != nil {
		return err
	}
	fmt.Fprintf(w, "  item collection\t%v RCU\t%v WCU\t%d + %d\n", output.RCU(&read), output.WCU(wrote),
		read.Predicted().Requests, wrote.Predicted().Requests)
	w.Flush()
	if wrote, err = p.users.Save(ctx, user); err != nil {
		return err
	}
	p.printf("\n  Saving it again, with nothing changed: %d requests.\n", wrote.Predicted().Requests)
	return nil
}

// breakEven compares the total charge of 100 values, 50 KB together, after each update. The values are
// in one item, in 100 items written one by one, or in 100 items written in one transaction.
func (p *program) breakEven(ctx context.Context) error {
	const updates = 5
	profile := theProfile()
	large := p.large.New(store.ProfileDocument{ID: profile.ID, Email: profile.Email, Values: profile.Values})
	small := p.profiles.New(profile)
	// the transaction's units are predicted, because engines report them differently
	plan, err := p.profiles.PlanSave(small)
	if err != nil {
		return err
	}
	atOnce := plan.WCU.Max
	var one, many float64
	p.title("The break-even: 100 values of 50 KB in all, and updates of one of them (WCU so far)")
	w := tabwriter.NewWriter(p.w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\tone item\t100 items\t100 items, inserted in one transaction*\t\n")
	for n := range updates + 1 {
		if n > 0 {
			email := fmt.Sprintf("ann%d@example.com", n)
			large.Value.Email, small.Value.Email = email, email
		}
		a, err := p.large.Save(ctx, large)
		if err != nil {
			return err
		}
		b, err := p.profiles.Save(ctx, small, mapper.Independent())
		if err != nil {
			return err
		}
		one, many = one+output.WCU(a), many+output.WCU(b)
		if n > 0 {
			atOnce += output.WCU(b)
		}
		fmt.Fprintf(w, "%s\t%v\t%v%s\t%v%s\t\n", after(n), one, many, mark(many, one), atOnce, mark(atOnce, one))
	}
	w.Flush()
	p.printf("\n  < cheaper than one item from here on\n  * the insert as predicted: %s\n", describe(plan.WCU))
	return nil
}

func after(n int) string {
	switch n {
	case 0:
		return "stored"
	case 1:
		return "1 update"
	}
	return fmt.Sprint(n, " updates")
}

func mark(split, whole float64) string {
	if split < whole {
		return " <"
	}
	return "  "
}

func describe(u cost.Units) string { return fmt.Sprintf("%s WCU, two for each item", u) }
