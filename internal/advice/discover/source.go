package discover

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/naming"
)

// Source returns the Go file with the models of a report. An error means that no type has a model.
func (r *Report) Source(dir string) ([]byte, error) {
	var body bytes.Buffer
	for _, t := range r.written() {
		t.declare(&body)
	}
	if why := r.Unwritten(); why != "" {
		return nil, errors.New(why)
	}
	var b bytes.Buffer
	pkg := packageName(dir)
	fmt.Fprintf(&b, "// Package %s has the models of the items in %s. The command itemize discover wrote it from %s "+
		"items: "+
		"check names,\n// types and keys before use.\npackage %s\n\n", pkg, printed(r.Table.Name),
		attr.Thousands(fmt.Sprint(r.Read)), pkg)
	var imports []string
	if r.uses("time.Time") {
		imports = append(imports, "time")
	}
	if r.uses("attributevalue.Number") {
		imports = append(imports, "github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue")
	}
	for _, i := range imports {
		fmt.Fprintf(&b, "import %q\n", i)
	}
	b.Write(body.Bytes())
	out, err := format.Source(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("the written file does not parse: %w", err) // a test writes hostile names
	}
	return out, nil
}

// Unwritten says why no model is written, "" if one is.
func (r *Report) Unwritten() string {
	switch i := slices.IndexFunc(r.Types, func(t *Type) bool {
		return t.NoModel == "" && (r.only == "" || r.only == t.Name)
	}); {
	case len(r.written()) > 0:
		return ""
	case len(r.Types) == 0:
		return "no items but those of this library: there is nothing to write"
	case i < 0:
		return "no type of items has a model: " + r.Types[0].NoModel
	default:
		return "no model saves a tenth or more: leave the items as they are, or write a model with -type " +
			r.Types[i].Name
	}
}

// uses reports whether a field of the written models has a type.
func (r *Report) uses(name string) bool {
	return slices.ContainsFunc(r.written(), func(t *Type) bool {
		all := append([]*structure{t.x.model}, t.x.structs...)
		return slices.ContainsFunc(all, func(s *structure) bool {
			return slices.ContainsFunc(s.fields, func(f field) bool { return strings.Contains(f.typ.expr, name) })
		})
	})
}

// printed returns a name for a comment.
func printed(name string) string {
	if !naming.Printable(name) {
		return "a table"
	}
	return name
}

// packageName makes a package name of a folder.
func packageName(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = dir
	}
	if name := declaredPackage(abs); name != "" {
		return name
	}
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		if r >= 'A' && r <= 'Z' {
			return unicode.ToLower(r)
		}
		return -1
	}, filepath.Base(abs))
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "store"
	}
	return scope{"main": true, "internal": true}.take(name)
}

// declaredPackage returns the name of the package that a folder has, "" for none.
func declaredPackage(dir string) string {
	all, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return ""
	}
	for _, path := range all {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly)
		if err == nil && filepath.Base(path) != modelsFile && !strings.HasSuffix(f.Name.Name, "_test") {
			return f.Name.Name
		}
	}
	return ""
}

// modelsFile is the file of the models.
const modelsFile = "models.go"

// declare writes the types of a model.
func (t *Type) declare(b *bytes.Buffer) {
	x := t.x
	fmt.Fprintf(b, "\n// %s is one item collection of the table %s.\n", t.Name, x.tableName)
	today, model := t.Forecasts[0], t.Forecasts[1]
	if today.NotStorable == "" && model.NotStorable == "" {
		fmt.Fprintf(b, "// A month costs %s, and as one item %s, with the operations of its workload.\n",
			Dollars(model.Total), Dollars(today.Total))
	}
	for _, n := range x.notes {
		fmt.Fprintf(b, "// Note: %s.\n", naming.Line(n))
	}
	if c := x.compressible(); c != nil {
		fmt.Fprintf(b, "// Worth compressing (compress=gzip), after the migration: %s.\n", strings.Join(c, ", "))
	}
	x.model.write(b)
	for _, s := range x.structs {
		fmt.Fprintf(b, "\n// %s is a part of [%s].\n", s.name, t.Name)
		s.write(b)
	}
}

// write writes a struct type.
func (s *structure) write(b *bytes.Buffer) {
	fmt.Fprintf(b, "type %s struct {\n", s.name)
	for _, f := range s.fields {
		if f.comment != "" {
			fmt.Fprintf(b, "\t// %s\n", naming.Line(f.comment))
		}
		tag := f.tag()
		if tag != "" {
			tag = " " + naming.GoRaw(tag)
		}
		fmt.Fprintf(b, "\t%s %s%s\n", f.name, f.typ.expr, tag)
	}
	b.WriteString("}\n")
}
