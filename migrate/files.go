package migrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"github.com/itemize/itemize/internal/migration/files"
	"github.com/itemize/itemize/internal/migration/protocol"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read"
)

// Files is a place for an export or import files: a [Folder], or a bucket (s3store.Folder).
type Files interface {
	// Open opens a file for reading. If it does not exist, the error is fs.ErrNotExist.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
	// Put writes a file, and replaces an existing one.
	Put(ctx context.Context, name string, content []byte) error
}

// Folder returns the files of a folder on this machine.
func Folder(path string) Files { return files.Folder(path) }

// FromExport reads the monoliths from an export to S3 (ExportTableToPointInTime, the whole table in
// DYNAMODB_JSON) instead of scanning the source. f has the files of the export's folder. It is for Plan
// and Run. A monolith that was written since is read again when it moves. A run without FromExport, and
// Verify, find newer monoliths.
func FromExport(f Files) Option { return optionFunc(func(o *options) { o.exported = f }) }

// each reads the monoliths page by page, from the source or the export.
func (m *Migration) each(ctx context.Context, do func(ctx context.Context, p read.Page) error) (read.Usage, error) {
	if m.exported == nil {
		return m.scan(ctx, m.source, false, do)
	}
	return read.Usage{}, m.segmentsAtOnce(ctx, func(ctx context.Context, i int) error {
		return m.exportPages(ctx, i, files.Position{}, func(p read.Page, _ files.Position) error { return do(ctx, p) })
	})
}

// exportPages reads a segment of the export from a position.
func (m *Migration) exportPages(ctx context.Context, i int, from files.Position,
	do func(read.Page, files.Position) error,
) error {
	return m.export.Read(ctx, files.Segment{Number: i, Of: m.of, Limit: pageEntities, From: from},
		func(b files.Batch) error {
			p := read.Page{More: b.More}
			for _, a := range b.Items {
				f := imageOf(m.source, a)
				if f.PK.Type == 0 {
					return fmt.Errorf("%s: an item of the export lacks the key %s, so that it is of another table "+
						"than %s",
						m.layout.Model, m.source.Hash, m.source.Name)
				}
				p.Items = append(p.Items, f)
			}
			return do(p, b.At)
		})
}

// importBytes is the approximate size of an import file before compression.
const importBytes = 16 << 20

// Import writes the collections as files for ImportTable, or for StartBulkPutItems into a new and empty
// table: DATA/TABLE/*.json.gz for each table of the model. It writes nothing to DynamoDB, and reads the
// source or its export. Do not use the model's tables before they are imported. DeadLetters has the
// first entities that cannot be moved; they are in no file. An import that failed is started again in
// another folder; a folder with files of another import is refused.
//
// The imported collections are not live. A later Run makes them live one by one, while the application
// continues, at the units of the marks and 1 to 3 WCU for each entity.
func (m *Migration) Import(ctx context.Context, to Files) (*Imported, error) {
	return m.importTo(ctx, to, false)
}

// ImportLive is Import with collections that are live at once. Use it for data that no program writes
// any more: it cannot be verified or rolled back.
func (m *Migration) ImportLive(ctx context.Context, to Files) (*Imported, error) {
	return m.importTo(ctx, to, true)
}

func (m *Migration) importTo(ctx context.Context, to Files, live bool) (_ *Imported, err error) {
	defer m.throttled(&err)
	if m.own {
		return nil, fmt.Errorf("%s: the table %s contains the monoliths: import into new tables",
			m.layout.Model, m.source.Name)
	}
	x := &importing{Migration: m, to: to, live: live, out: &Imported{Items: map[string]int{}, Bytes: map[string]int{}}}
	err = m.segmentsAtOnce(ctx, x.segment)
	return x.out, err
}

// Imported is the result of an Import.
type Imported struct {
	// Entities were read. Dead cannot be moved, and Before were moved already.
	Entities int `json:"entities"`
	Dead     int `json:"dead"`
	Before   int `json:"before"`
	// Items and Bytes are counted for each table. Files is the number of files.
	Items       map[string]int `json:"items"`
	Bytes       map[string]int `json:"bytes"`
	Files       int            `json:"files"`
	DeadLetters []DeadLetter   `json:"deadLetters,omitempty"`
}

// importing is a running Import.
type importing struct {
	*Migration
	to   Files
	live bool
	mu   sync.Mutex
	out  *Imported
}

// segment writes the files of a segment.
func (x *importing) segment(ctx context.Context, i int) error {
	writers := make([]*files.Writer, len(x.mover.Tables))
	for n, t := range x.mover.Tables {
		writers[n] = files.NewWriter(x.to, importBytes, func(file int) string {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.out.Files++
			return fmt.Sprintf("%s/%06d-%06d.json.gz", t.Name, i, file)
		})
	}
	page := func(p read.Page) error {
		for _, d := range x.monoliths(p) {
			if err := x.one(ctx, d, writers); err != nil {
				return err
			}
		}
		return nil
	}
	err := x.first(ctx, i)
	if err != nil {
		return err
	}
	if x.exported != nil {
		err = x.exportPages(ctx, i, files.Position{}, func(p read.Page, _ files.Position) error { return page(p) })
	} else {
		err = x.scanPages(ctx, i, nil, &read.Usage{}, page)
	}
	for _, w := range writers {
		if err == nil {
			err = w.Flush(ctx)
		}
	}
	return err
}

// first refuses to write files into a folder with files of another import.
func (x *importing) first(ctx context.Context, i int) error {
	name := fmt.Sprintf("import-%06d.json", i)
	f, err := x.to.Open(ctx, name)
	switch {
	case err == nil:
		_ = f.Close()
		return fmt.Errorf("%s: the folder has files of another import (%s): remove them, or name another folder",
			x.layout.Model, name)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return x.to.Put(ctx, name, fmt.Appendf(nil, "{\"model\":%q,\"source\":%q,\"segment\":%d,\"of\":%d}\n",
		x.layout.Model, x.source.Name, i, x.of))
}

// one writes the items of one entity.
func (x *importing) one(ctx context.Context, d *protocol.Monolith, writers []*files.Writer) error {
	c := &Imported{Entities: 1, Items: map[string]int{}, Bytes: map[string]int{}}
	defer x.add(c)
	if !d.Unmarked() {
		c.Before++
		return nil
	}
	items, err := x.mover.Import(d, x.live)
	if err != nil {
		c.Dead++
		c.DeadLetters = []DeadLetter{{Key: keyText(d.Place), Reasons: reasons(err), Since: x.now().UTC()}}
		return nil
	}
	for _, it := range items {
		if err := writers[it.Place.Table.Index].Write(ctx, it.Attributes); err != nil {
			return err
		}
		c.Items[it.Place.Table.Name]++
		c.Bytes[it.Place.Table.Name] += it.Size
	}
	return nil
}

func (x *importing) add(c *Imported) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.out.Entities, x.out.Dead, x.out.Before = x.out.Entities+c.Entities, x.out.Dead+c.Dead, x.out.Before+c.Before
	for name := range c.Items {
		x.out.Items[name] += c.Items[name]
		x.out.Bytes[name] += c.Bytes[name]
	}
	if len(x.out.DeadLetters) < maxFindings {
		x.out.DeadLetters = append(x.out.DeadLetters, c.DeadLetters...)
	}
}

// OfFiles is for Import, and for a Plan before it: the model's tables may be missing.
func OfFiles() Option { return optionFunc(func(o *options) { o.ofFiles = true }) }

// errOfFiles refuses calls that need the model's tables.
var errOfFiles = errors.New("the migration has only files (migrate.OfFiles)")

// tableOf describes a table of the layout, and returns its indexes. The table may be missing if only
// files are written.
func (m *Migration) tableOf(ctx context.Context, t *item.Table) ([]*schema.Index, error) {
	if m.ofFiles {
		return layoutIndexes(&m.layout.Layout, t), nil
	}
	d, err := m.describe(ctx, t)
	if err != nil {
		return nil, err
	}
	if hash, sort := keysOf(d); hash != t.Hash || sort != t.Range {
		return nil, fmt.Errorf("%s: the table %s has the keys %s, but the layout has %s", m.layout.Model, t.Name,
			keysText(hash, sort), keysText(t.Hash, t.Range))
	}
	l := m.layout.Tables[t.Index]
	if kinds := typesOf(d); string(kinds[t.Hash]) != l.HashType || t.Range != "" &&
		string(kinds[t.Range]) != l.RangeType {
		return nil, fmt.Errorf("%s: the keys of the table %s are of the types %s, but %s in the layout", m.layout.Model,
			t.Name, keysText(string(kinds[t.Hash]), string(kinds[t.Range])), keysText(l.HashType, l.RangeType))
	}
	return indexesOf(d, t), nil
}

func keysText(hash, sort string) string {
	if sort == "" {
		return hash
	}
	return hash + " and " + sort
}
