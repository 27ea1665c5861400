// The program packages stores documents of a package registry twice: as one item, and as an item
// collection. It compares their sizes and the charges of a new release, a moved tag and a query for the
// releases of a month. It computes the monthly cost of several layouts and proposes the cheapest. Then
// it migrates: packages that are one item become item collections while an application updates them. It
// starts a DynamoDB engine, and prints the figures that the engine reports.
//
//	go run ./examples/packages [FILE.json ...]
//
// Without files it reads a document of this directory.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"text/tabwriter"
	"time"

	"github.com/itemize/itemize/examples/internal/output"

	"github.com/itemize/itemize/examples/packages/registry"
	"github.com/itemize/itemize/integration"
	"github.com/itemize/itemize/mapper"
)

//go:embed testdata/express.json
var express []byte

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := start(ctx, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "packages:", err)
		os.Exit(1)
	}
}

// start runs the program on an engine that it starts.
func start(ctx context.Context, w io.Writer, files []string) error {
	documents := [][]byte{express}
	if len(files) > 0 {
		documents = nil
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		documents = append(documents, b)
	}
	engine, err := integration.Start(ctx)
	if err != nil {
		return err
	}
	defer engine.Stop()
	return run(ctx, w, engine, documents)
}

// program has the mappers of the two layouts.
type program struct {
	w         io.Writer
	packages  *mapper.Mapper[registry.Package]
	documents *mapper.Mapper[registry.Document]
}

// run runs the program in tables of its own, which it deletes at the end.
func run(ctx context.Context, w io.Writer, engine *integration.Engine, documents [][]byte) (err error) {
	prefix := fmt.Sprintf("packages-%d-", time.Now().UnixNano())
	for name, key := range map[string][2]string{"packages": {"PK:S", "SK:S"}, "documents": {"name:S", ""}} {
		if err := engine.CreateTable(ctx, prefix+name, key[0], key[1]); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, engine.DeleteTable(context.WithoutCancel(ctx), prefix+name)) }()
	}
	tables := mapper.Tables(func(name string) string { return prefix + name })
	p := &program{w: w}
	var errs [2]error
	p.packages, errs[0] = mapper.New[registry.Package](engine.Client(), tables)
	p.documents, errs[1] = mapper.New[registry.Document](engine.Client(), tables)
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	for _, b := range documents {
		var d registry.Document
		if err := json.Unmarshal(b, &d); err != nil {
			return err
		}
		if err := p.compare(ctx, d); err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
		if err := moving(ctx, w, engine, d); err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
	}
	return nil
}

// compare stores a document in both layouts, and runs the same operations on both.
func (p *program) compare(ctx context.Context, d registry.Document) error {
	one := p.documents.New(d)
	stored, err := p.documents.Save(ctx, one)
	if err != nil {
		return err
	}
	many := p.packages.New(d.Package())
	split, err := p.packages.Save(ctx, many, mapper.Independent())
	if err != nil {
		return err
	}
	fmt.Fprintf(p.w, "%s, %d releases\n\n", d.Name, len(d.Time))
	w := tabwriter.NewWriter(p.w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "  \tone item\titem collection\n")
	fmt.Fprintf(w, "  stored\t%d B, %v WCU\t%d items, %d B, %v WCU\n",
		sizeOf(stored), output.WCU(stored), len(split.Predicted().Items), sizeOf(split), output.WCU(split))
	for _, step := range []func(context.Context, io.Writer, *mapper.Entity[registry.Document],
		*mapper.Entity[registry.Package]) error{
		p.release, p.tag, p.month,
	} {
		if err := step(ctx, w, one, many); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return month(p.w, d)
}

func sizeOf(r *mapper.Receipt) (n int) {
	for _, it := range r.Predicted().Items {
		n += it.NewBytes
	}
	return n
}

// release publishes a version, a day after the newest one.
func (p *program) release(ctx context.Context, w io.Writer, one *mapper.Entity[registry.Document],
	many *mapper.Entity[registry.Package],
) error {
	r := registry.Release{At: newest(one.Value).AddDate(0, 0, 1), Version: "99.0.0", Listed: true}
	one.Value.Time[r.Version] = r.At
	one.Value.Versions = append(one.Value.Versions, r.Version)
	many.Value.Releases = append(many.Value.Releases, r)
	return p.save(ctx, w, "a new release", one, many)
}

// tag moves the tag latest to the new release.
func (p *program) tag(ctx context.Context, w io.Writer, one *mapper.Entity[registry.Document],
	many *mapper.Entity[registry.Package],
) error {
	one.Value.Tags["latest"] = "99.0.0"
	many.Value.Tags["latest"] = "99.0.0"
	return p.save(ctx, w, "a moved tag", one, many)
}

func (p *program) save(ctx context.Context, w io.Writer, what string, one *mapper.Entity[registry.Document],
	many *mapper.Entity[registry.Package],
) error {
	a, err := p.documents.Save(ctx, one)
	if err != nil {
		return err
	}
	b, err := p.packages.Save(ctx, many)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "  %s\t%v WCU\t%v WCU\n", what, output.WCU(a), output.WCU(b))
	return nil
}

// month reads the releases of the month before the newest release.
func (p *program) month(ctx context.Context, w io.Writer, one *mapper.Entity[registry.Document],
	_ *mapper.Entity[registry.Package],
) error {
	last := newest(one.Value)
	month := time.Date(last.Year(), last.Month()-1, 1, 0, 0, 0, 0, time.UTC)
	var a, b mapper.Receipt
	d, err := p.documents.Load(ctx, one, mapper.ReceiptTo(&a))
	if err != nil {
		return err
	}
	n := 0
	for _, at := range d.Value.Time {
		if at = at.UTC(); at.Year() == month.Year() && at.Month() == month.Month() {
			n++
		}
	}
	q := registry.PackageByName(d.Value.Name).Releases().Month(month.Year(), month.Month())
	releases, err := q.Collect(ctx, p.packages, mapper.ReceiptTo(&b))
	if err != nil {
		return err
	}
	if len(releases) != n {
		return fmt.Errorf("the releases differ: %d of %s in the document, %d in the collection", n,
			month.Format("2006-01"),
			len(releases))
	}
	fmt.Fprintf(w, "  releases of last month (%d)\t%v RCU\t%v RCU\n", n, output.RCU(&a), output.RCU(&b))
	return nil
}

func newest(d registry.Document) (last time.Time) {
	for _, at := range d.Time {
		if at.After(last) {
			last = at
		}
	}
	return last.UTC()
}
