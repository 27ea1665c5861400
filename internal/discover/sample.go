package discover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/charge"
	"github.com/itemize/itemize/internal/flow"
	"github.com/itemize/itemize/internal/item"
	"github.com/itemize/itemize/internal/large"
	"github.com/itemize/itemize/internal/migration/files"
	"github.com/itemize/itemize/internal/read"
)

// Table is the table that a sample was read from. Of files only the keys are known.
type Table struct {
	Name        string  `json:"name"`
	Hash        string  `json:"hash"`
	Range       string  `json:"range,omitempty"`
	HashType    string  `json:"hashType,omitempty"`
	RangeType   string  `json:"rangeType,omitempty"`
	Items       int     `json:"items"`
	Bytes       int     `json:"bytes"`
	TTL         string  `json:"ttl,omitempty"`
	Provisioned bool    `json:"provisioned,omitempty"`
	Infrequent  bool    `json:"infrequentAccess,omitempty"`
	Stream      bool    `json:"stream,omitempty"`
	Recovery    bool    `json:"recovery,omitempty"`
	Replicas    int     `json:"replicas,omitempty"`
	Indexes     []Index `json:"indexes,omitempty"`
}

// Index is a secondary index of the table.
type Index struct {
	Name  string `json:"name"`
	Local bool   `json:"local,omitempty"`
	Hash  string `json:"hash"`
	Range string `json:"range,omitempty"`
	// Projection is ALL, KEYS_ONLY or INCLUDE, with Attributes.
	Projection string   `json:"projection"`
	Attributes []string `json:"attributes,omitempty"`
	Items      int      `json:"items"`
	Bytes      int      `json:"bytes"`

	hash, sort []string
}

// Sample is a part of a table.
type Sample struct {
	Table *Table
	Items []item.Attributes
	// Read is the number of items that were read, and RCU the units that they took.
	Read int
	RCU  float64
}

// maxBytes bounds the bytes of a sample that are kept in memory.
const maxBytes = 128 << 20

// Client is the part of the SDK's client that reads a table.
type Client interface {
	read.Client
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (
		*dynamodb.DescribeTableOutput, error)
	DescribeTimeToLive(context.Context, *dynamodb.DescribeTimeToLiveInput, ...func(*dynamodb.Options)) (
		*dynamodb.DescribeTimeToLiveOutput, error)
	DescribeContinuousBackups(context.Context, *dynamodb.DescribeContinuousBackupsInput, ...func(*dynamodb.Options)) (
		*dynamodb.DescribeContinuousBackupsOutput, error)
}

// Describe describes a table. Time to live and recovery are left out where the caller may not see them.
func Describe(ctx context.Context, c Client, name string) (*Table, error) {
	few := func(o *dynamodb.Options) { o.RetryMaxAttempts = min(o.RetryMaxAttempts, 3) }
	out, err := c.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name}, few)
	if errors.As(err, new(*types.ResourceNotFoundException)) {
		return nil, fmt.Errorf("no table %s in this account and region: check its name, -region and -endpoint; to "+
			"read "+
			"files, name a folder or files that exist", name)
	}
	if err != nil {
		return nil, fmt.Errorf("the table %s cannot be described: %w", name, err)
	}
	d := out.Table
	kinds := map[string]string{}
	for _, a := range d.AttributeDefinitions {
		kinds[aws.ToString(a.AttributeName)] = string(a.AttributeType)
	}
	t := &Table{
		Name: name, Items: int(aws.ToInt64(d.ItemCount)), Bytes: int(aws.ToInt64(d.TableSizeBytes)),
		Stream:   d.StreamSpecification != nil && aws.ToBool(d.StreamSpecification.StreamEnabled),
		Replicas: len(d.Replicas),
	}
	hash, sort := keysOf(d.KeySchema)
	t.Hash, t.HashType = hash[0], kinds[hash[0]]
	if len(sort) > 0 {
		t.Range, t.RangeType = sort[0], kinds[sort[0]]
	}
	if p := d.ProvisionedThroughput; p != nil && aws.ToInt64(p.WriteCapacityUnits) > 0 {
		t.Provisioned = d.BillingModeSummary == nil || d.BillingModeSummary.BillingMode == types.BillingModeProvisioned
	}
	if d.TableClassSummary != nil {
		t.Infrequent = d.TableClassSummary.TableClass == types.TableClassStandardInfrequentAccess
	}
	for _, x := range d.LocalSecondaryIndexes {
		i := indexOf(x.IndexName, x.KeySchema, x.Projection)
		i.Local, i.Items, i.Bytes = true, int(aws.ToInt64(x.ItemCount)), int(aws.ToInt64(x.IndexSizeBytes))
		t.Indexes = append(t.Indexes, i)
	}
	for _, x := range d.GlobalSecondaryIndexes {
		i := indexOf(x.IndexName, x.KeySchema, x.Projection)
		i.Items, i.Bytes = int(aws.ToInt64(x.ItemCount)), int(aws.ToInt64(x.IndexSizeBytes))
		t.Indexes = append(t.Indexes, i)
	}
	if ttl, err := c.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &name}, few); err == nil &&
		ttl.TimeToLiveDescription != nil {
		t.TTL = aws.ToString(ttl.TimeToLiveDescription.AttributeName)
	}
	if b, err := c.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &name},
		few); err ==
		nil && b.ContinuousBackupsDescription != nil {
		p := b.ContinuousBackupsDescription.PointInTimeRecoveryDescription
		t.Recovery = p != nil && p.PointInTimeRecoveryStatus == types.PointInTimeRecoveryStatusEnabled
	}
	return t, nil
}

func keysOf(schema []types.KeySchemaElement) (hash, sort []string) {
	for _, k := range schema {
		if k.KeyType == types.KeyTypeHash {
			hash = append(hash, aws.ToString(k.AttributeName))
		} else {
			sort = append(sort, aws.ToString(k.AttributeName))
		}
	}
	return hash, sort
}

func indexOf(name *string, schema []types.KeySchemaElement, p *types.Projection) Index {
	x := Index{Name: aws.ToString(name), Projection: "ALL"}
	x.hash, x.sort = keysOf(schema)
	x.Hash, x.Range = strings.Join(x.hash, "; "), strings.Join(x.sort, "; ")
	if p != nil {
		x.Projection, x.Attributes = string(p.ProjectionType), p.NonKeyAttributes
	}
	return x
}

// Predicted returns the RCU that a sample of a table takes: that of all items if n is 0.
func (t *Table) Predicted(n int) float64 {
	if n == 0 || n > t.Items {
		n = t.Items
	}
	if t.Items == 0 {
		return 0.5
	}
	return max(0.5, float64(t.Bytes)/float64(t.Items)*float64(n)/8192)
}

// ReadTable reads n items of a table at random places, 0 for all.
func ReadTable(ctx context.Context, c Client, t *Table, n int, rate *flow.Limiter) (*Sample, error) {
	s := &Sample{Table: t}
	table := &item.Table{Name: t.Name, Hash: t.Hash, Range: t.Range}
	reader := &read.Reader{Client: c, Label: "discover", Describe: large.Plain}
	var used read.Usage
	bytes := 0
	at, draw := read.Segment{Table: table, Rate: rate}, read.Draw{Number: n, Items: t.Items}
	err := reader.Sample(ctx, at, draw, &used, func(img item.Image) bool {
		it := img.Attributes()
		bytes += attr.ItemSize(it)
		s.Items = append(s.Items, it)
		return bytes <= maxBytes
	})
	s.Read, s.RCU = len(s.Items), used.Consumed
	return s, err
}

// ReadExport reads n items of an export, 0 for all. It has no keys: they are those of the caller, or guessed.
func ReadExport(ctx context.Context, f files.Files, n int) (*Sample, error) {
	e, err := files.Open(ctx, f)
	if err != nil {
		return nil, err
	}
	s := &Sample{Table: &Table{Name: e.Table, Items: e.Items}}
	bytes := 0
	err = e.Read(ctx, files.Segment{Number: 0, Of: 1, Limit: 100}, func(b files.Batch) error {
		for _, it := range b.Items {
			if n > 0 && len(s.Items) == n || bytes > maxBytes {
				return io.EOF // enough
			}
			bytes += attr.ItemSize(it)
			s.Items = append(s.Items, it)
		}
		return nil
	})
	if errors.Is(err, io.EOF) {
		err = nil
	}
	s.Read = len(s.Items)
	return s, err
}

// extensions are those of files with items.
var extensions = []string{".json", ".jsonl", ".ndjson"}

// ReadFiles reads items from JSON files, and from those of folders.
func ReadFiles(paths []string, n int) (*Sample, error) {
	var all []string
	for _, p := range paths {
		err := filepath.WalkDir(p, func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && (name == p || slices.Contains(extensions, filepath.Ext(name))) {
				all = append(all, name)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no files %s in %s: name files with items", strings.Join(extensions, ", "),
			strings.Join(paths, ", "))
	}
	s := &Sample{Table: &Table{Name: nameOf(paths[0])}}
	bytes := 0
	for _, name := range all {
		content, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		items, err := charge.ItemsFromJSON(content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		s.Table.Items += len(items)
		for _, it := range items {
			s.Table.Bytes += attr.ItemSize(it)
			if (n == 0 || len(s.Items) < n) && bytes <= maxBytes {
				bytes += attr.ItemSize(it)
				s.Items = append(s.Items, it)
			}
		}
	}
	s.Read = len(s.Items)
	return s, nil
}

// nameOf returns a name for the documents of a path.
func nameOf(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		abs = path
	}
	name := filepath.Base(abs)
	if ext := filepath.Ext(name); slices.Contains(extensions, ext) {
		name = strings.TrimSuffix(name, ext)
	}
	return name
}

// Keys sets the key attributes of a sample without a table: those that the caller names, or an attribute that every
// item has, with a different text in each.
func (s *Sample) Keys(hash, sort string) error {
	t := s.Table
	if t.Hash != "" {
		return nil
	}
	has := func(name string) bool {
		return !slices.ContainsFunc(s.Items, func(it item.Attributes) bool { return it[name] == nil })
	}
	for _, pair := range [][2]string{{hash, sort}, {"PK", "SK"}, {"pk", "sk"}} {
		if pair[0] != "" && has(pair[0]) && (pair[1] == "" || has(pair[1])) {
			t.Hash, t.Range = pair[0], pair[1]
			return s.kinds()
		}
		if pair[0] != "" && pair[0] == hash {
			return fmt.Errorf("-key %s: not all items have it: name the key attributes of the table: PK or PK,SK",
				strings.Trim(hash+","+sort, ","))
		}
	}
	var found []string
	if len(s.Items) > 0 {
		for name := range s.Items[0] {
			seen := map[string]bool{}
			for _, it := range s.Items {
				switch it[name].(type) {
				case *types.AttributeValueMemberS, *types.AttributeValueMemberN:
					seen[keyText(it[name])] = true
				}
			}
			if len(seen) == len(s.Items) && !seen[""] {
				found = append(found, name)
			}
		}
	}
	if len(found) == 0 {
		return errors.New("the key attributes are unknown: name them with -key PK or -key PK,SK")
	}
	rank := func(name string) int {
		lower := strings.ToLower(name)
		switch {
		case lower == "id" || lower == "_id":
			return 0
		case strings.HasSuffix(lower, "id") || strings.HasSuffix(lower, "key"):
			return 1
		case lower == "name":
			return 2
		}
		return 3
	}
	slices.SortFunc(found, func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	t.Hash = found[0]
	return s.kinds()
}

// kinds sets the types of the keys from the first item.
func (s *Sample) kinds() error {
	if len(s.Items) == 0 {
		return errors.New("no items: name files or a table with items")
	}
	s.Table.HashType = attr.TypeName(s.Items[0][s.Table.Hash])
	if s.Table.Range != "" {
		s.Table.RangeType = attr.TypeName(s.Items[0][s.Table.Range])
	}
	return nil
}
