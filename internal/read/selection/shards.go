package selection

import (
	"errors"
	"slices"

	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
)

var errDrawn = errors.New("its shard is random (shardby=random), so that its key does not give the shard: query " +
	"for it, or compute shards from a field (shardby=FIELD)")

// sharded is [Entity] where the shard is not given: that of one entity is computed, and many entities
// are on all shards, or on those of the values.
func sharded(e *schema.Entity, keyFields []key.Value) Selection {
	s := Selection{Identity: keyFields, Entity: len(keyFields) == e.Identities()}
	s.Whole = s.Entity
	shards, err := e.ShardsOf(keyFields)
	switch {
	case err != nil:
		s.Err = err
	case s.Entity && shards == nil:
		s.Err = &schema.Unstorable{Label: e.Label(), Field: e.KeyFields[0].Name, Err: errDrawn}
	case s.Entity:
		s.Identity = slices.Concat(keyFields, shards[:1])
		s.Elsewhere = shards[1:]
		s.inPartition(e, s.Identity)
	default:
		s.scattered(e, shards)
	}
	return s
}

// scattered adds the parts of many entities on shards, nil for all of them.
func (s *Selection) scattered(e *schema.Entity, shards []key.Value) {
	if shards == nil {
		for n := range e.Shards.Most() {
			shards = append(shards, schema.ShardOf(n+1))
		}
	}
	at := make([]key.Value, e.KeyFieldsInKey())
	copy(at, s.Identity)
	for _, shard := range shards {
		at[len(at)-1] = shard
		if s.inPartition(e, at); s.Err != nil {
			return
		}
	}
}

// On returns the selection of the same entity on another of its shards.
func (s Selection) On(e *schema.Entity, shard key.Value) Selection {
	identity := slices.Clone(s.Identity)
	identity[len(identity)-1] = shard
	to := Entity(e, identity)
	if s.Whole || to.Err != nil {
		return to
	}
	at := to.Parts[0].Partition
	to.Parts, to.Whole = slices.Clone(s.Parts), false
	for i := range to.Parts {
		to.Parts[i].Partition = at
	}
	return to
}

// Everywhere returns the selection on all shards that the entity may be on, as one of many entities.
func (s Selection) Everywhere(e *schema.Entity) Selection {
	if s.Err != nil || len(s.Elsewhere) == 0 {
		return s
	}
	all := s
	all.Parts = slices.Clone(s.Parts)
	for _, shard := range s.Elsewhere {
		all.Parts = append(all.Parts, s.On(e, shard).Parts...)
	}
	all.Identity, all.Entity, all.Whole, all.Elsewhere = s.Identity[:e.Identities()], false, false, nil
	return all
}

// Narrow returns the selection of one range in a table, in each partition.
func (s Selection) Narrow(e *schema.Entity, table int, r Range) Selection {
	s.Whole = false
	if s.Err == nil {
		s.Parts = Part{Table: table, Range: r}.in(s.partitions())
		for i := range s.Parts {
			s.Parts[i].Span = s.Parts[i].Span.narrowTo(e, r)
		}
	}
	return s
}

// partitions returns a part of each partition.
func (s *Selection) partitions() []Part {
	if len(s.Parts) == 1 {
		return s.Parts
	}
	var all []Part
	for _, p := range s.Parts {
		if len(all) == 0 || all[len(all)-1].Partition != p.Partition { // those of one come one after the other
			all = append(all, p)
		}
	}
	return all
}

// in returns the part in the partition of each of several others.
func (p Part) in(partitions []Part) []Part {
	all := make([]Part, len(partitions))
	for i, at := range partitions {
		all[i] = p
		all[i].Partition, all[i].Span = at.Partition, at.Span
	}
	return all
}
