package discover

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/naming"
)

// maxLiterals is the largest number of different literals in one place of a key. More are data, such as countries.
const maxLiterals = 20

const delimiters = "#|/:"

// pattern is the form of a key: literals, and tokens that vary.
type pattern struct {
	tokens []keyPart
	// kind is the type of the key attribute: S, N or B.
	kind string
}

// keyPart is a part of a key, with the delimiter behind it.
type keyPart struct {
	literal string // "" for a part that varies
	delim   string
	// attribute is the attribute that has the value of a part that varies, "" for none.
	attribute string
}

// fixed reports whether no part varies.
func (p pattern) fixed() bool {
	return len(p.tokens) > 0 && !slices.ContainsFunc(p.tokens, func(t keyPart) bool { return t.literal == "" })
}

// String returns the pattern with {...} for parts that vary.
func (p pattern) String() string {
	var b strings.Builder
	for _, t := range p.tokens {
		switch {
		case t.literal != "":
			b.WriteString(t.literal)
		case t.attribute != "":
			b.WriteString("{" + t.attribute + "}")
		default:
			b.WriteString("{...}")
		}
		b.WriteString(t.delim)
	}
	return b.String()
}

// words are the literals, in order.
func (p pattern) words() []string {
	var out []string
	for _, t := range p.tokens {
		if t.literal != "" {
			out = append(out, t.literal)
		}
	}
	return out
}

// cut splits a key at delimiters.
func cut(s string) []keyPart {
	var out []keyPart
	for s != "" {
		i := strings.IndexAny(s, delimiters)
		if i < 0 {
			return append(out, keyPart{literal: s})
		}
		out = append(out, keyPart{literal: s[:i], delim: s[i : i+1]})
		s = s[i+1:]
	}
	return out
}

var wordLike = regexp.MustCompile(`^[A-Za-z][A-Za-z_.-]{0,40}$`)

// parsed is one key of an item.
type parsed struct {
	tokens    []keyPart
	partition string
}

// patternsOf finds the patterns of keys, one for each key. partitions are the partition keys that the keys belong to.
func patternsOf(keys []types.AttributeValue, partitions []string) []pattern {
	out := make([]pattern, len(keys))
	all := make([]parsed, len(keys))
	var texts []int
	for i, v := range keys {
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			all[i] = parsed{cut(v.Value), partitions[i]}
			out[i].kind = "S"
			texts = append(texts, i)
		case nil:
		default:
			out[i] = pattern{[]keyPart{{}}, attr.TypeName(v)}
		}
	}
	literals(all, texts, 0)
	for _, i := range texts {
		out[i].tokens = all[i].tokens
	}
	return out
}

// literals decides for the tokens from a position on which are literals, for keys that are equal before it.
func literals(all []parsed, keys []int, at int) {
	if len(keys) == 0 {
		return
	}
	shared := map[keyPart]map[string]bool{}
	for _, i := range keys {
		if at < len(all[i].tokens) {
			t := all[i].tokens[at]
			if shared[t] == nil {
				shared[t] = map[string]bool{}
			}
			shared[t][all[i].partition] = true
		}
	}
	n := 0
	for t, partitions := range shared {
		if len(partitions) < naming.LeastShared || !wordLike.MatchString(t.literal) || naming.IsValue(t.literal) {
			delete(shared, t)
			continue
		}
		n++
	}
	if n > maxLiterals {
		shared = nil
	}
	next := map[keyPart][]int{}
	for _, i := range keys {
		if at >= len(all[i].tokens) {
			continue
		}
		t := all[i].tokens[at]
		if shared[t] == nil {
			t.literal = ""
			all[i].tokens[at] = t
		}
		next[t] = append(next[t], i)
	}
	for _, group := range next {
		literals(all, group, at+1)
	}
}

// attributesOf finds the attributes whose values are the parts of a key that vary, in all items.
func (p pattern) attributesOf(keyName string, items []item.Attributes, names *census) pattern {
	out := pattern{slices.Clone(p.tokens), p.kind}
	for i, t := range p.tokens {
		if t.literal != "" {
			continue
		}
		var candidates map[string]bool
		for _, it := range items {
			v, ok := p.partOf(it[keyName], i)
			have := map[string]bool{}
			for name, a := range it {
				s, is := a.(*types.AttributeValueMemberS)
				if ok && is && name != keyName && !names.hides(name) && s.Value == v &&
					(candidates == nil || candidates[name]) {
					have[name] = true
				}
			}
			if candidates = have; len(have) == 0 {
				break
			}
		}
		if len(candidates) > 0 {
			out.tokens[i].attribute = slices.Min(slices.Collect(maps.Keys(candidates)))
		}
	}
	return out
}

// partOf returns a part of a key.
func (p pattern) partOf(v types.AttributeValue, i int) (string, bool) {
	s, ok := v.(*types.AttributeValueMemberS)
	if !ok {
		return "", false
	}
	if len(p.tokens) == 1 {
		return s.Value, true
	}
	all := cut(s.Value)
	if i >= len(all) {
		return "", false
	}
	return all[i].literal, true
}
