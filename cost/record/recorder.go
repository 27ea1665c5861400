package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/itemize/itemize/internal/advice/trace"
	"github.com/itemize/itemize/internal/model/naming"
)

// Options are the options of a recorder.
type Options struct {
	// Rate is the share of items, and of calls, that is recorded. 0 means 1/64. A table with few items, or a test,
	// needs a higher one.
	Rate float64
	// Keys are the key attributes of tables, by table. The recorder learns them from requests with keys; a program that
	// only sends PutItem and Scan has none.
	Keys map[string][]string
}

// defaultRate is the rate of a recorder without one.
const defaultRate = 1.0 / 64

// Recorder records the requests of clients. Make one with New.
type Recorder struct {
	rate float64
	// least is the least hash of a key that is not recorded.
	least     uint64
	seed      maphash.Seed
	id        string
	keys      sync.Map // []string by table
	partition sync.Map // the partition key's attribute by table, if it is known
	// hasModels reports that a mapper has the observer.
	hasModels atomic.Bool

	mu       sync.Mutex
	from     time.Time
	kinds    map[string]*kind
	contents *contents
	models   []*model
	dropped  int
	// unkeyed are numbers of requests on tables whose key attributes are unknown.
	unkeyed map[string]int
}

// kind collects the recording of a kind of entities.
type kind struct {
	trace.Kind
	operations map[string]*trace.Operation
	// keys are hashes of the first entities, and names those of the first entities that have an attribute.
	keys  map[uint64]bool
	names map[string][]uint64
	// rows are the positions of entities in the sample.
	rows map[uint64]int
}

// Limits of the memory.
const (
	maxKinds      = 128
	maxOfTable    = 16  // kinds
	maxOperations = 200 // of a kind
	maxNames      = 200 // of attributes of a kind
	maxIndexes    = 20  // of a kind
)

// recorders numbers the recorders of the process.
var recorders atomic.Int64

// New returns a recorder. Its time begins now.
func New(o Options) *Recorder {
	if !(o.Rate > 0 && o.Rate <= 1) {
		o.Rate = defaultRate
	}
	r := &Recorder{
		id:   fmt.Sprint("itemize/record ", recorders.Add(1)),
		rate: o.Rate, least: math.MaxUint64, seed: maphash.MakeSeed(), from: time.Now(), kinds: map[string]*kind{},
		contents: newContents(), unkeyed: map[string]int{},
	}
	if o.Rate < 1 {
		r.least = uint64(o.Rate * math.MaxUint64)
	}
	for table, names := range o.Keys {
		r.setKeys(table, names)
		if len(names) > 0 {
			r.partition.Store(table, names[0])
		}
	}
	return r
}

// setKeys keeps the key attributes of a table.
func (r *Recorder) setKeys(table string, names []string) {
	names = slices.Clone(names)
	slices.Sort(names)
	r.keys.Store(table, names)
	for _, name := range names {
		if len(names) == 1 || strings.EqualFold(name, "pk") {
			r.partition.Store(table, name)
		}
	}
}

// isSampled reports whether the item with the hash of its key is recorded.
func (r *Recorder) isSampled(hash uint64) bool { return hash < r.least || r.rate == 1 }

// draw reports whether a call that has no key is recorded.
func (r *Recorder) draw() bool { return r.rate == 1 || rand.Float64() < r.rate }

// kindOf returns a kind, nil if there is no room for it. r.mu is locked.
func (r *Recorder) kindOf(table, name string, isModel bool, keys []string) *kind {
	at := table + "\x00" + name
	if k := r.kinds[at]; k != nil {
		return k
	}
	of := 0
	for _, k := range r.kinds {
		if k.Table == table {
			of++
		}
	}
	if of >= maxOfTable && name != otherKinds { // the beginnings of keys count as values
		return r.kindOf(table, otherKinds, isModel, keys)
	}
	if len(r.kinds) >= maxKinds {
		return nil
	}
	k := &kind{
		Kind:       trace.Kind{Table: table, Name: name, Model: isModel, Keys: keys},
		operations: map[string]*trace.Operation{}, keys: map[uint64]bool{}, names: map[string][]uint64{},
		rows: map[uint64]int{},
	}
	r.kinds[at] = k
	return k
}

// add records an operation. r.mu is locked.
func (r *Recorder) add(e entity, o *trace.Operation) {
	k := e.kind
	if k == nil {
		r.dropped++
		return
	}
	k.has(e.hash, o.Writes...)
	k.has(e.hash, o.Reads...)
	for _, all := range []map[string]int{o.Add, o.Change, o.Remove, o.Read} {
		for name := range all {
			k.has(e.hash, name)
		}
	}
	id := o.Signature()
	if at := k.operations[id]; at != nil {
		at.Merge(o)
		return
	}
	if len(k.operations) >= maxOperations/2 { // names that few entities have are not worth the room
		o = renamed(*o, func(name string) string {
			if !k.Model && len(k.names[name]) < leastShared {
				return hidden
			}
			return name
		})
		if at := k.operations[o.Signature()]; at != nil {
			at.Merge(o)
			return
		}
		id = o.Signature()
	}
	if len(k.operations) >= maxOperations {
		r.dropped++
		return
	}
	k.operations[id] = o
}

// used counts an entity. r.mu is locked.
func (k *kind) used(hash uint64) {
	k.Entities.Add(hash)
	if len(k.keys) < manyEntities {
		k.keys[hash] = true
	}
}

// has notes that an entity has attributes. r.mu is locked.
func (k *kind) has(hash uint64, names ...string) {
	for _, name := range names {
		all, ok := k.names[name]
		if !ok && len(k.names) >= maxNames || len(all) >= leastShared || slices.Contains(all, hash) {
			continue
		}
		k.names[name] = append(all, hash)
	}
}

// index adds an index, or attributes to it. r.mu is locked.
func (k *kind) index(x trace.Index) {
	for i := range k.Indexes {
		if y := &k.Indexes[i]; y.Name == x.Name {
			y.All = y.All || x.All
			include(&y.Attributes, x.Attributes...)
			return
		}
	}
	if len(k.Indexes) < maxIndexes {
		slices.Sort(x.Attributes)
		k.Indexes = append(k.Indexes, x)
	}
}

// isRow reports whether the sizes of an entity are in the sample. r.mu is locked.
func (k *kind) isRow(hash uint64) bool {
	_, ok := k.rows[hash]
	return ok
}

// document adds the sizes of an entity to the sample, or replaces them. r.mu is locked.
func (k *kind) document(hash uint64, d trace.Document) {
	if i, ok := k.rows[hash]; ok {
		k.Documents[i] = d
		return
	}
	k.Seen++
	i := len(k.Documents)
	if i >= trace.MaxDocuments {
		if i = rand.IntN(k.Seen); i >= len(k.Documents) {
			return
		}
		for old, at := range k.rows {
			if at == i {
				delete(k.rows, old)
			}
		}
		k.Documents[i] = d
	} else {
		k.Documents = append(k.Documents, d)
	}
	k.rows[hash] = i
}

// Names and literals that fewer entities share count as values. Of few entities, as in a test, all names are shown that
// do not have the form of a value.
const (
	leastShared  = naming.LeastShared
	manyEntities = naming.LargeSample
)

// hidden replaces names of attributes that count as values, and otherKinds such beginnings of keys. plainKind is the
// name of a kind whose keys have no common beginning.
const (
	hidden     = "rare attributes"
	otherKinds = "{...}"
	plainKind  = "items"
)

// file returns the recording so far.
func (r *Recorder) file() *trace.File {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := &trace.File{
		Format: trace.Format, From: r.from, To: time.Now(), Rate: r.rate, Dropped: r.dropped,
		Unkeyed: maps.Clone(r.unkeyed),
		Kinds:   []*trace.Kind{},
	}
	entities, names := 0, map[string]int{} // of all kinds: entities with rare keys are of kinds of their own
	for _, k := range r.kinds {
		if k.Model {
			continue
		}
		entities += len(k.keys)
		for name, have := range k.names {
			names[name] += len(have)
		}
	}
	for _, k := range r.kinds {
		x := k.public(func(name string) bool { return naming.IsData(name, names[name], entities) })
		f.Kinds = append(f.Kinds, x)
	}
	// kinds that lose their names become one
	merged := trace.Merge(&trace.File{From: f.From, To: f.To, Rate: 1, Kinds: f.Kinds})
	f.Kinds = merged.Kinds
	return f
}

// public returns a kind without names that count as values.
func (k *kind) public(isData func(name string) bool) *trace.Kind {
	x := k.Kind
	switch {
	case x.Model:
	case len(k.keys) < leastShared && x.Name != plainKind:
		x.Name = otherKinds
	}
	show := func(name string) string {
		if !x.Model && isData(name) && !slices.Contains(x.Keys, name) {
			return hidden
		}
		return name
	}
	x.Operations, x.Documents, x.Indexes = nil, nil, nil
	for _, i := range k.Indexes {
		i.Hash, i.Attributes = show(i.Hash), renamed(trace.Operation{Reads: i.Attributes}, show).Reads
		if i.Range != "" {
			i.Range = show(i.Range)
		}
		x.Indexes = append(x.Indexes, i)
	}
	for _, o := range k.operations {
		x.Operations = append(x.Operations, renamed(*o, show))
	}
	parts := k.shownParts()
	for _, d := range k.Documents {
		to := trace.Document{Sizes: map[string]int{}, Lists: map[string]trace.List{}}
		for name, n := range d.Sizes {
			to.Sizes[show(name)] += n
		}
		for name, l := range d.Lists {
			if show(name) == name {
				to.Lists[name] = parts(name, l)
			}
		}
		x.Documents = append(x.Documents, to)
	}
	return &x
}

// shownParts returns the function that hides names of attributes of elements which the elements of few entities have.
func (k *kind) shownParts() func(string, trace.List) trace.List {
	rows, names := map[string]int{}, map[string]map[string]int{}
	for _, d := range k.Documents {
		for name, l := range d.Lists {
			if names[name] == nil {
				names[name] = map[string]int{}
			}
			rows[name]++ // an entity has many elements, and counts once
			of := map[string]bool{}
			for _, row := range l.Attributes {
				for part := range row {
					of[part] = true
				}
			}
			for part := range of {
				names[name][part]++
			}
		}
	}
	return func(name string, l trace.List) trace.List {
		if k.Model {
			return l
		}
		all := l.Attributes
		l.Attributes = nil
		for _, row := range all {
			to := map[string]int{}
			for part, n := range row {
				if naming.IsData(part, names[name][part], rows[name]) {
					part = hidden
				}
				to[part] += n
			}
			l.Attributes = append(l.Attributes, to)
		}
		return l
	}
}

// renamed returns an operation with other names of attributes.
func renamed(o trace.Operation, name func(string) string) *trace.Operation {
	each := func(names []string) []string {
		var out []string
		for _, n := range names {
			if n = name(n); !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
		slices.Sort(out)
		return out
	}
	counts := func(all map[string]int) map[string]int {
		var out map[string]int
		for n, count := range all {
			if out == nil {
				out = map[string]int{}
			}
			out[name(n)] += count
		}
		return out
	}
	o.Writes, o.Reads = each(o.Writes), each(o.Reads)
	o.Add, o.Change, o.Remove, o.Read = counts(o.Add), counts(o.Change), counts(o.Remove), counts(o.Read)
	if o.Scan != nil {
		o.Scan = append([]string{}, each(o.Scan)...)
	}
	return &o
}

// MarshalJSON returns the recording so far, for itemize cost workload.
func (r *Recorder) MarshalJSON() ([]byte, error) { return json.Marshal(r.file()) }

// WriteFile writes the recording so far to a file, for itemize cost workload. It replaces the file as a whole. Each
// process needs a file of its own.
func (r *Recorder) WriteFile(path string) error {
	text, err := json.MarshalIndent(r.file(), "", "\t")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("recording %s: %w", path, err), os.Remove(f.Name()))
	}
	return nil
}

// Begin joins the requests of a context to one operation with a name, up to the call of end. If attributes are named,
// the operation counts as a read of these alone, and not of all attributes of the items that it reads.
func (r *Recorder) Begin(ctx context.Context, name string, attributes ...string) (_ context.Context, end func()) {
	c := &call{r: r, name: name, uses: attributes, ops: map[entity]*trace.Operation{}}
	c.parent = r.callOf(ctx)
	return context.WithValue(ctx, callKey{}, c), c.end
}
