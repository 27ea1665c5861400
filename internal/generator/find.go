package generator

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/itemize/itemize/internal/model/schema"
)

// Model is a model of a package.
type Model struct {
	Name string
	// File is the path of the file that declares it.
	File string
	// Schema is its layout; nil where it has faults.
	Schema *schema.Entity

	named *types.Named
}

// finder finds the models of a package.
type finder struct {
	p    *Package
	info *types.Info
	// typeErrors are those of the type checker.
	typeErrors []types.Error
	// tags are the tags of the package's struct fields.
	tags map[*types.Var]*ast.Field
	// embedded are the types that structs of the package embed, with their paths.
	embedded map[string]bool
}

func (f *finder) find() {
	f.collectTags()
	f.collectEmbedded()
	for _, file := range f.p.files {
		for _, decl := range file.ast.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.TYPE {
				continue
			}
			for _, spec := range gen.Specs {
				if ts := spec.(*ast.TypeSpec); ts.Assign == token.NoPos {
					f.typeSpec(file, ts)
				}
			}
		}
	}
	f.nameless()
	f.p.dropBases(nil)
	f.p.Diagnostics = append(f.p.Diagnostics, collisions([]*Package{f.p}, true)...)
}

// collectTags notes the declaration of each struct field, for positions in tags.
func (f *finder) collectTags() {
	f.tags = map[*types.Var]*ast.Field{}
	for _, file := range f.p.files {
		ast.Inspect(file.ast, func(n ast.Node) bool {
			st, ok := n.(*ast.StructType)
			if !ok {
				_, isFunc := n.(*ast.FuncDecl)
				return !isFunc
			}
			for _, field := range st.Fields.List {
				for _, id := range field.Names {
					f.note(id, field)
				}
				if len(field.Names) == 0 {
					f.note(embeddedIdent(field.Type), field)
				}
			}
			return true
		})
	}
}

func (f *finder) note(id *ast.Ident, field *ast.Field) {
	if v, ok := f.info.Defs[id].(*types.Var); ok {
		f.tags[v] = field
	}
}

// embeddedIdent returns the identifier that names an embedded field.
func embeddedIdent(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.Ident:
		return e
	case *ast.StarExpr:
		return embeddedIdent(e.X)
	case *ast.SelectorExpr:
		return e.Sel
	case *ast.IndexExpr:
		return embeddedIdent(e.X)
	case *ast.IndexListExpr:
		return embeddedIdent(e.X)
	case *ast.ParenExpr:
		return embeddedIdent(e.X)
	}
	return nil
}

// typeSpec adds a declared struct, if it is a model.
func (f *finder) typeSpec(file *sourceFile, ts *ast.TypeSpec) {
	obj, ok := f.info.Defs[ts.Name].(*types.TypeName)
	if !ok || obj.Name() == "_" {
		return
	}
	named, ok := obj.Type().(*types.Named)
	if !ok {
		return
	}
	st, ok := named.Underlying().(*types.Struct)
	if !ok {
		return
	}
	if !isModel(st, map[*types.Struct]bool{}) {
		if embedsUnread(st) && slices.Contains(f.p.generated, generatedPath(file.path)) {
			f.invalidType(named, ts, nil) // it may be a model, whose generated code would be deleted
			return
		}
		f.lonely(named, st)
		return
	}
	m := &Model{Name: obj.Name(), File: file.path, named: named}
	if named.TypeParams().Len() > 0 {
		f.report(ts.Name.Pos(), ts.Name.End(), named.Obj().Pkg().Name()+"."+named.Obj().Name()+
			": a generic type cannot be a model: declare a struct for each instance")
		f.last().base, f.last().missing = pathOf(named), true
		f.p.Models = append(f.p.Models, m)
		return
	}
	front := newFrontend()
	t := front.of(named)
	if front.invalid {
		f.invalidType(named, ts, front.at)
		return
	}
	f.p.Models = append(f.p.Models, m)
	var err error
	if m.Schema, err = schema.Build(t); err == nil {
		return
	}
	var faults schema.Faults
	if errors.As(err, &faults) {
		for _, x := range faults {
			f.fault(x, ts)
			f.last().base, f.last().missing = pathOf(named), x.Missing
		}
	}
}

// isModel reports whether a struct is a model: it, or a struct that it embeds, has a partition key, a
// table, or a sort key next to a root.
func isModel(st *types.Struct, seen map[*types.Struct]bool) bool {
	if seen[st] {
		return false
	}
	seen[st] = true
	for i := range st.NumFields() {
		v, tag := st.Field(i), st.Tag(i)
		ddb, _, _ := strings.Cut(after(tag, `ddb:"`), `"`)
		for _, option := range strings.Split(ddb, ",") {
			if strings.HasPrefix(option, "pk=") || v.Name() == "_" &&
				(option == "root" || strings.HasPrefix(option, "table=")) {
				return true
			}
		}
		if !v.Embedded() {
			continue
		}
		t := types.Unalias(v.Type())
		if p, ok := t.(*types.Pointer); ok {
			t = types.Unalias(p.Elem())
		}
		if inner, ok := t.Underlying().(*types.Struct); ok && isModel(inner, seen) {
			return true
		}
	}
	return false
}

// embedsUnread reports whether a struct embeds a type that could not be read.
func embedsUnread(st *types.Struct) bool {
	for i := range st.NumFields() {
		if v := st.Field(i); v.Embedded() && types.Unalias(v.Type()) == types.Typ[types.Invalid] {
			return true
		}
	}
	return false
}

func after(s, sep string) string {
	_, rest, _ := strings.Cut(s, sep)
	return rest
}

// invalidType reports a model with a type that could not be checked. It adds the error of the type checker about the
// field, which may be of another struct, or about the model.
func (f *finder) invalidType(named *types.Named, ts *ast.TypeSpec, at *types.Var) {
	msg := typeName(named) + ": the types of its fields cannot be read"
	nodes := []ast.Node{ts}
	if decl := f.tags[at]; at != nil && decl != nil {
		msg = typeName(named) + ": the type of its field " + at.Name() + " cannot be read"
		nodes = []ast.Node{decl, ts}
	}
	for _, n := range nodes {
		for _, e := range f.typeErrors {
			if n.Pos() <= e.Pos && e.Pos < n.End() {
				f.report(e.Pos, e.Pos, msg+": "+e.Msg)
				return
			}
		}
	}
	pos, end := ts.Name.Pos(), ts.Name.End()
	if at != nil {
		pos, end = at.Pos(), at.Pos()+token.Pos(len(at.Name()))
	}
	for _, e := range f.typeErrors { // such as that of an import
		f.report(pos, end, msg+": "+e.Msg)
		return
	}
	f.report(pos, end, msg)
}

// last returns the diagnostic that was added last.
func (f *finder) last() *Diagnostic { return &f.p.Diagnostics[len(f.p.Diagnostics)-1] }

func (f *finder) report(pos, end token.Pos, message string) {
	f.p.Diagnostics = append(f.p.Diagnostics,
		Diagnostic{Pos: f.p.fset.Position(pos), End: f.p.fset.Position(end), Message: message})
}

// fault reports a fault of the schema at its place.
func (f *finder) fault(x schema.Fault, ts *ast.TypeSpec) {
	d := Diagnostic{Message: x.String()}
	pos, end := ts.Name.Pos(), ts.Name.End()
	if x.Field != nil {
		pos, end = f.place(x.Field, x.Pos, x.End)
	}
	d.Pos, d.End = f.p.fset.Position(pos), f.p.fset.Position(end)
	if x.Related != nil {
		at, _ := f.place(x.Related, 0, 0)
		d.Related = []Related{{f.p.fset.Position(at), x.Related.Name + " is declared here"}}
	}
	f.p.Diagnostics = append(f.p.Diagnostics, d)
}

// place returns the place of a field, or of a part of its tag.
func (f *finder) place(field *schema.Field, from, to int) (pos, end token.Pos) {
	return f.placeIn(field.Decl.(*types.Var), from, to)
}

// placeIn is place of a declared field.
func (f *finder) placeIn(v *types.Var, from, to int) (pos, end token.Pos) {
	decl := f.tags[v]
	if decl == nil || decl.Tag == nil || to == 0 {
		return v.Pos(), v.Pos() + token.Pos(len(v.Name()))
	}
	return placeInTag(decl.Tag, from, to)
}

// placeInTag is the place of bytes of a tag's value in its literal.
func placeInTag(tag *ast.BasicLit, from, to int) (pos, end token.Pos) {
	lit := tag.Value
	if lit[0] == '`' {
		return tag.Pos() + 1 + token.Pos(from), tag.Pos() + 1 + token.Pos(to)
	}
	return tag.Pos() + 1 + token.Pos(quotedOffset(lit, from)), tag.Pos() + 1 + token.Pos(quotedOffset(lit, to))
}

// quotedOffset returns the offset of a byte of a string's value in
// its literal, behind the quote.
func quotedOffset(lit string, offset int) int {
	rest, n := lit[1:len(lit)-1], 0
	for consumed := 0; consumed < offset && rest != ""; {
		r, _, tail, err := strconv.UnquoteChar(rest, '"')
		if err != nil {
			break
		}
		consumed += len(string(r))
		n += len(rest) - len(tail)
		rest = tail
	}
	return n
}
