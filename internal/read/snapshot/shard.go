package snapshot

import (
	"strconv"

	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
)

// draw draws the shard of a new entity, where shards are drawn.
func (s *Snapshot) draw() {
	if by := s.Model.Schema.Shards; by != nil && by.Random() {
		s.drawn = schema.ShardOf(key.RandomShard(by.Counts[0]))
	}
}

// DrawBy draws the shard of a new entity by a text, so that it is the same each time.
func (s *Snapshot) DrawBy(text []byte) {
	if by := s.Model.Schema.Shards; by != nil && by.Random() {
		s.drawn = schema.ShardOf(key.HashShard(text, by.Counts[0]))
	}
}

// Shard returns the shard that the entity is on, a value of no kind where there are none.
func (s *Snapshot) Shard() key.Value {
	if s.Fresh {
		return s.drawn
	}
	return s.Model.Shard(s.Selection.Identity)
}

// KeepShard adds the entity's shard to the key fields. The entity stays on its shard, unless a value
// changed from which the shard is computed, or move is set and it would now be written to another one.
func (s *Snapshot) KeepShard(keyFields []key.Value, move bool) error {
	by, located := s.Model.Schema.Shards, s.Shard()
	last := len(keyFields) - 1
	switch {
	case located.Kind == key.None:
		return nil
	case by.Random():
		if n, err := strconv.Atoi(located.Text); move && !s.Fresh && (err != nil || n > by.Counts[0]) {
			located = schema.ShardOf(key.RandomShard(by.Counts[0]))
		}
		keyFields[last] = located
		return nil
	case s.Fresh || move:
		return nil
	}
	old, err := s.Model.KeyFields(s.Old)
	if err != nil {
		return err
	}
	if k, source := s.Model.Schema.KeyOf(by.By); s.Model.SameInKey(k, source, keyFields[by.By], old[by.By]) {
		keyFields[last] = located
	}
	return nil
}
