package gen

import (
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/schema"
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
		{"then retired", of("ID", 400, 200), of("ID", 400), `what was written over 200 shards is not found any more: ` +
			`write shards='400,200', and take 200 away when all has been moved (a Save with Move moves what it has ` +
			`loaded)`},
		{"written at once", of("ID", 200), of("ID", 400, 200), `400 shards would be written, which code that is ` +
			`deployed does not know: write shards='200,400' first, deploy that everywhere, and then this`},
		{"by another field", of("ID", 200), of("", 200), "shards were chosen by ID, and are by chance"},
		{"drawn, of more", of("", 200, 400), of("", 400), ""},
		{"drawn, of fewer", of("", 400, 200), of("", 200), "what was written over 400 shards is not found any more"},
		{"as they were", of("", 200), of("", 200), ""},
		{"none before", nil, of("", 200), ""},
	} {
		got := strings.Join(lostShards(c.old, c.now), "; ")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
