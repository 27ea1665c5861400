package query

import (
	"reflect"

	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/read/selection"
)

// Selection is a part of one entity of the model T: a *Key, a *Node, an *Items, a *mapper.ItemNode, a
// *mapper.Entity, or a generated type.
type Selection[T any] interface{ selection(*T) *selection.Selection }

// specOf returns a selection as data.
func specOf[T any](s Selection[T]) selection.Selection {
	if isNil(s) {
		return selection.Selection{Err: errNilSelection}
	}
	return usable(s.selection(nil))
}

func usable(s *selection.Selection) selection.Selection {
	if s == nil || s.Err == nil && s.Parts == nil && s.Targets == nil {
		return selection.Selection{Err: errEmptySelection}
	}
	return *s
}

var (
	errNilSelection   = model.Usagef("the selection is nil: make one with the mapper's Key, or with generated code")
	errEmptySelection = model.Usagef("the selection is empty: make one with the mapper's Key, or with generated code")
)

// isNil reports whether an interface is nil, or holds a nil pointer.
func isNil(a any) bool {
	v := reflect.ValueOf(a)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// Node is a selection, for Load, LoadMany, Update and DeleteByKey of a mapper, and for [Join] and [Of].
type Node[T any] struct{ spec selection.Selection }

// node is embedded without an exported field.
type node[T any] = Node[T]

//go:noinline
func (n *Node[T]) selection(*T) *selection.Selection {
	if n == nil {
		return nil
	}
	return &n.spec
}

// Join selects several parts of one entity. Single items are read together.
func Join[T any](selections ...Selection[T]) Selection[T] {
	if len(selections) == 0 {
		return &Node[T]{selection.Selection{Err: model.Usagef("query.Join of no selections: pass at least one")}}
	}
	joined := specOf(selections[0])
	for _, s := range selections[1:] {
		joined = joined.Join(specOf(s))
	}
	return &Node[T]{joined}
}
