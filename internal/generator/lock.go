package generator

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/itemize/itemize/internal/model/schema"
)

// LockName is the name of a package's lock file, which has the layouts of its models as data. A later
// run compares the models with it, and reports keys that would no longer find the stored items.
const LockName = "itemize.lock.json"

// LockPath returns the path of the package's lock file.
func (p *Package) LockPath() string { return filepath.Join(p.Dir, LockName) }

// GeneratedFiles lists the generated files that the package has.
func (p *Package) GeneratedFiles() []string { return p.generated }

// lockFile is the content of a lock file.
type lockFile struct {
	Version int             `json:"version"`
	Models  []schema.Layout `json:"models"`
}

// lock returns the lock file of the package, and what contradicts the one before, unless that is
// accepted.
func (p *Package) lock(old []byte, accept bool) (File, []Diagnostic, error) {
	before, err := p.readLock(old)
	if err != nil && !accept {
		return File{}, nil, err
	}
	now := lockFile{Version: 1}
	for _, m := range p.Models {
		now.Models = append(now.Models, p.layout(m))
	}
	// Models that were not seen stay: other build tags may show them.
	unseen := slices.DeleteFunc(slices.Clone(before.Models), func(l schema.Layout) bool {
		return slices.ContainsFunc(now.Models, func(n schema.Layout) bool { return n.Model == l.Model })
	})
	former := p.formerly(before.Models, &unseen, now.Models)
	var out []Diagnostic
	for i, m := range p.Models {
		was := former[i]
		out = append(out, p.uniques(m, was, now.Models[i])...)
		if was == nil {
			continue
		}
		remember(*was, &now.Models[i])
		for _, text := range lost(*was, now.Models[i]) {
			out = append(out,
				p.contradiction(m, contradiction{},
					text+": migrate the stored items, then run itemize gen -accept ./..."))
		}
		for _, text := range lostIndexes(*was, now.Models[i]) {
			out = append(out, p.contradiction(m, contradiction{}, text))
		}
		for _, c := range lostAttributes(*was, now.Models[i]) {
			out = append(out, p.contradiction(m, c, c.text+": "+c.cure))
		}
	}
	if accept {
		out = nil
	}
	now.Models = append(now.Models, unseen...)
	slices.SortStableFunc(now.Models, func(a, b schema.Layout) int { return strings.Compare(a.Model, b.Model) })
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "\t")
	e.SetEscapeHTML(false)
	if err := e.Encode(now); err != nil {
		return File{}, nil, err
	}
	return File{Path: p.LockPath(), Content: b.Bytes()}, out, nil
}

// layout is a model's layout in the lock file, which a package shares with its external tests.
func (p *Package) layout(m *Model) schema.Layout {
	l := m.Schema.Layout()
	if strings.HasSuffix(p.Name, "_test") {
		l.Model = p.Name + "." + l.Model
	}
	return l
}

// readLock reads a lock file; nil is none.
func (p *Package) readLock(content []byte) (lockFile, error) {
	var l lockFile
	if content == nil {
		return l, nil
	}
	bad := func(why any) (lockFile, error) {
		return lockFile{}, fmt.Errorf("%s cannot be read (%v): restore it from your version control, or run "+
			"itemize gen -accept to write it again (without removed models and attributes)", p.LockPath(), why)
	}
	content = bytes.TrimPrefix(content, []byte("\xef\xbb\xbf")) // which some editors write
	if err := json.Unmarshal(content, &l); err != nil {
		return bad(err)
	}
	if l.Version != 1 {
		return bad(fmt.Sprintf("its version is %d, but this itemize reads version 1: use the itemize that wrote it",
			l.Version))
	}
	if len(l.Models) == 0 {
		return bad("it has no models")
	}
	seen := map[string]bool{}
	for _, m := range l.Models {
		switch {
		case m.Model == "" || len(m.Tables) == 0 || len(m.Items) == 0:
			return bad(fmt.Sprintf("its model %q has no tables or no items", m.Model))
		case seen[m.Model]:
			return bad("the model " + m.Model + " occurs twice, perhaps by a merge of two branches")
		}
		seen[m.Model] = true
	}
	return l, nil
}

// LockFault returns the fault of the package's lock file, which no version of gen could read; none if it has none.
func (p *Package) LockFault() []Diagnostic {
	if len(p.Models) == 0 {
		return nil
	}
	content, err := os.ReadFile(p.LockPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		_, err = p.readLock(content)
	}
	if err == nil {
		return nil
	}
	at := token.Position{Filename: p.LockPath(), Line: 1, Column: 1}
	for i, line := range strings.Split(string(content), "\n") {
		if strings.HasPrefix(line, "<<<<<<<") {
			at.Line = i + 1
			return []Diagnostic{
				{Pos: at, End: at, Message: "a merge of two branches is not finished: take one side, and " +
					"run itemize gen"},
			}
		}
	}
	return []Diagnostic{{Pos: at, End: at, Message: err.Error()}}
}

// contradiction returns the diagnostic of a contradiction of the lock file. Its position is the stored
// field, if it concerns one.
func (p *Package) contradiction(m *Model, of contradiction, text string) Diagnostic {
	pos, end := m.named.Obj().Pos(), m.named.Obj().Pos()+token.Pos(len(m.Name))
	label := m.Schema.Label()
	for _, it := range m.Schema.Items {
		for _, a := range it.Attributes {
			if it.Name == of.item && a.Value.Name == of.field && a.Field != nil {
				pos, end = p.find.place(a.Field, 0, 0)
			}
		}
	}
	if of.field != "" {
		label += "." + of.field
	}
	return Diagnostic{Pos: p.fset.Position(pos), End: p.fset.Position(end), Message: label + ": " + text}
}

// formerly returns for each model its earlier layout, nil for a new model. That is the layout with its
// name, or that of a deleted model with a similar layout, the most similar first. The layouts that it
// returns are removed from unseen.
func (p *Package) formerly(before []schema.Layout, unseen *[]schema.Layout, now []schema.Layout) []*schema.Layout {
	former := make([]*schema.Layout, len(now))
	for i := range now {
		if j := slices.IndexFunc(before, func(l schema.Layout) bool { return l.Model == now[i].Model }); j >= 0 {
			former[i] = &before[j]
		}
	}
	tests := strings.HasSuffix(p.Name, "_test")
	for {
		best, model, entry := 0.0, -1, -1
		for i := range now {
			for j, l := range *unseen {
				if x := alike(l, now[i]); former[i] == nil && x > best && strings.Contains(l.Model, ".") == tests {
					best, model, entry = x, i, j
				}
			}
		}
		if model < 0 {
			return former
		}
		l := (*unseen)[entry]
		former[model] = &l
		*unseen = slices.Delete(slices.Clone(*unseen), entry, entry+1)
	}
}

// alike returns the likelihood that one model has become another, 0 for none. Both must be in the same
// table. With the same partition key they must share an item, and otherwise half of the stored
// attributes.
func alike(old, now schema.Layout) float64 {
	table := old.Tables[0].Name == now.Tables[0].Name
	partition := keyText(old.PartitionKey) == keyText(now.PartitionKey)
	kept, all := 0, contents(now)
	was := contents(old)
	for _, text := range was {
		if slices.Contains(all, text) {
			kept++
		}
	}
	share := float64(kept) / float64(len(was))
	switch {
	case table && partition && kept > 0:
		return 1 + share
	case (table || partition) && share >= 0.5:
		return share
	}
	return 0
}

// contents lists the sort keys of a layout's items, and their attributes.
func contents(l schema.Layout) []string {
	var all []string
	for _, it := range l.Items {
		all = append(all, sortKey(it))
		for _, a := range it.Attributes {
			all = append(all, sortKey(it)+" "+a.Name)
		}
	}
	return all
}

// lost lists what of an old layout a new one would no longer find.
func lost(old, now schema.Layout) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if keyText(old.PartitionKey) != keyText(now.PartitionKey) {
		a, b := shown(old.PartitionKey, now.PartitionKey)
		say("the partition key was %s and is %s now, so that no stored %s is found", a, b, old.Model)
	}
	out = append(out, lostShards(old.Shards, now.Shards)...)
	if old.Delim != now.Delim {
		say("the delimiter was %q and is %q now, which changes how values in keys are escaped", old.Delim, now.Delim)
	}
	if old.TTL != now.TTL && old.TTL != "" {
		say("the TTL attribute was %q and is %q now, so that stored items do not expire as set", old.TTL,
			now.TTL)
	}
	if old.Version != now.Version && old.Version != "" {
		say("the version attribute was %q and is %q now, so that stored versions are not compared", old.Version,
			now.Version)
	}
	for _, name := range []struct{ tag, old, now, then string }{
		{
			"state", cmp.Or(old.State, schema.DefaultState), cmp.Or(now.State, schema.DefaultState),
			"unfinished inserts and deletes are not recognized, and deleted entities may be found again",
		},
		{
			"incarnation", cmp.Or(old.Incarnation, schema.DefaultIncarnation),
			cmp.Or(now.Incarnation, schema.DefaultIncarnation), "leftover items of deleted entities are found",
		},
		{
			"migration", cmp.Or(old.Moved, schema.DefaultMoved), cmp.Or(now.Moved, schema.DefaultMoved),
			"moved monoliths and their entities are not recognized",
		},
	} {
		if name.old != name.now {
			say("the attribute of %s= was %q and is %q now, so that %s", name.tag, name.old, name.now, name.then)
		}
	}
	if now.TTL != "" && old.TTL != now.TTL &&
		slices.ContainsFunc(old.Items, func(it schema.LayoutItem) bool { return stillHolds(it, now.TTL) }) {
		say("stored items may have %q, which is the TTL attribute now, by which DynamoDB would delete them",
			now.TTL)
	}
	for _, t := range old.Tables {
		i := slices.IndexFunc(now.Tables, func(x schema.LayoutTable) bool { return x.Name == t.Name })
		switch {
		case i < 0:
			say("the table %s is deleted from the model, with its stored items (if only its name in Go has "+
				"changed, table=%s on the model keeps it)", t.Name, t.Name)
		case now.Tables[i].Hash != t.Hash || now.Tables[i].Range != t.Range || now.Tables[i].HashType != t.HashType ||
			now.Tables[i].RangeType != t.RangeType:
			say("the keys of the table %s were %s and are %s now", t.Name, tableKeys(t), tableKeys(now.Tables[i]))
		}
	}
	for _, it := range old.Items {
		if !slices.ContainsFunc(now.Tables, func(t schema.LayoutTable) bool { return t.Name == it.Table }) {
			continue // it was deleted together with its table
		}
		if !slices.ContainsFunc(now.Items,
			func(x schema.LayoutItem) bool { return x.Table == it.Table && sortKey(x) == sortKey(it) }) {
			say("no item has the sort key %s now (it was the key of %s), so that stored items are not found",
				template(it), it.Name)
		}
	}
	out = append(out, exchanged(old, now)...)
	for _, it := range old.Items {
		for _, x := range now.Items {
			if x.Table != it.Table || sortKey(x) != sortKey(it) {
				continue
			}
			if it.Root && !x.Root {
				say("the root was %s and is another item now, which stored entities may not have", it.Name)
			}
			if expires(it) && !expires(x) && old.TTL == now.TTL {
				say("items of %s had %q and still expire, but nothing extends it now", it.Name, old.TTL)
			}
		}
	}
	return out
}

// stillHolds reports whether items of a kind held an attribute, or hold it yet from before.
func stillHolds(it schema.LayoutItem, name string) bool {
	return hasAttribute(it, name) ||
		slices.ContainsFunc(it.Removed, func(a schema.LayoutAttribute) bool { return a.Name == name })
}

func expires(it schema.LayoutItem) bool { return it.Expiry != "" || it.ExpiryAll }

// exchanged lists keys that find stored items of another meaning: keys that name other fields, or whose
// items are other fields.
func exchanged(old, now schema.Layout) []string {
	var out []string
	places := func(what string, was, is schema.LayoutItem, a, b schema.LayoutKey) {
		for i, f := range a.Placeholders {
			g := b.Placeholders[i]
			switch {
			case narrower(f.Number, g.Number):
				out = append(out, fmt.Sprintf("in %s {%s} had the type %s and has %s now, so that stored numbers "+
					"that do not fit would not be found", what, f.Field, f.Number, g.Number))
			case g.Len > 0 && f.Len != g.Len:
				out = append(out, fmt.Sprintf("in %s {%s} has %d bytes now, so that stored keys of other lengths "+
					"could not be read", what, f.Field, g.Len))
			case (f.From != g.From || f.Field != g.Field) &&
				(holds(now, is, f.From, f.Field) || holds(old, was, g.From, g.Field)):
				out = append(out,
					fmt.Sprintf("the fields in %s were %s and are %s now, so that stored values would be read into "+
						"the wrong fields",
						what, strings.Join(fields(a), ", "), strings.Join(fields(b), ", ")))
				return
			}
		}
	}
	if keyText(old.PartitionKey) == keyText(now.PartitionKey) {
		places("the partition key", schema.LayoutItem{}, schema.LayoutItem{}, old.PartitionKey, now.PartitionKey)
	}
	for _, it := range old.Items {
		for _, x := range now.Items {
			switch {
			case it.Table != x.Table || it.SortKey == nil || x.SortKey == nil || sortKey(it) != sortKey(x):
			case it.Name == x.Name || !hasItem(now, it.Name) && !hasItem(old, x.Name):
				places("the sort key "+it.SortKey.Template, it, x, *it.SortKey, *x.SortKey)
			default:
				out = append(out, fmt.Sprintf("the sort key %s was the key of %s and is the key of %s now, so that "+
					"stored items would be read as the wrong kind", template(it), it.Name, x.Name))
			}
		}
	}
	return out
}

func hasItem(l schema.Layout, name string) bool {
	return slices.ContainsFunc(l.Items, func(it schema.LayoutItem) bool { return it.Name == name })
}

// shown returns two keys as messages show them: by their templates, with kinds where these are equal.
func shown(a, b schema.LayoutKey) (string, string) {
	text := func(k schema.LayoutKey) string {
		s := strconv.Quote(k.Template)
		if a.Template == b.Template {
			for _, p := range k.Placeholders {
				s += " (" + p.Kind + ")"
			}
		}
		return s
	}
	return text(a), text(b)
}

// fields are the names of a key's fields, in their order.
func fields(k schema.LayoutKey) []string {
	var out []string
	for _, p := range k.Placeholders {
		out = append(out, p.From+" "+p.Field)
	}
	return out
}

func tableKeys(t schema.LayoutTable) string {
	return fmt.Sprintf("%s (%s), %s (%s)", t.Hash, t.HashType, t.Range, t.RangeType)
}

// keyText returns what decides a key's text: its template, with the kinds and formats of
// its placeholders.
func keyText(k schema.LayoutKey) string {
	text := fmt.Sprintf("%q", shape(k))
	for _, p := range k.Placeholders {
		if kind := p.Kind; kind != "string" {
			text += " " + strings.Replace(kind, "uint", "int", 1)
		}
	}
	return text
}

// shape is the template without the names of fields: renaming one changes no key.
func shape(k schema.LayoutKey) string {
	out, in := "", false
	n := 0
	for i := 0; i < len(k.Template); i++ {
		c := k.Template[i]
		doubled := i+1 < len(k.Template) && k.Template[i+1] == c && (c == '{' || c == '}')
		switch {
		case !in && doubled:
			out += string(c) + string(c)
			i++
		case c == '{':
			in = true
		case c == '}' && in:
			in = false
			out += "{" + formatOf(k, n) + "}"
			n++
		case !in:
			out += string(c)
		}
	}
	return out
}

func formatOf(k schema.LayoutKey, n int) string {
	if n < len(k.Placeholders) {
		return k.Placeholders[n].Format
	}
	return ""
}

// template is an item's sort key as messages show it.
func template(it schema.LayoutItem) string {
	if it.SortKey == nil {
		return "of the table's one item"
	}
	return strconv.Quote(it.SortKey.Template)
}

func sortKey(it schema.LayoutItem) string {
	if it.SortKey == nil {
		return "of the table's one item"
	}
	return keyText(*it.SortKey)
}
