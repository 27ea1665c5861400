package codegen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/itemize/itemize/internal/schema"
)

// LockName is the name of a package's lock file: its models' layouts as data. A later
// run compares with it, so that keys which would no longer find what is stored are
// noticed before they are used.
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

// lock returns the lock file of the package, and what contradicts the one before.
func (p *Package) lock(old []byte, accept bool) (File, []Diagnostic, error) {
	var before lockFile
	if len(old) > 0 && !accept {
		if err := json.Unmarshal(old, &before); err != nil || before.Version != 1 {
			return File{}, nil, fmt.Errorf("%s cannot be read (%v): restore it from your version control, or run itemize gen -accept to write it anew", p.LockPath(), err)
		}
	}
	now := lockFile{Version: 1}
	for _, m := range p.Models {
		now.Models = append(now.Models, m.Schema.Layout())
	}
	// Models that were not seen stay: other build tags may show them.
	unseen := slices.DeleteFunc(slices.Clone(before.Models), func(l schema.Layout) bool {
		return slices.ContainsFunc(now.Models, func(n schema.Layout) bool { return n.Model == l.Model })
	})
	var out []Diagnostic
	for i, m := range p.Models {
		was, renamed := formerly(before.Models, unseen, now.Models[i])
		if was == nil {
			continue
		}
		if renamed {
			unseen = slices.DeleteFunc(unseen, func(l schema.Layout) bool { return l.Model == was.Model })
		}
		for _, text := range lost(*was, now.Models[i]) {
			out = append(out, p.contradiction(m, "", text+": migrate what is stored, then run go tool itemize gen -accept ./..."))
		}
		for _, c := range lostAttributes(*was, now.Models[i]) {
			out = append(out, p.contradiction(m, c.field, c.text+": "+c.cure))
		}
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

// contradiction is what contradicts the lock file, at a stored field, or "" for the whole model.
func (p *Package) contradiction(m *Model, field, text string) Diagnostic {
	pos, end := m.named.Obj().Pos(), m.named.Obj().Pos()+token.Pos(len(m.Name))
	label := m.Schema.Label()
	for _, it := range m.Schema.Items {
		for _, a := range it.Attributes {
			if field != "" && a.Value.Name == field && a.Field != nil {
				pos, end = p.find.place(a.Field, 0, 0)
			}
		}
	}
	if field != "" {
		label += "." + field
	}
	return Diagnostic{Pos: p.fset.Position(pos), End: p.fset.Position(end), Message: label + ": " + text}
}

// formerly returns the layout that a model had: the one of its name, or of a model that is
// gone and had its table.
func formerly(before, unseen []schema.Layout, now schema.Layout) (was *schema.Layout, renamed bool) {
	for i := range before {
		if before[i].Model == now.Model {
			return &before[i], false
		}
	}
	for i := range unseen {
		if unseen[i].Tables[0].Name == now.Tables[0].Name {
			l := unseen[i]
			return &l, true
		}
	}
	return nil, false
}

// lost lists what of an old layout a new one would no longer find.
func lost(old, now schema.Layout) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if keyText(old.PartitionKey) != keyText(now.PartitionKey) {
		say("the partition key was %q, and is %q, so that no stored %s is found", old.PartitionKey.Template, now.PartitionKey.Template, old.Model)
	}
	if old.Delim != now.Delim {
		say("the delimiter was %q, and is %q, so that values in keys are escaped in another way", old.Delim, now.Delim)
	}
	if old.TTL != now.TTL && old.TTL != "" {
		say("the TTL attribute was %q, and is %q, so that stored items do not expire as they were told", old.TTL, now.TTL)
	}
	if old.Version != now.Version {
		say("the version attribute was %q, and is %q, so that stored versions are not compared", old.Version, now.Version)
	}
	for _, t := range old.Tables {
		i := slices.IndexFunc(now.Tables, func(x schema.LayoutTable) bool { return x.Name == t.Name })
		switch {
		case i < 0:
			say("the table %s is gone, with what is stored in it", t.Name)
		case now.Tables[i].Hash != t.Hash || now.Tables[i].Range != t.Range || now.Tables[i].HashType != t.HashType || now.Tables[i].RangeType != t.RangeType:
			say("the keys of the table %s were %s, and are %s", t.Name, tableKeys(t), tableKeys(now.Tables[i]))
		}
	}
	for _, it := range old.Items {
		if !slices.ContainsFunc(now.Tables, func(t schema.LayoutTable) bool { return t.Name == it.Table }) {
			continue // it is gone with its table
		}
		if !slices.ContainsFunc(now.Items, func(x schema.LayoutItem) bool { return x.Table == it.Table && sortKey(x) == sortKey(it) }) {
			say("no item has the sort key %s any more (it was that of %s), so that what is stored there is not found", template(it), it.Name)
		}
	}
	out = append(out, exchanged(old, now)...)
	for _, it := range old.Items {
		for _, x := range now.Items {
			if x.Table == it.Table && sortKey(x) == sortKey(it) && x.Root != it.Root && it.Root {
				say("the root was %s, and another item is it now, which stored entities may not have", it.Name)
			}
		}
	}
	return out
}

// exchanged lists keys that find what is stored, and take it for something else: fields
// that changed their places in a key, and keys that changed their fields.
func exchanged(old, now schema.Layout) []string {
	var out []string
	places := func(what string, a, b schema.LayoutKey) {
		if x, y := fields(a), fields(b); keyText(a) == keyText(b) && !slices.Equal(x, y) && slices.Equal(slices.Sorted(slices.Values(x)), slices.Sorted(slices.Values(y))) {
			out = append(out, fmt.Sprintf("the fields in %s were %s, and are %s, so that stored values would be exchanged", what, strings.Join(x, ", "), strings.Join(y, ", ")))
		}
	}
	places("the partition key", old.PartitionKey, now.PartitionKey)
	for _, it := range old.Items {
		for _, x := range now.Items {
			switch {
			case it.Table != x.Table || it.SortKey == nil || x.SortKey == nil || sortKey(it) != sortKey(x):
			case it.Name == x.Name:
				places("the sort key "+it.SortKey.Template, *it.SortKey, *x.SortKey)
			case hasItem(now, it.Name) && hasItem(old, x.Name):
				out = append(out, fmt.Sprintf("the sort key %s was that of %s, and is that of %s", template(it), it.Name, x.Name))
			}
		}
	}
	return out
}

func hasItem(l schema.Layout, name string) bool {
	return slices.ContainsFunc(l.Items, func(it schema.LayoutItem) bool { return it.Name == name })
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
