package generator

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/itemize/itemize/internal/model/grammar"
)

// lonely reports the faults of a struct that is no model and has ddb tags. Such a fault is a tag that
// cannot be read, or sort keys without a partition key.
func (f *finder) lonely(named *types.Named, st *types.Struct) {
	var places *types.Var
	pos, end, unread := 0, 0, false
	for i := range st.NumFields() {
		v, raw := st.Field(i), st.Tag(i)
		if !strings.Contains(raw, "ddb") {
			continue
		}
		where := grammar.OnField
		if v.Name() == "_" {
			where = grammar.OnBlank
		}
		tag, errs := grammar.Parse(raw, where)
		unread = unread || len(errs) > 0 // and may be the partition key
		for _, e := range errs {
			from, to := f.placeIn(v, e.Pos, e.End)
			f.report(from, to, typeName(named)+"."+v.Name()+": "+e.Error())
		}
		if o, ok := tag.Option("sk"); ok && places == nil {
			places, pos, end = v, o.Pos, o.End
		}
	}
	if name := pathOf(named); places != nil && !unread && !f.embedded[name] {
		from, to := f.placeIn(places, pos, end)
		f.report(from, to, typeName(named)+"."+places.Name()+": the struct has a sort key but no partition key, so "+
			"that it is not a model: add pk=TEMPLATE to the field that identifies an entity, or embed it in a model")
		f.last().embed = name
	}
}

// nameless reports ddb tags that cannot be read of structs that are no declared types of the package:
// those of variables, aliases and fields, and those in functions.
func (f *finder) nameless() {
	for _, file := range f.p.files {
		declared := map[*ast.StructType]bool{}
		for _, decl := range file.ast.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range gen.Specs {
				if ts, ok := spec.(*ast.TypeSpec); ok && ts.Assign == token.NoPos && ts.Name.Name != "_" {
					if st, ok := ts.Type.(*ast.StructType); ok {
						declared[st] = true
					}
				}
			}
		}
		ast.Inspect(file.ast, func(n ast.Node) bool {
			if st, ok := n.(*ast.StructType); ok && !declared[st] {
				f.namelessTags(st)
			}
			return true
		})
	}
}

func (f *finder) namelessTags(st *ast.StructType) {
	for _, field := range st.Fields.List {
		if field.Tag == nil || !strings.Contains(field.Tag.Value, "ddb") {
			continue
		}
		raw, err := strconv.Unquote(field.Tag.Value)
		if err != nil {
			continue // the compiler says so
		}
		where := grammar.OnField
		if len(field.Names) > 0 && field.Names[0].Name == "_" {
			where = grammar.OnBlank
		}
		_, errs := grammar.Parse(raw, where)
		for _, e := range errs {
			from, to := placeInTag(field.Tag, e.Pos, e.End)
			at := f.p.fset.Position(from)
			if !slices.ContainsFunc(f.p.Diagnostics, func(d Diagnostic) bool { return d.Pos == at }) {
				f.report(from, to, "struct: "+e.Error())
			}
		}
	}
}

// pathOf is a type's name with the path of its package.
func pathOf(n *types.Named) string { return n.Obj().Pkg().Path() + "." + n.Obj().Name() }

// collectEmbedded notes the types of the package that structs embed.
func (f *finder) collectEmbedded() {
	f.embedded = map[string]bool{}
	for v := range f.tags {
		if !v.Embedded() {
			continue
		}
		t := types.Unalias(v.Type())
		if p, ok := t.(*types.Pointer); ok {
			t = types.Unalias(p.Elem())
		}
		if n, ok := t.(*types.Named); ok && n.Obj().Pkg() != nil {
			f.embedded[pathOf(n)] = true
		}
	}
}
