package generator

import (
	"bytes"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/itemize/itemize/internal/model/schema"
)

// A base is a struct with tags of keys that models embed. It need not be a model itself: its keys can
// name fields of the models.

// ownBases returns the structs of models that are bases: a model of the package embeds them, and they have faults, or
// would be a second model of the same items. The faults of a model with faults are enough if its base lacks fields.
func (p *Package) ownBases() map[string]bool {
	bases := map[string]bool{}
	for _, m := range p.Models {
		inner := embeddedBy(m.named)
		for _, b := range p.Models {
			switch {
			case !inner[pathOf(b.named)]:
			case m.Schema == nil && (b.Schema != nil || !p.lacks(b)):
			case b.Schema == nil, schema.OfKeys(b.Schema, m.Schema) != "":
				bases[pathOf(b.named)] = true
			}
		}
	}
	return bases
}

// basesElsewhere returns the bases with faults that models of other packages embed: of a given package, or of the
// module in a folder, "" for none. A struct with generated code is a model, and its faults are reported.
func basesElsewhere(all []*Package, module string) map[string]bool {
	bases := map[string]bool{}
	for _, p := range all {
		for _, m := range p.Models {
			if m.Schema != nil || p.lacks(m) && !m.generated() && embeddedIn(module, pathOf(m.named)) {
				maps.Copy(bases, embeddedBy(m.named))
				bases[pathOf(m.named)] = true
			}
		}
	}
	return bases
}

// lacks reports whether the faults of a struct are fields that it lacks, and nothing else.
func (p *Package) lacks(m *Model) bool {
	return !slices.ContainsFunc(p.Diagnostics, func(d Diagnostic) bool {
		return d.base == pathOf(m.named) && !d.missing
	})
}

// dropBases removes bases with faults, and those of the package's own models, from the models.
func (p *Package) dropBases(bases map[string]bool) {
	own := p.ownBases()
	p.Models = slices.DeleteFunc(p.Models, func(m *Model) bool {
		name := pathOf(m.named)
		return own[name] || bases[name] && m.Schema == nil
	})
	p.Diagnostics = slices.DeleteFunc(p.Diagnostics, func(d Diagnostic) bool {
		return d.base != "" && (own[d.base] || bases[d.base])
	})
}

// oneIsBase reports whether one of two models embeds the other one, with its keys.
func oneIsBase(a, b *Model) bool {
	embeds := embeddedBy(a.named)[pathOf(b.named)] || embeddedBy(b.named)[pathOf(a.named)]
	return embeds && schema.OfKeys(a.Schema, b.Schema) != ""
}

// embeddedBy returns the types that a struct embeds, and those which these embed.
func embeddedBy(n *types.Named) map[string]bool {
	all := map[string]bool{}
	var add func(n *types.Named)
	add = func(n *types.Named) {
		st, ok := n.Underlying().(*types.Struct)
		if !ok {
			return
		}
		for i := range st.NumFields() {
			t := types.Unalias(st.Field(i).Type())
			if p, ok := t.(*types.Pointer); ok {
				t = types.Unalias(p.Elem())
			}
			inner, ok := t.(*types.Named)
			if !ok || !st.Field(i).Embedded() || inner.Obj().Pkg() == nil || all[pathOf(inner)] {
				continue
			}
			all[pathOf(inner)] = true
			add(inner)
		}
	}
	add(n)
	return all
}

// generated reports whether a struct has generated code.
func (m *Model) generated() bool {
	src, err := os.ReadFile(generatedPath(m.File))
	return err == nil && bytes.Contains(src, []byte("\ntype "+m.Name+"Key struct"))
}

// moduleFolder returns the folder of a package's module, "" for none.
func moduleFolder(p *Package) string {
	if len(p.files) == 0 {
		return ""
	}
	return ModuleFolder(filepath.Dir(p.files[0].path))
}

// ModuleFolder returns the folder of the module that a folder is in, "" for none.
func ModuleFolder(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}
