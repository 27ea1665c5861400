package codec

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/redact"
)

// A stored value can say more than the Go value that was decoded from it: a number has digits that a float64 does not
// hold, a map has entries that its struct lacks, a text is stored as a number. A change of one part of a value must
// not rewrite the other parts. So a changed value is grafted onto the stored value: each part whose stored form
// decodes to the new value keeps its stored form.

// Graft returns the value to store for now, the encoding of a changed value, in place of stored. Parts that did
// not change keep their stored form. now is nil for a value that is left out. The error says that storing now
// would cut the stored value.
func (f *Form) Graft(stored, now types.AttributeValue, o Options) (types.AttributeValue, error) {
	switch {
	case stored == nil || now == nil && !f.decodesTo(stored, nil, o):
		return now, nil
	case now == nil || attr.Same(stored, now):
		return stored, nil
	}
	switch {
	case f.Pointer != nil:
		if isNull(now) || isNull(stored) { // one of them is a nil pointer, and the other is not
			return now, nil
		}
		return f.Pointer.Elem.Graft(stored, now, o^pointee)
	case f.Table != nil:
		return f.Table.graft(f, stored, now, o)
	case f.List != nil:
		return f.List.graft(f, stored, now, o)
	case f.Entries != nil:
		return f.Entries.graft(f, stored, now, o)
	case f.Type.Kind() == reflect.Interface:
		return f.graftDynamic(stored, now)
	}
	return f.graftWhole(stored, now, o), nil
}

func isNull(v types.AttributeValue) bool {
	_, null := v.(*types.AttributeValueMemberNULL)
	return null
}

// graftWhole is Graft of a value without parts.
func (f *Form) graftWhole(stored, now types.AttributeValue, o Options) types.AttributeValue {
	if f.decodesTo(stored, now, o) {
		return stored
	}
	return now
}

// decodesTo reports whether a stored value decodes to a Go value that encodes to now.
func (f *Form) decodesTo(stored, now types.AttributeValue, o Options) bool {
	p := f.New()
	if err := f.decode(p, stored, o&^pointee); err != nil {
		return false
	}
	own, err := f.encode(p, o, 0)
	return err == nil && (own == nil) == (now == nil) && (now == nil || attr.Same(own, now))
}

// isZeroEncoding reports whether a value is the encoding of the zero value.
func (f *Form) isZeroEncoding(v types.AttributeValue, o Options) bool {
	zero, err := f.encode(f.New(), o, 0)
	return err == nil && zero != nil && attr.Same(zero, v)
}

// graft keeps the entries that the struct does not have.
func (t *Table) graft(f *Form, stored, now types.AttributeValue, o Options) (types.AttributeValue, error) {
	from, okFrom := stored.(*types.AttributeValueMemberM)
	to, okTo := now.(*types.AttributeValueMemberM)
	if !okFrom || !okTo {
		return f.graftWhole(stored, now, o), nil
	}
	fields := t.resolve(f)
	old := f.New()
	if f.decode(old, stored, o&^pointee) != nil {
		return now, nil
	}
	out := make(map[string]types.AttributeValue, len(to.Value))
	for name, v := range to.Value {
		i, field := t.byName[name]
		s := from.Value[name]
		if s == nil && field && fields[i].path.At(old) != nil && fields[i].form.isZeroEncoding(v, fields[i].options) {
			continue // as it was: missing
		}
		if s != nil && field {
			var err error
			if v, err = fields[i].form.Graft(s, v, fields[i].options); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		out[name] = v
	}
	for name, s := range from.Value {
		if _, written := to.Value[name]; written {
			continue
		}
		if i, field := t.byName[name]; !field || fields[i].form.decodesTo(s, nil, fields[i].options) {
			out[name] = s
		}
	}
	return &types.AttributeValueMemberM{Value: out}, nil
}

// graft matches entries by their keys: a stored key can be another text of the same key. If a key has several texts,
// the entry that a load takes changes, and the others stay until the key is removed. An empty entry that the options
// leave out stays as it is stored.
func (m *Entries) graft(f *Form, stored, now types.AttributeValue, o Options) (types.AttributeValue, error) {
	from, okFrom := stored.(*types.AttributeValueMemberM)
	to, okTo := now.(*types.AttributeValueMemberM)
	if !okFrom || !okTo {
		return f.graftWhole(stored, now, o), nil
	}
	out := make(map[string]types.AttributeValue, len(to.Value))
	loaded := chosen(m.Key.Type, from.Value)
	for name, s := range from.Value {
		own, ok := ownText(m.Key.Type, name)
		if !ok {
			continue
		}
		v, ok := to.Value[own]
		switch {
		case !ok && !m.Elem.decodesTo(from.Value[loaded[own]], nil, o.Elem()):
			continue // the entry was removed
		case !ok || name != loaded[own]:
			out[name] = s
			continue
		}
		var err error
		if out[name], err = m.Elem.Graft(s, v, o.Elem()); err != nil {
			return nil, err
		}
	}
	for name, v := range to.Value {
		if _, grafted := loaded[name]; !grafted {
			out[name] = v
		}
	}
	return &types.AttributeValueMemberM{Value: out}, nil
}

// graft keeps the stored form of elements. It refuses to cut a stored list that is longer than the array.
func (l *List) graft(f *Form, stored, now types.AttributeValue, o Options) (types.AttributeValue, error) {
	from, okFrom := parts(stored)
	to, okTo := parts(now)
	if !okFrom || !okTo {
		return f.graftWhole(stored, now, o), nil
	}
	if f.decodesTo(stored, now, o) {
		return stored, nil
	}
	if err := l.tooLong(f, from); err != nil {
		return nil, err
	}
	if l.make == nil && sameType(now, nil) { // an element of an array is known by its position
		out := slices.Clone(to)
		for i := range min(len(from), len(to)) {
			var err error
			if out[i], err = l.Elem.Graft(from[i], to[i], o.Elem()); err != nil {
				return nil, err
			}
		}
		return joined(out, now), nil
	}
	return graftParts(l.Elem, from, to, now, o.Elem())
}

// tooLong returns an error if a stored list has more elements than the array.
func (l *List) tooLong(f *Form, from []types.AttributeValue) error {
	if l.make != nil || len(from) <= l.len(nil) {
		return nil
	}
	return redact.Errorf("the stored list has %d elements, but %s takes %d, and the change would cut it: use a slice",
		len(from), f.Type, l.len(nil))
}

// cut returns an error if a stored value has a list that is longer than its array.
func (f *Form) cut(stored types.AttributeValue) error {
	switch m, _ := stored.(*types.AttributeValueMemberM); {
	case f.Pointer != nil:
		return f.Pointer.Elem.cut(stored)
	case f.Table != nil && m != nil:
		fields := f.Table.resolve(f)
		for name, v := range m.Value {
			if i, field := f.Table.byName[name]; field {
				if err := fields[i].form.cut(v); err != nil {
					return err
				}
			}
		}
	case f.Entries != nil && m != nil:
		for _, v := range m.Value {
			if err := f.Entries.Elem.cut(v); err != nil {
				return err
			}
		}
	case f.List != nil:
		from, _ := parts(stored)
		if err := f.List.tooLong(f, from); err != nil {
			return err
		}
		for _, v := range from {
			if err := f.List.Elem.cut(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// graftDynamic is Graft of a value of any type.
func (f *Form) graftDynamic(stored, now types.AttributeValue) (types.AttributeValue, error) {
	if f.decodesTo(stored, now, 0) {
		return stored, nil
	}
	if from, ok := stored.(*types.AttributeValueMemberM); ok {
		to, ok := now.(*types.AttributeValueMemberM)
		if !ok {
			return now, nil
		}
		out := make(map[string]types.AttributeValue, len(to.Value))
		for name, v := range to.Value {
			if s := from.Value[name]; s != nil && !attr.Same(s, v) {
				v, _ = f.graftDynamic(s, v)
			}
			out[name] = v
		}
		return &types.AttributeValueMemberM{Value: out}, nil
	}
	from, okFrom := parts(stored)
	to, okTo := parts(now)
	if !okFrom || !okTo {
		return now, nil
	}
	return graftParts(f, from, to, now, 0)
}

// parts returns the elements of a list or set.
func parts(v types.AttributeValue) (all []types.AttributeValue, ok bool) {
	switch v := v.(type) {
	case *types.AttributeValueMemberL:
		return v.Value, true
	case *types.AttributeValueMemberSS:
		for _, s := range v.Value {
			all = append(all, &types.AttributeValueMemberS{Value: s})
		}
		return all, true
	case *types.AttributeValueMemberNS:
		for _, n := range v.Value {
			all = append(all, &types.AttributeValueMemberN{Value: n})
		}
		return all, true
	case *types.AttributeValueMemberBS:
		for _, b := range v.Value {
			all = append(all, &types.AttributeValueMemberB{Value: b})
		}
		return all, true
	}
	return nil, false
}

// graftParts grafts the elements of a list or set, of a form. An element that equals a stored element takes its form,
// wherever it is now. Of the others, those at the same position, from the beginning or the end, are one element that
// changed, if the list kept its length, a neighbor is where it was, or half of the element is as it was. like has the
// type of the result.
func graftParts(
	f *Form,
	from, to []types.AttributeValue,
	like types.AttributeValue,
	o Options,
) (types.AttributeValue, error) {
	source := matchParts(f, from, to, o)
	used := make([]bool, len(from))
	for _, j := range source {
		if j >= 0 {
			used[j] = true
		}
	}
	_, isList := like.(*types.AttributeValueMemberL)
	matches := func(i, j int) bool { return i >= 0 && i < len(to) && source[i] == j && j >= 0 }
	out := make([]types.AttributeValue, len(to))
	added := false
	for i, v := range to {
		if j := source[i]; j >= 0 && sameType(like, from[j]) {
			out[i] = from[j]
			continue
		}
		isNew := true
		for _, j := range []int{i, i - len(to) + len(from)} {
			if !isList || j < 0 || j >= len(from) || used[j] {
				continue
			}
			if len(from) != len(to) && !matches(i-1, j-1) && !matches(i+1, j+1) && !f.mostlyIs(from[j], v, o) {
				continue
			}
			var err error
			if v, err = f.Graft(from[j], v, o); err != nil {
				return nil, err
			}
			used[j], isNew = true, false
			break
		}
		out[i], added = v, added || isNew
	}
	for j := range from { // a new element can be a stored one that has changed
		if added && !used[j] {
			if err := f.cut(from[j]); err != nil {
				return nil, err
			}
		}
	}
	return joined(out, like), nil
}

// mostlyIs reports whether half of the entries of a map are those that a stored map decodes to.
func (f *Form) mostlyIs(stored, now types.AttributeValue, o Options) bool {
	p := f.New()
	if f.decode(p, stored, o&^pointee) != nil {
		return false
	}
	old, err := f.encode(p, o, 0)
	was, okWas := old.(*types.AttributeValueMemberM)
	is, okIs := now.(*types.AttributeValueMemberM)
	if err != nil || !okWas || !okIs {
		return false
	}
	same := 0
	for name, v := range is.Value {
		if was.Value[name] != nil && attr.Same(was.Value[name], v) {
			same++
		}
	}
	return same > 0 && 2*same >= len(is.Value)
}

// matchParts returns for each new element the index of a stored element that decodes to it, or -1. Each stored
// element is taken once, by the element at its position if that can take it.
func matchParts(f *Form, from, to []types.AttributeValue, o Options) []int {
	unused := make(map[string][]int, len(from))
	for j, s := range from {
		p := f.New()
		if f.decode(p, s, o&^pointee) != nil {
			continue
		}
		if own, err := f.encode(p, o, 0); err == nil && own != nil {
			h := hashOf(own)
			unused[h] = append(unused[h], j)
		}
	}
	source, hashes := make([]int, len(to)), make([]string, len(to))
	for i, v := range to {
		source[i], hashes[i] = -1, hashOf(v)
		if n := slices.Index(unused[hashes[i]], i); n >= 0 {
			source[i] = i
			unused[hashes[i]] = slices.Delete(unused[hashes[i]], n, n+1)
		}
	}
	for i, h := range hashes {
		if left := unused[h]; source[i] < 0 && len(left) > 0 {
			source[i], unused[h] = left[0], left[1:]
		}
	}
	return source
}

func hashOf(v types.AttributeValue) string {
	return string(attr.Hash(map[string]types.AttributeValue{"": v}))
}

// sameType reports whether a set can have a part.
func sameType(set, part types.AttributeValue) bool {
	switch set.(type) {
	case *types.AttributeValueMemberSS:
		_, ok := part.(*types.AttributeValueMemberS)
		return ok
	case *types.AttributeValueMemberNS:
		_, ok := part.(*types.AttributeValueMemberN)
		return ok
	case *types.AttributeValueMemberBS:
		_, ok := part.(*types.AttributeValueMemberB)
		return ok
	}
	return true
}

// joined returns a list or set of elements, as like is.
func joined(all []types.AttributeValue, like types.AttributeValue) types.AttributeValue {
	switch like.(type) {
	case *types.AttributeValueMemberSS:
		set := &types.AttributeValueMemberSS{}
		for _, v := range all {
			set.Value = append(set.Value, v.(*types.AttributeValueMemberS).Value)
		}
		return set
	case *types.AttributeValueMemberNS:
		set := &types.AttributeValueMemberNS{}
		for _, v := range all {
			set.Value = append(set.Value, v.(*types.AttributeValueMemberN).Value)
		}
		return set
	case *types.AttributeValueMemberBS:
		set := &types.AttributeValueMemberBS{}
		for _, v := range all {
			set.Value = append(set.Value, v.(*types.AttributeValueMemberB).Value)
		}
		return set
	}
	return &types.AttributeValueMemberL{Value: all}
}
