package generator

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// nodesOf returns the names of the methods of a type in the generated code of a package.
func nodesOf(t *testing.T, source, typ string) []string {
	t.Helper()
	files, diagnostics := filesOf(t, map[string]string{"m.go": "package p\n\n" + source})
	if len(diagnostics) > 0 {
		t.Fatalf("%v", diagnostics)
	}
	var out []string
	for line := range strings.Lines(files["m_itemize.go"]) {
		if rest, ok := strings.CutPrefix(line, "func (n *"+typ+") "); ok {
			name, _, _ := strings.Cut(rest, "(")
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// The names of nodes do not depend on the fields that an item has, and the root is Root in every model.
func TestNodeNamesDoNotDependOnFields(t *testing.T) {
	model := func(fields ...string) string {
		return "type Address struct{ Street string }\n\ntype User struct {\n\t_ struct{} `ddb:\"table=users\"`\n\t" +
			"ID string `ddb:\"pk=U#{ID}\"`\n\t" + strings.Join(fields, "\n\t") + "\n}\n"
	}
	const head = "Name string `ddb:\"sk=HEAD\"`"
	for name, c := range map[string]struct {
		before, after []string
		want          []string
	}{
		"a field of the root": {
			[]string{head},
			[]string{"Mail string `ddb:\"sk=HEAD\"`", head},
			[]string{"Patch", "Root"},
		},
		"the root of a spread struct": {
			[]string{"Head Address `ddb:\"sk=HEAD\"`"},
			[]string{"Head Address `ddb:\"sk=HEAD\"`", "Mail string `ddb:\"sk=HEAD\"`"},
			[]string{"Patch", "Root"},
		},
		"a field of another item": {
			[]string{head, "Note string `ddb:\"sk=WORLD_RANK\"`"},
			[]string{head, "Text string `ddb:\"sk=WORLD_RANK\"`", "Note string `ddb:\"sk=WORLD_RANK\"`"},
			[]string{"Patch", "Root", "WorldRank"},
		},
		"a field next to a spread struct": {
			[]string{head, "Home Address `ddb:\"sk=PLACE#1st#Main\"`"},
			[]string{head, "Home Address `ddb:\"sk=PLACE#1st#Main\"`", "Floor int `ddb:\"sk=PLACE#1st#Main\"`"},
			[]string{"Main", "Patch", "Root"},
		},
		"a pointer": {
			[]string{head, "Home *Address `ddb:\"sk=url\"`"},
			[]string{head, "Home *Address `ddb:\"sk=url\"`", "Floor *int `ddb:\"sk=url\"`"},
			[]string{"Patch", "Root", "URL"},
		},
		"name=": {
			[]string{head, "Home Address `ddb:\"sk=HOME,name=Place\"`"},
			[]string{head, "Floor int `ddb:\"sk=HOME\"`", "Home Address `ddb:\"sk=HOME,name=Place\"`"},
			[]string{"Patch", "Place", "Root"},
		},
		"a segment of several items": {
			[]string{head, "A string `ddb:\"sk=STAT#URL\"`", "B string `ddb:\"sk=STAT#RANK\"`"},
			[]string{head, "A string `ddb:\"sk=STAT#URL\"`", "C, B string `ddb:\"sk=STAT#RANK\"`"},
			[]string{"Patch", "Rank", "Root", "STAT", "URL"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, fields := range [][]string{c.before, c.after} {
				if d := cmp.Diff(c.want, nodesOf(t, model(fields...), "UserKey")); d != "" {
					t.Error(fields, d)
				}
			}
		})
	}
}

// A flat model and a model without sort keys have the node Root too.
func TestEveryModelHasTheNodeRoot(t *testing.T) {
	for name, fields := range map[string]string{
		"flat":         "At string `ddb:\"sk=E#{At}\"`\n\tText string `ddb:\"sk=E#{At}\"`",
		"no sort keys": "_ struct{} `ddb:\"range=-\"`\n\tText string",
		"another table": "Text string `ddb:\"sk=HEAD\"`\n\t_ struct{} `ddb:\"table=more,name=More\"`\n\t" +
			"X int `ddb:\"table=more,sk=HEAD\"`",
		"several of keys": "N int `ddb:\"sk=N#{Day}\"`\n\tDay string",
	} {
		t.Run(name, func(t *testing.T) {
			source := "type Event struct {\n\tID string `ddb:\"pk=U#{ID}\"`\n\t" + fields + "\n}\n"
			if got := nodesOf(t, source, "EventKey"); !slices.Contains(got, "Root") {
				t.Error(got)
			}
		})
	}
}

// name= of a field renames the methods of its placeholders and its word in functions, in keys of every kind.
func TestNameRenamesPlaceholders(t *testing.T) {
	const source = "type Visit struct {\n\tPage string `ddb:\"name=Leaf\"`\n\tN int\n\tText string\n}\n\n" +
		"type User struct {\n\t_ struct{} `ddb:\"table=users\"`\n\t" +
		"_ struct{} `ddb:\"index=byDay,hash=ByDay,range=ByLimit,pk=D#{Day},sk=L#{Limit}#{Project}\"`\n\t" +
		"ID string `ddb:\"pk=U#{ID},name=Person\"`\n\tDay string `ddb:\"sk=HEAD\"`\n\t" +
		"Limit string `ddb:\"sk=HEAD,name=Most\"`\n\tProject string `ddb:\"sk=HEAD,name=Work\"`\n\t" +
		"Visits []Visit `ddb:\"sk=V#{Page}#{N:010}\"`\n}\n"
	files, diagnostics := filesOf(t, map[string]string{"m.go": "package p\n\n" + source})
	if len(diagnostics) > 0 {
		t.Fatalf("%v", diagnostics)
	}
	for _, want := range []string{"func UserByPerson(", "func UserByDay(", ") Most(", ") Work(", ") Leaf("} {
		if !strings.Contains(files["m_itemize.go"], want) {
			t.Errorf("generated code has no %s", want)
		}
	}
	unnamed := strings.Replace(source, ",name=Most", "", 1)
	_, diagnostics = filesOf(t, map[string]string{"m.go": "package p\n\n" + unnamed})
	if text := fmt.Sprint(diagnostics); !strings.Contains(text, "add name=Word to the field that it names") {
		t.Errorf("the diagnostic does not name the cure: %s", text)
	}
	unused := strings.Replace(source, "\tVisits []", "\tNote string `ddb:\"sk=HEAD,name=Remark\"`\n\tVisits []", 1)
	_, diagnostics = filesOf(t, map[string]string{"m.go": "package p\n\n" + unused})
	if text := fmt.Sprint(diagnostics); !strings.Contains(text, "name= has no effect on a field that no key and no "+
		"unique value names") {
		t.Errorf("name= without effect is accepted: %s", text)
	}
}

// name= of a unique field renames its word in lookups.
func TestNameRenamesLookups(t *testing.T) {
	const source = "package p\n\ntype User struct {\n\t_ struct{} `ddb:\"table=users\"`\n\t" +
		"ID string `ddb:\"pk=U#{ID}\"`\n\tEmail string `ddb:\"sk=HEAD,unique,name=Mail\"`\n\t" +
		"Tenant string `ddb:\"sk=HEAD,name=Firm\"`\n\tNick string `ddb:\"sk=HEAD,unique='Tenant,Nick'\"`\n}\n"
	files, diagnostics := filesOf(t, map[string]string{"m.go": source})
	if len(diagnostics) > 0 {
		t.Fatalf("%v", diagnostics)
	}
	for _, want := range []string{"func UserByMail(mail string) *UserKey", "func UserByFirmNick(firm string, nick " +
		"string)"} {
		if !strings.Contains(files["m_itemize.go"], want) {
			t.Errorf("generated code has no %s", want)
		}
	}
}
