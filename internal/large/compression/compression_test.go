package compression_test

import (
	"slices"
	"testing"

	"github.com/itemize/itemize/internal/large/compression"
	"github.com/itemize/itemize/internal/model/grammar"
)

// The table of codecs and the grammar of tags name the same codecs.
func TestCodecsAreThoseOfTags(t *testing.T) {
	var names []string
	for _, n := range compression.Names() {
		names = append(names, string(n))
	}
	if !slices.Equal(names, grammar.Codecs) {
		t.Errorf("codecs %v, and tags name %v", names, grammar.Codecs)
	}
}
