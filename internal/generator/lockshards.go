package generator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/itemize/itemize/internal/model/schema"
)

// lostShards lists what a change of the shards would no longer find, or would write where other
// processes do not look yet.
func lostShards(old, now *schema.LayoutShards) []string {
	if old == nil || now == nil {
		return nil // the partition key decides
	}
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if old.By != now.By {
		say("shards were chosen by %s and are chosen by %s now, so that stored entities are not found by their keys",
			shardedBy(old), shardedBy(now))
	}
	first := now.Counts[0]
	if !slices.Contains(old.Counts, first) {
		say("%d shards would be written, which deployed programs do not read: write shards='%s' first, deploy it "+
			"everywhere, and then make this change", first, counts(append(slices.Clone(old.Counts), first)))
		return out
	}
	for _, n := range old.Counts {
		if !slices.Contains(now.Counts, n) && (now.By != "" || n > slices.Max(now.Counts)) {
			say("entities on %d shards are not found now: write shards='%s', and remove %d when all entities have "+
				"moved (a Save with Move moves the loaded entity)", n,
				counts(append(slices.Clone(now.Counts), n)), n)
		}
	}
	return out
}

func shardedBy(s *schema.LayoutShards) string {
	if s.By == "" {
		return "chance"
	}
	return s.By
}

func counts(all []int) string {
	text := make([]string, len(all))
	for i, n := range all {
		text[i] = fmt.Sprint(n)
	}
	return strings.Join(text, ",")
}
