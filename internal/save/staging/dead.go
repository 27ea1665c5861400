package staging

import (
	"context"
	"slices"
	"time"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/save/write"
)

// Dead examines new items that cannot be put because other items block them. It returns the blocking
// items of deleted entities, by the request's index, so that a put may replace them. An item of another
// incarnation is dead if the root, read after it, has a different incarnation or does not exist. It is
// also dead if the same transaction takes over the root. A writer that adds to an entity stops if the
// root's incarnation is no longer the live one. known has the results of earlier calls.
func (p *Protocol) Dead(ctx context.Context, e *Entity, o *write.Outcome, hidden func(item.Place) *item.Hidden,
	t *write.Tally,
) (map[int]*item.Hidden, error) {
	var dead map[int]*item.Hidden
	var root *item.Image
	for i, r := range o.Requests {
		h := r.Reserved.Header(o.Stored[i])
		own := r.Reserved.Header(r.Put).Incarnation
		if !r.New || r.Root || h.Incarnation == nil || attr.Same(h.Incarnation, own) || hidden(r.Place).Is(h) {
			continue
		}
		if dead == nil {
			var err error
			if root, err = p.ReadRoot(ctx, e, t); err != nil {
				return nil, err
			}
			dead = map[int]*item.Hidden{}
		}
		inserts := slices.IndexFunc(o.Requests, func(r *write.Request) bool { return r.Root && r.New })
		if inserts < 0 && !(isLive(root) && attr.Same(root.Header.Incarnation, own)) {
			continue
		}
		if !Holds(root, h.Incarnation) || inserts >= 0 && takesOver(o.Requests[inserts], root, p.Sender.Now()) {
			dead[i] = r.Reserved.HiddenOf(o.Stored[i])
		}
	}
	return dead, nil
}

// takesOver reports whether an insert of the root replaces one that is unfinished, or expired, with its items.
func takesOver(r *write.Request, root *item.Image, now time.Time) bool {
	return r.Reserved.Replaceable(item.Attributes{r.Reserved.TTL: root.Header.Expiry}, now) ||
		!root.Header.Live() && r.Expect.Instead.Is(root.Header)
}
