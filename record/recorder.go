package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/itemize/itemize/internal/recording"
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
	least uint64
	seed  maphash.Seed
	keys  sync.Map // []string by table
	// hasModels reports that a mapper has the observer.
	hasModels atomic.Bool

	mu       sync.Mutex
	from     time.Time
	kinds    map[string]*kind
	contents *contents
	models   []*model
	dropped  int
}

// kind collects what a recording has of a kind of entities.
type kind struct {
	recording.Kind
	operations map[string]*recording.Operation
	// keys are hashes of the first entities, and attributes the numbers of entities that have each attribute.
	keys       map[uint64]bool
	attributes map[string]int
	entities   int
}

// Limits of the memory.
const (
	maxKinds      = 64
	maxOperations = 200 // of a kind
	maxNames      = 200 // of attributes of a kind
)

// New returns a recorder. Its time begins now.
func New(o Options) *Recorder {
	if !(o.Rate > 0 && o.Rate <= 1) {
		o.Rate = defaultRate
	}
	r := &Recorder{
		rate: o.Rate, least: math.MaxUint64, seed: maphash.MakeSeed(), from: time.Now(), kinds: map[string]*kind{},
		contents: newContents(),
	}
	if o.Rate < 1 {
		r.least = uint64(o.Rate * math.MaxUint64)
	}
	for table, names := range o.Keys {
		names = slices.Clone(names)
		slices.Sort(names)
		r.keys.Store(table, names)
	}
	return r
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
	if len(r.kinds) >= maxKinds {
		return nil
	}
	k := &kind{
		Kind:       recording.Kind{Table: table, Name: name, Model: isModel, Keys: keys},
		operations: map[string]*recording.Operation{}, keys: map[uint64]bool{}, attributes: map[string]int{},
	}
	r.kinds[at] = k
	return k
}

// add records an operation. r.mu is locked.
func (r *Recorder) add(k *kind, o *recording.Operation) {
	if k == nil {
		r.dropped++
		return
	}
	id := o.Signature()
	if at := k.operations[id]; at != nil {
		at.Merge(o)
		return
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
	if len(k.keys) < leastShared {
		k.keys[hash] = true
	}
}

// document adds the sizes of an entity to the sample.
func (k *kind) document(d recording.Document) {
	k.Seen++
	if len(k.Documents) < recording.MaxDocuments {
		k.Documents = append(k.Documents, d)
	} else if i := rand.IntN(k.Seen); i < len(k.Documents) {
		k.Documents[i] = d
	}
}

// has counts the names of the attributes of an entity.
func (k *kind) has(d recording.Document) {
	k.entities++
	for name := range d.Sizes {
		if _, ok := k.attributes[name]; ok || len(k.attributes) < maxNames {
			k.attributes[name]++
		}
	}
}

// Names and literals that fewer entities share count as values. Of few entities, as in a test, all names are shown.
const (
	leastShared  = 5
	manyEntities = 25
)

// hidden replaces names of attributes that count as values, and otherKinds such beginnings of keys.
const (
	hidden     = "rare attributes"
	otherKinds = "{...}"
)

// file returns the recording so far.
func (r *Recorder) file() *recording.File {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := &recording.File{
		Format: recording.Format, From: r.from, To: time.Now(), Rate: r.rate, Dropped: r.dropped,
		Kinds: []*recording.Kind{},
	}
	for _, k := range r.kinds {
		x := k.public()
		f.Kinds = append(f.Kinds, x)
	}
	// kinds that lose their names become one
	merged := recording.Merge(&recording.File{From: f.From, To: f.To, Rate: 1, Kinds: f.Kinds})
	f.Kinds = merged.Kinds
	return f
}

// public returns a kind without names that count as values.
func (k *kind) public() *recording.Kind {
	x := k.Kind
	if !x.Model && len(k.keys) < leastShared {
		x.Name = otherKinds
	}
	show := func(name string) string {
		if !x.Model && k.entities >= manyEntities && k.attributes[name] < leastShared && !slices.Contains(x.Keys,
			name) {
			return hidden
		}
		return name
	}
	x.Operations, x.Documents = nil, nil
	for _, o := range k.operations {
		x.Operations = append(x.Operations, renamed(*o, show))
	}
	for _, d := range k.Documents {
		to := recording.Document{Sizes: map[string]int{}, Lists: map[string]recording.List{}}
		for name, n := range d.Sizes {
			to.Sizes[show(name)] += n
		}
		for name, l := range d.Lists {
			if show(name) == name {
				to.Lists[name] = l
			}
		}
		x.Documents = append(x.Documents, to)
	}
	return &x
}

// renamed returns an operation with other names of attributes.
func renamed(o recording.Operation, name func(string) string) *recording.Operation {
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
	c := &call{r: r, name: name, uses: attributes, ops: map[entity]*recording.Operation{}}
	return context.WithValue(ctx, callKey{}, c), c.end
}
