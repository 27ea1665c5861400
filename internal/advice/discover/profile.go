package discover

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/advice/charge"
	"github.com/itemize/itemize/internal/model/attr"
)

// Limits of a profile.
const (
	// maxVariants is the number of names from which those of map entries count as data.
	maxVariants = 50
	// maxNames and maxDepth bound the memory of a profile.
	maxNames = 400
	maxDepth = 8
)

// profile describes the values of an attribute.
type profile struct {
	n     int // values that exist
	types map[string]int
	// sizes are the sizes of values in bytes, without the name.
	sizes []int
	// whole counts numbers without fraction that fit an int64, and exact those that a float64 holds.
	whole, exact int
	// times counts texts that a time.Time writes in the same form, and epochs numbers that may be times.
	times, epochs   int
	zeros, negative int
	// fields are the entries of maps by name, until there are too many: they are data then. Entries whose names are
	// data are together under dataName, and dataNames are their names.
	fields    map[string]*profile
	dataNames map[string]bool
	overflow  bool
	// values are all entries of maps, or elements of lists, together.
	values *profile
	// counts are the numbers of entries or elements.
	counts []int
	depth  int
	// docs is the number of items that have a value, and last the latest of them.
	docs, last int
	at         *reading
}

// dataName replaces the names of entries that are data. No tag can have it.
const dataName = "\x00"

// reading has the number of the item that is read, and the names of the sample. All profiles of a type share it.
type reading struct {
	item  int
	names *census
}

// newProfile returns a profile. The caller counts items.
func newProfile(at *reading, depth int) *profile {
	return &profile{types: map[string]int{}, depth: depth, at: at, last: -1}
}

// all returns a profile of all entries of maps, or elements of lists; nil if there are none.
func (p *profile) all() *profile {
	if p.values == nil && len(p.fields) > 0 {
		p.values = newProfile(p.at, p.depth+1)
		for _, name := range slices.Sorted(maps.Keys(p.fields)) {
			p.values.merge(p.fields[name])
		}
	}
	return p.values
}

// merge adds the values of another profile.
func (p *profile) merge(q *profile) {
	p.n, p.docs = p.n+q.n, max(p.docs, q.docs)
	for kind, n := range q.types {
		p.types[kind] += n
	}
	p.sizes, p.counts = append(p.sizes, q.sizes...), append(p.counts, q.counts...)
	p.whole, p.exact, p.times, p.epochs = p.whole+q.whole, p.exact+q.exact, p.times+q.times, p.epochs+q.epochs
	p.zeros, p.negative, p.overflow = p.zeros+q.zeros, p.negative+q.negative, p.overflow || q.overflow
	for name, f := range q.fields {
		if p.fields == nil {
			p.fields = map[string]*profile{}
		}
		if p.fields[name] == nil {
			p.fields[name] = newProfile(p.at, p.depth+1)
		}
		p.fields[name].merge(f)
	}
	for name := range q.dataNames {
		p.noteData(name)
	}
	if p.width() > maxNames {
		p.overflow = true
	}
	if q.values != nil && (q.types["L"] > 0 || q.overflow) {
		if p.values == nil {
			p.values = newProfile(p.at, p.depth+1)
		}
		p.values.merge(q.values)
	}
}

// width is the number of names of entries.
func (p *profile) width() int {
	n := len(p.fields) + len(p.dataNames)
	if p.fields[dataName] != nil {
		n--
	}
	return n
}

// noteData notes a name that is data.
func (p *profile) noteData(name string) {
	if p.dataNames == nil {
		p.dataNames = map[string]bool{}
	}
	if len(p.dataNames) <= maxNames {
		p.dataNames[name] = true
	}
}

// add notes a value.
func (p *profile) add(v types.AttributeValue) {
	p.n++
	if p.last != p.at.item {
		p.docs, p.last = p.docs+1, p.at.item
	}
	p.types[attr.TypeName(v)]++
	p.sizes = append(p.sizes, attr.ValueSize(v))
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		if v.Value == "" {
			p.zeros++
		}
		if isTime(v.Value) {
			p.times++
		}
	case *types.AttributeValueMemberN:
		p.number(v.Value)
	case *types.AttributeValueMemberBOOL:
		if !v.Value {
			p.zeros++
		}
	case *types.AttributeValueMemberL:
		if len(v.Value) == 0 {
			p.zeros++
		}
		p.counts = append(p.counts, len(v.Value))
		for _, e := range v.Value {
			p.value(e)
		}
	case *types.AttributeValueMemberM:
		if len(v.Value) == 0 {
			p.zeros++
		}
		p.counts = append(p.counts, len(v.Value))
		for name, e := range v.Value {
			p.field(name, e)
		}
	}
}

var wholeNumber = regexp.MustCompile(`^(0|-?[1-9]\d*)$`)

func (p *profile) number(s string) {
	n, err := strconv.ParseInt(s, 10, 64)
	if wholeNumber.MatchString(s) && err == nil {
		p.whole++
		switch {
		case n == 0:
			p.zeros++
		case n < 0:
			p.negative++
		case n >= firstEpoch && n < lastEpoch:
			p.epochs++
		}
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		if back := strconv.FormatFloat(f, 'f', -1, 64); back == s {
			p.exact++
		}
	}
}

// Epoch seconds of the years 2001 to 2100: a number of this size is probably a time.
const (
	firstEpoch = 1_000_000_000
	lastEpoch  = 4_102_444_800
)

// isTime reports whether time.Time writes an instant like this.
func isTime(s string) bool {
	if len(s) < len("2006-01-02T15:04:05Z") || len(s) > len(time.RFC3339Nano) || s[4] != '-' {
		return false
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	return err == nil && t.Format(time.RFC3339Nano) == s
}

func (p *profile) value(v types.AttributeValue) {
	if p.depth >= maxDepth {
		return
	}
	if p.values == nil {
		p.values = newProfile(p.at, p.depth+1)
	}
	p.values.add(v)
}

func (p *profile) field(name string, v types.AttributeValue) {
	if p.depth >= maxDepth {
		return
	}
	if p.overflow {
		p.value(v)
		return
	}
	if p.fields == nil {
		p.fields = map[string]*profile{}
	}
	if p.fields[name] == nil && p.at.names.isData(name) {
		p.noteData(name)
		name = dataName
	}
	f := p.fields[name]
	if f == nil {
		if p.width() >= maxNames {
			p.all()
			p.overflow, p.fields = true, nil
			p.value(v)
			return
		}
		f = newProfile(p.at, p.depth+1)
		p.fields[name] = f
	}
	f.add(v)
}

// inexact reports whether some numbers are not those that a float64 holds, at any depth.
func (p *profile) inexact() bool {
	for _, f := range p.fields {
		if f.inexact() {
			return true
		}
	}
	return p.exact < p.types["N"] || p.values != nil && p.values.inexact()
}

// hasSets reports whether values are sets, at any depth.
func (p *profile) hasSets() bool {
	for _, f := range p.fields {
		if f.hasSets() {
			return true
		}
	}
	return p.types["SS"]+p.types["NS"]+p.types["BS"] > 0 || p.values != nil && p.values.hasSets()
}

// only reports whether all values have a type, NULL aside.
func (p *profile) only(kind string) bool {
	return p.types[kind] > 0 && p.types[kind]+p.types["NULL"] == p.n
}

var identifierLike = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// hides reports whether the name of an entry is left out of reports and written files.
func (p *profile) hides(name string) bool { return p.at.names.hides(name) }

// dynamic reports whether the names of a map's entries are data. There are many, most are no identifiers or are those
// of few items, or no two maps have many in common.
func (p *profile) dynamic() bool {
	width := p.width()
	if p.overflow || width > maxVariants {
		return true
	}
	shared, odd := 0, len(p.dataNames)
	for name, f := range p.fields {
		if 2*f.n > p.types["M"] && name != dataName {
			shared++
		}
		if !identifierLike.MatchString(name) && name != dataName {
			odd++
		}
	}
	switch all := p.all(); {
	case 2*odd > width, width >= 4 && 4*shared < width:
		return true
	case all != nil && len(all.types) == 1 && p.types["M"] < 3:
		return width >= 8
	case all != nil && len(all.types) == 1:
		return width >= 8 && 2*shared < width
	}
	return false
}

// Stats are percentiles of sizes or counts.
type Stats struct {
	P50 int `json:"p50"`
	P99 int `json:"p99"`
	Max int `json:"max"`
}

func statsOf(sizes []int) Stats {
	if len(sizes) == 0 {
		return Stats{}
	}
	sorted := slices.Sorted(slices.Values(sizes))
	at := func(p int) int { return sorted[(len(sorted)*p+99)/100-1] }
	return Stats{at(50), at(99), sorted[len(sorted)-1]}
}

// compressed returns the size of a value after compression with gzip, of its text, its bytes, or its JSON.
func compressed(v types.AttributeValue) int {
	var content []byte
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		content = []byte(v.Value)
	case *types.AttributeValueMemberB:
		content = v.Value
	default:
		b, err := json.Marshal(charge.PlainJSON(v))
		if err != nil {
			return 0
		}
		content = b
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(content) // to memory
	_ = w.Close()
	return out.Len()
}
