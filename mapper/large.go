package mapper

import (
	"cmp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/large/compression"
	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/read"
)

// Defaults for large values.
const (
	// maxCommitDelay is the time in which the parts of a value may be sent after its record.
	maxCommitDelay = time.Hour
	// largeFlying limits the bytes of parts in flight in one read or write, including the memory that
	// the SDK needs.
	largeFlying = 16 << 20
	// maxValue is the largest value that a load reads, in bytes.
	maxValue = 256 << 20
)

// largeSettings are the options of large values.
type largeSettings struct {
	records string
	objects extern.Objects
	buckets func(string) string
	limit   int64
	codecs  compression.Codecs
}

// LargeRecords names the table for the records of large values, and for parts without a table of their
// own. Its keys are PK and SK of type S. A model needs it if its own table cannot hold records: a table
// without a sort key, or whose partition key is a value without text.
func LargeRecords(table string) Option {
	return optionFunc(func(s *settings) { s.large.records = table })
}

// MaxValue limits the size of a large value that a load reads or decompresses, in bytes. The default is
// 256 MB. A larger value is an error, which limits the effect of damaged or hostile data.
func MaxValue(bytes int64) Option {
	return optionFunc(func(s *settings) { s.large.limit = bytes })
}

// largeValues prepares reading and writing of external values.
func (g *engine) largeValues(s *settings) error {
	m := g.model
	if s.large.limit < 0 {
		return m.Errorf("MaxValue(%d): pass a positive number of bytes", s.large.limit)
	}
	m.Codecs = s.large.codecs
	for _, it := range m.Schema.Items {
		for _, a := range it.Attributes {
			if a.Large == nil || a.Large.Codec == "" {
				continue
			}
			if err := m.Codecs.Has(compression.Name(a.Large.Codec)); err != nil {
				return m.Errorf("the field %s has compress=%s: %w", a.Value.Name, a.Large.Codec, err)
			}
		}
	}
	m.MaxValue = cmp.Or(s.large.limit, maxValue)
	locations, err := m.Locations(model.Storage{
		Records: s.large.records, HasObjects: s.large.objects != nil, Bucket: s.large.buckets, Rename: s.rename,
		Region: func() string { return regionOf(g.client) },
	})
	if err != nil || locations == nil {
		return err
	}
	reader := &read.Reader{Client: g.client, Label: m.Label(), Describe: extern.Plain}
	g.env.External = &extern.Writer{
		Locations: locations, Sender: g.env.Sender, Reader: reader, Objects: s.large.objects, Label: m.Label(),
		Bound: maxCommitDelay,
	}
	parents := &read.Reader{Client: g.client, Label: m.Label(), TableOf: m.TableOf, Describe: m.Describe}
	g.search.SetFetcher(&extern.Fetcher{
		Locations: locations, Reader: reader, Parents: parents, Objects: s.large.objects, Limit: m.MaxValue,
		Codecs: m.Codecs,
		Flying: largeFlying,
	}, g.public)
	g.env.Estimate.Fetcher = g.search.Fetcher
	return nil
}

// regionOf returns the Region of the client, or its endpoint if that does not belong to AWS. It is ""
// if the client does not show it.
func regionOf(client Client) string {
	c, ok := client.(interface{ Options() dynamodb.Options })
	if !ok {
		return ""
	}
	o := c.Options()
	if o.BaseEndpoint != nil && !strings.Contains(*o.BaseEndpoint, ".amazonaws.com") &&
		!strings.Contains(*o.BaseEndpoint, ".api.aws") {
		return *o.BaseEndpoint
	}
	return o.Region
}

func (g *engine) Collector() (*extern.Collector, error) {
	if g.env.External == nil {
		return nil, g.model.Errorf("no field has external values (chunk, s3=): nothing to collect")
	}
	return &extern.Collector{
		Writer: g.env.External, Fetcher: g.search.Fetcher, TableOf: g.model.TableNamed,
		Now: g.model.Time,
	}, nil
}
