package main

import (
	"fmt"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/callgraph"
	"golang.org/x/tools/go/callgraph/static"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"
)

// reach counts the packages, files and functions of the module that a call of a mapper reaches. It uses
// the static call graph, in which calls of operation.Part, and functions that its requests carry, lead to the kind of
// part at hand.
type reach struct {
	Call      string `json:"call"`
	Packages  int    `json:"packages"`
	Files     int    `json:"files"`
	Functions int    `json:"functions"`
}

// mapperCalls are calls of a mapper: the method of its engine, and the kind of part. All of them are
// observed, and make a receipt.
var mapperCalls = []struct{ call, method, part string }{
	{"save", "save", "save"}, {"load", "load", ""}, {"query", "Page", ""}, {"patch", "writePatch", "modify"},
}

const modulePath = "github.com/itemize/itemize"

// reached follows the calls of a mapper.
func reached(root string) ([]reach, error) {
	cfg := &packages.Config{Mode: packages.LoadAllSyntax, Dir: root, Fset: token.NewFileSet()}
	loaded, err := packages.Load(cfg, "./mapper")
	if err != nil {
		return nil, err
	}
	if packages.PrintErrors(loaded) > 0 {
		return nil, fmt.Errorf("the module does not compile: run go vet ./...")
	}
	prog, all := ssautil.AllPackages(loaded, ssa.InstantiateGenerics)
	prog.Build()
	w := &walk{prog: prog, graph: static.CallGraph(prog), fset: cfg.Fset}
	mapper, operation := all[0], prog.ImportedPackage(modulePath+"/internal/save/operation")
	var out []reach
	for _, c := range mapperCalls {
		w.part = nil
		if operation != nil && c.part != "" {
			w.part = types.NewPointer(operation.Type(c.part).Type())
		}
		w.begin()
		for _, f := range []struct{ of, name string }{
			{"engine", c.method},
			{"engine", "observe"},
			{"draft", "receipt"},
		} {
			m := w.method(types.NewPointer(mapper.Type(f.of).Type()), mapper.Pkg, f.name)
			if m == nil {
				return nil, fmt.Errorf("%s.%s: package mapper has no such method: correct mapperCalls", f.of, f.name)
			}
			w.from(m)
		}
		out = append(out, reach{c.call, len(w.packages), len(w.files), len(w.functions)})
	}
	return out, nil
}

// walk follows calls from functions, and records the functions of the module.
type walk struct {
	prog  *ssa.Program
	graph *callgraph.Graph
	fset  *token.FileSet
	// part is the type that calls of operation.Part are resolved to, nil for none.
	part types.Type

	seen            map[*ssa.Function]bool
	packages, files map[string]bool
	functions       map[token.Pos]bool
}

func (w *walk) begin() {
	w.seen, w.packages, w.files, w.functions = map[*ssa.Function]bool{}, map[string]bool{}, map[string]bool{},
		map[token.Pos]bool{}
}

// method returns a method of a type, nil for none.
func (w *walk) method(of types.Type, in *types.Package, name string) *ssa.Function {
	if s := w.prog.MethodSets.MethodSet(of).Lookup(in, name); s != nil {
		return w.prog.MethodValue(s)
	}
	return nil
}

func (w *walk) from(f *ssa.Function) {
	if f == nil || w.seen[f] {
		return
	}
	w.seen[f] = true
	of := f
	if o := f.Origin(); o != nil {
		of = o // of an instance, the generic function
	}
	pkg := packageOf(of)
	if !strings.HasPrefix(pkg, modulePath) {
		return
	}
	if of.Syntax() != nil && of.Parent() == nil {
		w.packages[pkg], w.files[w.fset.Position(of.Pos()).Filename], w.functions[of.Pos()] = true, true, true
	}
	if n := w.graph.Nodes[f]; n != nil {
		for _, edge := range n.Out {
			w.from(edge.Callee.Func)
		}
	}
	if w.part == nil {
		return
	}
	for _, b := range f.Blocks {
		for _, i := range b.Instrs {
			if c, ok := i.(*ssa.MakeClosure); ok {
				w.bound(c)
			}
			call, ok := i.(ssa.CallInstruction)
			if !ok || !call.Common().IsInvoke() {
				continue
			}
			if c := call.Common(); strings.HasSuffix(c.Value.Type().String(), "/internal/save/operation.Part") {
				w.from(w.method(w.part, c.Method.Pkg(), c.Method.Name()))
			}
		}
	}
}

// bound follows a method of the part that its requests carry as a function.
func (w *walk) bound(c *ssa.MakeClosure) {
	f := c.Fn.(*ssa.Function)
	if len(c.Bindings) == 1 && types.Identical(c.Bindings[0].Type(), w.part) && f.Object() != nil {
		w.from(w.method(w.part, f.Object().Pkg(), f.Object().Name()))
	}
}

func packageOf(f *ssa.Function) string {
	for f.Parent() != nil {
		f = f.Parent()
	}
	switch o := f.Object(); {
	case f.Pkg != nil:
		return f.Pkg.Pkg.Path()
	case o != nil && o.Pkg() != nil:
		return o.Pkg().Path()
	}
	return ""
}
