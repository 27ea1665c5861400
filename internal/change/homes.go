package change

import (
	"slices"

	"github.com/itemize/itemize/internal/attr"
	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/write"
)

// checkHomes requires of an entity that is inserted, or moves, that it does not lie on another of the
// shards that its key may lead to, from before or after their number has changed.
func (d *differ) checkHomes() error {
	by := d.m.Schema.Shards
	if by == nil || by.Random() || len(by.Counts) == 1 || !d.s.Fresh && !d.RootMoves {
		return nil
	}
	own := d.m.Identity(d.Keys.KeyFields)
	homes, err := d.m.Schema.Homes(own[:len(own)-1])
	if err != nil {
		return err
	}
	for _, home := range homes {
		there := append(slices.Clone(own[:len(own)-1]), home)
		if home == d.m.Shard(own) || d.RootMoves && slices.EqualFunc(there, d.Old, key.Value.Equal) {
			continue
		}
		at, err := d.m.RootPlace(there)
		if err != nil {
			return err
		}
		ch := start(d.m, write.Check, d.m.Root(), at)
		ch.New = true
		ch.Expect = write.Expect{Blind: true, Terms: []attr.Condition{d.m.Reserved.NoLiveRoot(at, d.m.Now)}}
		d.Checks = append(d.Checks, ch)
	}
	return nil
}
