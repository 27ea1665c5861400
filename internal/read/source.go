// Package read reads what a selection names: images of items, answer by answer, from a
// [Source], and what it cost. Several ranges come one after the other ([Pages]), or
// merged in the order of their sort keys ([Merged]).
package read

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/read/selection"
	"github.com/itemize/itemize/internal/request/wire"
)

// Source is where images of items come from: a [Reader], or whatever else has them.
type Source interface {
	// Ranges yields the items of the parts in several sequences, each in the order of its
	// sort keys, answer by answer. An item that is in several parts may come with each.
	// The slices in the pages are the caller's to keep.
	Ranges(ctx context.Context, parts []selection.Part, o Options, u *Usage) []iter.Seq2[Page, error]
}

// Options say how to read.
type Options struct {
	// Strong asks for strongly consistent reads.
	Strong bool
	// Reverse asks for descending sort keys.
	Reverse bool
	// Light is for callers that keep no images. The images then lack the parts that only a save needs
	// (versions, sizes of single attributes), and their pages are released.
	Light bool
	// Limit is the maximum number of items in an answer, 0 for no limit. Want, if set, returns the
	// limit before each request.
	Limit int
	Want  func() int
	// Start is the sort key after which a single range is read, nil for its beginning.
	Start *key.Scalar
	// From is Start in a secondary index: the keys of the table and of the index.
	From item.Attributes
	// Expr filters and projects; nil for neither. All is read by queries then.
	Expr *Expression
}

// Page is the items of an answer.
type Page struct {
	Items []item.Image
	// More reports that the range has more items after Last.
	More bool
	Last key.Scalar
	// LastKey is Last in a secondary index, as Options.From.
	LastKey item.Attributes

	wire *wire.Page
}

// Release returns the memory of the items for use by later pages. Only a caller that has kept none of
// the images may call it; it may keep values that were decoded from them, and placeholder values.
// Calling it is optional.
func (p *Page) Release() {
	if p.wire != nil {
		releaseImages(p.Items)
		p.wire.Release()
		p.wire = nil
	}
}

// images are slices of images that were released.
var images sync.Pool

// maxImages bounds the slices that are kept.
const maxImages = 1 << 12

func imagesFor(n int, released bool) []item.Image {
	if released {
		if p, ok := images.Get().(*[]item.Image); ok && cap(*p) >= n {
			return (*p)[:n]
		}
	}
	return make([]item.Image, n)
}

func releaseImages(all []item.Image) {
	if cap(all) <= maxImages {
		clear(all)
		images.Put(&all)
	}
}

// Pages yields the items of the parts, range by range, each item once.
func Pages(ctx context.Context, src Source, parts []selection.Part, o Options, u *Usage) iter.Seq2[Page, error] {
	ranges := src.Ranges(ctx, parts, o, u)
	if len(ranges) == 1 {
		return ranges[0]
	}
	return func(yield func(Page, error) bool) {
		seen := map[item.Place]bool{}
		for _, r := range ranges {
			for page, err := range r {
				page.Items = slices.DeleteFunc(page.Items, func(f item.Image) bool {
					repeated := seen[f.Place]
					seen[f.Place] = true
					return repeated
				})
				if !yield(page, err) || err != nil {
					return
				}
			}
		}
	}
}
