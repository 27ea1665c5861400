package item

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
)

// Hidden is an item that is stored but belongs to no existing entity: the root of an unfinished staged
// write, or an item of a deleted entity. A put may replace it if it has not changed since it was read.
type Hidden struct {
	Size   int
	Header Header
}

// HiddenOf returns the state of a stored item that a put would replace.
func (r Reserved) HiddenOf(stored Attributes) *Hidden {
	return &Hidden{Size: attr.ItemSize(stored), Header: r.Header(stored)}
}

// Is reports whether a stored item is the one that was found.
func (h *Hidden) Is(stored Header) bool {
	if h == nil {
		return false
	}
	same := func(a, b types.AttributeValue) bool { return a != nil && attr.Same(a, b) }
	if h.Header.Version != nil {
		return same(h.Header.Version, stored.Version)
	}
	return stored.Version == nil && same(h.Header.Incarnation, stored.Incarnation)
}

// Instead returns the condition that the stored item is still h: by its version, or, without a version,
// by its incarnation.
func (r Reserved) Instead(x *attr.Expression, h *Hidden) string {
	switch {
	case h == nil:
		return ""
	case h.Header.Version != nil:
		return r.VersionIs(x, h.Header.Version)
	case h.Header.Incarnation != nil:
		return r.IncarnationIs(x, h.Header.Incarnation)
	}
	return ""
}
