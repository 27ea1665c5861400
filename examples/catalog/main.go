// The program catalog stores products in three tables, ProductCatalog, ProductAvailability and
// ExtendedProductCatalog, which the Developer Guide's guidelines for items propose. It stores labels as
// one item each. For each operation it prints the engine's charge, and the charge of the same operation
// on a product in one item with its labels in a set.
//
//	go run ./examples/catalog
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/itemize/itemize/examples/internal/output"
	"github.com/itemize/itemize/large/s3store"
	"github.com/itemize/itemize/tables"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/itemize/itemize/integration"
	"github.com/itemize/itemize/large"
	"github.com/itemize/itemize/mapper"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := start(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "catalog:", err)
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
	objects, err := integration.StartS3(ctx)
	if err != nil {
		return err
	}
	defer objects.Stop()
	return run(ctx, w, engine, s3.NewFromConfig(objects.Config()))
}

// program has the mappers of both layouts, and prints a table.
type program struct {
	w        *tabwriter.Writer
	products *mapper.Mapper[Product]
	shelves  *mapper.Mapper[Shelf]
	one      *mapper.Mapper[OneItem]
}

// run runs the program in tables of its own, which it deletes at the end.
func run(ctx context.Context, w io.Writer, engine *integration.Engine, objects *s3.Client) (err error) {
	client := engine.Client()
	prefix := fmt.Sprintf("catalog-%d-", time.Now().UnixNano())
	named := mapper.Tables(func(name string) string { return prefix + name })
	p := &program{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	var errs [3]error
	bucket := func(name string) string { return prefix + name }
	// A table whose only key is a number can hold nothing but products, so the records of the images
	// are in another table.
	records := mapper.LargeRecords(prefix + "ProductRecords")
	p.products, errs[0] = mapper.New[Product](client, named, records,
		s3store.Objects(objects, s3store.Buckets(bucket)))
	p.shelves, errs[1] = mapper.New[Shelf](client, named)
	p.one, errs[2] = mapper.New[OneItem](client, named)
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	all, err := tables.Join(tables.Of(p.products), tables.Of(p.shelves), tables.Of(p.one))
	if err != nil {
		return err
	}
	for _, d := range all {
		if _, err := client.CreateTable(ctx, d.Create); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, engine.DeleteTable(context.WithoutCancel(ctx), d.Name)) }()
	}
	if _, err := objects.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(bucket("images"))}); err != nil {
		return err
	}
	fmt.Fprintf(p.w, "\tthree tables\tone item\n")
	for _, step := range []func(context.Context) error{p.price, p.display, p.labels, p.image} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return p.w.Flush()
}

// bicycle returns a product with 3 KB in ProductCatalog and 5 KB in ExtendedProductCatalog, which few
// requests read.
func bicycle() Product {
	return Product{
		ID: 302, Title: "Red Bicycle", Description: strings.Repeat("Classic red bicycle. ", 138), Price: 125,
		Quantity:   8,
		Dimensions: strings.Repeat("23 x 105 x 180 cm; ", 270),
	}
}

// price changes a price: with a patch, which reads nothing, and in the one item.
func (p *program) price(ctx context.Context) error {
	b := bicycle()
	if _, err := p.products.Save(ctx, p.products.New(b), mapper.Independent()); err != nil {
		return err
	}
	same := OneItem{
		ID: b.ID, Title: b.Title, Description: b.Description, Price: b.Price, Quantity: b.Quantity,
		Dimensions: b.Dimensions,
	}
	if _, err := p.one.Save(ctx, p.one.New(same)); err != nil {
		return err
	}
	split, err := ProductByID(b.ID).Availability().Patch(ProductFields.Price.Set(99)).Exec(ctx, p.products)
	if err != nil {
		return err
	}
	whole, err := OneItemByID(b.ID).Patch(OneItemFields.Price.Set(99)).Exec(ctx, p.one)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.w, "a price changes\t%v WCU\t%v WCU\n", output.WCU(split), output.WCU(whole))
	return nil
}

// display loads the displayed part, one item of one table, and then the whole product.
func (p *program) display(ctx context.Context) error {
	var part, all, whole mapper.Receipt
	if _, err := p.products.Load(ctx, ProductByID(302).Root(), mapper.ReceiptTo(&part)); err != nil {
		return err
	}
	e, err := p.products.Load(ctx, ProductByID(302), mapper.ReceiptTo(&all))
	if err != nil {
		return err
	}
	if e.Value.Price != 99 {
		return fmt.Errorf("the price is wrong: %v", e.Value.Price)
	}
	if _, err := p.one.Load(ctx, OneItemByID(302), mapper.ReceiptTo(&whole)); err != nil {
		return err
	}
	fmt.Fprintf(p.w, "it is displayed\t%v RCU\t%v RCU\n", output.RCU(&part), output.RCU(&whole))
	fmt.Fprintf(p.w, "with all there is\t%v RCU\t%v RCU\n", output.RCU(&all), output.RCU(&whole))
	return nil
}

// labels adds a label to a shelf with many labels. It writes one small item; the other layout writes
// the whole set again.
func (p *program) labels(ctx context.Context) error {
	shelf, set := Shelf{Name: "A", Room: "1"}, OneItem{ID: 1}
	for i := range 90 {
		label := fmt.Sprintf("label %d %s", i, strings.Repeat("x", 40))
		shelf.Labels, set.Labels = append(shelf.Labels, label), append(set.Labels, label)
	}
	if _, err := p.shelves.Save(ctx, p.shelves.New(shelf), mapper.Independent()); err != nil {
		return err
	}
	if _, err := p.one.Save(ctx, p.one.New(set)); err != nil {
		return err
	}
	split, err := ShelfByName("A").Labels().Add("one more").Exec(ctx, p.shelves)
	if err != nil {
		return err
	}
	whole, err := OneItemByID(1).Patch(OneItemFields.Labels.Add("one more")).Exec(ctx, p.one)
	if err != nil {
		return err
	}
	n, err := ShelfByName("A").Labels().Count(ctx, p.shelves)
	if err != nil || n != 91 {
		return fmt.Errorf("%d labels: %w", n, err)
	}
	fmt.Fprintf(p.w, "one more of 90 labels\t%v WCU\t%v WCU\n", output.WCU(split), output.WCU(whole))
	return nil
}

// image stores an image that is too large for an item, and shows it by an address that is valid for one
// minute. It then replaces the image and deletes the old object, as a collection does some hours later.
func (p *program) image(ctx context.Context) error {
	for _, kb := range []int{2048, 1024} {
		r, err := p.products.Update(ctx, ProductByID(302).Root(), func(v *Product) error {
			v.Image.Set(make([]byte, kb<<10))
			return nil
		})
		if err != nil {
			return err
		}
		// Planned, since DynamoDB Local counts a transaction otherwise.
		fmt.Fprintf(p.w, "an image of %d MB\t%v WCU, %d object\tno item holds it\n", kb>>10, r.Predicted().WCU.Expected,
			r.Predicted().Objects.Puts)
	}
	e, err := p.products.Load(ctx, ProductByID(302).Root())
	if err != nil {
		return err
	}
	address, err := e.Value.Image.PresignGet(ctx, time.Minute)
	if err != nil {
		return err
	}
	answer, err := http.Get(address)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	n, err := io.Copy(io.Discard, answer.Body)
	if err != nil {
		return err
	}
	found, err := large.Collect(ctx, p.products)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.w, "it is shown\t%d KB, by its address\t\n", n>>10)
	fmt.Fprintf(p.w, "nothing points to the first\t%d of %d values\t\n", found.Unreferenced, found.Values)
	return nil
}
