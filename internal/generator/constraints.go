package generator

import (
	"go/ast"
	"go/build/constraint"
	"path/filepath"
	"slices"
	"strings"
)

// constraints returns the //go:build line of the generated file of a source file. It has the line of
// the source file, and the constraints that the generated file does not have: those of the name, and of cgo.
func constraints(f *sourceFile) string {
	line := buildConstraint(f)
	var all []string
	if x := nameConstraint(f.path); x != "" {
		all = append(all, x)
	}
	if importsC(f.ast) {
		all = append(all, "cgo")
	}
	switch {
	case len(all) == 0:
		return line
	case line != "":
		all = slices.Insert(all, 0, "("+strings.TrimPrefix(line, "//go:build ")+")")
	}
	return "//go:build " + strings.Join(all, " && ")
}

// importsC reports whether a file is only in builds with cgo.
func importsC(f *ast.File) bool {
	return slices.ContainsFunc(f.Imports, func(s *ast.ImportSpec) bool { return s.Path.Value == `"C"` })
}

// nameConstraint returns what the name of a file asks for: model_linux_amd64.go. The go command reads the name
// between its first underscore and its first dot.
func nameConstraint(path string) string {
	base, _, _ := strings.Cut(filepath.Base(path), ".")
	parts := strings.Split(base, "_")[1:]
	n := len(parts)
	if n > 0 && parts[n-1] == "test" {
		n--
	}
	reserved := func(list, word string) bool { return slices.Contains(strings.Fields(list), word) }
	switch {
	case n >= 2 && reserved(systems, parts[n-2]) && reserved(architectures, parts[n-1]):
		return parts[n-2] + " && " + parts[n-1]
	case n >= 1 && (reserved(systems, parts[n-1]) || reserved(architectures, parts[n-1])):
		return parts[n-1]
	}
	return ""
}

// The words that the go command takes for constraints in the names of files (go help
// buildconstraint).
const (
	systems = "aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd openbsd plan9 " +
		"solaris wasip1 windows zos"
	architectures = "386 amd64 amd64p32 arm armbe arm64 arm64be loong64 mips mipsle mips64 mips64le mips64p32 " +
		"mips64p32le ppc ppc64 ppc64le riscv riscv64 s390 s390x sparc sparc64 wasm"
)

// buildConstraint returns the //go:build line of a file, "" for none. Without one, it is made of the // +build lines.
func buildConstraint(f *sourceFile) string {
	var before constraint.Expr
	leading := true // the lines up to here are comments that begin with //
	for _, group := range f.ast.Comments {
		if group.Pos() > f.ast.Package {
			break
		}
		leading = leading && !slices.ContainsFunc(group.List, func(c *ast.Comment) bool {
			return strings.HasPrefix(c.Text, "/*")
		})
		for _, c := range group.List {
			if constraint.IsGoBuild(c.Text) {
				return c.Text
			}
			if !leading || group == f.ast.Doc || !constraint.IsPlusBuild(c.Text) {
				continue // the go command reads only lines with a blank line after them
			}
			switch x, err := constraint.Parse(c.Text); {
			case err != nil:
			case before == nil:
				before = x
			default:
				before = &constraint.AndExpr{X: before, Y: x}
			}
		}
	}
	if before == nil {
		return ""
	}
	return "//go:build " + before.String()
}
