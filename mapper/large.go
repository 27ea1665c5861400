package mapper

import (
	"cmp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/internal/compression"
	"github.com/itemize/itemize/internal/large"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/read"
)

// What a mapper does with large values unless it is told otherwise.
const (
	// largeWithin is for how long the parts of a value may be sent after its record was made.
	maxCommitDelay = time.Hour
	// largeFlying bounds the bytes of parts that are under way in one read or write, with what the SDK
	// needs beside them.
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
	codings compression.Codings
}

// LargeRecords names the table in which the records of large values lie, with keys PK and SK of type S,
// and the parts of those that have no table of their own. A model needs one where its own table cannot
// hold them: one without a sort key, or whose partition key is a value alone.
func LargeRecords(table string) Option {
	return optionFunc(func(s *settings) { s.large.records = table })
}

// MaxValue bounds the bytes of a large value that a load reads, or decompresses: 256 MB unless it is
// given. A larger one is an error, and bounds what damaged or hostile data can take.
func MaxValue(bytes int64) Option {
	return optionFunc(func(s *settings) { s.large.limit = bytes })
}

// largeValues prepares the reading and writing of external values.
func (g *engine) largeValues(s *settings) error {
	m := g.model
	if s.large.limit < 0 {
		return m.Errorf("MaxValue(%d): give a number of bytes", s.large.limit)
	}
	m.Codings = s.large.codings
	for _, it := range m.Schema.Items {
		for _, a := range it.Attributes {
			if a.Large == nil || a.Large.Codec == "" {
				continue
			}
			if err := m.Codings.Has(compression.Codec(a.Large.Codec)); err != nil {
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
	reader := &read.Reader{Client: g.client, Label: m.Label(), Describe: large.Plain}
	g.env.External = &large.Writer{
		Locations: locations, Sender: g.env.Sender, Reader: reader, Objects: s.large.objects, Label: m.Label(),
		Bound: maxCommitDelay,
	}
	parents := &read.Reader{Client: g.client, Label: m.Label(), TableOf: m.TableOf, Describe: m.Describe}
	g.search.SetFetcher(&large.Fetcher{
		Locations: locations, Reader: reader, Parents: parents, Objects: s.large.objects, Limit: m.MaxValue, Codings: m.Codings,
		Flying: largeFlying,
	})
	g.env.Estimate.Fetcher = g.search.Fetcher
	return nil
}

// regionOf returns where a client's tables are: its Region, or an endpoint that does not belong to AWS.
// It is "" if the client does not tell.
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

func (g *engine) collector() (*large.Collector, error) {
	if g.env.External == nil {
		return nil, g.model.Errorf("no field's value lies outside of its item (chunk, s3=), so that there is nothing " +
			"to collect")
	}
	return &large.Collector{Writer: g.env.External, Fetcher: g.search.Fetcher, TableOf: g.model.TableNamed,
		Now: g.model.Time}, nil
}
