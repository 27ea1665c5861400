package generator

import (
	"strings"
	"testing"
)

// The comment of a node of elements explains why it has no Add and no Put, and what to use.
func TestNodesWithoutAddSayWhy(t *testing.T) {
	const ttl = "Ends time.Time `ddb:\"sk=HEAD,ttl,all\"`"
	const keyed = " Use Update to add one: its key names "
	for name, c := range map[string]struct{ fields, want string }{
		"a slice that expires with the root": {ttl + "\n\tNotes []string `ddb:\"sk=NOTE#{.}\"`", ""},
		"a map that expires with the root":   {ttl + "\n\tNotes map[string]int `ddb:\"sk=NOTE#{key}\"`", ""},
		"a key with a field of the root": {
			"When time.Time `ddb:\"sk=HEAD\"`\n\tNotes []string `ddb:\"sk=NOTE#{^When}#{.}\"`", keyed + "{^When}, which",
		},
		"the expiry of the root alone": {
			"Ends time.Time `ddb:\"sk=HEAD,ttl\"`\n\tNotes []string `ddb:\"sk=NOTE#{.}\"`", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			files, diagnostics := filesOf(t, map[string]string{"m.go": "package p\n\nimport \"time\"\n\n" +
				"type Event struct {\n\t_ struct{} `ddb:\"table=users,ttl=expires\"`\n\tID string `ddb:\"pk=U#{ID}\"`\n\t" +
				c.fields + "\n}\n"})
			if len(diagnostics) > 0 {
				t.Fatalf("%v", diagnostics)
			}
			code := strings.ReplaceAll(files["m_itemize.go"], "\n// ", " ")
			if !strings.Contains(code, "Notes selects NOTE#") {
				t.Fatal(code)
			}
			if c.want == "" && strings.Contains(code, "Use Update to add one") || !strings.Contains(code, c.want) {
				t.Errorf("no %q in\n%s", c.want, code)
			}
		})
	}
}
