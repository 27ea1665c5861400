package generator

import (
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// names are the names of a package: those that are declared already, by hand or by
// generated code, and those by which generated files import packages.
type names struct {
	taken, imported map[string]bool
	// elsewhere are the names that files of other builds declare.
	elsewhere map[string][]otherName
	// reserved are names of variables and packages in generated functions, which no parameter can have.
	reserved []string
}

// namesOf returns the names of a package. Generated files are those that the package keeps.
func namesOf(p *Package, reserved ...string) *names {
	n := &names{
		taken: map[string]bool{}, imported: map[string]bool{}, elsewhere: p.elsewhere(false), reserved: reserved,
	}
	for _, name := range p.types.Scope().Names() {
		n.taken[name] = true
	}
	for _, f := range p.files {
		note(n.elsewhere, f, true, p.importedBy(f.ast))
	}
	return n
}

// has reports whether a file of any build declares a name, or imports a package by it.
func (n *names) has(name string) bool {
	return n.taken[name] || n.imported[name] || n.elsewhere[name] != nil
}

// hides reports whether a name that a generated file uses has another meaning there.
func (n *names) hides(name string) bool { return n.imported[name] || !n.importable(name) }

// importable reports whether a generated file can import a package by a name.
func (n *names) importable(name string) bool {
	return !n.taken[name] && !slices.ContainsFunc(n.elsewhere[name], func(o otherName) bool { return !o.alias })
}

// owner returns where a name is declared that code with a constraint would declare again. It is "" for nowhere, a space
// for this build, and otherwise a text for a message.
func (n *names) owner(name, constraint string) string {
	if n.taken[name] {
		return " "
	}
	for _, d := range n.elsewhere[name] {
		if coincide(d.constraint, constraint) {
			return " in " + filepath.Base(d.path) + " "
		}
	}
	return ""
}

// declaredTwice returns the file that declares a name for another build of a file with a constraint, "" for none.
func (n *names) declaredTwice(name, constraint string) string {
	for _, o := range n.elsewhere[name] {
		if !o.alias && coincide(o.constraint, constraint) {
			return filepath.Base(o.path)
		}
	}
	return ""
}

// declare takes a name of the package's scope that is free: name, or name with a
// number.
func (n *names) declare(name string) string {
	out := name
	for i := 2; n.has(out) || token.IsKeyword(out) || types.Universe.Lookup(out) != nil; i++ {
		out = name + strconv.Itoa(i)
	}
	n.taken[out] = true
	return out
}

// locals are the names that generated functions give to parameters and variables, and
// the predeclared ones that they use.
var locals = []string{
	"a", "at", "b", "dst", "err", "k", "key", "n", "name", "ok", "src", "v", "value", "x", "y",
	"append", "any", "bool", "error", "false", "init", "int", "len", "new", "nil", "string", "true",
}

// identifier makes a Go identifier that begins with a capital of any text, "" where
// nothing is left of it.
func identifier(text string) string {
	var b strings.Builder
	up := true
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			up = true
			continue
		case up:
			r = unicode.ToUpper(r)
		}
		up = false
		b.WriteRune(r)
	}
	s := b.String()
	if first, _ := utf8.DecodeRuneInString(s); s != "" && !unicode.IsUpper(first) {
		return ""
	}
	return s
}

// lowerFirst makes a name begin with small letters: ID becomes id, AddedAt addedAt,
// URLPath urlPath.
func lowerFirst(s string) string {
	runes := []rune(s)
	for i, r := range runes {
		if !unicode.IsUpper(r) || i > 0 && i+1 < len(runes) && unicode.IsLower(runes[i+1]) {
			break
		}
		runes[i] = unicode.ToLower(r)
	}
	return string(runes)
}

// upperFirst makes a name begin with a capital.
func upperFirst(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:]
}

// typeWord makes a word of a type: Wish of Wish and of other.Wish, ListInt of List[int].
func typeWord(t types.Type) string {
	text := types.TypeString(t, func(*types.Package) string { return "" })
	r := strings.NewReplacer("[]", " slice of ", "*", " pointer to ", "map[", " map of ", "]", " ", "[", " ")
	if strings.Contains(text, "struct{") {
		return "Struct"
	}
	return identifier("X " + r.Replace(text))[1:]
}

// parameter returns the name of the parameter for a field, and takes it: one
// that hides nothing, and that no other parameter of the function has.
func (n *names) parameter(field string, remaining *[]string) string {
	name := lowerFirst(field)
	if token.IsKeyword(name) || types.Universe.Lookup(name) != nil || n.has(name) ||
		slices.Contains(n.reserved, name) ||
		slices.Contains([]string{"n", "p", "r", "time", "query", "mapper", "mapperimpl", "types", "at"}, name) {
		name += "Value"
	}
	for i := 2; slices.Contains(*remaining, name); i++ {
		name = strings.TrimRight(name, "0123456789") + strconv.Itoa(i)
	}
	*remaining = append(*remaining, name)
	return name
}
