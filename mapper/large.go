package mapper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/large"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/internal/staging"
	"github.com/itemize/itemize/internal/wire"
)

// What a mapper does with large values unless it is told otherwise.
const (
	// largeWithin is for how long the parts of a value may be sent after its record was made.
	largeWithin = time.Hour
	// largeFlying bounds the bytes of parts that are under way in one read or write, with what the SDK needs beside them.
	largeFlying = 16 << 20
	// maxValue is the most that a value may have which a load reads, in bytes.
	maxValue = 256 << 20
)

// largeSettings are the options of large values.
type largeSettings struct {
	records string
	objects large.Objects
	buckets func(string) string
	limit   int64
}

// LargeRecords names the table in which the records of large values lie, with keys PK and SK of type S, and the parts of
// those that have no table of their own. A model needs one where its own table cannot hold them: one without a
// sort key, or whose partition key is a value alone.
func LargeRecords(table string) Option {
	return optionFunc(func(s *settings) { s.large.records = table })
}

// MaxValue bounds the bytes of a large value that a load reads, or decompresses: 256 MB unless it is given. A larger one is an
// error, and bounds what damaged or hostile data can take.
func MaxValue(bytes int64) Option {
	return optionFunc(func(s *settings) { s.large.limit = bytes })
}

// Objects tells where the objects of large values lie: in S3, by blob.S3. buckets returns the real name of a bucket that a tag
// names, nil for the same.
func Objects(o large.Objects, buckets func(declared string) string) Option {
	return optionFunc(func(s *settings) { s.large.objects, s.large.buckets = o, buckets })
}

// outsides lists the attributes whose values may lie outside their items.
func outsides(e *schema.Entity) (all []*schema.Attribute) {
	for _, it := range e.Items {
		for _, a := range it.Attributes {
			if a.Large.Outside() {
				all = append(all, a)
			}
		}
	}
	return all
}

// homesOf returns where the large values of a model lie, nil for a model that has none outside of its items.
func (g *engine) homesOf(s *settings) (*large.Homes, error) {
	e := g.model.Schema
	all := outsides(e)
	if len(all) == 0 {
		return nil, nil
	}
	h := &large.Homes{Parts: map[string]*item.Table{}, Buckets: map[string]string{}, Delim: e.Delim, Root: rootOf(g.model), Place: placeOf(g.client)}
	h.Fits = func(t *item.Table, pk, sk key.Scalar) bool {
		x := e.Tables[t.Index]
		return pk.Type == x.HashType && sk.Type == x.RangeType
	}
	refuse := func(a *schema.Attribute, text, cure string) error {
		return g.model.FieldErrorf(a.Value.Name, "%s: %s", text, cure)
	}
	switch why := cannotHold(e); {
	case e.Periods != nil:
		return nil, refuse(all[0], "values that lie outside their items need a table that stays, and those of the model follow the time", "store it in its item (compress=), or in a model of its own")
	case s.large.records != "" && why != "" && slices.ContainsFunc(g.model.Tables, func(t *item.Table) bool { return t.Name == s.large.records }):
		return nil, refuse(all[0], "the records of its values cannot lie in the table "+s.large.records+", which is the model's own", "give mapper.LargeRecords a table with keys PK and SK that holds nothing else")
	case s.large.records != "":
		h.Records = &item.Table{Name: s.large.records, Hash: "PK", Range: "SK", Index: -1}
	case why == "":
		h.Records = g.model.Tables[0]
	default:
		return nil, refuse(all[0], "its values may lie outside of their items, and their records cannot lie in the table "+g.model.Tables[0].Name+", "+why, `give them a table with keys PK and SK: mapper.LargeRecords("NAME")`)
	}
	for _, a := range all {
		l := a.Large
		switch {
		case l.Bucket != "" && s.large.objects == nil:
			return nil, refuse(a, "its values may be objects in S3, and the mapper has no client of it", "give New the option blob.S3(client)")
		case l.Bucket != "":
			h.Buckets[l.Bucket] = l.Bucket
			if s.large.buckets != nil {
				h.Buckets[l.Bucket] = s.large.buckets(l.Bucket)
			}
			if !isBucketName(h.Buckets[l.Bucket]) {
				return nil, refuse(a, fmt.Sprintf("%q cannot be the name of a bucket", h.Buckets[l.Bucket]), "S3 takes 3 to 63 lower-case letters, digits, '-' and '.' (blob.Buckets gives the real names)")
			}
		case l.Parts != "":
			name := l.Parts
			if s.rename != nil {
				name = s.rename(name)
			}
			if !isTableName(name) {
				return nil, refuse(a, fmt.Sprintf("%q cannot be the name of a table", name), "DynamoDB takes 3 to 255 letters, digits, '_', '-' and '.'")
			}
			if name == h.Records.Name || slices.ContainsFunc(g.model.Tables, func(t *item.Table) bool { return t.Name == name }) {
				return nil, refuse(a, "table= beside chunk names the table of the parts, which has PK alone as its key, and "+name+" is the model's, or that of the records", "leave table= out for parts in the table of the records, or name another")
			}
			h.Parts[l.Parts] = &item.Table{Name: name, Hash: "PK", Index: -1}
		}
	}
	return h, nil
}

// isBucketName reports whether S3 takes a name, or an access point by its ARN (S3 User Guide, "General purpose bucket naming rules").
func isBucketName(s string) bool {
	if strings.HasPrefix(s, "arn:") {
		return true
	}
	return len(s) >= 3 && len(s) <= 63 && strings.IndexFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.'
	}) < 0
}

// rootOf tells a model by where its roots lie: the real name of their table, and what their keys have beside values.
func rootOf(m *model.Model) string {
	literal := func(t *key.Template) string {
		var b strings.Builder
		for _, p := range t.Parts {
			if b.WriteString(p.Text); p.Text == "" {
				b.WriteString("{}")
			}
		}
		return b.String()
	}
	root := m.Root()
	text := m.Tables[root.Table.Index].Name + " " + literal(m.Schema.PK.Template)
	if root.Key != nil {
		text += " " + literal(root.Key.Template)
	}
	return text
}

// placeOf tells where a client's tables are: its Region, or an endpoint that is none of AWS. It is "" of a client that does not tell.
func placeOf(client Client) string {
	c, ok := client.(interface{ Options() dynamodb.Options })
	if !ok {
		return ""
	}
	o := c.Options()
	if o.BaseEndpoint != nil && !strings.Contains(*o.BaseEndpoint, ".amazonaws.com") && !strings.Contains(*o.BaseEndpoint, ".api.aws") {
		return *o.BaseEndpoint
	}
	return o.Region
}

// cannotHold says why the table of a model cannot hold records and parts beside its items, "" if it can.
func cannotHold(e *schema.Entity) string {
	t := e.PK.Template
	last := t.Parts[len(t.Parts)-1].Format
	switch {
	case e.Tables[0].Range == "" || e.Tables[0].RangeType != 'S':
		return "which has no sort key of text"
	case t.Type != 'S' || !slices.ContainsFunc(t.Parts, func(p key.Part) bool { return p.Format.Kind == key.Literal }):
		return "whose partition key is a value alone, so that one might be taken for a record"
	case last.Kind == key.Raw:
		return "whose partition key ends with a raw value, which might look like a part's"
	}
	return ""
}

// largeValues makes what reads and writes values outside of their items.
func (g *engine) largeValues(s *settings) error {
	if s.large.limit < 0 {
		return g.model.Errorf("MaxValue(%d): give a number of bytes", s.large.limit)
	}
	g.model.MaxValue = cmp.Or(s.large.limit, maxValue)
	homes, err := g.homesOf(s)
	if err != nil || homes == nil {
		return err
	}
	reader := &read.Reader{Client: g.client, Label: g.model.Label(), Describe: large.Plain}
	external := &large.Writer{
		Homes: homes, Sender: g.env.Sender, Reader: reader, Objects: s.large.objects, Label: g.model.Label(), Within: largeWithin,
	}
	g.env.External = external
	parents := &read.Reader{Client: g.client, Label: g.model.Label(), TableOf: g.model.TableOf, Describe: g.model.Describe}
	g.fetcher = &large.Fetcher{
		Homes: homes, Reader: reader, Parents: parents, Objects: s.large.objects, Limit: g.model.MaxValue, Flying: largeFlying,
		Dead: g.isDead,
	}
	g.env.Estimate.Fetcher = g.fetcher
	g.search.Outside = g.bring
	g.model.Source = func(f *item.Image, a *schema.Attribute, name string) *large.Source {
		at := *f
		at.Given, at.Wire, at.Header = nil, wire.Item{}, item.Header{}
		return &large.Source{Fetcher: g.fetcher, At: f.Place, Attribute: name, Explain: func(err error) error { return g.fetchError(&at, a, err) }}
	}
	return nil
}

// isDead reports whether an item that was read strongly is what a staged insert has left of an entity that is no more.
func (g *engine) isDead(ctx context.Context, f *item.Image, u *read.Usage) (bool, error) {
	if f.Header.Stage == nil || g.model.IsRoot(f.Kind) {
		return false, nil
	}
	identity, ok := g.model.Whose(f)
	if !ok {
		return false, nil
	}
	at, err := g.model.RootPlace(identity)
	if err != nil {
		return false, err
	}
	root, err := g.reader.One(ctx, at, read.Options{Strong: true}, u)
	if err != nil {
		return false, err
	}
	return !staging.Holds(root, f.Header.Incarnation), nil
}

// bring reads the values of an item that lie outside of it.
func (g *engine) bring(ctx context.Context, f *item.Image, u *read.Usage) error {
	if f.Kind == nil || !f.Kind.HasOutside() {
		return nil
	}
	for _, a := range f.Kind.Attributes {
		if !a.Large.Outside() || a.Value.Type.Lazy {
			continue
		}
		for _, name := range slices.Concat([]string{a.Name}, a.Was) {
			p, out := large.PointerOf(f.Attribute(name))
			if !out {
				continue
			}
			v, err := g.fetcher.Fetch(ctx, large.Wanted{Pointer: p, Parent: f.Place, Attribute: name}, u)
			if err != nil {
				return g.fetchError(f, a, err)
			}
			if f.Loaded == nil {
				f.Loaded = item.Attributes{}
			}
			f.Loaded[name] = v
		}
	}
	return nil
}

// fetchError says of what a value could not be read.
func (g *engine) fetchError(f *item.Image, a *schema.Attribute, err error) error {
	var replaced *large.Replaced
	var damaged *large.Damaged
	switch {
	case errors.As(err, &replaced):
		return err
	case errors.As(err, &damaged):
		return &large.CorruptError{Model: g.model.Label(), Field: a.Value.Name, Item: f.String(), Err: err}
	}
	return g.model.FieldErrorf(a.Value.Name, "item %s: %w", f.Place, err)
}

// Collector returns what package blob collects with. The error is of a model whose values all stay in their items.
func (m *Mapper[T]) Collector() (*large.Collector, error) { return m.engine.collector() }

// CollectorOf is Collector for the command itemize, which knows a model by its source.
func CollectorOf(client Client, e *schema.Entity, options ...Option) (*large.Collector, error) {
	g, err := newEngine(client, e, nil, options)
	if err != nil {
		return nil, err
	}
	return g.collector()
}

func (g *engine) collector() (*large.Collector, error) {
	if g.env.External == nil {
		return nil, g.model.Errorf("no field's value lies outside of its item (chunk, s3=), so that there is nothing to collect")
	}
	return &large.Collector{Writer: g.env.External, Fetcher: g.fetcher, TableOf: g.model.TableNamed, Now: g.model.Time}, nil
}
