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
	"<!-- picture of the packages: cd tools && go run ./figures picture -->",
	"<!-- end of the picture -->",
}

// layers are the layers of the picture, from the top, and the packages in each. A package imports
// packages of its own layer and of the layers below.
var layers = []struct {
	name     string
	packages []string
}{
	{"commands", []string{"cmd/itemize", "codegen", "internal/gen", "internal/discover", "internal/replay"}},
	{"what applications import", []string{
		"blob", "s3store", "compress", "migrate", "record", "forecast", "tables", "mapper",
		"mapper/mapperimpl", "query", "field", "tags", "internal/recording",
	}},
	{"migration", []string{
		"internal/migration/protocol", "internal/inspect", "internal/migration/layout",
		"internal/migration/files",
	}},
	{"entities", []string{
		"internal/door", "internal/bulk", "internal/operation", "internal/estimate", "internal/search",
		"internal/tabledef",
	}},
	{"one entity", []string{
		"internal/change", "internal/snapshot", "internal/staging", "internal/expr",
		"internal/model", "internal/codec",
	}},
	{"requests", []string{
		"internal/charge", "internal/large", "internal/write", "internal/read", "internal/selection",
		"internal/explain", "internal/flow",
	}},
	{"values", []string{
		"internal/item", "internal/schema", "internal/fit", "internal/wire", "internal/attr", "internal/key",
		"internal/compression", "internal/gate", "internal/near", "internal/redact", "internal/migration/report",
		"internal/tags", "cost",
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
			ids[name], level[name] = "p"+strconv.Itoa(len(ids)), i
			fmt.Fprintf(&b, "    %s[%s]\n", ids[name], strings.TrimPrefix(name, "internal/"))
		}
		b.WriteString("  end\n")
	}
	for _, from := range slices.Sorted(maps.Keys(imports)) {
		if ids[from] == "" {
			return fmt.Errorf("package %s: add it to a layer of tools/figures/picture.go", from)
		}
		for _, to := range imports[from] {
			if level[to] < level[from] {
				return fmt.Errorf("package %s imports %s: it is of a higher layer (tools/figures/picture.go)", from, to)
			}
			if !reachesOtherwise(imports, from, to) {
				fmt.Fprintf(&b, "  %s --> %s\n", ids[from], ids[to])
			}
		}
	}
	b.WriteString("```\n")
	return drawn.update(root, b.String(), "go run ./figures picture", check)
}

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
		if s.test || slices.ContainsFunc([]string{"examples", "integration", "internal/testing", "otel", "docs"},
			func(f string) bool { return folder == f || strings.HasPrefix(folder, f+"/") }) {
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
