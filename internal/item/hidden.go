package item

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/attr"
)

// Hidden is an item that is stored and not there, as it was found: the root of a staged write
// that is not finished, or an item of an entity that is no more. A put may replace it, as
// long as it is what was found.
type Hidden struct {
	Size   int
	Header Header
}

// HiddenOf returns what is known of an item in the way of a put.
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

// Instead requires what was found: its version, or of an item without one its incarnation.
func (r Reserved) Instead(x *attr.Expression, h *Hidden) string {
	switch {
	case h == nil:
		return ""
	case h.Header.Version != nil:
		return r.VersionIs(x, h.Header.Version)
	case h.Header.Incarnation != nil:
		return IncarnationIs(x, h.Header.Incarnation)
	}
	return ""
}
