package main

import (
	"fmt"
	"go/token"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// drawn is the picture of the packages in the architecture page.
var drawn = page{
	"docs/design/architecture.md",
	"<!-- picture of the packages: cd internal/tools && go run ./figures picture -->",
	"<!-- end of the picture -->",
}

// layers are the layers of the picture, from the top, and the packages in each. A package imports
// packages of its own layer and of the layers below.
var layers = []struct {
	name     string
	packages []string
}{
	{"commands", []string{
		"cmd/itemize", "codegen", "internal/generator", "internal/advice/discover",
	}},
	{"what applications import", []string{
		"large", "large/s3store", "large/compress", "migrate", "unique", "stream", "cost/record", "cost/forecast",
		"tables",
		"mapper", "mapper/mapperimpl", "query", "field", "tags", "internal/advice/trace",
	}},
	{"migration", []string{
		"internal/migration/protocol", "internal/advice/inspect", "internal/migration/layout",
		"internal/migration/files",
	}},
	{"entities", []string{
		"internal/door", "internal/save/bulk", "internal/save/adoption", "internal/save/operation",
		"internal/save/estimate", "internal/read/search", "internal/model/tabledef",
	}},
	{"one entity", []string{
		"internal/save/change", "internal/read/snapshot", "internal/save/staging", "internal/model/expr",
		"internal/model", "internal/model/codec",
	}},
	{"requests", []string{
		"internal/advice/charge", "internal/large/extern", "internal/save/write", "internal/read",
		"internal/read/selection", "internal/request",
	}},
	{"values", []string{
		"internal/model/item", "internal/model/schema", "internal/request/wire", "internal/model/attr",
		"internal/model/key", "internal/large/compression", "internal/model/naming", "internal/model/redact",
		"internal/migration/report", "internal/model/grammar", "cost",
	}},
}

// picture writes the picture of the packages, or with check compares it.
func picture(root string, check bool) error {
	imports, err := importsOf(root)
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("```mermaid\nflowchart TB\n")
	ids, level := map[string]string{}, map[string]int{}
	for i, l := range layers {
		fmt.Fprintf(&b, "  subgraph l%d[%s]\n", i, l.name)
		for _, name := range l.packages {
			if ids[name] != "" {
				return fmt.Errorf("package %s: it is twice in internal/tools/figures/picture.go: keep one",
					name)
			}
			ids[name], level[name] = "p"+strconv.Itoa(len(ids)), i
			fmt.Fprintf(&b, "    %s[%s]\n", ids[name], strings.TrimPrefix(name, "internal/"))
		}
		b.WriteString("  end\n")
	}
	for _, from := range slices.Sorted(maps.Keys(imports)) {
		if ids[from] == "" {
			return fmt.Errorf("package %s: add it to a layer of internal/tools/figures/picture.go", from)
		}
		for _, to := range imports[from] {
			if level[to] < level[from] {
				return fmt.Errorf("package %s imports %s: it is of a higher layer (internal/tools/figures/picture.go)",
					from, to)
			}
			if !reachesOtherwise(imports, from, to) {
				fmt.Fprintf(&b, "  %s --> %s\n", ids[from], ids[to])
			}
		}
	}
	b.WriteString("```\n")
	return drawn.update(root, b.String(), "go run ./figures picture", check)
}

// notDrawn are the folders that only tests, examples and contributors use.
var notDrawn = []string{"examples", "integration", "internal/testing", "contrib", "docs"}

// importsOf returns which packages of the module each package of the module imports, tests and what
// only tests and examples use aside.
func importsOf(root string) (map[string][]string, error) {
	all, err := load(token.NewFileSet(), root)
	if err != nil {
		return nil, err
	}
	imports := map[string][]string{}
	for _, s := range all {
		folder := path.Dir(s.name)
		under := func(f string) bool { return folder == f || strings.HasPrefix(folder, f+"/") }
		if s.test || slices.ContainsFunc(notDrawn, under) {
			continue
		}
		imports[folder] = append([]string{}, imports[folder]...)
		for _, i := range s.syntax.Imports {
			name, _ := strconv.Unquote(i.Path.Value)
			if to, ok := strings.CutPrefix(name, modulePath+"/"); ok && !slices.Contains(imports[folder], to) {
				imports[folder] = append(imports[folder], to)
			}
		}
		slices.Sort(imports[folder])
	}
	return imports, nil
}

// reachesOtherwise reports whether a package imports another through a third one, so that the picture needs no arrow.
func reachesOtherwise(imports map[string][]string, from, to string) bool {
	seen := map[string]bool{}
	var find func(string) bool
	find = func(at string) bool {
		if at == to {
			return true
		}
		if seen[at] {
			return false
		}
		seen[at] = true
		return slices.ContainsFunc(imports[at], find)
	}
	return slices.ContainsFunc(imports[from], func(via string) bool { return via != to && find(via) })
}
