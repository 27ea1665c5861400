package discover

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/itemize/itemize/internal/attr"
)

// Source returns the Go file with the models of a report. An error means that no type has a model.
func (r *Report) Source(dir string) ([]byte, error) {
	var body bytes.Buffer
	n := 0
	for _, t := range r.written() {
		n++
		t.declare(&body)
	}
	if len(r.Types) == 0 {
		return nil, errors.New("no items but those of this library: there is nothing to write")
	}
	if n == 0 {
		return nil, fmt.Errorf("no type of items has a model: %s", r.Types[0].NoModel)
	}
	var b bytes.Buffer
	pkg := packageName(dir)
	fmt.Fprintf(&b, "// Package %s has the models of the items in %s. The command itemize discover wrote it from %s "+
		"items: "+
		"check names,\n// types and keys before use.\npackage %s\n\n", pkg, printed(r.Table.Name),
		attr.Thousands(fmt.Sprint(r.Read)), pkg)
	var imports []string
	if bytes.Contains(body.Bytes(), []byte("time.Time")) {
		imports = append(imports, "time")
	}
	if bytes.Contains(body.Bytes(), []byte("attributevalue.Number")) {
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

// printed returns a name for a comment.
func printed(name string) string {
	if !printable(name) || name == "" {
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
		fmt.Fprintf(b, "// Note: %s.\n", n)
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
			fmt.Fprintf(b, "\t// %s\n", f.comment)
		}
		tag := f.tag()
		if tag != "" {
			tag = " `" + tag + "`"
		}
		fmt.Fprintf(b, "\t%s %s%s\n", f.name, f.typ.expr, tag)
	}
	b.WriteString("}\n")
}
