package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
)

// errorText is the text of an error, as its format string has it.
type errorText struct {
	where    string
	format   string
	values   []ast.Expr // the arguments of the verbs
	sentinel bool       // a variable of the package has it
	part     bool       // a caller adds the subject or the cure: it is only the fact, or only the cure
}

// formats are the functions that take a format string or a cure: the indexes of these parameters by function.
// errors.New and fmt.Errorf are known.
type formats map[string][]int

// formatKey returns the name of a function, with its folder if other packages can have the same name.
func formatKey(folder, function string) string {
	if ast.IsExported(function) {
		return function
	}
	return folder + "." + function
}

func (f formats) add(folder, function string, t *ast.FuncType) {
	key := formatKey(folder, function)
	if f[key] != nil || !variadic(t) || strings.HasPrefix(function, "print") {
		return
	}
	i := 0
	for _, p := range t.Params.List {
		for _, name := range p.Names {
			if name.Name == "format" || name.Name == "cure" {
				f[key] = append(f[key], i)
			}
			i++
		}
	}
}

// formats finds the functions of the repository with a parameter named format or cure.
func (r *repository) formats() formats {
	out := formats{}
	for _, s := range r.sources {
		if s.test() {
			continue
		}
		folder := path.Dir(s.file)
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				out.add(folder, n.Name.Name, n.Type)
			case *ast.AssignStmt:
				if f, ok := n.Rhs[0].(*ast.FuncLit); ok && len(n.Lhs) == 1 {
					out.add(folder, lastName(n.Lhs[0]), f.Type)
				}
			}
			return true
		})
	}
	return out
}

func variadic(f *ast.FuncType) bool {
	list := f.Params.List
	if len(list) == 0 {
		return false
	}
	_, ok := list[len(list)-1].Type.(*ast.Ellipsis)
	return ok
}

// reasons are the fields of structs that are error texts.
var reasons = []string{"Msg", "Reason", "Cure"}

// errorTexts returns the texts of all errors.
func (r *repository) errorTexts() []errorText {
	functions := r.formats()
	var out []errorText
	for _, s := range r.sources {
		if s.test() {
			continue
		}
		add := func(e ast.Expr, values []ast.Expr, sentinel, part bool) {
			if format, ok := constant(e); ok && format != "" {
				where := fmt.Sprintf("%s:%d", s.file, s.line(e.Pos()))
				out = append(out, errorText{where, format, values, sentinel, part})
			}
		}
		for _, d := range s.syntax.Decls {
			general, ok := d.(*ast.GenDecl)
			sentinel := ok && general.Tok == token.VAR
			method, ok := d.(*ast.FuncDecl)
			text := ok && method.Recv != nil && method.Name.Name == "Error"
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					switch name := calleeOf(n); name {
					case "errors.New", "fmt.Errorf":
						add(n.Args[0], n.Args[1:], sentinel, false)
					case "fmt.Sprintf":
						if text {
							add(n.Args[0], n.Args[1:], false, true)
						}
					default:
						at := functions[formatKey(path.Dir(s.file), name[strings.LastIndex(name, ".")+1:])]
						for _, i := range at {
							if i < len(n.Args) {
								add(n.Args[i], n.Args[at[len(at)-1]+1:], false, true)
							}
						}
					}
				case *ast.KeyValueExpr:
					if name, ok := n.Key.(*ast.Ident); ok && slices.Contains(reasons, name.Name) {
						add(n.Value, nil, false, true)
					}
				case *ast.ReturnStmt:
					if text && len(n.Results) == 1 {
						add(n.Results[0], nil, false, true)
					}
				}
				return true
			})
		}
	}
	return out
}

// calleeOf returns the name of the called function, with its package or receiver.
func calleeOf(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			return x.Name + "." + f.Sel.Name
		}
		return "." + f.Sel.Name
	}
	return ""
}

const longestMessage = 160

var (
	// verbs matches the parts of a format that stand for names, keys and numbers.
	verbs = regexp.MustCompile(`"?%[-+# 0-9.*\[\]]*[a-zA-Z]"?`)
	// capital matches a text that begins with a word in upper case: Item, but not TTL or DynamoDB.
	capital = regexp.MustCompile(`^([A-Z][a-z]+)(?:$|[ :,])`)
)

// quoted has the texts of other packages that this library repeats word for word.
var quoted = []string{
	"marshal failed, ", // attributevalue, whose errors the codecs return for the same values
}

// faults returns the rules that the text breaks. exported has the names that a text may begin with.
func (t *errorText) faults(exported map[string]bool) []string {
	if slices.ContainsFunc(quoted, func(q string) bool { return strings.HasPrefix(t.format, q) }) {
		return nil
	}
	var out []string
	line, _, _ := strings.Cut(t.format, "\n") // the lines of a report follow
	text := verbs.ReplaceAllString(line, "")
	if m := capital.FindStringSubmatch(line); m != nil && !exported[m[1]] {
		out = append(out, "begin in lower case")
	}
	if strings.HasSuffix(text, "!") || strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "...") {
		out = append(out, "end without a full stop")
	}
	if len(text) > longestMessage {
		out = append(out, fmt.Sprintf("at most %d characters without names: it has %d", longestMessage, len(text)))
	}
	parts := strings.Count(line, ": ") + 1
	switch {
	case t.sentinel && parts > 3: // itemize: subject: fact
		out = append(out, "a sentinel has a subject and a fact")
	case !t.sentinel && !t.part && parts < 2 && !strings.HasPrefix(line, "%w"):
		out = append(out, "write subject: fact: cure")
	}
	for i, v := range t.values {
		verb := ""
		if all := verbs.FindAllString(t.format, -1); i < len(all) {
			verb = all[i]
		}
		if name := lastName(v); slices.Contains(attributeValues, name) && verb != "%T" {
			out = append(out, "no attribute value: put "+name+" into redact.Of")
		}
	}
	return out
}

// attributeValues are the names of variables that hold attribute values.
var attributeValues = []string{"value", "av", "attributeValue"}

// lastName returns the name of a variable or of a field.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// exported returns the exported names that the repository declares.
func (r *repository) exported() map[string]bool {
	out := map[string]bool{}
	for _, s := range r.sources {
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			var names []*ast.Ident
			switch n := n.(type) {
			case *ast.FuncDecl:
				names = append(names, n.Name)
			case *ast.TypeSpec:
				names = append(names, n.Name)
			case *ast.Field:
				names = n.Names
			}
			for _, name := range names {
				if name.IsExported() {
					out[name.Name] = true
				}
			}
			return true
		})
	}
	return out
}

// wrongMessages returns the error texts that break a rule.
func (r *repository) wrongMessages() []string {
	exported := r.exported()
	var out []string
	for _, t := range r.errorTexts() {
		for _, fault := range t.faults(exported) {
			out = append(out, fmt.Sprintf("%s: %q: %s", t.where, t.format, fault))
		}
	}
	return out
}
