package tabledef

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/schema"
)

// Mapping is an event source mapping from the stream of a table to a Lambda function.
type Mapping struct {
	// Table is the real name of the table.
	Table string
	// Patterns are the filters: the function gets the records that match at least one. None means all records.
	Patterns []string
	// Notes are sentences on what the filters cannot say.
	Notes []string
}

// Limits of the filters of an event source mapping.
// (https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html)
const (
	maxFilters = 5    // 10 on request
	maxPattern = 4096 // characters
)

// Events returns the mapping of each table with items of the models. names returns the real names of a model's tables.
// Each filter selects all items of its models, and perhaps others: Lambda's patterns can compare the beginning of a
// text, and not the form of the rest.
func Events(models []*schema.Entity, names func(*schema.Entity) []string) []Mapping {
	var out []Mapping
	selectors := map[string][]selector{}
	for _, e := range models {
		for i, name := range names(e) {
			at := slices.IndexFunc(out, func(m Mapping) bool { return m.Table == name })
			if at < 0 {
				at = len(out)
				out = append(out, Mapping{Table: name})
			}
			s := selectorOf(e, e.Tables[i])
			if s.hash == nil && s.sort == nil {
				out[at].Notes = append(out[at].Notes, fmt.Sprintf("The keys of %s have no fixed beginning that a "+
					"filter can compare: the function gets all records of the table.", e.Name))
			}
			selectors[name] = with(selectors[name], s)
		}
	}
	for i := range out {
		m := &out[i]
		if len(m.Notes) > 0 {
			continue
		}
		m.Patterns = patterns(selectors[m.Table])
		if len(m.Patterns) > maxFilters {
			m.Notes = append(m.Notes, fmt.Sprintf("These are %d filters, and Lambda takes %d, or 10 on request: use "+
				"functions for fewer models (-models), or remove filters, so that the function gets all records.",
				len(m.Patterns), maxFilters))
		}
	}
	return out
}

// selector selects the items of a model in a table. hash is the comparison of the partition key, and sort are those of
// the sort key, of which one has to hold. nil selects all.
type selector struct {
	hashName, sortName string
	hash               map[string]any
	sort               map[string]any
}

// with adds a selector. Those with the same partition key are one.
func with(all []selector, s selector) []selector {
	text := func(m map[string]any) string { b, _ := json.Marshal(m); return string(b) }
	for i := range all {
		if text(all[i].hash) != text(s.hash) {
			continue
		}
		if all[i].sort == nil || s.sort == nil {
			all[i].sort = nil
			return all
		}
		for typ, values := range s.sort {
			have, _ := all[i].sort[typ].([]any)
			all[i].sort[typ] = distinct(append(have, values.([]any)...))
		}
		return all
	}
	return append(all, s)
}

func distinct(all []any) (out []any) {
	seen := map[string]bool{}
	for _, v := range all {
		if b, _ := json.Marshal(v); !seen[string(b)] {
			seen[string(b)] = true
			out = append(out, v)
		}
	}
	return out
}

// selectorOf returns the selector of a model's items in a table.
func selectorOf(e *schema.Entity, t *schema.Table) selector {
	s := selector{hashName: t.Hash, sortName: t.Range}
	if c := matchOf(e.PK); c != nil {
		s.hash = map[string]any{string(e.PK.Template.Type): []any{c}}
	}
	var sorts []any
	typ := ""
	for _, it := range e.Items {
		if it.Table != t {
			continue
		}
		if it.Key == nil {
			return s
		}
		c := matchOf(it.Key)
		if c == nil {
			return s
		}
		sorts, typ = append(sorts, c), string(it.Key.Template.Type)
	}
	if len(sorts) > 0 {
		s.sort = map[string]any{typ: distinct(sorts)}
	}
	return s
}

// matchOf returns the comparison of a pattern that all keys of a template pass, nil for none.
func matchOf(k *schema.Key) any {
	prefix := k.Template.LiteralPrefix()
	switch {
	case k.Template.Placeholders() == 0:
		return prefix
	case prefix == "": // also a key of the type N or B, which is a placeholder alone
		return nil
	}
	return map[string]any{"prefix": prefix}
}

// patterns returns the patterns of selectors. If one is too long, it does not compare sort keys.
func patterns(all []selector) []string {
	var out []string
	for _, s := range all {
		p := s.pattern()
		if len(p) > maxPattern && s.hash != nil {
			s.sort = nil
			p = s.pattern()
		}
		out = append(out, p)
	}
	return out
}

func (s selector) pattern() string {
	keys := map[string]any{}
	if s.hash != nil {
		keys[s.hashName] = s.hash
	}
	if s.sort != nil {
		keys[s.sortName] = s.sort
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(map[string]any{"dynamodb": map[string]any{"Keys": keys}}); err != nil {
		panic(err) // it has texts
	}
	return strings.TrimSpace(b.String())
}
