// Package tags documents the struct tags of models, and checks them: for editors and linters. Programs
// that use itemize do not need it.
//
// # Grammar
//
// A struct tag is a list of key:"value" pairs, separated by spaces. Two keys matter here: ddb says
// where a field lies, dynamodbav how it is encoded. The whole raw tag is read: a malformed pair or a
// repeated key is an error, because reflect would lose it without a word.
//
//	tag      = "-" | option { "," option }
//	option   = word | word "=" value
//	value    = text without a comma | "'" text with "''" for a quote "'"
//
// An option is split at its first "=". Spaces around options are refused.
//
//	pk=TEMPLATE        the partition key
//	sk=TEMPLATE        the item that the field lies on
//	table=NAME         on a blank field: a table of the model, events_{At:month} for one of each
//	                   month; on a field: the satellite it lies in
//	hash=ATTR          a table's or index's partition key attribute
//	range=ATTR         a table's or index's sort key attribute; "-" for none
//	index=NAME         a secondary index
//	on=ITEM            the item that carries an index's keys
//	local              the index is a local one
//	project=LIST       what an index projects: keys, all, or attribute names
//	root               the item that means that the entity exists
//	stored             stored as an attribute although a key gives it
//	was=NAMES          names that the attribute had before, the latest first: was=a, was='b,a'
//	nested             a struct as one map attribute
//	name=WORD          a generated method's name; a further table's name
//	one=WORD           the generated method that selects one element by its whole key
//	prefix=SEGMENT     the key segment that name= renames
//	version=ATTR       the attribute of each item's version
//	noversion          items have no version
//	ttl=ATTR           on a blank field: the table's TTL attribute
//	ttl                on a time field: its item's expiry
//	all                beside ttl: the expiry of every item
//	delim=C            the delimiter of key segments
//	compress=CODEC     gzip, zlib, or by an option of package compress snappy, zstd, lz4, lzo
//	chunk              in parts, in items of their own
//	s3=BUCKET          as an object
//	preview=N          the first N bytes stay in the item
//	inline=SIZE        values below SIZE stay in the item
//	shards=N           the partition key is spread over N shards; shards='M,N' writes M, and
//	                   knows what was written when there were N
//	shardby=FIELD      the field a shard is computed from, or random
//	-                  not stored
//
// Blank fields (named _) take the options of tables, indexes and the model; other fields those of items
// and values.
//
// A key template is literal text and placeholders:
//
//	template    = { literal | placeholder }
//	literal     = text, with "{{" for "{" and "}}" for "}"
//	placeholder = "{" ["^"] (field | "key" | "." | "shard") [":" format] "}"
//	format      = "millis" | "seconds" | "unix" | "date" | "month" | "week" | "year"
//	            | "raw" | "sortable" | "0" width
//
// "^" names a field of the model that the element is of, "key" a map's key, "." a scalar element
// itself, and "shard" the number of a shard. What a format may be applied to is the business of the
// model, not of the grammar.
//
// A fault has its place in the raw tag, in bytes. All faults of a tag are reported, not the first
// alone.
package tags
