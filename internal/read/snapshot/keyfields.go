package snapshot

import (
	"strings"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/redact"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/read/selection"
)

// adoptKeyFields decides about the key fields, other than the entity's identity, that
// keys of elements name. Where the field's own item was loaded, elements of another value
// are no elements of this entity; else their keys tell the value, if they agree.
func (s *Snapshot) adoptKeyFields(v any, elements [][]Element) error {
	m := s.Model
	for o := m.Schema.Identities(); o < len(m.Schema.KeyFields); o++ {
		stored := m.Schema.KeyFields[o].Item
		a := &adoption{s: s, v: v, field: o, loaded: stored != nil && len(s.Items[stored.Index]) > 0}
		err := a.all(elements)
		s.markUnread(o, !a.loaded && !a.adopted && !s.selected(stored))
		if err != nil {
			return err
		}
	}
	return nil
}

// adoption is one key field's.
type adoption struct {
	s     *Snapshot
	v     any
	field int
	// loaded reports that the field's own item was loaded, and adopted that the value comes from the
	// key of an element.
	loaded, adopted bool
}

func (a *adoption) all(elements [][]Element) error {
	// Placeholders with the complete value decide it.
	for _, repeats := range [2]bool{false, true} {
		if err := a.some(elements, repeats); err != nil {
			return err
		}
	}
	return nil
}

// some looks at the placeholders that repeat a part of the value, or at the others.
func (a *adoption) some(elements [][]Element, repeats bool) error {
	for i, it := range a.s.Model.Schema.Items {
		for n := 0; it.Element() && n < len(it.Key.Sources); n++ {
			if src := it.Key.Sources[n]; src.From != schema.FromModel || src.KeyField != a.field ||
				src.Repeats != repeats {
				continue
			}
			kept, err := a.keep(it, n, elements[i])
			if err != nil {
				return err
			}
			elements[i] = kept
		}
	}
	return nil
}

// keep returns the elements whose keys hold the field's value at a placeholder.
func (a *adoption) keep(it *schema.Item, source int, all []Element) ([]Element, error) {
	m, name := a.s.Model, a.s.Model.Schema.KeyFields[a.field].Name
	if !a.loaded && !a.adopted && len(all) > 0 {
		a.adopted = true
		if err := m.Codec.SetKeyField(a.v, a.field, all[0].values[source]); err != nil {
			return nil, err
		}
	}
	value, err := m.Codec.KeyField(a.v, a.field)
	if err != nil {
		return nil, m.StoredErrorf(name, item.Place{}, "%w", err)
	}
	var kept []Element
	for _, e := range all {
		if m.SameInKey(it.Key, source, value, e.values[source]) {
			kept = append(kept, e)
			continue
		}
		r := e.Stored
		a.s.Unmanaged = append(a.s.Unmanaged, Other{r.Place, it, r.Header, r.Size})
	}
	if len(kept) < len(all) && !a.loaded {
		return nil, m.FieldErrorf(it.Name, "the keys have several values of %s, and the entity's own is not "+
			"loaded: select the item of %[1]s as well", name)
	}
	a.s.Unknown += len(all) - len(kept)
	return kept, nil
}

// markUnread notes whether a key field was not loaded.
func (s *Snapshot) markUnread(field int, unread bool) {
	if s.unread == nil {
		s.unread = make([]bool, len(s.Model.Schema.KeyFields))
	}
	s.unread[field] = unread
}

// selected reports whether a singleton's key is in the selection. The snapshot then knows whether the
// item exists.
func (s *Snapshot) selected(it *schema.Item) bool {
	if s.Selection.Whole || it == nil {
		return s.Selection.Whole
	}
	sk, err := s.Model.Schema.SortKey(it, s.Selection.Identity)
	return err == nil && s.Selection.Contains(it.Table.Index, sk)
}

// checkIdentity refuses an entity whose attributes tell other values of the fields that
// it is known by than its keys do: its changes would go elsewhere.
func (s *Snapshot) checkIdentity(v any) error {
	m := s.Model
	for o := range m.Schema.Identities() {
		it := m.Schema.KeyFields[o].Item
		if it == nil || it.Element() || len(s.Items[it.Index]) == 0 {
			continue
		}
		value, err := m.Codec.KeyField(v, o)
		if err != nil {
			return err
		}
		for _, k := range []*schema.Key{m.Schema.PK, it.Key} {
			for i := 0; k != nil && i < len(k.Sources); i++ {
				if src := k.Sources[i]; src.KeyField == o && !m.SameInKey(k, i, value, s.Selection.Identity[o]) {
					return m.StoredErrorf(m.Schema.KeyFields[o].Name, s.Items[it.Index][0].Place,
						"item %s: its attribute and its key have "+
							"different values%v, as another program wrote them: correct one of them",
						s.Items[it.Index][0].Place, redact.Of(value.String()))
				}
			}
		}
	}
	return nil
}

// KeyFieldsOf returns the values of key fields that the singletons' items hold, by index. A value that
// is unknown is the zero Value.
func KeyFieldsOf(m *model.Model, images []item.Image) []key.Value {
	values := make([]key.Value, len(m.Schema.KeyFields))
	for o := m.Schema.Identities(); o < len(values); o++ {
		it, at := m.Schema.KeyFields[o].Item, m.Schema.Stores(o)
		for i := range images {
			if f := &images[i]; f.Kind == nil || f.Kind != it || at < 0 {
				continue
			}
			v := m.Codec.New()
			_, av := stored(&images[i], it.Attributes[at])
			if av == nil || m.Codec.Record(it.Index).Decode(v, at, av) == nil {
				values[o], _ = m.Codec.KeyField(v, o)
			}
		}
	}
	return values
}

// Loaded reports whether all stored items of a kind are in the selection: the item of a singleton, or every element.
func (s *Snapshot) Loaded(it *schema.Item) bool {
	if s.Fresh || !it.Element() {
		return s.Fresh || s.selected(it)
	}
	if s.Selection.Whole {
		return true
	}
	first := it.Key.Template.LiteralPrefix()
	for _, p := range s.Selection.Parts {
		begins := p.Range.Kind == selection.Prefix && p.Range.Low.Type == 'S' &&
			strings.HasPrefix(first, p.Range.Low.Text)
		if p.Table == it.Table.Index && (begins || p.Range.Kind == selection.All) {
			return true
		}
	}
	return false
}
