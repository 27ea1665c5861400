package grammar

import (
	"slices"
	"strconv"
	"strings"

	"github.com/itemize/itemize/internal/model/naming"
)

// Where says which fields an option may be on.
type Where uint8

const (
	// OnBlank is a field named _.
	OnBlank Where = 1 << iota
	// OnField is any other field.
	OnField
)

// takes is the form of the text after an option's word.
type takes uint8

const (
	nothing takes = iota
	text
	template
	number
	counts
	size
	char
	codec
	maybeText // a word on fields, word=value on blank fields
	optional  // a word, or word=value
)

// word is one word of the grammar.
type word struct {
	name  string
	where Where
	takes takes
	usage string // how it is written, for messages
}

var words = []word{
	{"pk", OnBlank | OnField, template, "pk=TEMPLATE"},
	{"sk", OnBlank | OnField, template, "sk=TEMPLATE"},
	{"table", OnBlank | OnField, text, "table=NAME"},
	{"hash", OnBlank, text, "hash=ATTR"},
	{"range", OnBlank, text, "range=ATTR"},
	{"index", OnBlank, text, "index=NAME"},
	{"on", OnBlank, text, "on=ITEM"},
	{"local", OnBlank, nothing, "local"},
	{"project", OnBlank, text, "project=all"},
	{"root", OnBlank | OnField, nothing, "root"},
	{"stored", OnField, nothing, "stored"},
	{"was", OnField, text, "was=oldName"},
	{"nested", OnField, nothing, "nested"},
	{"name", OnBlank | OnField, text, "name=Word"},
	{"one", OnField, text, "one=Word"},
	{"prefix", OnBlank, text, "prefix=SEGMENT"},
	{"version", OnBlank, text, "version=ATTR"},
	{"noversion", OnBlank, nothing, "noversion"},
	{"state", OnBlank, text, "state=ATTR"},
	{"incarnation", OnBlank, text, "incarnation=ATTR"},
	{"migration", OnBlank, text, "migration=ATTR"},
	{"ttl", OnBlank | OnField, maybeText, "ttl"},
	{"all", OnField, nothing, "all"},
	{"delim", OnBlank, char, "delim=C"},
	{"compress", OnField, codec, "compress=zstd"},
	{"chunk", OnField, nothing, "chunk"},
	{"s3", OnField, text, "s3=BUCKET"},
	{"preview", OnField, number, "preview=N"},
	{"inline", OnField, size, "inline=8KB"},
	{"shards", OnBlank, counts, "shards=N"},
	{"shardby", OnBlank, text, "shardby=FIELD"},
	{"unique", OnField, optional, "unique"},
	{"as", OnField, text, "as='Model#attribute'"},
	{"guards", OnField, text, "guards=TABLE"},
}

// Codecs are the values that compress= takes.
var Codecs = []string{"gzip", "zlib", "snappy", "zstd", "lz4", "lzo"}

func lookup(name string) (word, bool) {
	i := slices.IndexFunc(words, func(w word) bool { return w.name == name })
	if i < 0 {
		return word{}, false
	}
	return words[i], true
}

// synonyms are words that people bring along from other libraries.
var synonyms = map[string]string{
	"skey": "sk", "sort": "sk", "sortkey": "sk", "rangekey": "sk",
	"pkey": "pk", "partition": "pk", "partitionkey": "pk", "hashkey": "pk",
	"tablename": "table", "gsi": "index", "lsi": "index", "idx": "index", "expires": "ttl",
	"singular": "one", "formerly": "was", "renamed": "was", "alias": "was",
	"optimistic": "version", "sep": "delim", "delimiter": "delim", "bucket": "s3",
	"uniq": "unique", "distinct": "unique",
}

// avWords are the options of attributevalue, which belong into dynamodbav.
var avWords = []string{
	"omitempty", "omitemptyelem", "nullempty", "nullemptyelem", "string",
	"binaryset", "numberset", "stringset", "unixtime",
}

// cure says what to write in place of an unknown option.
func (p *parser) cure(name string) string {
	low := strings.ToLower(name)
	if c := p.cureInIndex(name, low); c != "" {
		return c
	}
	if _, err := strconv.Atoi(name); err == nil {
		return "write several values of one option in quotes, such as shards='400,200'"
	}
	if slices.Contains(avWords, low) {
		return "write it in the dynamodbav tag: dynamodbav:\"," + low + "\""
	}
	if s, ok := synonyms[low]; ok {
		w, _ := lookup(s)
		return "write " + w.usage
	}
	if s := naming.Nearest(low, wordNames()); s != "" {
		w, _ := lookup(s)
		return "write " + w.usage
	}
	return "the options are " + strings.Join(wordNames(), ", ") + " and -"
}

// cureInIndex is cure for words of lists, and for those that mean something about indexes, "" for others.
func (p *parser) cureInIndex(name, low string) string {
	switch {
	case strings.HasPrefix(name, "{"):
		return "write a value with a comma in single quotes; the key attributes of an index have " + KeySeparator +
			" between them"
	case p.tag.Has("project") && low != name:
		return "put the list in single quotes: project='A,B'"
	case p.tag.Has("unique") && low != name:
		return "put the fields in single quotes: unique='A,B'"
	case low == "global":
		return "remove it: an index is global unless it has local"
	case p.index && (low == "lsi" || low == "localindex"):
		return "write local"
	case !p.index && (low == "sort" || low == "sortkey" || low == "rangekey") && p.tag.Has("hash"):
		return "write range=ATTR"
	case p.index && (low == "sort" || low == "sortkey" || low == "rangekey"):
		return "write range=ATTR for the attribute's name, and sk=TEMPLATE for its value"
	case p.index && (low == "projection" || low == "include"):
		return "write project=all, project=keys, or project='A,B'"
	}
	return ""
}

func wordNames() []string {
	names := make([]string, len(words))
	for i, w := range words {
		names[i] = w.name
	}
	return names
}
