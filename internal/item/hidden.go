package item

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/attr"
)

// Hidden is an item that is stored and not there: expired, or left over from a staged
// write that never went live. An insert may replace it.
type Hidden struct {
	Size    int
	Expired bool
	// Attempt is that of a part, Stage that of a root.
	Attempt, Stage types.AttributeValue
}

// HiddenOf returns what is known of a hidden item.
func (i *Image) HiddenOf() Hidden {
	return Hidden{Size: i.Size, Attempt: i.Header.Attempt, Expired: i.Expired}
}

// Is reports whether a stored item is the one that was met.
func (h *Hidden) Is(stored Header) bool {
	switch {
	case h == nil:
		return false
	case h.Stage != nil:
		return attr.Same(stored.Stage, h.Stage)
	}
	return h.Attempt != nil && attr.Same(stored.Attempt, h.Attempt)
}

// Term requires that what is stored is the hidden item, "" for one that only its
// expiry tells.
func (h *Hidden) Term(x *attr.Expression) string {
	switch {
	case h == nil, h.Expired:
		return ""
	case h.Stage != nil:
		return StageIs(x, h.Stage)
	case h.Attempt != nil:
		return AttemptIs(x, h.Attempt)
	}
	return ""
}
