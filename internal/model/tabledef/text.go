package tabledef

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/itemize/itemize/internal/model/naming"
	"github.com/itemize/itemize/internal/model/schema"
)

// CloudFormation returns the tables as the resources of a template, in YAML, with event source mappings of their
// streams.
func CloudFormation(tables []*Table, mappings []Mapping) string {
	var b strings.Builder
	printLine := func(indent int, format string, args ...any) {
		fmt.Fprintf(&b, "%s%s\n", strings.Repeat("  ", indent), fmt.Sprintf(format, args...))
	}
	used, words := map[string]bool{}, map[string]string{}
	for _, d := range tables {
		words[d.Name] = unique(word(d.Name), used)
	}
	if len(mappings) > 0 {
		printLine(0, "Parameters:")
		for _, m := range mappings {
			printLine(1, "%sFunction:", words[m.Table])
			printLine(2, "Type: String")
			printLine(2, "Description: The name or the ARN of the function")
		}
	}
	printLine(0, "Resources:")
	for _, d := range tables {
		printLine(1, "%sTable:", words[d.Name])
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
		if d.Stream {
			printLine(3, "StreamSpecification:")
			printLine(4, "StreamViewType: NEW_AND_OLD_IMAGES")
		}
	}
	for _, m := range mappings {
		mappingLines(printLine, m, words[m.Table])
	}
	return b.String()
}

// Settings of event source mappings. A batch is tried again while it fails, for less than the 24 hours that a stream
// keeps its records, so that the destination for failures can still name them.
const (
	batchSize    = 100
	retries      = 10
	maxAge       = 12 * 60 * 60      // seconds
	retention    = 14 * 24 * 60 * 60 // seconds that the queue keeps a failure
	windowLength = 1                 // seconds to wait for a full batch
)

// mappingLines prints a mapping and the queue of its failures. The names of all resources begin with name.
func mappingLines(printLine func(indent int, format string, args ...any), m Mapping, name string) {
	for _, n := range m.Notes {
		printLine(1, "# %s", n)
	}
	printLine(1, "%sEvents:", name)
	printLine(2, "Type: AWS::Lambda::EventSourceMapping")
	printLine(2, "Properties:")
	printLine(3, "EventSourceArn: !GetAtt %sTable.StreamArn", name)
	printLine(3, "FunctionName: !Ref %sFunction", name)
	printLine(3, "StartingPosition: TRIM_HORIZON")
	printLine(3, "BatchSize: %d", batchSize)
	printLine(3, "MaximumBatchingWindowInSeconds: %d", windowLength)
	printLine(3, "MaximumRetryAttempts: %d", retries)
	printLine(3, "MaximumRecordAgeInSeconds: %d", maxAge)
	printLine(3, "BisectBatchOnFunctionError: true")
	printLine(3, "FunctionResponseTypes: [ReportBatchItemFailures]")
	printLine(3, "DestinationConfig:")
	printLine(4, "OnFailure:")
	printLine(5, "Destination: !GetAtt %sFailures.Arn", name)
	if len(m.Patterns) > 0 {
		printLine(3, "FilterCriteria:")
		printLine(4, "Filters:")
		for _, p := range m.Patterns {
			printLine(5, "- Pattern: %s", naming.YAML(p))
		}
	}
	printLine(1, "%sFailures:", name)
	printLine(2, "Type: AWS::SQS::Queue")
	printLine(2, "Properties:")
	printLine(3, "MessageRetentionPeriod: %d", retention)
}

// Terraform returns the tables as resources of HashiCorp's provider for AWS. An index whose keys are
// several attributes needs a version of it that has key_schema blocks.
func Terraform(tables []*Table, mappings []Mapping) string {
	var b strings.Builder
	used, resources := map[string]bool{}, map[string]string{}
	for i, d := range tables {
		if i > 0 {
			b.WriteString("\n")
		}
		name := unique(snake(d.Name), used)
		resources[d.Name] = name
		fmt.Fprintf(&b, "resource \"aws_dynamodb_table\" %q {\n", name)
		enabled, view := "", ""
		if d.Stream {
			enabled, view = "true", naming.HCL("NEW_AND_OLD_IMAGES")
		}
		settings(&b, "  ", [][2]string{
			{"name", naming.HCL(d.Name)},
			{"billing_mode", naming.HCL("PAY_PER_REQUEST")},
			{"hash_key", naming.HCL(d.Hash)},
			{"range_key", naming.HCL(d.Range)},
			{"stream_enabled", enabled},
			{"stream_view_type", view},
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
	for _, m := range mappings {
		terraformMapping(&b, m, resources[m.Table])
	}
	return b.String()
}

// terraformMapping writes a mapping and the queue of its failures. name is the resource of the table.
func terraformMapping(b *strings.Builder, m Mapping, name string) {
	fmt.Fprintf(b, "\nvariable %q {\n", name+"_function")
	settings(b, "  ", [][2]string{{"type", "string"}, {
		"description",
		naming.HCL("The name or the ARN of the function"),
	}})
	b.WriteString("}\n\n")
	for _, n := range m.Notes {
		fmt.Fprintf(b, "# %s\n", n)
	}
	fmt.Fprintf(b, "resource \"aws_lambda_event_source_mapping\" %q {\n", name)
	number := func(n int) string { return strconv.Itoa(n) }
	settings(b, "  ", [][2]string{
		{"event_source_arn", "aws_dynamodb_table." + name + ".stream_arn"},
		{"function_name", "var." + name + "_function"},
		{"starting_position", naming.HCL("TRIM_HORIZON")},
		{"batch_size", number(batchSize)},
		{"maximum_batching_window_in_seconds", number(windowLength)},
		{"maximum_retry_attempts", number(retries)},
		{"maximum_record_age_in_seconds", number(maxAge)},
		{"bisect_batch_on_function_error", "true"},
		{"function_response_types", `["ReportBatchItemFailures"]`},
	})
	b.WriteString("\n  destination_config {\n    on_failure {\n")
	settings(b, "      ", [][2]string{{"destination_arn", "aws_sqs_queue." + name + "_failures.arn"}})
	b.WriteString("    }\n  }\n")
	if len(m.Patterns) > 0 {
		b.WriteString("\n  filter_criteria {\n")
		for _, p := range m.Patterns {
			b.WriteString("    filter {\n")
			settings(b, "      ", [][2]string{{"pattern", naming.HCL(p)}})
			b.WriteString("    }\n")
		}
		b.WriteString("  }\n")
	}
	b.WriteString("}\n")
	fmt.Fprintf(b, "\nresource \"aws_sqs_queue\" %q {\n", name+"_failures")
	settings(b, "  ", [][2]string{{"message_retention_seconds", number(retention)}})
	b.WriteString("}\n")
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
	return out
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
