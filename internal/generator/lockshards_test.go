package generator

import (
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/model/schema"
)

// A number of shards is known everywhere before it is written, and is known until nothing is stored
// over it.
func TestLostShards(t *testing.T) {
	of := func(by string, counts ...int) *schema.LayoutShards {
		return &schema.LayoutShards{Counts: counts, By: by}
	}
	for _, c := range []struct {
		name     string
		old, now *schema.LayoutShards
		want     string
	}{
		{"known to all", of("ID", 200), of("ID", 200, 400), ""},
		{"then written", of("ID", 200, 400), of("ID", 400, 200), ""},
		{
			"then retired", of("ID", 400, 200), of("ID", 400),
			`entities on 200 shards are not found now: write shards='400,200', and remove 200 when all entities ` +
				`have moved (a Save with Move moves the loaded entity)`,
		},
		{
			"written at once", of("ID", 200), of("ID", 400, 200),
			`400 shards would be written, which deployed programs do not read: write shards='200,400' first, deploy ` +
				`it everywhere, and then make this change`,
		},
		{"by another field", of("ID", 200), of("", 200), "shards were chosen by ID and are chosen by chance now"},
		{"drawn, of more", of("", 200, 400), of("", 400), ""},
		{"drawn, of fewer", of("", 400, 200), of("", 200), "entities on 400 shards are not found now"},
		{"as they were", of("", 200), of("", 200), ""},
		{"none before", nil, of("", 200), ""},
	} {
		got := strings.Join(lostShards(c.old, c.now), "; ")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
