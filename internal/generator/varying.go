package generator

import (
	"fmt"
	"go/ast"
	"go/types"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// varying finds what a model's fields are made of that differs between the builds of the model's file. Generated code
// has the layout of one build.
type varying struct {
	p     *Package
	names *names
	// constraint is that of the model's file.
	constraint string
	seen       map[string]bool
	texts      []string
}

// varies adds the parts of a model that differ between builds to the types that the file cannot write.
func (w *writer) varies(p *Package, m *Model) {
	v := &varying{p: p, names: w.names, constraint: w.constraint, seen: map[string]bool{m.Name: true}}
	v.methods(m.named)
	v.declaration(m.Name)
	for _, text := range v.texts {
		if !slices.Contains(w.errs, text) {
			w.errs = append(w.errs, text)
		}
	}
}

// name looks at a name in the type of a field.
func (v *varying) name(name string) {
	obj := v.p.types.Scope().Lookup(name)
	if obj == nil || v.seen[name] {
		return
	}
	v.seen[name] = true
	t, isType := obj.(*types.TypeName)
	if file := v.names.declaredTwice(name, v.constraint); file != "" {
		if isType {
			v.texts = append(v.texts, unnameable(name, "another build declares it in "+file))
			return
		}
		v.texts = append(v.texts, fmt.Sprintf("its fields depend on %s, which another build declares in %s: "+
			"declare it once", name, file))
		return
	}
	if !isType {
		v.declaration(name)
		return
	}
	if named, ok := t.Type().(*types.Named); ok {
		v.methods(named)
		if marshals(types.NewMethodSet(types.NewPointer(named))) {
			return // what is inside is not stored
		}
	}
	v.declaration(name)
}

// declaration looks at the declaration of a type or constant.
func (v *varying) declaration(name string) {
	switch s := v.p.specs()[name].(type) {
	case *ast.TypeSpec:
		v.in(s.Type, s.TypeParams)
	case *ast.ValueSpec:
		for _, x := range s.Values {
			v.in(x, nil)
		}
	}
}

// specs returns the declarations of types, constants and variables by their names.
func (p *Package) specs() map[string]ast.Spec {
	if p.byName != nil {
		return p.byName
	}
	p.byName = map[string]ast.Spec{}
	for _, f := range p.files {
		for _, decl := range f.ast.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					p.byName[s.Name.Name] = s
				case *ast.ValueSpec:
					for _, id := range s.Names {
						p.byName[id.Name] = s
					}
				}
			}
		}
	}
	return p.byName
}

// in looks at the names in a type or expression, but for those of its type parameters.
func (v *varying) in(x ast.Expr, params *ast.FieldList) {
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr, *ast.FuncType, *ast.InterfaceType:
			return false // names of other packages, and what is not stored
		case *ast.StructType:
			for _, f := range n.Fields.List {
				if storedField(f) {
					v.in(f.Type, params)
				}
			}
			return false
		case *ast.Ident:
			if !declares(params, n.Name) {
				v.name(n.Name)
			}
		}
		return true
	})
}

// declares reports whether a list has a type parameter.
func declares(params *ast.FieldList, name string) bool {
	if params == nil {
		return false
	}
	return slices.ContainsFunc(params.List, func(f *ast.Field) bool {
		return slices.ContainsFunc(f.Names, func(id *ast.Ident) bool { return id.Name == name })
	})
}

// storedField reports whether items have a field of a struct.
func storedField(f *ast.Field) bool {
	raw := ""
	if f.Tag != nil {
		raw, _ = strconv.Unquote(f.Tag.Value)
	}
	tag := reflect.StructTag(raw)
	exported := func(id *ast.Ident) bool { return id.IsExported() }
	return (len(f.Names) == 0 || slices.ContainsFunc(f.Names, exported)) && tag.Get("ddb") != "-" &&
		tag.Get("dynamodbav") != "-"
}

// layoutMethods are the methods of types on which their layout depends.
var layoutMethods = []string{
	"MarshalDynamoDBAttributeValue", "UnmarshalDynamoDBAttributeValue", "MarshalText", "UnmarshalText",
	"Float64", "Int64", "AfterLoad",
}

// methods looks at the methods of a type.
func (v *varying) methods(t *types.Named) {
	for _, method := range layoutMethods {
		files := v.filesOf(t, method)
		if len(files) != 1 {
			continue // none, or one for each build
		}
		v.texts = append(v.texts, fmt.Sprintf("its layout depends on %s.%s, which only some builds have, in %s: move "+
			"it to a file of all builds", t.Obj().Name(), method, filepath.Base(files[0])))
	}
}

// filesOf lists the files with a method that some builds of the model do not read.
func (v *varying) filesOf(t *types.Named, method string) []string {
	var out []string
	for i := range t.NumMethods() {
		m := t.Method(i)
		path := v.p.fset.Position(m.Pos()).Filename
		k := slices.IndexFunc(v.p.files, func(f *sourceFile) bool { return f.path == path })
		if m.Name() != method || k < 0 {
			continue
		}
		line := constraints(v.p.files[k])
		if line == "" || !coincide("//go:build !("+strings.TrimPrefix(line, "//go:build ")+")", v.constraint) {
			return nil
		}
		out = append(out, path)
	}
	for _, o := range v.names.elsewhere[t.Obj().Name()+"."+method] {
		if coincide(o.constraint, v.constraint) {
			out = append(out, o.path)
		}
	}
	return out
}
