package field

import (
	"reflect"

	"github.com/itemize/itemize/internal/model/codec"
)

// Map is the handle of a map inside an attribute. M is its type, K the type of its keys, and H that of
// the handle of an entry, which is a pointer.
type Map[P, M any, K comparable, H any] struct{ is handle }

// Set sets the field.
//
//go:noinline
func (h *Map[P, M, K, H]) Set(v M) ChangeOf[P] { return ChangeOf[P]{h.is.set(&v)} }

// SetIfAbsent sets the field if its attribute is missing or NULL. If it is NULL, the patch takes a second request.
//
//go:noinline
func (h *Map[P, M, K, H]) SetIfAbsent(v M) ChangeOf[P] { return ChangeOf[P]{h.is.setIfAbsent(&v)} }

// Remove removes the field's attribute.
//
//go:noinline
func (h *Map[P, M, K, H]) Remove() ChangeOf[P] { return ChangeOf[P]{h.is.remove()} }

// Key returns the handle of the entry with a key. A change of the entry requires that the map is
// stored, or creates the map with that entry.
//
//go:noinline
func (h *Map[P, M, K, H]) Key(k K) H { return h.is.entryIn(reflect.TypeFor[H](), k).(H) }

// Equal is the condition that the field is v. If v is stored as NULL or left out, it is Absent.
//
//go:noinline
func (h *Map[P, M, K, H]) Equal(v M) ConditionOf[P] { return ConditionOf[P]{h.is.equal(&v)} }

// NotEqual is the condition that the field is not v. If v is stored as NULL or left out, it is Exists.
//
//go:noinline
func (h *Map[P, M, K, H]) NotEqual(v M) ConditionOf[P] { return ConditionOf[P]{h.is.notEqual(&v)} }

// In is the condition that the field is one of up to 100 values.
//
//go:noinline
func (h *Map[P, M, K, H]) In(values ...M) ConditionOf[P] { return ConditionOf[P]{h.is.in(&values)} }

// Exists is the condition that the field's attribute exists and is not NULL. attributevalue stores nil pointers,
// slices and maps as NULL.
//
//go:noinline
func (h *Map[P, M, K, H]) Exists() ConditionOf[P] { return ConditionOf[P]{h.is.exists()} }

// Absent is the condition that the field's attribute is missing or NULL.
//
//go:noinline
func (h *Map[P, M, K, H]) Absent() ConditionOf[P] { return ConditionOf[P]{h.is.absent()} }

// Size is the number of entries, for comparisons.
//
//go:noinline
func (h *Map[P, M, K, H]) Size() *Size[P] { return &Size[P]{&h.is} }

//go:noinline
func (h *Map[P, M, K, H]) of(P) {}

//go:noinline
func (h *Map[P, M, K, H]) row() codec.Row { return h.is.row }
