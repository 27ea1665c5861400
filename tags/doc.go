// Package tags documents and checks the struct tags of models, for editors and linters. Programs that
// use itemize do not need it.
//
// # Grammar
//
// A struct tag is a list of key:"value" pairs, separated by spaces. Two keys matter: ddb says where a
// field is stored, and dynamodbav how it is encoded. A malformed pair or a repeated key is an error,
// because reflect would ignore it silently.
//
//	tag      = "-" | option { "," option }
//	option   = word | word "=" value
//	value    = text without a comma | "'" text with "''" for a quote "'"
//
// An option is split at its first "=". Spaces around options are errors.
//
//	pk=TEMPLATE        the partition key
//	sk=TEMPLATE        the sort key of the item that stores the field
//	table=NAME         on a blank field: a table of the model, or events_{At:month} for one table
//	                   for each month; on a field: the secondary table that stores it
//	hash=ATTR          the partition key attribute of a table or index
//	range=ATTR         the sort key attribute of a table or index; "-" for none
//	index=NAME         a secondary index
//	on=ITEM            the item that has the keys of an index
//	local              the index is a local index
//	project=LIST       the projection of an index: keys, all, or attribute names
//	root               the root item: it means that the entity exists
//	stored             store the field as an attribute too, although a key has it
//	was=NAMES          earlier names of the attribute, the latest first: was=a, was='b,a'
//	unique             no two entities have the value; unique='A,B' together, unique=fold without case
//	as=MODEL#VALUE     the name of a unique value in the keys of its guards
//	guards=TABLE       the table of the guards, if it is not that of the root item
//	nested             store a struct as one map attribute
//	name=WORD          the name of a generated method, of a field's placeholders, or of a further table
//	one=WORD           the generated method that selects one element by its whole key
//	prefix=SEGMENT     the key segment that name= renames
//	version=ATTR       the attribute of each item's version, default _v
//	noversion          items have no version
//	state=ATTR         the attribute of an unfinished insert or delete, default _s
//	incarnation=ATTR   the attribute of an item's incarnation, default _a
//	migration=ATTR     the attribute of a migration's record, default _m
//	ttl=ATTR           on a blank field: the TTL attribute of the table
//	ttl                on a time field: the expiry of its item
//	all                together with ttl: the expiry of every item
//	delim=C            the delimiter of key segments
//	compress=CODEC     gzip, zlib; with package compress snappy, zstd, lz4, lzo
//	chunk              store in parts, in items of their own
//	s3=BUCKET          store as an object in S3
//	preview=N          the first N bytes stay in the item
//	inline=SIZE        values below SIZE stay in the item
//	shards=N           spread the partition key over N shards; shards='M,N' writes M shards, and
//	                   also reads entities from the time of N shards
//	shardby=FIELD      the field that determines the shard, or random
//	-                  do not store the field
//
// Blank fields (named _) have the options of tables, indexes and the model. Other fields have those of
// items and values.
//
// A key template is literal text and placeholders:
//
//	template    = { literal | placeholder }
//	literal     = text, with "{{" for "{" and "}}" for "}"
//	placeholder = "{" ["^"] (field | "key" | "." | "shard") [":" format] "}"
//	format      = "millis" | "seconds" | "unix" | "date" | "month" | "week" | "year"
//	            | "raw" | "sortable" | "0" width
//
// "^" names a field of the model, in the template of an element. "key" is the key of a map, "." a
// scalar element itself, and "shard" the number of a shard. The model determines which formats a field
// allows.
//
// A fault has a position in the raw tag, in bytes. All faults of a tag are reported.
package tags
