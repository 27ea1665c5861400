package schema

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/itemize/itemize/internal/model/grammar"
	"github.com/itemize/itemize/internal/model/key"
)

// Shards says how the partition keys of a flat model are spread. A whole entity is in one shard, which
// is part of its identity.
type Shards struct {
	// Counts are the numbers of shards: the first is used for writing, the others were used before, or
	// will be.
	Counts []int
	// By is the key field that the shard is computed from, -1 where it is drawn.
	By int
}

// Random reports whether the shard is drawn, once for each entity.
func (s *Shards) Random() bool { return s.By < 0 }

// Most returns the largest number of shards.
func (s *Shards) Most() int { return slices.Max(s.Counts) }

// ShardOf is the value of a shard in keys.
func ShardOf(n int) key.Value { return key.OfString(strconv.Itoa(n)) }

// KeyFieldsInKey returns how many values an entity is known by: those of the key fields that [Entity.Identities]
// counts, and its shard behind them.
func (e *Entity) KeyFieldsInKey() int {
	if e.Shards != nil {
		return e.Identities() + 1
	}
	return e.Identities()
}

// PartitionFields returns how many of the key fields the partition key names; they are the first
// ones.
func (e *Entity) PartitionFields() int {
	n := 0
	for _, s := range e.PK.Sources {
		if s.From == FromModel {
			n = max(n, s.KeyField+1)
		}
	}
	return n
}

// ShardsOf returns the shards that an entity may be on, each once: first the one that it is written
// on, then those of the other counts. It is nil where the values that are given do not tell.
func (e *Entity) ShardsOf(identity []key.Value) ([]key.Value, error) {
	s := e.Shards
	if s.Random() || s.By >= len(identity) || len(identity) < e.Identities() && !e.InPartitionKey(s.By) {
		return nil, nil
	}
	k, source := e.KeyOf(s.By)
	text, err := k.Format(source).Append(nil, identity[s.By], k.Template.Delim)
	if err != nil {
		if ke, ok := err.(*key.Error); ok {
			ke.Index = source
		}
		return nil, e.Unstorable(k, err)
	}
	var all []key.Value
	for _, n := range s.Counts {
		if v := ShardOf(key.HashShard(text, n)); !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all, nil
}

// FormerShards returns the shards that an entity may have been on before it moved to the one that it is on now. If
// they are drawn, these are all shards that are not written any more.
func (e *Entity) FormerShards(identity []key.Value) ([]key.Value, error) {
	if !e.Shards.Random() {
		return e.ShardsOf(identity)
	}
	var all []key.Value
	for n := e.Shards.Counts[0] + 1; n <= e.Shards.Most(); n++ {
		all = append(all, ShardOf(n))
	}
	return all, nil
}

// InPartitionKey reports whether the partition key gives a key field in full.
func (e *Entity) InPartitionKey(field int) bool {
	return slices.ContainsFunc(e.PK.Sources, func(s Source) bool { return s.KeyField == field && s.Lossless })
}

// shards checks how the partition key is spread.
func (b *builder) shards() {
	in := slices.IndexFunc(b.e.PK.Sources, func(s Source) bool { return s.From == FromShard })
	by, hasBy := b.shardBy()
	switch {
	case b.sharded == nil && in < 0 && !hasBy, b.badPK:
		return
	case b.sharded == nil && in < 0:
		b.missing(by.option("shardby"), "add shards=N, and {shard} to pk=",
			"shardby= chooses a shard, but the model has none")
		return
	case b.sharded == nil:
		b.missing(b.keyAt(b.e.PK), "add shards=N,shardby=FIELD to the blank field of the table",
			"pk= names {shard}, but the number of shards is missing")
		return
	case in < 0:
		b.missing(b.sharded.option("shards"), "write it into the template, such as EVENTS#{At:date}.{shard}",
			"the template of pk= does not name {shard}")
		return
	case !hasBy:
		b.fault(b.sharded.option("shards"), "add shardby=FIELD, or shardby=random where entities are only added",
			"shards without shardby=: an entity's shard cannot be chosen")
		return
	case !b.e.Flat:
		b.fault(b.sharded.option("shards"), "name fields in the sort key of the root, such as sk={At}#{ID}",
			"shards spread the many entities of a partition, but a partition of this model has one")
		return
	}
	b.e.PK.Sources[in].KeyField = len(b.e.KeyFields)
	for i := 1; i < len(b.e.PK.Sources); i++ {
		if b.e.PK.Sources[i].From == FromShard && i != in {
			b.fault(b.keyAt(b.e.PK), "name it once", "the template of pk= names {shard} twice")
		}
	}
	if n := b.e.Identities(); n < len(b.e.KeyFields) {
		o := b.e.KeyFields[n]
		b.fault(place{in: b.e.Type, field: o.Field}, "name it in the key of the root too",
			"%s is in keys, but not in the key of the entity: a model with shards cannot store it", o.Name)
	}
	b.shardField(by)
	for _, x := range b.e.Indexes {
		if x.Local {
			b.fault(place{in: b.e.Type, field: x.Field}, "declare a global index, with its own pk=",
				"the local index %s would be split over the shards, and each query would read all", x.Name)
		}
	}
	if n := b.e.Shards.Most(); n > maxShards {
		b.fault(b.sharded.option("shards"), fmt.Sprintf("write at most %d", maxShards),
			"%d shards: a query reads all of them", n)
	}
}

// maxShards bounds the number of shards: together they take ten million writes a second.
const maxShards = 10_000

// shardFormat is how the number of a shard is written: as it is, so that those of different counts
// share partitions.
func (b *builder) shardFormat(at place, p grammar.Part, src *Source, _, _ bool) (key.Format, bool) {
	if p.Format != "" {
		b.fault(at, "write {shard}", "%s: the number of a shard has no format", p)
	}
	src.Lossless = true
	return key.Format{Kind: key.Plain, Value: key.String}, p.Format == ""
}

// shardBy returns the blank field with shardby=.
func (b *builder) shardBy() (*taggedField, bool) {
	i := slices.IndexFunc(b.blanks, func(m *taggedField) bool { return m.tag.Has("shardby") })
	if i < 0 {
		return nil, false
	}
	return b.blanks[i], true
}

// shardField finds the field that shards are computed from.
func (b *builder) shardField(by *taggedField) {
	name := by.tag.Value("shardby")
	if name == "random" {
		return
	}
	all := b.e.KeyFields[:b.e.Identities()]
	b.e.Shards.By = slices.IndexFunc(all, func(o *KeyField) bool { return o.Name == name })
	if b.e.Shards.By >= 0 {
		return
	}
	names := "random"
	for _, o := range all {
		names = o.Name + ", " + names
	}
	b.fault(by.option("shardby"), "write one of "+names,
		"%s is not a field of the entity's key, so that the entity's shard could not be found by its key", name)
}
