package grammar

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Every option of the grammar parses, with its value and its place.
func TestOptionsParse(t *testing.T) {
	for _, c := range []struct {
		raw   string
		where Where
		want  []Option
	}{
		{`ddb:"table=users,hash=PK,range=-"`, OnBlank, []Option{
			{Word: "table", Value: "users", Pos: 5, End: 16, ValuePos: 11},
			{Word: "hash", Value: "PK", Pos: 17, End: 24, ValuePos: 22},
			{Word: "range", Value: "-", Pos: 25, End: 32, ValuePos: 31},
		}},
		{`ddb:"index=i,local,on=HEAD,project='a,b'"`, OnBlank, []Option{
			{Word: "index", Value: "i", Pos: 5, End: 12, ValuePos: 11},
			{Word: "local", Pos: 13, End: 18, ValuePos: 18},
			{Word: "on", Value: "HEAD", Pos: 19, End: 26, ValuePos: 22},
			{Word: "project", Value: "a,b", Pos: 27, End: 40, ValuePos: 36},
		}},
		{`ddb:"version=rev,ttl=gone,delim=/,shards=200,shardby=random"`, OnBlank, []Option{
			{Word: "version", Value: "rev", Pos: 5, End: 16, ValuePos: 13},
			{Word: "ttl", Value: "gone", Pos: 17, End: 25, ValuePos: 21},
			{Word: "delim", Value: "/", Pos: 26, End: 33, ValuePos: 32},
			{Word: "shards", Value: "200", Numbers: []int{200}, Pos: 34, End: 44, ValuePos: 41},
			{Word: "shardby", Value: "random", Pos: 45, End: 59, ValuePos: 53},
		}},
		{`ddb:"noversion"`, OnBlank, []Option{{Word: "noversion", Pos: 5, End: 14, ValuePos: 14}}},
		{`ddb:"prefix=M#,name=Meta"`, OnBlank, []Option{
			{Word: "prefix", Value: "M#", Pos: 5, End: 14, ValuePos: 12},
			{Word: "name", Value: "Meta", Pos: 15, End: 24, ValuePos: 20},
		}},
		{`json:"x" ddb:"root,stored,nested,name=Word,ttl,all"`, OnField, []Option{
			{Word: "root", Pos: 14, End: 18, ValuePos: 18},
			{Word: "stored", Pos: 19, End: 25, ValuePos: 25},
			{Word: "nested", Pos: 26, End: 32, ValuePos: 32},
			{Word: "name", Value: "Word", Pos: 33, End: 42, ValuePos: 38},
			{Word: "ttl", Pos: 43, End: 46, ValuePos: 46},
			{Word: "all", Pos: 47, End: 50, ValuePos: 50},
		}},
		{`ddb:"compress=zstd,chunk,s3=b,preview=100,inline=8KB"`, OnField, []Option{
			{Word: "compress", Value: "zstd", Pos: 5, End: 18, ValuePos: 14},
			{Word: "chunk", Pos: 19, End: 24, ValuePos: 24},
			{Word: "s3", Value: "b", Pos: 25, End: 29, ValuePos: 28},
			{Word: "preview", Value: "100", Number: 100, Pos: 30, End: 41, ValuePos: 38},
			{Word: "inline", Value: "8KB", Number: 8192, Pos: 42, End: 52, ValuePos: 49},
		}},
	} {
		tag, errs := Parse(c.raw, c.where)
		if len(errs) > 0 {
			t.Errorf("%s: %v", c.raw, errs)
		}
		if d := cmp.Diff(c.want, tag.Options, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.raw, d)
		}
		for _, o := range tag.Options {
			if !strings.HasPrefix(c.raw[o.Pos:o.End], o.Word) {
				t.Errorf("%s: %s is not at %d to %d", c.raw, o.Word, o.Pos, o.End)
			}
		}
	}
	if tag, errs := Parse(`ddb:"-"`, OnField); !tag.Skip || len(errs) > 0 {
		t.Errorf("%+v, %v", tag, errs)
	}
	if tag, errs := Parse(`json:"x"`, OnField); tag.Present || len(errs) > 0 {
		t.Errorf("%+v, %v", tag, errs)
	}
}

// Templates parse into literals and placeholders; quotes keep commas, doubled
// signs represent themselves.
func TestTemplatesParse(t *testing.T) {
	for _, c := range []struct {
		raw  string
		want []Part
	}{
		{`ddb:"sk=U#Home"`, []Part{{Literal: "U#Home", Pos: 8, End: 14}}},
		{`ddb:"sk='A,B#{X}'"`, []Part{{Literal: "A,B#", Pos: 9, End: 13}, {Name: "X", Pos: 13, End: 16}}},
		{`ddb:"sk='it''s'"`, []Part{{Literal: "it's", Pos: 9, End: 14}}},
		{`ddb:"sk=O'Brien"`, []Part{{Literal: "O'Brien", Pos: 8, End: 15}}},
		{`ddb:"sk={{x}}"`, []Part{{Literal: "{x}", Pos: 8, End: 13}}},
		{`ddb:"sk={^N:06}#{key}{.:raw}"`, []Part{
			{Name: "N", KeyField: true, Format: "06", Pos: 8, End: 15},
			{Literal: "#", Pos: 15, End: 16},
			{Name: "key", Pos: 16, End: 21},
			{Name: ".", Format: "raw", Pos: 21, End: 28},
		}},
		{`ddb:"sk=a=b"`, []Part{{Literal: "a=b", Pos: 8, End: 11}}},
		{"ddb:\"sk=\\\"q\\\"\\u00e9{X}\"", []Part{{Literal: `"q"é`, Pos: 8, End: 19}, {Name: "X", Pos: 19, End: 22}}},
	} {
		tag, errs := Parse(c.raw, OnField)
		if len(errs) > 0 {
			t.Errorf("%s: %v", c.raw, errs)
			continue
		}
		if d := cmp.Diff(c.want, tag.Options[0].Template.Parts); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.raw, d)
		}
	}
}

// dynamodbav is read as attributevalue reads it.
func TestDynamodbav(t *testing.T) {
	tag, errs := Parse(`dynamodbav:"email,omitempty,string"`, OnField)
	want := AV{Present: true, Name: "email", Options: []string{"omitempty", "string"}, Pos: 12, End: 34}
	if d := cmp.Diff(want, tag.AV); d != "" || len(errs) > 0 {
		t.Errorf("%v %s", errs, d)
	}
	if tag, _ := Parse(`dynamodbav:"-"`, OnField); !tag.AV.Ignore {
		t.Errorf("%+v", tag.AV)
	}
}

// Each fault has its position, a message and a remedy; all faults of a tag are reported.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		raw   string
		where Where
		at    string // the text that the fault points at
		want  string
	}{
		{`ddb:"skey=X"`, OnField, `skey=X`, `unknown option "skey": write sk=TEMPLATE`},
		{`ddb:"Root"`, OnField, `Root`, `unknown option "Root": write root`},
		{
			`ddb:"omitempty"`, OnField, `omitempty`,
			`unknown option "omitempty": write it in the dynamodbav tag: dynamodbav:",omitempty"`,
		},
		{`ddb:"sk"`, OnField, `sk`, `the option sk needs a value: write sk=TEMPLATE`},
		{`ddb:"sk="`, OnField, `sk=`, `the option sk has an empty value: write sk=TEMPLATE`},
		{`ddb:"root=x"`, OnField, `root=x`, `the option root takes no value: write root`},
		{`ddb:"ttl=gone"`, OnField, `ttl=gone`, `the option ttl takes no value: write ttl`},
		{`ddb:"ttl"`, OnBlank, `ttl`, `the option ttl needs a value: write ttl=ATTR`},
		{`ddb:"hash=PK"`, OnField, `hash=PK`, `the option hash is for a blank field (_ struct{}): move it there`},
		{`ddb:"nested"`, OnBlank, `nested`, `the option nested is for a field that is stored: move it there`},
		{`ddb:"sk=A,,root"`, OnField, ``, `empty option: remove the extra comma`},
		{`ddb:""`, OnField, ``, `empty ddb tag: remove it, or write ddb:"-" for a field that is not stored`},
		{`ddb:"-,sk=A"`, OnField, `-`, `- does not go with other options: write ddb:"-" alone, or remove it`},
		{`ddb:"-"`, OnBlank, `-`, `- has no effect on a blank field: remove the tag`},
		{
			`ddb:"sk='A"`, OnField, `sk='A`,
			`the quoted value in "sk='A" has no end: close it with a single quote (a quote inside is doubled)`,
		},
		{
			`ddb:"sk='A'x"`, OnField, `'x`,
			`text after the quoted value in "'A'x": end the option there, or double the quote`,
		},
		{`ddb:"sk={"`, OnField, `{`, `a { without a } in the template "{": close it, or write {{ for a literal brace`},
		{`ddb:"sk=}"`, OnField, `}`, `a } without a { in the template "}": write }} for a literal brace`},
		{
			`ddb:"sk=X#{id}"`, OnField, `{id}`,
			`"{id}" is not a placeholder: write the name of an exported field, {key}, {.} or {shard}`,
		},
		{
			`ddb:"sk=X#{}"`, OnField, `{}`,
			`"{}" is not a placeholder: write the name of an exported field, {key}, {.} or {shard}`,
		},
		{`ddb:"sk=X#{^key}"`, OnField, `{^key}`, `^ is for a field's name only, not for "{^key}": write {key}`},
		{`ddb:"sk=X#{T:day}"`, OnField, `{T:day}`, `unknown format in "{T:day}": the formats are millis, seconds, ` +
			`unix, date, month, week, year, raw, sortable, and a width of 1 to 20 digits such as 06`},
		{`ddb:"sk=X#{T:dates}"`, OnField, `{T:dates}`, `unknown format in "{T:dates}": write date`},
		{`ddb:"sk=X#{N:6}"`, OnField, `{N:6}`, `unknown format in "{N:6}": write the width with a leading zero: 06`},
		{`ddb:"sk=X#{N:021}"`, OnField, `{N:021}`, `unknown format in "{N:021}": the formats are millis, seconds, ` +
			`unix, date, month, week, year, raw, sortable, and a width of 1 to 20 digits such as 06`},
		{`ddb:"delim=ab"`, OnBlank, `delim=ab`, `"ab" cannot be the delimiter: write one ASCII character that is not a letter, digit, space, %, {, }, ~ or quote, such as delim=/`},
		{`ddb:"delim=%"`, OnBlank, `delim=%`, `"%" cannot be the delimiter: write one ASCII character that is not a letter, digit, space, %, {, }, ~ or quote, such as delim=/`},
		{
			`ddb:"shards=0"`, OnBlank, `shards=0`,
			`shards=0 is not a count: write a whole number from 1, or several in quotes: shards='400,200'`,
		},
		{
			`ddb:"shards=4,8"`, OnBlank, `8`,
			`unknown option "8": write several values of one option in quotes, such as shards='400,200'`,
		},
		{
			`ddb:"shards='200,x'"`, OnBlank, `shards='200,x'`,
			`shards=200,x is not a count: write a whole number from 1, or several in quotes: shards='400,200'`,
		},
		{`ddb:"shards='200,200'"`, OnBlank, `shards='200,200'`, `shards=200,200 has 200 twice: write it once`},
		{
			`ddb:"inline=8MB"`, OnField, `inline=8MB`,
			`inline=8MB is not a size: write bytes or KB (of 1,024 bytes): inline=512, inline=8KB`,
		},
		{
			`ddb:"compress=brotli"`, OnField, `compress=brotli`,
			`unknown codec "brotli": write one of gzip, zlib, snappy, zstd, lz4, lzo`,
		},
		{
			`ddb:"sk=A#{N},one=1x"`, OnField, `one=1x`,
			`"1x" cannot be a method's name: write an exported Go identifier, such as one=Wish`,
		},
		{
			`ddb:"name=wishes"`, OnField, `name=wishes`,
			`"wishes" cannot be a method's name: write an exported Go identifier, such as name=Wish`,
		},
		{
			`dynamodbav:"a,sk=X"`, OnField, `a,sk=X`,
			`unknown dynamodbav option "sk=X", which attributevalue would ignore: write it in the ddb tag`,
		},
		{`ddb:"sk=A`, OnField, `"sk=A`, `malformed value of the key ddb: close the value with a double quote`},
		{"ddb:\"sk=\\xff\"", OnField, `sk=\xff`, `the value of the option sk is not valid UTF-8: use valid UTF-8`},
	} {
		_, errs := Parse(c.raw, c.where)
		if len(errs) != 1 {
			t.Errorf("%s: %v", c.raw, errs)
			continue
		}
		if e := errs[0]; e.Error() != c.want || c.raw[e.Pos:e.End] != c.at {
			t.Errorf("%s: at %q: %s\nwant at %q: %s", c.raw, c.raw[e.Pos:e.End], e, c.at, c.want)
		}
	}
	if _, errs := Parse(`ddb:"skey=X,sk,name=x"`, OnField); len(errs) != 3 {
		t.Errorf("%d faults of 3: %v", len(errs), errs)
	}
}

// FuzzParse: no tag makes the parser panic, every fault is in the tag, and what
// has no fault can be put together again from its parts.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`ddb:"pk=USER#{ID}" dynamodbav:"id,omitempty"`, `ddb:"sk='A,B#{X}'"`, `ddb:"table=users,hash=PK,range=SK"`,
		`ddb:"-"`,
		`json:"x" ddb:"sk={{a}}#{^N:06}#{key}#{.:raw},ttl,all"`, "ddb:\"sk=\\u00e9\\x00\"",
		`ddb:"compress=zstd,chunk,inline=8KB"`, `ddb:"sk='it''s'"`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for _, where := range []Where{OnBlank, OnField} {
			tag, errs := Parse(raw, where)
			for _, e := range errs {
				if e.Pos < 0 || e.End < e.Pos || e.End > len(raw) || e.Msg == "" {
					t.Fatalf("%q: fault at %d to %d: %v", raw, e.Pos, e.End, e)
				}
			}
			for _, o := range tag.Options {
				if o.Pos < 0 || o.ValuePos < o.Pos || o.End < o.ValuePos || o.End > len(raw) {
					t.Fatalf("%q: option %+v", raw, o)
				}
				if o.Template == nil || len(errs) > 0 {
					continue
				}
				valid := ""
				for _, p := range o.Template.Parts {
					valid += p.String()
				}
				if valid != o.Value {
					t.Fatalf("%q: the template %q is put together as %q", raw, o.Value, valid)
				}
			}
		}
	})
}
