package inspect

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
)

// unknown counts an item of no model. It is a finding if its key begins like one of a model.
func (x *Inspector) unknown(a item.Attributes, r *Report) {
	pk, _ := attr.ScalarOf(a[x.Table.Hash])
	var sk key.Scalar
	if x.Table.Range != "" {
		sk, _ = attr.ScalarOf(a[x.Table.Range])
	}
	if isOwn(pk, a) {
		r.Own++
		if model.IsGuard(pk) {
			r.guards = append(r.guards, item.Image{Place: item.Place{Table: x.Table, PK: pk, SK: sk}, Arguments: a})
		}
		return
	}
	r.Unknown++
	for _, m := range x.Models {
		if what := misspelled(m, m.TableNamed(x.Table.Name), pk, sk); what != "" {
			r.Findings = append(r.Findings, Finding{
				Rule: Key, Model: m.Label(), Table: x.Table.Name, Item: item.Place{
					Table: x.Table, PK: pk,
					SK: sk,
				}.String(),
				Fact: what + ": no load finds the item",
				Cure: "put the item under the right key, and delete this one; or rename the key if it is of another " +
					"program",
			})
			return
		}
	}
}

// misspelled describes a key that is almost one of a model's, "" for another key.
func misspelled(m *Model, t *item.Table, pk, sk key.Scalar) string {
	template := m.Schema.PK.Template
	if t == nil {
		return ""
	}
	if !template.Parse(pk, make([]key.Value, template.Placeholders())) {
		if it, _ := m.Schema.Match(t.Index, sk); it != nil && it.Key != nil && isLike(template, pk) {
			return fmt.Sprintf("the partition key begins like %s, but differs from it", m.Schema.PK.Text)
		}
		return ""
	}
	for _, it := range m.Schema.Items {
		if it.Table.Index == t.Index && it.Key != nil && isLike(it.Key.Template, sk) {
			return fmt.Sprintf("the sort key begins like %s, but differs from it", it.Key.Text)
		}
	}
	return ""
}

// isOwn reports whether an item is a record, part or note of the library.
func isOwn(pk key.Scalar, a item.Attributes) bool {
	_, isPart := extern.OwnerOf(a)
	return isPart || strings.HasPrefix(pk.Text, "~")
}

// isLike reports whether a key that does not match a template has the text before its first value, or
// differs from a key without values only in case.
func isLike(t *key.Template, sk key.Scalar) bool {
	prefix := t.LiteralPrefix()
	if t.Placeholders() == 0 {
		return strings.EqualFold(prefix, sk.Text)
	}
	delims := 0
	for _, p := range t.Parts {
		delims += strings.Count(p.Text, string(t.Delim))
	}
	return prefix != "" && prefix[len(prefix)-1] == t.Delim && strings.HasPrefix(sk.Text, prefix) &&
		strings.Count(sk.Text, string(t.Delim)) <= delims // one with more segments is of another kind
}

// indexKeys compares the attributes that exist only for indexes with those that they are made of. The root
// item of an entity that is not live has none of them.
func (s *subject) indexKeys(root *item.Image, add func(Rule, string, string)) {
	if s.isRoot() && !s.img.Header.Live() {
		for _, k := range s.img.Kind.Derived {
			if s.img.Has(k.Name) {
				add(Index, fmt.Sprintf("%s is stored, but the entity is not live: the index %s shows it", k.Name,
					s.img.Kind.IndexOf(k.Name)), "remove the attribute")
			}
		}
		return
	}
	identity, _ := s.m.Whose(&s.img)
	for _, k := range s.img.Kind.Derived {
		values := make([]key.Value, len(k.Sources))
		complete := true
		for i, src := range k.Sources {
			var ok bool
			values[i], ok = s.sourceOf(src, identity)
			complete = complete && ok
		}
		if !complete {
			continue
		}
		want, there, err := s.m.RenderIndexKey(s.img.Kind, k, values)
		got, has := attr.ScalarOf(s.img.Attribute(k.Name))
		if err != nil || has == there && (!has || got == want) {
			continue
		}
		what := fmt.Sprintf("%s differs from the attributes of the item", k.Name)
		if !has {
			what = fmt.Sprintf("%s is missing", k.Name)
		} else if !there {
			what = fmt.Sprintf("%s is stored, but a field in it is empty", k.Name)
		}
		add(Index, fmt.Sprintf("%s: the index %s does not have the item where queries look for it", what,
			s.img.Kind.IndexOf(k.Name)),
			fmt.Sprintf("write the key as in %s", k.Text))
	}
}

// sourceOf returns the value of a placeholder of an index key; ok is false if the item does not have it.
func (s *subject) sourceOf(src schema.Source, identity []key.Value) (v key.Value, ok bool) {
	if src.From == schema.FromModel && src.KeyField < len(identity) && identity[src.KeyField].Kind != key.None {
		return identity[src.KeyField], true
	}
	it := s.img.Kind
	if k := it.Key; k != nil {
		for i, own := range k.Sources {
			if own.Lossless && own.From == src.From && own.Value.Name == src.Value.Name {
				return s.img.Values[i], true
			}
		}
	}
	for _, a := range it.Attributes {
		if a.Value.Name == src.Value.Name {
			return scalarOf(s.img.Attribute(a.Name), src.Value.Type)
		}
	}
	return v, false
}

// scalarOf converts an attribute into the value of a placeholder. A missing attribute is unknown: the value may
// be empty, or another program may have left it out.
func scalarOf(av types.AttributeValue, t *schema.Type) (v key.Value, ok bool) {
	switch av := av.(type) {
	case *types.AttributeValueMemberS:
		if t.Time {
			at, err := time.Parse(time.RFC3339Nano, av.Value)
			return key.OfTime(at), err == nil
		}
		return key.OfString(av.Value), t.Kind == schema.String && !t.Marshals
	case *types.AttributeValueMemberN:
		n, err := strconv.ParseInt(av.Value, 10, 64)
		switch {
		case t.Time:
			return key.OfTime(time.Unix(n, 0)), err == nil
		case t.Kind == schema.Int:
			return key.OfInt(n), err == nil
		case t.Kind == schema.Uint:
			u, err := strconv.ParseUint(av.Value, 10, 64)
			return key.OfUint(u), err == nil
		}
	}
	return v, false
}
