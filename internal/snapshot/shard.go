package snapshot

import (
	"slices"

	"github.com/itemize/itemize/internal/key"
	"github.com/itemize/itemize/internal/schema"
	"github.com/itemize/itemize/internal/shard"
)

// draw draws the shard of a new entity, where shards are drawn.
func (s *Snapshot) draw() {
	if by := s.Model.Schema.Shards; by != nil && by.Random() {
		s.drawn = schema.ShardOf(shard.Draw(by.Counts[0]))
	}
}

// DrawBy draws the shard of a new entity by a text, so that it is the same each time.
func (s *Snapshot) DrawBy(text []byte) {
	if by := s.Model.Schema.Shards; by != nil && by.Random() {
		s.drawn = schema.ShardOf(shard.Of(text, by.Counts[0]))
	}
}

// Shard returns the shard that the entity lies on, a value of no kind where there are none.
func (s *Snapshot) Shard() key.Value {
	if s.Fresh {
		return s.drawn
	}
	return s.Model.Shard(s.Selection.Identity)
}

// KeepShard completes the values of the key fields with the shard that the entity lies on, as far as
// it is drawn, or one of those that the values tell: it stays where it is.
func (s *Snapshot) KeepShard(keyFields []key.Value) error {
	known := s.Shard()
	if known.Kind == key.None {
		return nil
	}
	if !s.Model.Schema.Shards.Random() {
		homes, err := s.Model.Schema.Homes(keyFields[:len(keyFields)-1])
		if err != nil || !slices.Contains(homes, known) {
			return err
		}
	}
	keyFields[len(keyFields)-1] = known
	return nil
}
