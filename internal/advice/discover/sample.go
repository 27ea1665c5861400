package discover

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/advice/charge"
	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/migration/files"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/read"
	"github.com/itemize/itemize/internal/request"
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

// maxMemory bounds the memory of a sample, in bytes.
const maxMemory = 90 << 20

// memoryOf estimates the memory of an item in bytes: small values take many times their size.
func memoryOf(it item.Attributes) int {
	n := 300
	for name, v := range it {
		n += 100 + len(name)
		switch v := v.(type) {
		case *types.AttributeValueMemberL:
			n += memoryOfList(v.Value)
		case *types.AttributeValueMemberM:
			n += memoryOf(v.Value)
		default:
			n += attr.ValueSize(v)
		}
	}
	return n
}

func memoryOfList(all []types.AttributeValue) int {
	n := 0
	for _, v := range all {
		n += 80
		switch v := v.(type) {
		case *types.AttributeValueMemberL:
			n += memoryOfList(v.Value)
		case *types.AttributeValueMemberM:
			n += memoryOf(v.Value)
		default:
			n += attr.ValueSize(v)
		}
	}
	return n
}

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

// missingTable is the error of a table that is missing.
type missingTable struct {
	name string
	err  error
}

// Error returns the name, and where to look for it.
func (m *missingTable) Error() string {
	return fmt.Sprintf("no table %s in this account and region: check its name, -region and -endpoint; to read files, "+
		"name a folder or files that exist", m.name)
}

// Unwrap returns the error of DynamoDB.
func (m *missingTable) Unwrap() error { return m.err }

// Describe describes a table. Time to live and recovery are left out where the caller may not see them.
func Describe(ctx context.Context, c Client, name string) (*Table, error) {
	out, err := c.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if errors.As(err, new(*types.ResourceNotFoundException)) {
		return nil, &missingTable{name, err}
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
	if ttl, err := c.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &name}); err == nil &&
		ttl.TimeToLiveDescription != nil {
		t.TTL = aws.ToString(ttl.TimeToLiveDescription.AttributeName)
	}
	backups := &dynamodb.DescribeContinuousBackupsInput{TableName: &name}
	if b, err := c.DescribeContinuousBackups(ctx, backups); err == nil &&
		b.ContinuousBackupsDescription != nil {
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
func ReadTable(ctx context.Context, c Client, t *Table, n int, rate *request.Limiter) (*Sample, error) {
	s := &Sample{Table: t}
	table := &item.Table{Name: t.Name, Hash: t.Hash, Range: t.Range}
	reader := &read.Reader{Client: c, Label: "discover", Describe: extern.Plain}
	var used read.Usage
	memory := 0
	at, draw := read.Segment{Table: table, Rate: rate}, read.Draw{Number: n, Items: t.Items}
	err := reader.Sample(ctx, at, draw, &used, func(img item.Image) bool {
		it := img.Attributes()
		memory += memoryOf(it)
		s.Items = append(s.Items, it)
		return memory <= maxMemory
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
	memory := 0
	err = e.Read(ctx, files.Segment{Number: 0, Of: 1, Limit: 100}, func(b files.Batch) error {
		for _, it := range b.Items {
			if n > 0 && len(s.Items) == n || memory > maxMemory {
				return io.EOF // enough
			}
			memory += memoryOf(it)
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
	s := &Sample{Table: &Table{Name: nameOf(paths)}}
	memory, text, bytes := 0, 0, 0
	full := func() bool { return n > 0 && len(s.Items) >= n || memory > maxMemory }
	for _, name := range all {
		err := eachInFile(name, full, func(it item.Attributes, length int) {
			size := attr.ItemSize(it)
			text, bytes = text+length, bytes+size
			s.Table.Items, s.Table.Bytes = s.Table.Items+1, s.Table.Bytes+size
			if !full() {
				memory += memoryOf(it)
				s.Items = append(s.Items, it)
			}
		}, func(length int) { // it is as large for its text as the others
			s.Table.Items++
			s.Table.Bytes += int(float64(length) * float64(bytes) / float64(text))
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	s.Read = len(s.Items)
	return s, nil
}

// largeFile is the size in bytes from which a file is read item by item, if it is an array or has several objects.
const largeFile = 32 << 20

// leastMeasured is the number of items of such a file that are measured in any case.
const leastMeasured = 100

// eachInFile calls do with each item of a file, and the length of its text if it is read item by item. Then, as soon as
// the sample is full, it calls pass with the length alone.
func eachInFile(name string, full func() bool, do func(it item.Attributes, length int), pass func(length int)) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	r := bufio.NewReader(f)
	begin, _ := r.Peek(1)
	array := string(begin) == "["
	if info.Size() < largeFile || !array && filepath.Ext(name) == ".json" || len(begin) == 0 ||
		begin[0] != '[' && begin[0] != '{' {
		content, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		return charge.EachFromJSON(content, func(it item.Attributes) { do(it, 0) })
	}
	dec := json.NewDecoder(r)
	if array {
		if _, err := dec.Token(); err != nil {
			return err
		}
	}
	for i := 0; dec.More(); i++ {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
		if full() && i >= leastMeasured {
			pass(len(raw))
			continue
		}
		it, err := charge.ItemFromJSON(raw)
		if err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
		do(it, len(raw))
	}
	return nil
}

// neutralName is the name of documents that have no common name.
const neutralName = "documents"

// nameOf returns a name for documents: that of the file or folder, or of the folder that has all the files.
func nameOf(paths []string) string {
	var name string
	for i, path := range paths {
		abs, err := filepath.Abs(path)
		if err != nil {
			abs = path
		}
		if len(paths) > 1 {
			abs = filepath.Dir(abs)
		}
		if i > 0 && abs != name {
			return neutralName
		}
		name = abs
	}
	base := filepath.Base(name)
	if ext := filepath.Ext(base); slices.Contains(extensions, ext) {
		base = strings.TrimSuffix(base, ext)
	}
	if !strings.ContainsFunc(base, unicode.IsLetter) {
		return neutralName
	}
	return base
}

// Keys sets the key attributes of a sample without a table. They are those that the caller names, or an attribute that
// is named like a key. Every item has it, with another short text or integer in each.
func (s *Sample) Keys(hash, sort string) error {
	t := s.Table
	if t.Hash != "" || len(s.Items) == 0 {
		return nil
	}
	for _, pair := range [][2]string{{hash, sort}, {"PK", "SK"}, {"pk", "sk"}} {
		if pair[0] == "" || pair[0] != hash && (!s.have(pair[0]) || !s.have(pair[1])) {
			continue
		}
		if err := s.identifying(pair[0], pair[1]); err != nil {
			if pair[0] == hash {
				return err
			}
			continue
		}
		t.Hash, t.Range = pair[0], pair[1]
		return s.kinds()
	}
	var found []string
	names := censusOf(s.Items, s.Table.Items)
	for name := range s.Items[0] {
		if !names.hides(name) && s.keyLike(name) {
			found = append(found, name)
		}
	}
	slices.SortFunc(found, func(a, b string) int {
		return cmp.Or(keyRank(a)-keyRank(b), cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	})
	switch {
	case len(found) == 0:
		return errors.New("the key attributes are unknown: no attribute has another short text or integer in each " +
			"item: name them with -key PK or -key PK,SK")
	case keyRank(found[0]) == noKey, keyRank(found[0]) > 2 && len(s.Items) < fewItems:
		return fmt.Errorf("the key attributes are unknown: name them with -key PK or -key PK,SK; these have another "+
			"value in each item: %s", strings.Join(found[:min(len(found), 5)], ", "))
	}
	t.Hash = found[0]
	return s.kinds()
}

// have reports whether every item has an attribute; "" is none.
func (s *Sample) have(name string) bool {
	return name == "" || !slices.ContainsFunc(s.Items, func(it item.Attributes) bool { return it[name] == nil })
}

// fewItems is the number of items below which a title, or a name of something, is no sure key.
const fewItems = 5

// longestKey is the longest text in bytes that is taken for a key, if the caller does not name it.
const longestKey = 128

// keyLike reports whether the values of an attribute could be keys: short texts without spaces, or integers, another
// one in each item.
func (s *Sample) keyLike(name string) bool {
	seen := map[string]bool{}
	kind := ""
	for _, it := range s.Items {
		text := keyText(it[name])
		switch it[name].(type) {
		case *types.AttributeValueMemberS:
			if len(text) > longestKey || strings.ContainsFunc(text, unicode.IsSpace) {
				return false
			}
		case *types.AttributeValueMemberN:
			if !wholeNumber.MatchString(text) {
				return false
			}
		default:
			return false
		}
		if kind == "" {
			kind = attr.TypeName(it[name])
		}
		if text == "" || seen[text] || kind != attr.TypeName(it[name]) {
			return false
		}
		seen[text] = true
	}
	return true
}

// The ranks of names of keys. keyWords are last words of names that identify.
const noKey = 4

var keyWords = []string{
	"id",
	"key",
	"uuid",
	"guid",
	"uid",
	"pk",
	"slug",
	"code",
	"arn",
	"urn",
	"handle",
	"sku",
	"isbn",
	"iata",
	"icao",
}

// keyRank ranks the name of an attribute as a key, the best first.
func keyRank(name string) int {
	all := words(name)
	last := ""
	if len(all) > 0 {
		last = strings.ToLower(all[len(all)-1])
	}
	switch {
	case len(all) == 1 && slices.Contains([]string{"id", "pk", "uuid", "key"}, last):
		return 0
	case slices.Contains(keyWords, last):
		return 1
	case len(all) == 1 && slices.Contains([]string{"name", "username"}, last):
		return 2
	case last == "name" || last == "title":
		return 3
	}
	return noKey
}

// identifying checks the keys that the caller names: every item has another pair of values that can be keys.
func (s *Sample) identifying(hash, sort string) error {
	asked := strings.Trim(hash+","+sort, ",")
	seen := map[string]int{}
	for _, k := range []struct {
		name string
		most int
	}{{hash, key.MaxPartition}, {sort, key.MaxSort}} {
		if k.name == "" {
			continue
		}
		if !s.have(k.name) {
			return fmt.Errorf("-key %s: not all items have it: name the key attributes of the table: PK or PK,SK",
				asked)
		}
		for _, it := range s.Items {
			n := attr.ValueSize(it[k.name])
			_, ok := attr.ScalarOf(it[k.name])
			if !ok || n == 0 || n > k.most {
				return fmt.Errorf("-key %s: a value of %s cannot be a key: it must be a text, number or binary of 1 "+
					"to %s bytes in each item", asked, k.name, attr.Thousands(fmt.Sprint(k.most)))
			}
			if attr.TypeName(it[k.name]) != attr.TypeName(s.Items[0][k.name]) {
				return fmt.Errorf("-key %s: the values of %s have several types: a key has one", asked, k.name)
			}
		}
	}
	repeated := 0
	for _, it := range s.Items {
		text := keyText(it[hash]) + "\x00" + keyText(it[sort])
		if seen[text]++; seen[text] > 1 {
			repeated++
		}
	}
	if repeated > 0 {
		return fmt.Errorf("-key %s: %s of %s items have the key of another one: name attributes that identify an item",
			asked, attr.Thousands(fmt.Sprint(repeated)), attr.Thousands(fmt.Sprint(len(s.Items))))
	}
	return nil
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
