package mapper

import (
	"fmt"
	"reflect"
	"slices"
	"unsafe"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/query"
)

type node[T any] = query.Node[T]

// Entity is a value of the model T with the snapshot of its items. It is also the selection of the
// items that it loaded. Only one goroutine at a time may use it: a write during another write of the
// entity is an error. Do not copy it: a copy shares the snapshot, and a write of a copy is an error.
type Entity[T any] struct {
	_ noCopy
	// Value is the value of the model. Read and change it freely.
	Value T

	node[T]
	state *state
}

// noCopy lets go vet find copies of entities. A copy would share the snapshot, but not the changes.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// Unknown returns the number of items in the selection that match no field of the model. They are never
// changed.
func (e *Entity[T]) Unknown() int {
	if e == nil || e.state == nil {
		return 0
	}
	return e.state.Unknown
}

// String returns the model and the key of the root item, and reports whether the entity has never been stored. It
// contains no values of other attributes: those are in Value.
func (e *Entity[T]) String() string {
	if e == nil || e.state == nil {
		return "no entity"
	}
	return e.state.text(&e.Value)
}

// text is String of the entity with a value.
func (s *state) text(value any) string {
	m, identity, note := s.engine.model, s.Snapshot.Selection.Identity, ""
	if s.Fresh {
		note = ", not stored"
		if keyFields, err := m.KeyFields(value); err == nil {
			identity = m.Identity(keyFields)
		}
	}
	root := "without a key"
	if at, err := m.RootPlace(identity); err == nil {
		root = keyOf(at).String()
	}
	return m.Schema.Name + " " + root + note
}

// Tag returns a token of the state of the loaded items, such as for an ETag of HTTP. It consists of
// letters, digits, "-" and "_". It covers the versions of the items, and the values of items without a
// version. If a program changes an item and leaves its version, the tag does not change. After a Save
// it is the tag of the saved state. The tag of a new entity is empty. A tag has 20 bytes for each of up
// to 64 items and 15 more, and 58 bytes for more items. See [IfTag].
func (e *Entity[T]) Tag() string {
	if e == nil || e.state == nil || e.state.Fresh {
		return ""
	}
	return e.state.Snapshot.Tag().String()
}

// Loaded reports whether a field was loaded. The argument is a pointer to the field:
//
//	if !e.Loaded(&e.Value.Friends) { ... }
//
// A field was loaded if the selection includes its item, or all elements of a slice or map. The result
// is true for key fields, and for all fields of a new entity. Loaded panics if the pointer is not to a
// stored field of e.Value.
func (e *Entity[T]) Loaded(field any) bool {
	path, ok := fieldPath(reflect.ValueOf(&e.Value).Elem(), reflect.ValueOf(field))
	if !ok || e.state == nil {
		panic(fmt.Sprintf("mapper: Loaded got a %T, not a pointer to a field of the entity's value: pass "+
			"&e.Value.Field", field))
	}
	return e.state.loaded(path)
}

// fieldPath returns the path to the field that a pointer points to.
func fieldPath(v, to reflect.Value) (path []int, ok bool) {
	if to.Kind() != reflect.Pointer {
		return nil, false
	}
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Addr().Pointer() == to.Pointer() && f.Type() == to.Type().Elem() {
			return []int{i}, true
		}
		if f.Kind() == reflect.Pointer {
			f = f.Elem()
		}
		if f.Kind() == reflect.Struct {
			if rest, ok := fieldPath(f, to); ok {
				return append([]int{i}, rest...), true
			}
		}
	}
	return nil, false
}

// loaded reports whether all items of the field at a path were loaded.
func (s *state) loaded(path []int) bool {
	overlaps := func(other []int) bool {
		n := min(len(path), len(other))
		return n > 0 && slices.Equal(path[:n], other[:n])
	}
	stored := false
	for _, it := range s.engine.model.Schema.Items {
		holds := it.Field != nil && overlaps(it.Field.Path)
		for i := 0; !holds && !it.Element() && i < len(it.Attributes); i++ {
			holds = overlaps(it.Attributes[i].Value.Path)
		}
		if holds && (!s.Snapshot.Loaded(it) || !s.read(it, overlaps)) {
			return false
		}
		stored = stored || holds
	}
	if !stored && !slices.ContainsFunc(s.engine.model.Schema.KeyFields,
		func(o *schema.KeyField) bool { return overlaps(o.Path) }) {
		panic("mapper: the field passed to Loaded is not stored: pass a stored one")
	}
	return true
}

// read reports whether the attributes of a field were read from the stored items of a kind.
func (s *state) read(it *schema.Item, overlaps func([]int) bool) bool {
	for _, r := range s.Snapshot.Items[it.Index] {
		if r.Projection == nil {
			continue
		}
		whole := it.Field != nil && overlaps(it.Field.Path) // in an element, the paths are those of its type
		for _, a := range it.Attributes {
			if (whole && it.Element() || overlaps(a.Value.Path)) && !r.Projection.Loads(a) {
				return false
			}
		}
	}
	return true
}

// set sets the state and the selection of the entity.
func (e *Entity[T]) set(s *state) {
	e.state, s.owner = s, e
	e.refresh()
}

// refresh sets the selection of the entity, which a write can change.
func (e *Entity[T]) refresh() {
	s := e.state
	door.Query.Set(unsafe.Pointer(&e.node), s.Selection)
}

// owns refuses an entity of another mapper.
func (m *Mapper[T]) owns(e *Entity[T]) error {
	if e == nil || e.state == nil || e.state.engine != m.get() {
		return m.get().model.Errorf("the entity is nil or of another mapper: make it with New or Load of this mapper")
	}
	if e.state.owner != e {
		return m.get().model.Errorf("the entity is a copy of another, which knows nothing of its writes: save the " +
			"entity that New or Load returned, or load again")
	}
	if e.state.notStored {
		return m.get().model.Errorf("the entity was made of items by FromItems, and is only for reading: load it, " +
			"or make a new one")
	}
	return nil
}
