package discover

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/advice/charge"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
)

// step is one conversion of a monolith to what a model takes: of migrate.Reshape.
type step struct {
	Kind stepKind
	// Attribute is the attribute that is made, or that holds the document.
	Attribute string
	// From is the key attribute, and Part the part of it, of cutKey.
	From string
	Part int
}

type stepKind string

const (
	// cutKey makes an attribute of a part of a key.
	cutKey stepKind = "key"
	// liftMap replaces a map by its entries.
	liftMap stepKind = "map"
	// readJSON replaces a text by the entries of the JSON object in it.
	readJSON stepKind = "json"
)

// containerOf finds the attribute that holds the document: a map, or a text with a JSON object, that has most of the
// bytes of every item. It returns nil for none.
func containerOf(t *Table, docs []item.Attributes, names *census) *step {
	s := sameContainer(t, docs)
	if s == nil {
		return nil
	}
	at := &reading{names: names}
	p := newProfile(at, 0) // entries that are data are no attributes
	for _, d := range docs {
		at.item++
		inner, err := s.forth(d)
		if err != nil {
			return nil
		}
		for name := range d {
			delete(inner, name)
		}
		p.add(&types.AttributeValueMemberM{Value: inner})
	}
	if p.dynamic() {
		return nil
	}
	return s
}

// sameContainer returns the conversion that all items need.
func sameContainer(t *Table, docs []item.Attributes) *step {
	var found *step
	for i, d := range docs {
		var here *step
		for name, v := range d {
			if name == t.Hash || name == t.Range || 5*attr.AttributeSize(name, v) < 4*(attr.ItemSize(d)-keyBytes(t,
				d)) {
				continue
			}
			s := &step{Attribute: name}
			switch v := v.(type) {
			case *types.AttributeValueMemberM:
				s.Kind = liftMap
			case *types.AttributeValueMemberS:
				if !strings.HasPrefix(v.Value, "{") {
					continue
				}
				s.Kind = readJSON
			default:
				continue
			}
			if i > 0 && (found == nil || *found != *s) {
				return nil
			}
			if out, err := s.forth(d); err != nil || len(out) < 4 {
				return nil
			} else if back, err := s.back(out, d); err != nil || !attr.SameItem(back, d) {
				return nil
			}
			here = s
		}
		if found = here; found == nil {
			return nil
		}
	}
	return found
}

func keyBytes(t *Table, d item.Attributes) (n int) {
	for name, v := range t.key(d) {
		n += attr.AttributeSize(name, v)
	}
	return n
}

// forth converts a monolith.
func (s step) forth(d item.Attributes) (item.Attributes, error) {
	out := maps.Clone(d)
	switch s.Kind {
	case cutKey:
		text, ok := d[s.From].(*types.AttributeValueMemberS)
		if !ok {
			return nil, fmt.Errorf("the key %s: it is not a text: correct the item", s.From)
		}
		parts := cut(text.Value)
		if s.Part >= len(parts) {
			return nil, fmt.Errorf("the key %s: it has %d parts: correct the item", s.From, len(parts))
		}
		out[s.Attribute] = &types.AttributeValueMemberS{Value: parts[s.Part].literal}
		return out, nil
	case liftMap:
		m, ok := d[s.Attribute].(*types.AttributeValueMemberM)
		if !ok {
			return nil, fmt.Errorf("%s: it is not a map: correct the item", s.Attribute)
		}
		delete(out, s.Attribute)
		for name, v := range m.Value {
			if d[name] != nil {
				return nil, fmt.Errorf("%s: it is an attribute and an entry of %s: rename one", name, s.Attribute)
			}
			out[name] = v
		}
		return out, nil
	}
	text, ok := d[s.Attribute].(*types.AttributeValueMemberS)
	if !ok {
		return nil, fmt.Errorf("%s: it is not a text: correct the item", s.Attribute)
	}
	entries, err := charge.ItemFromPlainJSON([]byte(text.Value))
	if err != nil {
		return nil, err
	}
	delete(out, s.Attribute)
	for name, v := range entries {
		if d[name] != nil {
			return nil, fmt.Errorf("%s: it is an attribute and an entry of %s: rename one", name, s.Attribute)
		}
		out[name] = v
	}
	if !storedAlike(&types.AttributeValueMemberM{Value: entries}) {
		return nil, errors.New("the JSON has numbers such as 1.0, which DynamoDB stores in another form: convert it " +
			"by hand")
	}
	if again, err := compactJSON(entries); err != nil || again != text.Value {
		return nil, errors.Join(err, errors.New("the JSON has another form: sort its keys, and leave out spaces"))
	}
	return out, nil
}

// back converts the attributes back. d has the names of the attributes that are not in the document.
func (s step) back(doc, d item.Attributes) (item.Attributes, error) {
	out := item.Attributes{}
	if s.Kind == cutKey {
		out = maps.Clone(doc)
		delete(out, s.Attribute)
		return out, nil
	}
	inner := item.Attributes{}
	for name, v := range doc {
		if d[name] != nil {
			out[name] = v
		} else {
			inner[name] = v
		}
	}
	if s.Kind == liftMap {
		out[s.Attribute] = &types.AttributeValueMemberM{Value: inner}
		return out, nil
	}
	text, err := compactJSON(inner)
	out[s.Attribute] = &types.AttributeValueMemberS{Value: text}
	return out, err
}

var storedNumber = regexp.MustCompile(`^(0|-?[1-9]\d*|-?(0|[1-9]\d*)\.\d*[1-9])$`)

// storedAlike reports whether DynamoDB stores all numbers in the form that they have.
func storedAlike(v types.AttributeValue) bool {
	switch v := v.(type) {
	case *types.AttributeValueMemberN:
		return storedNumber.MatchString(v.Value) && len(v.Value) < 38
	case *types.AttributeValueMemberL:
		return !slices.ContainsFunc(v.Value, func(e types.AttributeValue) bool { return !storedAlike(e) })
	case *types.AttributeValueMemberM:
		for _, e := range v.Value {
			if !storedAlike(e) {
				return false
			}
		}
	}
	return true
}

// compactJSON writes attributes as a JSON object without spaces, with its entries in order.
func compactJSON(m item.Attributes) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(charge.PlainJSON(&types.AttributeValueMemberM{Value: m}))
	return strings.TrimSuffix(b.String(), "\n"), err
}

// remainder lists the attributes that are not in the document of a container, in order.
func remainder(t *Table, docs []item.Attributes, s *step) []string {
	names := map[string]bool{}
	for _, d := range docs {
		for name := range d {
			if name != s.Attribute && name != t.Hash && name != t.Range {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}
