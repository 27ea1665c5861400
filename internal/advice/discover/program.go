package discover

import (
	"bytes"
	"fmt"
	"go/format"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/itemize/itemize/internal/model/naming"
)

// reshapeSource returns the file with the functions of migrate.Reshape, nil if no model needs them.
func (r *Report) reshapeSource(dir string) ([]byte, error) {
	var body bytes.Buffer
	uses := map[stepKind]bool{}
	for _, t := range r.written() {
		if !t.Reshaped {
			continue
		}
		t.x.functions(&body)
		for _, s := range t.x.reshape {
			uses[s.Kind] = true
		}
	}
	if body.Len() == 0 {
		return nil, nil
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "package %s\n\nimport (\n", packageName(dir))
	if uses[readJSON] {
		b.WriteString("\"bytes\"\n\"encoding/json\"\n")
	}
	b.WriteString("\"errors\"\n")
	if uses[readJSON] {
		b.WriteString("\"io\"\n")
	}
	if uses[cutKey] || uses[readJSON] {
		b.WriteString("\"regexp\"\n")
	}
	if uses[readJSON] {
		b.WriteString("\"strings\"\n")
	}
	b.WriteString("\n\"github.com/aws/aws-sdk-go-v2/service/dynamodb/types\"\n)\n\ntype attributes = " +
		"map[string]types.AttributeValue\n")
	b.Write(body.Bytes())
	if uses[readJSON] {
		b.WriteString(jsonFunctions)
	}
	return format.Source(b.Bytes())
}

// functions writes the two functions of a model.
func (x *entityType) functions(b *bytes.Buffer) {
	declared := map[string]bool{}
	for _, s := range x.reshape {
		if s.Kind == cutKey && !declared[s.From] {
			declared[s.From] = true
			fmt.Fprintf(
				b,
				"\nvar %s = regexp.MustCompile(%s)\n",
				x.keyVariable(s.From),
				naming.GoRaw(x.expression(s.From)),
			)
		}
	}
	fmt.Fprintf(b, "\n// Forth%s returns the attributes that attributevalue would make of a %s, for one large item. "+
		"It is for\n"+
		"// migrate.Reshape, and changes its argument.\nfunc Forth%[1]s(d attributes) (attributes, error) {\n",
		x.name, x.name)
	cutFrom := ""
	for _, s := range x.reshape {
		at := strconv.Quote(s.Attribute)
		switch s.Kind {
		case cutKey:
			if cutFrom != s.From {
				op := ":="
				if cutFrom != "" {
					op = "="
					fmt.Fprintf(b, "\tkey, ok = d[%q].(*types.AttributeValueMemberS)\n", s.From)
				} else {
					fmt.Fprintf(b, "\tkey, ok := d[%q].(*types.AttributeValueMemberS)\n", s.From)
				}
				fmt.Fprintf(b, "\tif !ok {\n\t\treturn nil, errors.New(\"the key is no text\")\n\t}\n"+
					"\tparts %s %s.FindStringSubmatch(key.Value)\n"+
					"\tif parts == nil {\n\t\treturn nil, errors.New(\"the key has another form\")\n\t}\n", op,
					x.keyVariable(s.From))
				cutFrom = s.From
			}
			fmt.Fprintf(b, "\td[%s] = &types.AttributeValueMemberS{Value: parts[%d]}\n", at, x.number(s))
		case liftMap:
			fmt.Fprintf(b, "\tdocument, is := d[%s].(*types.AttributeValueMemberM)\n\tif !is {\n"+
				"\t\treturn nil, errors.New(\"the document is no map\")\n\t}\n\tdelete(d, %[1]s)\n"+
				"\tfor name, v := range document.Value {\n\t\tif d[name] != nil {\n"+
				"\t\t\treturn nil, errors.New(\"an entry of the document has the name of an attribute\")\n\t\t}\n"+
				"\t\td[name] = v\n\t}\n", at)
		case readJSON:
			fmt.Fprintf(b, "\ttext, is := d[%s].(*types.AttributeValueMemberS)\n\tif !is {\n"+
				"\t\treturn nil, errors.New(\"the document is no text\")\n\t}\n\tdocument, err := "+
				"decodeJSON(text.Value)\n"+
				"\tif err != nil {\n\t\treturn nil, err\n\t}\n\tdelete(d, %[1]s)\n"+
				"\tfor name, v := range document {\n\t\tif d[name] != nil {\n"+
				"\t\t\treturn nil, errors.New(\"an entry of the document has the name of an attribute\")\n\t\t}\n"+
				"\t\td[name] = v\n\t}\n", at)
		}
	}
	fmt.Fprintf(b, "\treturn d, nil\n}\n\n// Back%s is the opposite of [Forth%[1]s].\nfunc Back%[1]s(d attributes) "+
		"(attributes, error) {\n", x.name)
	for i := len(x.reshape) - 1; i >= 0; i-- {
		s := x.reshape[i]
		if s.Kind == cutKey {
			fmt.Fprintf(b, "\tdelete(d, %q)\n", s.Attribute)
			continue
		}
		fmt.Fprintf(b, "\tout, document := attributes{}, attributes{}\n\tfor name, v := range d {\n\t\tswitch name {\n"+
			"\t\tcase %s:\n\t\t\tout[name] = v\n\t\tdefault:\n\t\t\tdocument[name] = v\n\t\t}\n\t}\n",
			x.remainingNames())
		if s.Kind == liftMap {
			fmt.Fprintf(b, "\tout[%q] = &types.AttributeValueMemberM{Value: document}\n\td = out\n", s.Attribute)
			continue
		}
		fmt.Fprintf(b, "\ttext, err := encodeJSON(document)\n\tif err != nil {\n\t\treturn nil, err\n\t}\n"+
			"\tout[%q] = &types.AttributeValueMemberS{Value: text}\n\td = out\n", s.Attribute)
	}
	b.WriteString("\treturn d, nil\n}\n")
}

// remainingNames are the attributes that are not in the document, as Go strings.
func (x *entityType) remainingNames() string {
	names := append([]string{x.table.Hash}, x.remaining...)
	if x.table.Range != "" {
		names = append(names, x.table.Range)
	}
	for i := range names {
		names[i] = strconv.Quote(names[i])
	}
	return strings.Join(names, ", ")
}

func (x *entityType) keyVariable(attribute string) string {
	if attribute == x.table.Hash {
		return "key" + x.name
	}
	return "sort" + x.name
}

// patternOf is the pattern of a key attribute.
func (x *entityType) patternOf(attribute string) pattern {
	if attribute == x.table.Hash {
		return x.pk
	}
	return x.sk
}

// expression is a regular expression for the keys of a pattern, with a group for each part that varies.
func (x *entityType) expression(attribute string) string {
	var b strings.Builder
	b.WriteString("^")
	for _, t := range x.patternOf(attribute).tokens {
		if t.literal != "" {
			b.WriteString(regexp.QuoteMeta(t.literal))
		} else {
			b.WriteString("([^" + delimiters + "]*)")
		}
		b.WriteString(regexp.QuoteMeta(t.delim))
	}
	return b.String() + "$"
}

// number is the group of a part of a key.
func (x *entityType) number(s step) int {
	n := 0
	for i, t := range x.patternOf(s.From).tokens {
		if t.literal == "" {
			n++
		}
		if i == s.Part {
			break
		}
	}
	return n
}

// program returns a program that runs the steps of the migration of models that need functions, nil if none does.
func (r *Report) program(dir, module string) ([]byte, error) {
	var models bytes.Buffer
	for _, t := range r.written() {
		if !t.Reshaped {
			continue
		}
		key := ""
		if t.Key != "" || t.Sort != "" {
			key = fmt.Sprintf(", migrate.Keys(%q, %q)", t.Key, t.Sort)
		}
		fmt.Fprintf(&models, "\t%q: {migrate.Reshape(models.Forth%[1]s, models.Back%[1]s)%[2]s},\n", t.Name, key)
	}
	if models.Len() == 0 {
		return nil, nil
	}
	text := strings.NewReplacer(`"IMPORT"`, naming.GoString(module), "MODELS", models.String(), "SOURCE",
		naming.GoString(r.Table.Name)).
		Replace(programText)
	return []byte(text), nil
}

// programPath is the folder of the program, in that of the models.
const programPath = "migrate"

func programName() string { return path.Join(programPath, "main.go") }
