package generator

import (
	"cmp"
	_ "embed" // the text of ejected
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/naming"
	"github.com/itemize/itemize/internal/model/schema"
)

// ejected is the code that is the same for all models of an ejected package.
//
//go:embed ejected.txt
var ejected string

// ejectedHeader is the first line of an ejected file.
const ejectedHeader = "// Items, keys and requests of models without the library, by itemize eject. The file is " +
	"yours to edit."

// EjectedName is the name of the file that Eject makes.
const EjectedName = "ejected.go"

// ejectedImports are the imports of ejected.
var ejectedImports = []string{
	"bytes", "cmp", "crypto/rand", "encoding", "errors", "fmt", "maps", "math/big", "reflect", "slices", "strconv",
	"strings",
	"time", "unicode/utf8", "github.com/aws/aws-sdk-go-v2/aws", "github.com/aws/aws-sdk-go-v2/service/dynamodb",
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types",
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue",
}

// Ejected is the code of a package's models without the library.
type Ejected struct {
	File
	// Lost lists for each model what its code does not do.
	Lost []string
}

// Eject returns the models of a package as code that imports only the SDK. It has a struct for each kind of item,
// functions for keys, and functions that make requests. The models are those with these names, none for all but those
// of test files. The error lists models with features that need the library, and the diagnostics the names that are
// taken.
func (p *Package) Eject(only []string) (*Ejected, []Diagnostic, error) {
	models := slices.DeleteFunc(slices.Clone(p.Models), func(m *Model) bool {
		return len(only) > 0 && !slices.Contains(only, m.Name)
	})
	if len(p.Diagnostics) > 0 || len(models) == 0 {
		return nil, p.Diagnostics, nil
	}
	if err := p.ours(); err != nil {
		return nil, nil, err
	}
	out := &Ejected{}
	var faults []error
	models = slices.DeleteFunc(models, func(m *Model) bool {
		isTest := strings.HasSuffix(m.File, "_test.go")
		if isTest && len(only) > 0 {
			faults = append(
				faults,
				fmt.Errorf("%s.%s: it is in a test file, which programs cannot use: move it", p.Name,
					m.Name),
			)
		} else if isTest {
			out.Lost = append(out.Lost, m.Name+": it is in a test file: move it, and eject again")
		}
		return isTest
	})
	if len(models) == 0 && faults == nil {
		return nil, nil, nil
	}
	n := namesOf(p, ejectedLocals...)
	maps.DeleteFunc(n.taken, func(name string, _ bool) bool {
		declared := p.fset.Position(p.types.Scope().Lookup(name).Pos()).Filename
		return filepath.Base(declared) == EjectedName
	})
	for name, all := range p.elsewhere(true) { // generated code stays until it is deleted
		n.elsewhere[name] = append(n.elsewhere[name], all...)
	}
	for name, all := range n.elsewhere {
		n.elsewhere[name] = slices.DeleteFunc(
			all,
			func(o otherName) bool { return filepath.Base(o.path) == EjectedName },
		)
	}
	maps.DeleteFunc(n.elsewhere, func(_ string, all []otherName) bool { return len(all) == 0 })
	w := newWriter(p.types, n)
	e := &ejector{p: p, names: n, writer: w}
	for _, m := range models {
		if why := cannotEject(m.Schema); why != "" {
			faults = append(faults, fmt.Errorf("%s.%s: %s", p.Name, m.Schema.Name, why))
		}
	}
	if len(faults) > 0 {
		return nil, nil, errors.Join(faults...)
	}
	if err := e.constrain(models); err != nil {
		return nil, nil, err
	}
	w.constraint = e.constraint
	e.claim(models)
	for _, path := range ejectedImports { // so that other packages of these names get others
		w.imports[path] = filepath.Base(path)
	}
	for _, m := range models {
		w.varies(p, m)
		x := &ejecting{writer: w, e: m.Schema, variables: map[any]string{}}
		x.model()
		out.Lost = append(out.Lost, x.lost()...)
	}
	if len(w.errs) > 0 {
		return nil, nil, fmt.Errorf("%s: %s", p.Name, strings.Join(w.errs, "; "))
	}
	if !strings.Contains(w.body.String(), "ejectedText(") {
		delete(w.imports, "encoding")
	}
	w.body.WriteString(shared(w.body.String()))
	content, err := w.contentWith(ejectedHeader, e.constraint)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range hidden(content, n.hides) {
		e.taken(models[0], name, "it hides the predeclared name")
	}
	if len(e.diagnostics) > 0 {
		return nil, sortDiagnostics(e.diagnostics), nil
	}
	out.File = File{filepath.Join(filepath.Dir(p.LockPath()), EjectedName), content}
	return out, nil, nil
}

// ejector ejects the models of one package.
type ejector struct {
	p           *Package
	names       *names
	writer      *writer
	constraint  string
	diagnostics []Diagnostic
}

// constrain sets the build constraint of the file: that of the files of all models.
func (e *ejector) constrain(models []*Model) error {
	for i, m := range models {
		k := slices.IndexFunc(e.p.files, func(f *sourceFile) bool { return f.path == m.File })
		line := constraints(e.p.files[k])
		if i > 0 && line != e.constraint {
			return fmt.Errorf("%s: the files of %s and %s have different build constraints, and one file cannot have "+
				"both: eject one of them (-model), and move %s to another package", e.p.Name, models[0].Name, m.Name,
				EjectedName)
		}
		e.constraint = line
	}
	return nil
}

// claim takes the names of the functions of all models, and reports those that the package declares.
func (e *ejector) claim(models []*Model) {
	for _, path := range ejectedImports {
		if name := filepath.Base(path); !e.names.importable(name) && e.names.owner(name, e.constraint) != "" {
			e.taken(models[0], name, "the ejected code imports a package of that name")
		}
	}
	f, err := parser.ParseFile(token.NewFileSet(), "", "package ejected\n\n"+ejected, parser.SkipObjectResolution)
	if err != nil {
		panic(err) // it is part of this package
	}
	for _, name := range declaredBy(f) {
		if e.names.owner(name, e.constraint) != "" {
			e.taken(models[0], name, "it is a name of the ejected code")
		}
		e.names.taken[name] = true
	}
	for _, m := range models {
		all := []string{"PK", "Items", "Of", "Insert", "Save", "Delete"}
		if !m.Schema.Flat {
			all = append(all, "Query")
		}
		for _, suffix := range all {
			name := m.Name + suffix
			if e.names.owner(name, e.constraint) != "" {
				e.taken(m, name, "it is a function of the ejected code of "+m.Name)
			}
			e.names.taken[name] = true
		}
	}
}

// taken reports a name that the package declares, at its declaration or at a model.
func (e *ejector) taken(m *Model, name, why string) {
	pos, end := m.named.Obj().Pos(), m.named.Obj().Pos()+token.Pos(len(m.Name))
	if obj := e.p.types.Scope().Lookup(name); obj != nil {
		pos, end = obj.Pos(), obj.Pos()+token.Pos(len(name))
	}
	in := ""
	if all := e.names.elsewhere[name]; len(all) > 0 {
		in = " in " + filepath.Base(all[0].path)
	}
	fset := e.p.fset
	e.diagnostics = append(e.diagnostics, Diagnostic{
		Pos: fset.Position(pos), End: fset.Position(end), Message: fmt.Sprintf("%s: the package declares %s%s: %s: "+
			"rename it, or move the models to a package of their own", e.p.Name, name, in, why),
	})
}

// ejectedLocals are the names of variables and packages in ejected functions with parameters for fields.
var ejectedLocals = []string{
	"attributevalue", "aws", "big", "bytes", "cmp", "dynamodb", "encoding", "err", "errors", "fmt", "maps", "pk",
	"rand",
	"reflect", "sk", "slices", "strconv", "strings", "table", "utf8",
}

// shared returns the code that is the same for all models, without the functions that the models do not need.
func shared(models string) string {
	text := ejected
	for _, name := range []string{"ejectedText", "ejectedInt", "ejectedUint", "ejectedTime"} {
		if strings.Contains(models, name+"(") {
			continue
		}
		i := strings.Index(text, "// "+name+" returns")
		j := i + strings.Index(text[i:], "\n}\n") + len("\n}\n\n")
		text = text[:i] + text[j:]
	}
	return text
}

// cannotEject says why the code of a model needs the library, "" if it does not.
func cannotEject(e *schema.Entity) string {
	switch {
	case e.Shards != nil:
		return "its partition keys have shards: move to one shard first (docs/recipes/sharding.md)"
	case e.Periods != nil:
		return "its tables rotate by time: eject a model of one of them"
	case len(e.Uniques) > 0:
		return "it has unique values, whose guards need the library: remove unique first"
	case len(e.Tables) > 1:
		return "it has a secondary table: eject a model for each table"
	}
	keys := []*schema.Key{e.PK}
	for _, it := range e.Items {
		keys = append(keys, it.Key)
		for _, k := range it.Derived {
			keys = append(keys, k.Key)
		}
		for _, a := range it.Attributes {
			if a.Large != nil {
				return a.Value.Name + " is a large value: remove compress=, chunk and s3= from its tag, and save " +
					"all entities first"
			}
			if isThroughPointer(e, it, a) {
				return a.Value.Name + " is in a struct behind a pointer, which shares its item or is embedded: use " +
					"the struct itself"
			}
			if a.Value.Type.Opaque() && holdsBig(a.Value.Type) {
				return a.Value.Name + " has a big number, which attributevalue does not store: use " +
					"attributevalue.Number"
			}
		}
		if it.Key == nil {
			return "a table without a sort key has one item for each entity: use attributevalue with the struct itself"
		}
	}
	for _, k := range keys {
		for _, part := range k.Template.Parts {
			if part.Format.Kind == key.Native && part.Format.Value != key.String {
				return k.Text + " is a key of another type than text: write its functions by hand"
			}
		}
	}
	return ""
}

// isThroughPointer reports whether a field is reached through a pointer that is not the item's own.
func isThroughPointer(e *schema.Entity, it *schema.Item, a *schema.Attribute) bool {
	t := e.Type
	if it.Element() {
		t = it.Elem
	}
	for i, n := range a.Value.Path {
		if t.Kind == schema.Pointer {
			if !it.Pointer || i > a.Place {
				return true
			}
			t = t.Elem
		}
		j := slices.IndexFunc(t.Fields, func(f *schema.Field) bool { return f.Index == n })
		if j < 0 {
			return true
		}
		t = t.Fields[j].Type
	}
	return false
}

func holdsBig(t *schema.Type) bool { return t.Kind == schema.BigInt || t.Kind == schema.BigFloat }

// ejecting writes the code of one model.
type ejecting struct {
	*writer
	e *schema.Entity
	// kinds are the names of the kinds of items, and variables those of variables, by what they are for.
	kinds     map[*schema.Item]string
	variables map[any]string
}

// private returns the name of a variable of the ejected code, by what it is for.
func (x *ejecting) private(of any, name string) string {
	if x.variables[of] == "" {
		x.variables[of] = x.names.declare(name)
	}
	return x.variables[of]
}

// kind takes a name for a kind of item, with which all names of its functions are free.
func (x *ejecting) kind(wanted string, queried bool) string {
	suffixes := []string{"", "SK"}
	if queried {
		suffixes = append(suffixes, "Query")
	}
	name := wanted
	for i := 2; slices.ContainsFunc(suffixes, func(s string) bool { return x.names.has(name + s) }); i++ {
		name = wanted + strconv.Itoa(i)
	}
	for _, s := range suffixes {
		x.names.taken[name+s] = true
	}
	return name
}

// sdk returns a name of the SDK's package of DynamoDB.
func sdk(name string) ident {
	return ident{"github.com/aws/aws-sdk-go-v2/service/dynamodb", "dynamodb", name}
}

// lost lists what the code does not do.
func (x *ejecting) lost() []string {
	m := x.e.Name
	all := []string{
		m + ": inserts, saves and deletes of more than 100 items, which readers see at once (staged writes)",
		m + ": the check after a write whose answer was lost: read again before you repeat it",
		m + ": leftover items are ignored, but not deleted or replaced",
		m + ": unknown entries of a nested struct stay only while the struct does not change; a delete of an item " +
			"without a " +
			"version does not notice an attribute that another program adds at this moment",
		m + ": changes of fields in keys of fixed items and of the partition key (mapper.Move)",
		m + ": predictions, receipts, typed patches, conditions and cursors: write expressions, and use " +
			"LastEvaluatedKey",
		m + ": loads of more than one page can see parts of two states: read strongly, and read the root item again",
	}
	for _, it := range x.e.Items {
		for _, a := range it.Attributes {
			if len(a.Was) > 0 {
				all = append(all, fmt.Sprintf("%s: the old names %s of %s: rewrite the items first", m,
					strings.Join(a.Was, ", "),
					a.Value.Name))
			}
		}
	}
	if x.e.Hooks {
		all = append(all, m+": AfterLoad is not called")
	}
	return all
}

// model writes all code of the model.
func (x *ejecting) model() {
	x.kinds = map[*schema.Item]string{}
	n := &nodeWriter{e: x.e}
	for _, it := range x.e.Items {
		word := cmp.Or(n.itemName(it), "Item"+strconv.Itoa(it.Index))
		x.kinds[it] = x.kind(x.e.Name+word, it.Element() || x.e.Flat)
	}
	x.keys()
	for _, it := range x.e.Items {
		x.item(it)
	}
	x.config()
	x.entity()
	x.queries()
	x.requests()
}

// template writes a variable with the template of a key.
func (x *ejecting) template(name string, k *schema.Key) {
	x.p("var ", name, " = ejectedKey{", quotedByte(x.e.Delim), ", []ejectedPart{")
	for _, part := range k.Template.Parts {
		if part.Format.Kind == key.Literal {
			x.p("{text: ", quoted(part.Text), "},")
			continue
		}
		f := part.Format
		x.p("{format: ", quoted(formatWord(&f)), ", width: ", f.Width, "},")
	}
	x.p("}}")
	x.p()
}

// quotedByte returns the literal of a character.
func quotedByte(c byte) string { return strconv.QuoteRune(rune(c)) }

// formatWord returns the format of a placeholder as ejectedPart has it.
func formatWord(f *key.Format) string {
	switch f.Kind {
	case key.Plain:
		return "text"
	case key.Raw:
		return "raw"
	case key.Native:
		return "native"
	case key.Digits:
		return "digits"
	case key.Sortable:
		return "sortable"
	case key.Unix:
		return "unix"
	case key.Week:
		return "week"
	}
	return f.Layout()
}

// keys writes the templates and functions of the keys.
func (x *ejecting) keys() {
	x.keyFunction(x.e.Name+"PK", x.pk(), x.e.PK, "the partition key of a "+x.e.Name)
	for _, it := range x.e.Items {
		x.keyFunction(x.kinds[it]+"SK", x.sk(it), it.Key, "the sort key of an item "+x.kinds[it])
	}
}

func (x *ejecting) keyFunction(name, variable string, k *schema.Key, what string) {
	x.template(variable, k)
	params, args := x.parameters(k)
	x.comment(name + " returns " + what + ": " + k.Text)
	x.p("func ", name, "(", list(params...), ") (string, error) {")
	x.p("return ", call(code{variable, ".write"}, args...))
	x.p("}")
	x.p()
}

// parameters returns the parameters of the values of a key, and the arguments of its template.
func (x *ejecting) parameters(k *schema.Key) (params, args []any) {
	var taken []string
	for i, src := range k.Sources {
		name := x.names.parameter(sourceName(src), &taken)
		params = append(params, code{name, " ", goType(src.Value.Type)})
		args = append(args, keyArgument(src.Value.Type, k.Format(i).Value, name))
	}
	return params, args
}

// keyArgument converts an expression into the value of a key.
func keyArgument(t *schema.Type, kind key.Kind, text string) code {
	if schema.KeyText(t, kind) {
		return call("ejectedText", "&"+text)
	}
	switch kind {
	case key.Int:
		return converted("int64", t, code{text}, true)
	case key.Uint:
		return converted("uint64", t, code{text}, true)
	case key.Time:
		return converted("time.Time", t, code{text}, true)
	}
	return converted("string", t, code{text}, true)
}

// converted converts a value between the type of a field and one of the types of keys.
func converted(as string, t *schema.Type, v code, from bool) code {
	switch {
	case goType(t).String() == as:
		return v
	case from && as == "time.Time":
		return call(std("time", "Time"), v)
	case from:
		return call(as, v)
	}
	return call(goType(t), v)
}

// itemFields are the fields of each item's struct.
func itemFields() map[string]bool {
	return map[string]bool{
		"PK": true, "SK": true, "Version": true, "Incarnation": true, "State": true,
		"Expires": true,
	}
}

// fieldNames returns the names of the fields of an item's struct, by attribute.
func fieldNames(it *schema.Item) []string {
	taken := itemFields()
	var all []string
	for _, a := range it.Attributes {
		name := identifier(a.Value.Name[strings.LastIndexByte(a.Value.Name, '.')+1:])
		if name == "" || taken[name] {
			name = identifier(strings.ReplaceAll(a.Value.Name, ".", " ")) + "Attribute"
		}
		name = free(name, taken)
		taken[name] = true
		all = append(all, name)
	}
	return all
}

// free returns a name that is not taken: name, or name with a number.
func free(name string, taken map[string]bool) string {
	out := name
	for i := 2; taken[out]; i++ {
		out = name + strconv.Itoa(i)
	}
	return out
}

// item writes the struct of a kind of item.
func (x *ejecting) item(it *schema.Item) {
	e, name := x.e, x.kinds[it]
	tag := func(attribute string, options ...string) string {
		return naming.GoRaw("dynamodbav:" + naming.GoString(strings.Join(append([]string{attribute}, options...), ",")))
	}
	x.comment(name + " is an item with the sort key " + it.Key.Text + ".")
	x.p("type ", name, " struct {")
	x.p("PK string ", tag(it.Table.Hash))
	x.p("SK string ", tag(it.Table.Range))
	if e.Version != "" {
		x.p("Version []byte ", tag(e.Version, "omitempty"))
	}
	x.p("Incarnation []byte ", tag(e.Incarnation, "omitempty"))
	x.p("State any ", tag(e.State, "omitempty"))
	if it.Expiry != nil && it.Attribute(e.TTL) < 0 {
		x.p("Expires int64 ", tag(e.TTL, "omitempty"))
	}
	for i, field := range fieldNames(it) {
		a := it.Attributes[i]
		x.p(field, " ", goType(a.Value.Type), " ", tag(a.Name, a.AV.Options...))
	}
	for _, k := range it.Derived {
		x.p(derivedName(it, k), " string ", tag(k.Name, "omitempty"), " // ", naming.Line(k.Text))
	}
	x.p("}")
	x.p()
}

// derivedName returns the field of an attribute that exists only for indexes.
func derivedName(it *schema.Item, k *schema.IndexKey) string {
	taken := itemFields()
	for _, name := range fieldNames(it) {
		taken[name] = true
	}
	name := ""
	for _, other := range it.Derived[:slices.Index(it.Derived, k)+1] {
		if name = identifier(other.Name); name == "" || taken[name] {
			name = free("Index"+name, taken)
		}
		taken[name] = true
	}
	return name
}

// config writes the names of the model's attributes.
func (x *ejecting) config() {
	e := x.e
	variable := x.variable()
	x.p("var ", variable, " = ejectedModel{")
	x.p("name: ", quoted(e.Name), ", hash: ", quoted(e.Tables[0].Hash), ", sort: ", quoted(e.Tables[0].Range),
		", version: ",
		quoted(e.Version), ",")
	x.p("state: ", quoted(e.State), ", incarnation: ", quoted(e.Incarnation), ", ttl: ", quoted(e.TTL), ",")
	x.p("attributes: ", variable, "Attributes, root: ", x.sk(e.Root), ", fixed: ",
		variable, "Fixed,")
	x.p("}")
	x.p()
	x.p("func ", variable, "Attributes(item map[string]", attrValue("AttributeValue"), ") []string {")
	x.p("sk, _ := item[", quoted(e.Tables[0].Range), "].(*", attrValue("AttributeValueMemberS"), ")")
	x.p("if sk == nil {")
	x.p("return nil")
	x.p("}")
	for _, it := range e.Items {
		x.p("if _, ok := ", x.sk(it), ".read(sk.Value); ok {")
		all := []any{quoted(it.Table.Hash)} // never nil
		for _, a := range it.Attributes {
			all = append(all, quoted(a.Name))
		}
		for _, k := range it.Derived {
			all = append(all, quoted(k.Name))
		}
		if it.Expiry != nil && it.Attribute(e.TTL) < 0 {
			all = append(all, quoted(e.TTL))
		}
		x.p("return []string{", list(all...), "}")
		x.p("}")
	}
	x.p("return nil")
	x.p("}")
	x.p()
	x.p("func ", variable, "Fixed(item map[string]", attrValue("AttributeValue"), ") bool {")
	var fixed []any
	for _, it := range e.Items {
		if !it.Element() {
			fixed = append(fixed, x.sk(it))
		}
	}
	x.p("for _, k := range []ejectedKey{", list(fixed...), "} {")
	x.p("if _, ok := k.read(ejectedScalar(item[", quoted(e.Tables[0].Range), "])); ok {")
	x.p("return true")
	x.p("}")
	x.p("}")
	x.p("return false")
	x.p("}")
	x.p()
}

// variable is the variable with the names of the model. The names of its functions begin with it.
func (x *ejecting) variable() string { return x.private("Ejected", lowerFirst(x.e.Name)+"Ejected") }

// pk and sk are the variables with the templates of keys.
func (x *ejecting) pk() string                { return x.private("PK", lowerFirst(x.e.Name)+"PK") }
func (x *ejecting) sk(it *schema.Item) string { return x.private(it, lowerFirst(x.kinds[it])+"SK") }
func (x *ejecting) derivedKey(it *schema.Item, k *schema.IndexKey) string {
	return x.private([2]any{it, k}, lowerFirst(x.kinds[it])+identifier(k.Name)+"Key")
}

// entity writes the functions that convert an entity into its items, and back.
func (x *ejecting) entity() {
	e := x.e
	x.comment(e.Name + "Items returns the items of an entity, without versions.")
	x.p("func ", e.Name, "Items(v *", goType(e.Type), ") (items []map[string]", attrValue("AttributeValue"),
		", err error) {")
	x.p("pk, err := ", call(e.Name+"PK", x.arguments(e.PK, "v", "", "")...))
	x.p("if err != nil {")
	x.p("return nil, err")
	x.p("}")
	x.p("add := func(it any, sparse ...string) {")
	x.p("item, failed := ", avName("MarshalMapWithOptions"), "(it, ejectedTimes)")
	x.p("err = ", std("errors", "Join"), "(err, failed)")
	x.p("for _, name := range sparse {")
	x.p("if ejectedEmpty(item[name]) {")
	x.p("delete(item, name)")
	x.p("}")
	x.p("}")
	x.p("items = append(items, item)")
	x.p("}")
	for _, it := range e.Items {
		x.encode(it)
	}
	x.p("return items, err")
	x.p("}")
	x.p()
	x.comment(e.Name + "Of returns the entity of items that were read: nil if it does not exist.")
	x.p("func ", e.Name, "Of(items []map[string]", attrValue("AttributeValue"), ") (*", goType(e.Type), ", error) {")
	x.p("items, root, err := ", x.variable(), ".live(items)")
	x.p("if root == nil || err != nil {")
	x.p("return nil, err")
	x.p("}")
	x.p("v := &", goType(e.Type), "{}")
	x.p("var keys struct {")
	x.p("PK, SK string")
	x.p("}")
	x.p("keys.PK, keys.SK = ejectedScalar(root[", quoted(e.Tables[0].Hash), "]), ejectedScalar(root[",
		quoted(e.Tables[0].Range), "])")
	x.keyFields(e.PK, x.pk(), "keys.PK")
	if hasModelValues(e.Root.Key) {
		x.keyFields(e.Root.Key, x.sk(e.Root), "keys.SK")
	}
	x.p("for _, item := range items {")
	x.p("sk := ejectedScalar(item[", quoted(e.Tables[0].Range), "])")
	for _, it := range e.Items {
		x.decode(it)
	}
	x.p("}")
	x.p("return v, nil")
	x.p("}")
	x.p()
}

func hasModelValues(k *schema.Key) bool {
	return slices.ContainsFunc(k.Sources, func(s schema.Source) bool { return s.From == schema.FromModel })
}

func avName(name string) ident {
	return ident{"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue", "attributevalue", name}
}

// arguments returns the arguments of a key function, with the model, element and map key in variables.
func (x *ejecting) arguments(k *schema.Key, model, element, mapKey string) (args []any) {
	for _, src := range k.Sources {
		switch src.From {
		case schema.FromModel:
			args = append(args, model+"."+src.Value.Name)
		case schema.FromMapKey:
			args = append(args, mapKey)
		case schema.FromSelf:
			args = append(args, element)
		default:
			args = append(args, element+"."+src.Value.Name)
		}
	}
	return args
}

// encode writes how the items of a kind are made.
func (x *ejecting) encode(it *schema.Item) {
	name := x.kinds[it]
	element := "v"
	switch {
	case it.Element():
		element = "e"
		index, value := "_", "e"
		if it.Map() {
			index = "key"
		}
		if it.ElemPointer {
			value = "p"
		}
		x.p("for ", index, ", ", value, " := range v.", it.Field.Name, " {")
	case it.Pointer:
		x.p("if v.", it.Field.Name, " != nil {")
	default:
		x.p("{")
	}
	if it.ElemPointer {
		x.p("if p == nil {")
		x.p("continue")
		x.p("}")
		x.p("e := *p")
	}
	if it.Element() && !usesElement(it) {
		x.p("_ = e // all of it is in the key")
	}
	x.p("it := ", name, "{}")
	for i, field := range fieldNames(it) {
		x.p("it.", field, " = ", x.attribute(it, it.Attributes[i], element))
	}
	for _, k := range it.Derived {
		x.derived(it, k, element)
	}
	fixed := !it.Element() && it != x.e.Root && !it.Pointer
	if fixed {
		x.p("if !", std("reflect", "ValueOf"), "(it).IsZero() {")
	}
	if it.Expiry != nil && it.Attribute(x.e.TTL) < 0 {
		at := element
		if it.ExpiryOfRoot || !it.Element() {
			at = "v"
		}
		x.expiry(at+"."+it.Expiry.Name, it.Expiry.Type)
	}
	x.p("sk, failed := ", call(name+"SK", x.arguments(it.Key, "v", element, "key")...))
	x.p("if failed != nil {")
	x.p("return nil, failed")
	x.p("}")
	x.p("it.PK, it.SK = pk, sk")
	sparse := []any{"&it"} // methods of attributevalue may have pointer receivers
	for i, a := range it.Attributes {
		if it.Sparse(i) {
			sparse = append(sparse, quoted(a.Name))
		}
	}
	x.p("add(", list(sparse...), ")")
	if fixed {
		x.p("}")
	}
	x.p("}")
}

// usesElement reports whether an item has an attribute, key or expiry of its element.
func usesElement(it *schema.Item) bool {
	return len(it.Attributes)+len(it.Derived) > 0 || it.Expiry != nil ||
		slices.ContainsFunc(it.Key.Sources, func(s schema.Source) bool {
			return s.From == schema.FromElement || s.From == schema.FromSelf
		})
}

// attribute returns the value of an attribute.
func (x *ejecting) attribute(it *schema.Item, a *schema.Attribute, element string) string {
	if it.Element() && len(a.Value.Path) == 0 {
		return element
	}
	return element + "." + a.Value.Name
}

// expiry writes the TTL attribute.
func (x *ejecting) expiry(field string, t *schema.Type) {
	text := field
	if t.Kind == schema.Pointer {
		x.p("if ", field, " != nil && !", field, ".IsZero() {")
		text = "(*" + field + ")"
	} else {
		x.p("if !", call(std("time", "Time"), field), ".IsZero() {")
	}
	x.p("it.Expires = ", call(std("time", "Time"), text), ".Unix()")
	x.p("}")
}

// derived writes an attribute that exists only for indexes: left out if a value is empty.
func (x *ejecting) derived(it *schema.Item, k *schema.IndexKey, element string) {
	name := x.derivedKey(it, k)
	var args []any
	var optional []string
	for i, src := range k.Sources {
		at := x.arguments(&schema.Key{Sources: []schema.Source{src}}, "v", element, "key")[0].(string)
		if src.From == schema.FromItem {
			at = "v." + src.Value.Name
		}
		if src.Optional {
			optional = append(optional, at)
			at = "(*" + at + ")"
		}
		args = append(args, keyArgument(src.Value.Type, k.Format(i).Value, at))
	}
	for _, at := range optional {
		x.p("if ", at, " != nil {")
	}
	x.p("if text, empty := ", name, ".write(", list(args...), "); empty == nil {")
	x.p("it.", derivedName(it, k), " = text")
	x.p("}")
	for range optional {
		x.p("}")
	}
}

// keyFields writes the model's fields that a key of the root item gives back.
func (x *ejecting) keyFields(k *schema.Key, variable, text string) {
	used := false
	for _, src := range k.Sources {
		used = used || src.From == schema.FromModel && src.Lossless
	}
	values := "values"
	if !used {
		values = "_"
	}
	x.p("if ", values, ", ok := ", variable, ".read(", text, "); ok {")
	for i, src := range k.Sources {
		if src.From == schema.FromModel && src.Lossless {
			x.parsed("v."+src.Value.Name, src.Value.Type, k.Format(i), "values["+strconv.Itoa(i)+"]")
		}
	}
	x.p("} else {")
	x.p("return nil, ", std("fmt", "Errorf"), "(", quoted(x.e.Name+": the key %q is not one of the model"), ", ",
		text, ")")
	x.p("}")
}

// parsed writes an assignment of the value of a key's text.
func (x *ejecting) parsed(to string, t *schema.Type, f key.Format, text string) {
	if schema.KeyText(t, f.Value) {
		x.p("_ = ", to, ".UnmarshalText([]byte(", text, "))")
		return
	}
	sortable := strconv.FormatBool(f.Kind == key.Sortable)
	v, as := code{text}, "string"
	switch f.Value {
	case key.Int:
		v, as = call("ejectedInt", text, sortable), "int64"
	case key.Uint:
		v, as = call("ejectedUint", text, sortable), "uint64"
	case key.Time:
		v, as = call("ejectedTime", text, quoted(formatWord(&f))), "time.Time"
	}
	x.p(to, " = ", converted(as, t, v, false))
}

// decode writes how an item of a kind is read.
func (x *ejecting) decode(it *schema.Item) {
	name := x.kinds[it]
	reads := it.Element() && slices.ContainsFunc(it.Key.Sources, func(s schema.Source) bool {
		return s.From != schema.FromModel && s.Lossless
	})
	values := "_"
	if reads {
		values = "values"
	}
	x.p("if ", values, ", ok := ", x.sk(it), ".read(sk); ok {")
	if !it.Element() {
		x.sameKey(it)
	}
	x.p("var it ", name)
	x.p("if err := ", avName("UnmarshalMap"), "(", x.variable(), ".values(item), &it); err != nil {")
	x.p("return nil, ", std("fmt", "Errorf"), "(", quoted(x.e.Name+": the item %s: %w"), ", sk, err)")
	x.p("}")
	element := "v"
	switch {
	case it.Element():
		element = "e"
		x.p("var e ", goType(it.Elem))
		if it.Map() {
			x.p("var key ", goType(it.Field.Type.Key))
		}
	case it.Pointer:
		x.p("v.", it.Field.Name, " = new(", goType(it.Field.Type.Elem), ")")
	}
	for i, field := range fieldNames(it) {
		x.p(x.attribute(it, it.Attributes[i], element), " = it.", field)
	}
	for i, src := range it.Key.Sources {
		text := "values[" + strconv.Itoa(i) + "]"
		switch {
		case !src.Lossless || !it.Element():
		case src.From == schema.FromMapKey:
			x.parsed("key", src.Value.Type, it.Key.Format(i), text)
		case src.From == schema.FromSelf:
			x.parsed("e", src.Value.Type, it.Key.Format(i), text)
		case src.From == schema.FromElement:
			x.parsed("e."+src.Value.Name, src.Value.Type, it.Key.Format(i), text)
		}
	}
	if it.Element() {
		x.sameKey(it)
		x.addElement(it)
	}
	x.p("continue")
	x.p("}")
}

// sameKey writes a check that the key is that of the values.
func (x *ejecting) sameKey(it *schema.Item) {
	if len(it.Key.Sources) == 0 {
		return
	}
	x.p("if want, err := ", call(x.kinds[it]+"SK", x.arguments(it.Key, "v", "e", "key")...),
		"; err != nil || want != sk {")
	x.p("continue // an item of another entity, or with a key in another form")
	x.p("}")
}

// addElement writes how an element is added to its slice or map.
func (x *ejecting) addElement(it *schema.Item) {
	value := "e"
	if it.ElemPointer {
		value = "&e"
	}
	field := "v." + it.Field.Name
	if !it.Map() {
		x.p(field, " = append(", field, ", ", value, ")")
		return
	}
	x.p("if ", field, " == nil {")
	x.p(field, " = ", goType(it.Field.Type), "{}")
	x.p("}")
	x.p(field, "[key] = ", value)
}

// queries writes the requests that read: an entity, the items of a kind, and the entries of an index.
func (x *ejecting) queries() {
	e := x.e
	pk := func() (params []any, args []any) {
		params, _ = x.parameters(e.PK)
		return params, argumentsOf(params)
	}
	if !e.Flat {
		params, args := pk()
		x.comment(e.Name + "Query returns the query of all items of an entity. Read every page, and pass the items " +
			"to " +
			e.Name + "Of.")
		x.queryFunction(e.Name+"Query", params, func() { x.keyOf("pk", e.Name+"PK", args) }, false)
	}
	for _, it := range e.Items {
		if it.Element() || e.Flat {
			params, args := pk()
			x.rangeQuery(it, params, args)
		}
	}
	for _, index := range e.Indexes {
		for _, n := range index.Entries {
			x.indexQuery(n)
		}
	}
}

// argumentsOf returns the names of parameters.
func argumentsOf(params []any) (args []any) {
	for _, p := range params {
		args = append(args, p.(code)[0])
	}
	return args
}

// keyOf writes a variable with a key.
func (x *ejecting) keyOf(name, function string, args []any) {
	x.p(name, ", err := ", call(function, args...))
	x.p("if err != nil {")
	x.p("return nil, err")
	x.p("}")
}

// rangeQuery writes the query of the elements of an entity, or of the fixed items of all entities in a partition.
func (x *ejecting) rangeQuery(it *schema.Item, params, args []any) {
	parts, source := 0, 0
	for _, part := range it.Key.Template.Parts {
		if part.Format.Kind != key.Literal {
			if !it.Element() || it.Key.Sources[source].From != schema.FromModel {
				break
			}
			source++
		}
		parts++
	}
	if parts == 0 {
		return
	}
	var taken []string
	for _, src := range x.e.PK.Sources {
		x.names.parameter(sourceName(src), &taken)
	}
	var values []any
	for i, src := range it.Key.Sources[:source] {
		name := x.names.parameter(sourceName(src), &taken)
		params = append(params, code{name, " ", goType(src.Value.Type)})
		values = append(values, keyArgument(src.Value.Type, it.Key.Format(i).Value, name))
	}
	what := "the elements " + x.kinds[it] + " of an entity"
	if !it.Element() {
		what = "the items " + x.kinds[it] + " of all entities with a partition key"
	}
	x.comment(x.kinds[it] + "Query returns the query of " + what + ".")
	x.queryFunction(x.kinds[it]+"Query", params, func() {
		x.keyOf("pk", x.e.Name+"PK", args)
		x.p("sk, err := ejectedKey{", quotedByte(x.e.Delim), ", ", x.sk(it), ".parts[:", parts,
			"]}.write(",
			list(values...), ")")
		x.p("if err != nil {")
		x.p("return nil, err")
		x.p("}")
	}, true)
}

// queryFunction writes a function that returns a query.
func (x *ejecting) queryFunction(name string, params []any, keys func(), prefix bool) {
	t := x.e.Tables[0]
	x.p("func ", name, "(", list(append([]any{"table string"}, params...)...), ") (*", sdk("QueryInput"), ", error) {")
	keys()
	condition, names := "#pk = :pk", code{quoted("#pk"), ": ", quoted(t.Hash)}
	values := code{quoted(":pk"), ": &", attrValue("AttributeValueMemberS"), "{Value: pk}"}
	if prefix {
		condition += " AND begins_with(#sk, :sk)"
		names = append(names, ", ", quoted("#sk"), ": ", quoted(t.Range))
		values = append(values, ", ", quoted(":sk"), ": &", attrValue("AttributeValueMemberS"), "{Value: sk}")
	}
	x.p("return &", sdk("QueryInput"), "{")
	x.p("TableName: &table, KeyConditionExpression: ", ident{"github.com/aws/aws-sdk-go-v2/aws", "aws", "String"}, "(",
		quoted(condition), "),")
	x.p("ExpressionAttributeNames: map[string]string{", names, "},")
	x.p("ExpressionAttributeValues: map[string]", attrValue("AttributeValue"), "{", values, "},")
	if !prefix {
		x.p("ConsistentRead: ", ident{"github.com/aws/aws-sdk-go-v2/aws", "aws", "Bool"}, "(true),")
	}
	x.p("}, nil")
	x.p("}")
	x.p()
}

// indexQuery writes the templates of an index, and the query of a partition of it.
func (x *ejecting) indexQuery(n *schema.Entry) {
	if n.Index.Local || len(n.Hash) != 1 {
		return
	}
	k := n.Hash[0]
	word := identifier(n.Index.Name)
	name := x.names.declare(x.kinds[n.Item] + word + "Query")
	params, args := x.parameters(k.Key)
	what := x.kinds[n.Item] + " in the index " + n.Index.Name
	x.comment(name + " returns the query of the items " + what + ": " + k.Text)
	x.p("func ", name, "(", list(append([]any{"table string"}, params...)...), ") (*", sdk("QueryInput"), ", error) {")
	variable := x.private(n, lowerFirst(name)+"Key")
	x.p("pk, err := ", variable, ".write(", list(args...), ")")
	x.p("if err != nil {")
	x.p("return nil, err")
	x.p("}")
	x.p("return &", sdk("QueryInput"), "{")
	str := ident{"github.com/aws/aws-sdk-go-v2/aws", "aws", "String"}
	x.p("TableName: &table, IndexName: ", str, "(", quoted(n.Index.Name), "), KeyConditionExpression: ", str, "(",
		quoted("#pk = :pk"), "),")
	x.p("ExpressionAttributeNames: map[string]string{", quoted("#pk"), ": ", quoted(k.Name), "},")
	x.p("ExpressionAttributeValues: map[string]", attrValue("AttributeValue"), "{", quoted(":pk"), ": &",
		attrValue("AttributeValueMemberS"), "{Value: pk}},")
	x.p("}, nil")
	x.p("}")
	x.p()
	x.template(variable, k.Key)
}

// requests writes the functions that make the requests of writes.
func (x *ejecting) requests() {
	e, variable := x.e, x.variable()
	for _, it := range e.Items {
		for _, k := range it.Derived {
			x.template(x.derivedKey(it, k), k.Key)
		}
	}
	in := code{"*", sdk("TransactWriteItemsInput")}
	items := code{"[]map[string]", attrValue("AttributeValue")}
	x.comment(e.Name + "Insert returns the transaction that inserts an entity. It fails if the entity exists.")
	x.p("func ", e.Name, "Insert(table string, v *", goType(e.Type), ") (", in, ", error) {")
	x.p("items, err := ", e.Name, "Items(v)")
	x.p("if err != nil {")
	x.p("return nil, err")
	x.p("}")
	x.p("return ", variable, ".insert(table, items)")
	x.p("}")
	x.p()
	x.comment(e.Name + "Save returns the transaction that writes the differences between the items that were read " +
		"and " +
		"those of the entity now. It is nil if there are none. It fails if another program has changed one of these " +
		"items.")
	x.p("func ", e.Name, "Save(table string, read ", items, ", v *", goType(e.Type), ") (", in, ", error) {")
	x.p("was, err := ", variable, "Was(read)")
	x.p("if err != nil {")
	x.p("return nil, err")
	x.p("}")
	x.p("now, err := ", e.Name, "Items(v)")
	x.p("if err != nil {")
	x.p("return nil, err")
	x.p("}")
	x.p("return ", variable, ".save(table, read, was, now)")
	x.p("}")
	x.p()
	x.comment(e.Name + "Delete returns the transaction that deletes the items of an entity as they were read. It is " +
		"nil if " +
		"the entity does not exist.")
	x.p("func ", e.Name, "Delete(table string, read ", items, ") (", in, ", error) {")
	x.p("was, err := ", variable, "Was(read)")
	x.p("if err != nil {")
	x.p("return nil, err")
	x.p("}")
	x.p("return ", variable, ".delete(table, read, was)")
	x.p("}")
	x.p()
	x.comment(variable + "Was returns the items of the value that items have: as this code would write them.")
	x.p("func ", variable, "Was(read ", items, ") (", items, ", error) {")
	x.p("v, err := ", e.Name, "Of(read)")
	x.p("if v == nil || err != nil {")
	x.p("return nil, err")
	x.p("}")
	x.p("return ", e.Name, "Items(v)")
	x.p("}")
	x.p()
}
