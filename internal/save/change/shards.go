package change

import (
	"slices"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/save/write"
)

// checkStays requires that an entity to which a save adds items has not moved to another shard, where
// the added items would be missing. An expired root is not restored, since there may be another one.
func (d *differ) checkStays() error {
	if !d.m.IsResharding() || d.s.Fresh || d.RootMoves {
		return nil
	}
	if all := d.Keys.KeyFields; all != nil && !d.m.CanReshard(d.m.Identity(all)) {
		return nil
	}
	root, adds := (*Change)(nil), false
	for _, ch := range d.Changes {
		if ch.Root {
			root = ch
		}
		adds = adds || ch.New && !ch.Root
	}
	if root != nil && root.Kind != write.Delete && d.m.Reserved.Expires() {
		root.Expect.Terms = append(root.Expect.Terms, d.m.Reserved.NotExpired(d.m.Now))
	}
	if !adds || root != nil || d.o.Checks {
		return nil
	}
	if r := d.s.Root(); r != nil {
		ch := of(d.m, write.Check, d.m.Root(), r)
		ch.NewSize = r.Size
		ch.expectStored()
		d.Checks = append(d.Checks, ch)
		return nil
	}
	return d.requireRoot()
}

// checkShards requires that an inserted or moved entity is on no other shard that its key may lead to,
// from before or after a change of their number.
func (d *differ) checkShards() error {
	if !d.m.IsResharding() || !d.s.Fresh && !d.RootMoves {
		return nil
	}
	own := d.m.Identity(d.Keys.KeyFields)
	shards, err := d.m.Schema.ShardsOf(own[:len(own)-1])
	if err != nil {
		return err
	}
	for _, shard := range shards {
		there := append(slices.Clone(own[:len(own)-1]), shard)
		if shard == d.m.Shard(own) || d.RootMoves && slices.EqualFunc(there, d.Old, key.Value.Equal) {
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
