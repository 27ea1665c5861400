package generator

import (
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Version is the version of the generated code. Package mapperimpl lists the versions that it supports.
const Version = 6

// Generate returns the files of a package's models: one next to each file that declares models, and the
// lock file. lock is the present lock file, nil for none. With accept the new keys replace those of the
// lock file. If there are diagnostics, no files are returned.
func (p *Package) Generate(lock []byte, accept bool) ([]File, []Diagnostic, error) {
	if len(p.Diagnostics) > 0 || len(p.Models) == 0 {
		return nil, p.Diagnostics, nil
	}
	g := newGenerator(p)
	var all []*written
	for _, f := range p.files {
		models := p.modelsOf(f)
		if len(models) == 0 {
			continue
		}
		all = append(all, g.file(f, models))
	}
	if lock == nil && len(p.generated) > 0 {
		at := token.Position{Filename: p.generated[0], Line: 1, Column: 1}
		p.Notes = append(p.Notes,
			Diagnostic{Pos: at, End: at, Message: LockName + " is missing, but generated code exists: it is written " +
				"again, and changes since then that lose stored data are not noticed; restore it from your version " +
				"control"})
	}
	file, contradictions, err := p.lock(lock, accept)
	if err != nil {
		return nil, nil, err
	}
	if g.diagnostics = append(g.diagnostics, contradictions...); len(g.diagnostics) > 0 {
		return nil, sortDiagnostics(g.diagnostics), nil
	}
	out, err := formatted(all)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range out {
		for _, name := range hidden(f.Content, g.names.hides) {
			g.hides(f, name)
		}
	}
	if len(g.diagnostics) > 0 {
		return nil, sortDiagnostics(g.diagnostics), nil
	}
	return append(out, file), nil, nil
}

// hides reports a predeclared name that the package declares, and that a generated file uses.
func (g *generator) hides(f File, name string) {
	i := slices.IndexFunc(g.p.Models, func(m *Model) bool { return generatedPath(m.File) == f.Path })
	pos, end := g.p.Models[i].named.Obj().Pos(), g.p.Models[i].named.Obj().Pos()
	if obj := g.p.types.Scope().Lookup(name); obj != nil {
		pos, end = obj.Pos(), obj.Pos()+token.Pos(len(name))
	}
	g.report(pos, end, fmt.Sprintf("%s.%s: it hides the predeclared %s, which the generated code of %s uses: rename it",
		g.p.Name, name, name, g.p.Models[i].Name))
}

// written is a file before it is formatted.
type written struct {
	path, constraints string
	writer            *writer
}

// formatted formats files, which takes longer than to write them, several at once.
func formatted(all []*written) ([]File, error) {
	out, errs := make([]File, len(all)), make([]error, len(all))
	var next atomic.Int64
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(all); i = int(next.Add(1)) - 1 {
				f := all[i]
				content, err := f.writer.content(f.constraints)
				if err != nil {
					errs[i] = fmt.Errorf("%s: %w", f.path, err)
				}
				out[i] = File{Path: f.path, Content: content}
			}
		})
	}
	group.Wait()
	return out, errors.Join(errs...)
}

func (p *Package) modelsOf(f *sourceFile) []*Model {
	var out []*Model
	for _, m := range p.Models {
		if m.File == f.path {
			out = append(out, m)
		}
	}
	return out
}

// generator generates the files of a package.
type generator struct {
	p           *Package
	names       *names
	structures  *structures
	diagnostics []Diagnostic
}

// newGenerator finds the structs of the models, and reserves the names of their generated code.
func newGenerator(p *Package) *generator {
	g := &generator{p: p, names: namesOf(p)}
	g.structures = &structures{
		byKey: map[string]*structure{}, recursive: map[string]*recursion{},
		deep: map[string]bool{},
	}
	for _, f := range p.files {
		for _, m := range p.modelsOf(f) {
			g.structures.file = f
			g.structures.model(m)
		}
	}
	for _, s := range g.structures.all {
		g.nameStructure(s)
	}
	for _, r := range g.structures.recursions {
		r.form = g.names.declare(lowerFirst(typeWord(goType(r.t))) + "Form")
	}
	for _, s := range g.structures.conflicts {
		n := s.named()
		if n == nil || n.Obj().Pkg() != p.types {
			continue
		}
		g.report(n.Obj().Pos(), n.Obj().Pos()+token.Pos(len(n.Obj().Name())), fmt.Sprintf(
			"%s.%s: models with different build constraints use it, but only one file can declare its fields: use "+
				"it in a file without constraints, or declare a struct for each",
			p.Name, n.Obj().Name()))
	}
	return g
}

// nameStructure reserves the names of the generated code of a struct.
func (g *generator) nameStructure(s *structure) {
	if cannotName(g.p.types, goType(s.t)) {
		return // code has no table of it
	}
	word := s.name()
	s.form = g.names.declare(lowerFirst(word) + "Form")
	if s.compared {
		s.same, s.clone = g.names.declare("same"+upperFirst(word)), g.names.declare("clone"+upperFirst(word))
	}
	if s.handled(g.p.types) && g.hasHandles(s) {
		s.handles = s.named().Obj().Name() + "Fields"
		g.fieldsName(s)
	}
}

// fieldsName takes the name of a struct's handles, or reports that it is taken.
func (g *generator) fieldsName(s *structure) {
	obj := s.named().Obj()
	if at := g.names.owner(s.handles, constraints(s.in)); at != "" {
		g.report(obj.Pos(), obj.Pos()+token.Pos(len(obj.Name())), fmt.Sprintf(
			"%s.%s: the package declares %s%salready, the name of a generated variable: rename that, or the struct",
			g.p.Name, obj.Name(), s.handles, at))
	}
	g.names.taken[s.handles] = true
}

// global takes a name of the package for a model, or reports that it is taken.
func (g *generator) global(m *Model, name, what string) {
	if at := g.names.owner(name, constraints(g.fileOf(m))); at != "" {
		pos := m.named.Obj().Pos()
		g.report(pos, pos+token.Pos(len(m.Name)), fmt.Sprintf(
			"%s: the package declares the generated %s %s%salready: rename that, or the model", m.Schema.Label(),
			what, name, at))
	}
	g.names.taken[name] = true
}

// codecMethod is the name of the generated method of models.
const codecMethod = "ItemizeCodec"

// method reports a model that has a method or field with the name of the generated method, in any build.
func (g *generator) method(m *Model) {
	in := ""
	for i := range m.named.NumMethods() {
		if f := m.named.Method(i); f.Name() == codecMethod {
			in = g.p.fset.Position(f.Pos()).Filename
		}
	}
	st := m.named.Underlying().(*types.Struct)
	for i := range st.NumFields() {
		if v := st.Field(i); v.Name() == codecMethod {
			in = g.p.fset.Position(v.Pos()).Filename
		}
	}
	for _, o := range g.names.elsewhere[m.Name+"."+codecMethod] {
		if coincide(o.constraint, constraints(g.fileOf(m))) {
			in = o.path
		}
	}
	if in == "" {
		return
	}
	pos := m.named.Obj().Pos()
	g.report(pos, pos+token.Pos(len(m.Name)), fmt.Sprintf("%s: its %s in %s has the name of the generated method: "+
		"rename it", m.Schema.Label(), codecMethod, filepath.Base(in)))
}

// fileOf returns the source file of a model.
func (g *generator) fileOf(m *Model) *sourceFile {
	i := slices.IndexFunc(g.p.files, func(f *sourceFile) bool { return f.path == m.File })
	return g.p.files[i]
}

func (g *generator) report(pos, end token.Pos, message string) {
	fset := g.p.fset
	g.diagnostics = append(g.diagnostics,
		Diagnostic{Pos: fset.Position(pos), End: fset.Position(end), Message: message})
}

// file generates the file of the models of a source file.
func (g *generator) file(f *sourceFile, models []*Model) *written {
	path := generatedPath(f.path)
	if i := slices.IndexFunc(g.p.files, func(x *sourceFile) bool { return x.path == path }); i >= 0 {
		pos := g.p.fset.Position(g.p.files[i].ast.Package)
		g.diagnostics = append(g.diagnostics,
			Diagnostic{
				Pos: pos, End: pos,
				Message: "this file has the name of a generated file, but is not generated: rename it",
			})
	}
	w := newWriter(g.p.types, g.names)
	w.constraint = constraints(f)
	for _, m := range models {
		g.method(m)
		w.varies(g.p, m)
		g.nodes(w, m)
		g.unwritable(w, m)
	}
	g.tables(w, f, models)
	w.p("func _() {")
	x := &guards{writer: w, names: g.names, seen: map[string]bool{}}
	for _, m := range models {
		x.of(m)
		g.unwritable(w, m)
	}
	x.end()
	w.p("}\n")
	w.p("const _, _ = ", impl("EnforceVersion"), "(", Version, " - ", impl("Version"), "), ", impl("EnforceVersion"),
		"(", impl("Version"), " - ", Version, ")")
	return &written{path, constraints(f), w}
}

// tables writes the structs that a file declares, and the codecs of its models.
func (g *generator) tables(w *writer, f *sourceFile, models []*Model) {
	var here []*structure
	for _, s := range g.structures.all {
		if s.in == f && s.form != "" {
			here = append(here, s)
		}
	}
	for _, s := range here {
		g.handlesOf(w, s)
	}
	for _, s := range here {
		g.tableOf(w, s)
		if s.compared {
			g.sameOf(w, s)
			g.cloneOf(w, s)
		}
	}
	for _, r := range g.structures.recursions {
		if r.in == f {
			g.recursionOf(w, r)
		}
	}
	for _, m := range models {
		t := goType(m.Schema.Type)
		codec := of(impl("Codec"), t)
		w.p("// ", codecMethod, " returns the generated codec, for package mapper.")
		w.p("func (*", t, ") ", codecMethod, "(*", t, ") *", codec, " {")
		w.p("return &", codec, "{Layout: ", quoted(m.Schema.Fingerprint()), ", Table: ", g.table(m.Schema.Type),
			"}\n}\n")
		g.unwritable(w, m)
	}
}

// unwritable reports the types that the file cannot write.
func (g *generator) unwritable(w *writer, m *Model) {
	for _, text := range w.errs {
		pos := m.named.Obj().Pos()
		g.report(pos, pos+token.Pos(len(m.Name)), m.Schema.Label()+": "+text)
	}
	w.errs = nil
}

// generatedPath returns the path of the generated file of a source file.
func generatedPath(source string) string {
	if base, ok := strings.CutSuffix(source, "_test.go"); ok {
		return base + "_itemize_test.go"
	}
	return strings.TrimSuffix(source, ".go") + "_itemize.go"
}
