package tabledef

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/itemize/itemize/internal/model/naming"
	"github.com/itemize/itemize/internal/model/schema"
)

// CloudFormation returns the tables as the resources of a template, in YAML.
func CloudFormation(tables []*Table) string {
	var b strings.Builder
	printLine := func(indent int, format string, args ...any) {
		fmt.Fprintf(&b, "%s%s\n", strings.Repeat("  ", indent), fmt.Sprintf(format, args...))
	}
	printLine(0, "Resources:")
	used := map[string]bool{}
	for _, d := range tables {
		printLine(1, "%s:", unique(word(d.Name), used))
		printLine(2, "Type: AWS::DynamoDB::Table")
		printLine(2, "Properties:")
		printLine(3, "TableName: %s", naming.YAML(d.Name))
		printLine(3, "BillingMode: PAY_PER_REQUEST")
		printLine(3, "AttributeDefinitions:")
		for _, a := range d.Attributes {
			printLine(4, "- AttributeName: %s", naming.YAML(a.Name))
			printLine(4, "  AttributeType: %q", string(a.Type))
		}
		keys := func(indent int, hash, sort []string) {
			printLine(indent, "KeySchema:")
			for _, k := range keySchema(hash, sort) {
				printLine(indent+1, "- AttributeName: %s", naming.YAML(*k.AttributeName))
				printLine(indent+1, "  KeyType: %s", k.KeyType)
			}
		}
		keys(3, []string{d.Hash}, ranges(d.Range))
		for _, kind := range []struct {
			name  string
			local bool
		}{{"GlobalSecondaryIndexes", false}, {"LocalSecondaryIndexes", true}} {
			first := true
			for _, x := range d.Indexes {
				if x.Local != kind.local {
					continue
				}
				if first {
					printLine(3, "%s:", kind.name)
				}
				first = false
				printLine(4, "- IndexName: %s", naming.YAML(x.Name))
				keys(5, names(x.Hash), names(x.Range))
				p := projectionOf(x)
				printLine(5, "Projection:")
				printLine(6, "ProjectionType: %s", p.ProjectionType)
				if len(p.NonKeyAttributes) > 0 {
					printLine(6, "NonKeyAttributes: [%s]", list(p.NonKeyAttributes, naming.YAML))
				}
			}
		}
		if d.TTL != "" {
			printLine(3, "TimeToLiveSpecification:")
			printLine(4, "AttributeName: %s", naming.YAML(d.TTL))
			printLine(4, "Enabled: true")
		}
	}
	return b.String()
}

// Terraform returns the tables as resources of HashiCorp's provider for AWS. An index whose keys are
// several attributes needs a version of it that has key_schema blocks.
func Terraform(tables []*Table) string {
	var b strings.Builder
	used := map[string]bool{}
	for i, d := range tables {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "resource \"aws_dynamodb_table\" %q {\n", unique(snake(d.Name), used))
		settings(&b, "  ", [][2]string{
			{"name", naming.HCL(d.Name)},
			{"billing_mode", naming.HCL("PAY_PER_REQUEST")},
			{"hash_key", naming.HCL(d.Hash)},
			{"range_key", naming.HCL(d.Range)},
		})
		for _, a := range d.Attributes {
			block(&b, "attribute", [][2]string{{"name", naming.HCL(a.Name)}, {"type", naming.HCL(string(a.Type))}})
		}
		for _, x := range d.Indexes {
			terraformIndex(&b, x)
		}
		if d.TTL != "" {
			block(&b, "ttl", [][2]string{{"attribute_name", naming.HCL(d.TTL)}, {"enabled", "true"}})
		}
		b.WriteString("}\n")
	}
	return b.String()
}

func terraformIndex(b *strings.Builder, x *schema.Index) {
	p := projectionOf(x)
	all := ""
	if len(p.NonKeyAttributes) > 0 {
		all = "[" + list(p.NonKeyAttributes, naming.HCL) + "]"
	}
	sort := ""
	if len(x.Range) > 0 {
		sort = naming.HCL(x.Range[0].Name)
	}
	name := [2]string{"name", naming.HCL(x.Name)}
	rest := [][2]string{{"projection_type", naming.HCL(string(p.ProjectionType))}, {"non_key_attributes", all}}
	switch {
	case x.Local:
		block(b, "local_secondary_index", append([][2]string{name, {"range_key", sort}}, rest...))
	case len(x.Hash) == 1 && len(x.Range) <= 1:
		block(b, "global_secondary_index",
			append([][2]string{name, {"hash_key", naming.HCL(x.Hash[0].Name)}, {"range_key", sort}}, rest...))
	default:
		b.WriteString("\n  global_secondary_index {\n")
		settings(b, "    ", append([][2]string{name}, rest...))
		for _, k := range keySchema(names(x.Hash), names(x.Range)) {
			b.WriteString("\n    key_schema {\n")
			settings(b, "      ", [][2]string{
				{"attribute_name", naming.HCL(*k.AttributeName)}, {"key_type", naming.HCL(string(k.KeyType))},
			})
			b.WriteString("    }\n")
		}
		b.WriteString("  }\n")
	}
}

// block writes a block of settings.
func block(b *strings.Builder, name string, all [][2]string) {
	b.WriteString("\n  " + name + " {\n")
	settings(b, "    ", all)
	b.WriteString("  }\n")
}

// settings writes those that have a value, aligned as terraform fmt does.
func settings(b *strings.Builder, indent string, all [][2]string) {
	width := 0
	for _, s := range all {
		if s[1] != "" && s[1] != `""` {
			width = max(width, len(s[0]))
		}
	}
	for _, s := range all {
		if s[1] != "" && s[1] != `""` {
			fmt.Fprintf(b, "%s%-*s = %s\n", indent, width, s[0], s[1])
		}
	}
}

// list writes texts in a form, separated by commas.
func list(all []string, form func(string) string) string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = form(s)
	}
	return strings.Join(out, ", ")
}

// word makes a name of letters and digits, as CloudFormation takes it.
func word(name string) string {
	up, out := true, ""
	for _, r := range name {
		switch {
		case r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r):
			up = true
			continue
		case up:
			r = unicode.ToUpper(r)
		}
		up = false
		out += string(r)
	}
	return out + "Table"
}

// snake makes a name as Terraform takes it.
func snake(name string) string {
	out := strings.Map(func(r rune) rune {
		if r <= unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, name)
	if out == "" || unicode.IsDigit(rune(out[0])) || out[0] == '-' {
		out = "_" + out
	}
	return out
}

// unique returns a name that is not used yet.
func unique(name string, used map[string]bool) string {
	out := name
	for i := 2; used[out]; i++ {
		out = name + strconv.Itoa(i)
	}
	used[out] = true
	return out
}
