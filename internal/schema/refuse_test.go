package schema

import (
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type (
	wish struct {
		AddedAt time.Time
		SKU     string
		Rank    int
	}
	address  struct{ Street, City string }
	halfText struct{ _ string }
	dropped  struct{ Callback func() }
	withTags struct {
		A string `ddb:"sk=X"`
	}
	innerTags struct {
		A string `ddb:"stored"`
	}
	innerLarge struct {
		A string `ddb:"compress=zstd"`
	}
	onlyPrivate struct{ _ int }
	left        struct{ Same string }
	right       struct{ Same string }
	loop        struct {
		ID   string `ddb:"pk={ID}"`
		Next *loop  `ddb:"sk=A"`
	}
	box[T any] struct {
		ID string `ddb:"pk={ID}"`
		V  T      `ddb:"sk=V"`
	}
	stringer interface{ String() string }
	named    uint8
	point    struct{ _ int }
)

func (*point) MarshalDynamoDBAttributeValue() (any, error) { return nil, nil }

func (halfText) MarshalText() ([]byte, error) { return nil, nil }

type table = struct{}

// tagged makes a model whose fields A, B, C... have tags that go vet would not pass.
func tagged(tags ...reflect.StructTag) reflect.Type {
	fields := []reflect.StructField{
		{Name: "_", PkgPath: "schema", Type: reflect.TypeFor[struct{}](), Tag: `ddb:"table=models"`},
		{Name: "ID", Type: reflect.TypeFor[string](), Tag: `ddb:"pk={ID}"`},
	}
	for i, tag := range tags {
		fields = append(fields,
			reflect.StructField{Name: string(rune('A' + i)), Type: reflect.TypeFor[string](), Tag: tag})
	}
	return reflect.StructOf(fields)
}

// Every text of the faults of tags, each with its cure, and each
// model's faults all at once.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name  string
		model reflect.Type
		want  []string
	}{
		{"unknown options and near misses", reflect.TypeFor[struct {
			_  table  `ddb:"table=models"`
			ID string `ddb:"pk={ID}"`
			A  string `ddb:"skey=X"`
			B  string `ddb:"sk=X,omitEmpty"`
			C  string `ddb:"sk=X" dynamodbav:"c,omitEmpty"`
			D  string `ddb:"sk=X,verion=v"`
			E  string `ddb:"frobnicate"`
		}](), []string{
			`struct.A: unknown option "skey": write sk=TEMPLATE`,
			`struct.B: unknown option "omitEmpty": write it in the dynamodbav tag: dynamodbav:",omitempty"`,
			`struct.C: unknown dynamodbav option "omitEmpty", which attributevalue would ignore: write omitempty`,
			`struct.D: unknown option "verion": write version=ATTR`,
			`struct.E: unknown option "frobnicate": the options are pk, sk, table, hash, range, index, on, local, ` +
				`project, root, stored, was, nested, name, one, prefix, version, noversion, ttl, all, delim, ` +
				`compress, chunk, s3, preview, inline, shards, shardby and -`,
		}},
		{"an option twice, a malformed tag, a repeated key", tagged(
			`ddb:"sk=X,sk=Y"`, `ddb:"sk=X" ddb:"sk=Y"`, `ddb:sk=X`, `ddb:"sk=X"dynamodbav:"d"`, `ddb:"sk=X, root"`,
		), []string{
			`struct.A: the option sk stands twice: keep one of them`,
			`struct.B: the key ddb stands twice in the struct tag: keep one of them`,
			`struct.C: malformed struct tag at "ddb:sk=X": write key:"value" pairs with one space between them`,
			`struct.D: malformed struct tag after the key ddb: put a space between the keys`,
			`struct.E: spaces around the option " root": remove them`,
		}},
		{"a field without a place", reflect.TypeFor[struct {
			_  table  `ddb:"table=models"`
			ID string `ddb:"pk={ID}"`
			A  string `ddb:"sk=X"`
			B  string
		}](), []string{
			`struct.B: the field has no place: give it a place (ddb:"sk=TEMPLATE"), or leave it out (ddb:"-")`,
		}},
		{"templates that can meet", reflect.TypeFor[struct {
			_  table    `ddb:"table=models"`
			ID string   `ddb:"pk={ID}"`
			H  address  `ddb:"sk=U#Home"`
			U  []wish   `ddb:"sk=U#{SKU}"`
			V  []string `ddb:"sk=U#{.}"`
		}](), []string{
			`struct.U: the keys of H (U#Home) and U (U#{SKU}) can be equal: both give "U#Home" with {SKU} = "Home": ` +
				`begin one of them with a segment of its own`,
			`struct.V: the keys of H (U#Home) and V (U#{.}) can be equal: both give "U#Home" with {.} = "Home": ` +
				`begin one of them with a segment of its own`,
			`struct.V: the keys of U (U#{SKU}) and V (U#{.}) can be equal: both give "U#A" with {SKU} = "A", {.} = ` +
				`"A": begin one of them with a segment of its own`,
		}},
		{"adjoining placeholders of variable width", reflect.TypeFor[struct {
			_  table                   `ddb:"table=models"`
			ID string                  `ddb:"pk={ID}"`
			H  string                  `ddb:"sk=HEAD"`
			W  []struct{ A, B string } `ddb:"sk=W#{A}{B}"`
			X  []struct{ A, B string } `ddb:"sk=X#{A}-{B}"`
		}](), []string{
			`struct.W: two placeholders of variable width adjoin in "W#{A}{B}", so that two pairs of values could ` +
				`make one key: put the delimiter # between them`,
			`struct.X: two placeholders of variable width adjoin in "X#{A}-{B}", so that two pairs of values could ` +
				`make one key: put the delimiter # between them`,
		}},
		{"element templates", reflect.TypeFor[struct {
			_  table             `ddb:"table=models"`
			ID string            `ddb:"pk={ID}"`
			H  string            `ddb:"sk=HEAD"`
			A  []wish            `ddb:"sk=A#{^ID}"`
			B  map[string]wish   `ddb:"sk=B#{SKU}"`
			C  []wish            `ddb:"sk=C#{key}"`
			D  map[string]string `ddb:"sk=D#{.}"`
			E  []wish            `ddb:"sk=E#{Nope}"`
			F  []wish            `ddb:"sk=F#{H}"`
			G  []string          `ddb:"sk=G#{SKU}"`
			I  []wish            `ddb:"sk=I#{Rank}"`
			J  []wish            `ddb:"sk=J#{SKU:raw}#{AddedAt}"`
			K  []wish            `ddb:"sk=K#{SKU:date}"`
			L  []wish            `ddb:"sk=L#{SKU:04}"`
			M  []**wish          `ddb:"sk=M#{SKU}"`
			N  []wish            `ddb:"sk=N#{Rank:4}"`
			O  map[time.Time]int `ddb:"sk=O#{key:date}"`
		}](), []string{
			`struct.N: unknown format in "{Rank:4}": write the width with a leading zero: 04`,
			`struct.A: the template "A#{^ID}" names nothing of the element, so that all elements would be one item: ` +
				`add a placeholder such as {Field}`,
			`struct.B: the template "B#{SKU}" does not hold the map's key, which would be lost: add {key}`,
			`struct.C: {key} is only for maps: name a field of the element, or use {.}`,
			`struct.D: {.} is only for slices: use {key}`,
			`struct.E: {Nope} names no field of the element schema.wish: its fields are AddedAt, SKU, Rank`,
			`struct.F: {H} names no field of the element schema.wish: write {^H} for the field of struct`,
			`struct.G: {SKU} names a field, but string has none: use {key} of a map or {.} of a slice of scalars`,
			`struct.I: the number {Rank} needs a width to sort: write {Rank:010}, or :sortable for any sign`,
			`struct.J: {SKU:raw} holds delimiters as they are, and so can only be the last placeholder: move it to ` +
				`the end, or drop :raw`,
			`struct.K: the format of {SKU:date} is only for times, and string is none: remove it`,
			`struct.L: the format of {SKU:04} is only for integers, and string is none: remove it`,
			`struct.M: elements that are pointers to pointers cannot be items: use *schema.wish`,
			`struct.O: the template "O#{key:date}" does not give the map's key back in full: use {key}`,
		}},
		{"types in keys", reflect.TypeFor[struct {
			_ table `ddb:"table=models,pk={A}#{B}#{C}#{D}#{E}#{F}#{G}#{I}"`
			A float64
			B bool
			C []string
			D map[string]int
			E *string
			F int
			G []byte
			I halfText
			H string `ddb:"sk=HEAD"`
		}](), []string{
			`struct._: {A} cannot be in a key, being a float64: floats do not compare exactly; use an integer, or ` +
				`attributevalue.Number as a bare key`,
			`struct._: {B} cannot be in a key, being a bool: use a string or an integer`,
			`struct._: {C} cannot be in a key, being a []string: use a string, an integer, a time.Time, or a type ` +
				`with MarshalText and UnmarshalText`,
			`struct._: {D} cannot be in a key, being a map[string]int: use a string, an integer, a time.Time, or a ` +
				`type with MarshalText and UnmarshalText`,
			`struct._: {E} cannot be in a key, being a *string: a pointer can be nil, and a key always has a value; ` +
				`use string`,
			`struct._: the number {F} needs a width to sort: write {F:010}, or :sortable for any sign`,
			`struct._: the bytes {G} cannot be part of a key's text: use it as a bare key, or give it MarshalText`,
			`struct._: schema.halfText has one of MarshalText and UnmarshalText, and a key needs both: add the ` +
				`other method`,
		}},
		{"a string beside a number in one key attribute", reflect.TypeFor[struct {
			_  table  `ddb:"table=models"`
			ID string `ddb:"pk={ID}"`
			N  int    `ddb:"sk={N}"`
			S  string `ddb:"sk=HEAD"`
		}](), []string{
			`struct.S: the sort key "HEAD" is of type S, and "{N}" of type N; the key attribute SK has one type: ` +
				`give one of them a text form (a width, or a literal)`,
		}},
		{"attributes that collide", reflect.TypeFor[struct {
			_  table   `ddb:"table=models,ttl=gone"`
			ID string  `ddb:"pk={ID}"`
			A  string  `ddb:"sk=X" dynamodbav:"b"`
			B  string  `ddb:"sk=X" dynamodbav:"b"`
			C  string  `ddb:"sk=X" dynamodbav:"PK"`
			D  string  `ddb:"sk=X" dynamodbav:"_v"`
			E  string  `ddb:"sk=X" dynamodbav:"_a"`
			F  string  `ddb:"sk=X" dynamodbav:"gone"`
			G  address `ddb:"sk=X"`
			H  string  `ddb:"sk=X" dynamodbav:"City"`
		}](), []string{
			`struct.B: the attribute "b" of B is also that of A of the item "X": rename it: dynamodbav:"other"`,
			`struct.C: the attribute "PK" of C is also the partition key of the item "X": rename it: ` +
				`dynamodbav:"other"`,
			`struct.D: the attribute "_v" of D is also the item's version of the item "X": rename it: ` +
				`dynamodbav:"other"`,
			`struct.E: the attribute "_a" of E is also the library's own of the item "X": rename it: ` +
				`dynamodbav:"other"`,
			`struct.F: the attribute "gone" of F is the table's TTL attribute, and DynamoDB would delete items by ` +
				`it: rename one of them, or mark a time field ttl and dynamodbav unixtime`,
			`struct.H: the attribute "City" of H is also that of G.City of the item "X": rename it: dynamodbav:"other"`,
		}},
		{"partition keys", reflect.TypeFor[struct {
			_ table  `ddb:"table=models"`
			A string `ddb:"pk={A}"`
			B string `ddb:"pk={B}"`
			C string `ddb:"sk=HEAD"`
		}](), []string{
			`struct.B: a second partition key; A has one already: keep one of them`,
		}},
		{"no partition key", reflect.TypeFor[struct {
			_ table  `ddb:"table=models"`
			C string `ddb:"sk=HEAD"`
		}](), []string{
			`struct: the model has no partition key: add pk=TEMPLATE to the field that identifies an entity`,
		}},
		{"a template that is not about its field", reflect.TypeFor[struct {
			_ table  `ddb:"table=models"`
			A string `ddb:"pk=A#{C}"`
			C string `ddb:"sk=HEAD"`
		}](), []string{
			`struct.A: the template of pk= does not name its field A: name it in the template, or move pk= to a ` +
				`blank field`,
		}},
		{"no singleton", reflect.TypeFor[struct {
			_ table    `ddb:"table=models"`
			A string   `ddb:"pk={A}"`
			C []string `ddb:"sk=C#{.}"`
		}](), []string{
			"struct: the model has no singleton in its main table that could say that an entity exists: give a field " +
				"a fixed sort key, or add _ struct{} `ddb:\"sk=HEAD,root\"`",
		}},
		{"roots", reflect.TypeFor[struct {
			_ table    `ddb:"table=models"`
			I string   `ddb:"pk={I}"`
			A string   `ddb:"sk=A,root"`
			B string   `ddb:"sk=B,root"`
			C []string `ddb:"sk=C#{.},root"`
		}](), []string{
			`struct.C: the root is a singleton: put it on a field of a fixed sort key`,
			`struct.B: a second root; the first is "A": keep one of them`,
			`struct.C: a second root; the first is "A": keep one of them`,
		}},
		{"expiries", reflect.TypeFor[struct {
			_ table     `ddb:"table=models"`
			I string    `ddb:"pk={I}"`
			A string    `ddb:"sk=A,ttl"`
			B time.Time `ddb:"sk=B,ttl"`
			C time.Time `ddb:"sk=C,all"`
		}](), []string{
			`struct.C: all belongs to ttl: write ttl,all`,
			"struct.A: no blank field names the table's TTL attribute: add it: _ struct{} `ddb:\"ttl=ATTR\"`",
			"struct.B: no blank field names the table's TTL attribute: add it: _ struct{} `ddb:\"ttl=ATTR\"`",
		}},
		{"an expiry that is no time", reflect.TypeFor[struct {
			_ table     `ddb:"table=models,ttl=gone"`
			I string    `ddb:"pk={I}"`
			A string    `ddb:"sk=A,ttl"`
			B time.Time `ddb:"sk=B,ttl"`
			C time.Time `ddb:"sk=B,ttl"`
			D []wish    `ddb:"sk=D#{SKU},ttl"`
			E time.Time `ddb:"sk=B,ttl,all"`
		}](), []string{
			`struct.A: an expiry is a time, and string is none: use a time.Time`,
			`struct.C: a second expiry for the item "B"; the first is B: keep one of them`,
			`struct.D: an expiry is a time, and []schema.wish is none: put it on a time field of the element`,
			`struct.E: ttl,all belongs on a field of the root: put the field on the root A`,
		}},
		{"what attributevalue would drop or empty", reflect.TypeFor[struct {
			_ table               `ddb:"table=models"`
			I string              `ddb:"pk={I}"`
			A chan int            `ddb:"sk=A"`
			B func()              `ddb:"sk=A"`
			C complex128          `ddb:"sk=A"`
			D big.Rat             `ddb:"sk=D"`
			E dropped             `ddb:"sk=A"`
			F map[string]big.Rat  `ddb:"sk=A"`
			G stringer            `ddb:"sk=A"`
			H map[[2]int]string   `ddb:"sk=A"`
			J []withTags          `ddb:"sk=A"`
			K uintptr             `ddb:"sk=A"`
			L map[halfText]string `ddb:"sk=A"`
			M *any                `ddb:"sk=A"`
			N map[string]point    `ddb:"sk=A"`
			O map[string]*point   `ddb:"sk=A"`
			P []point             `ddb:"sk=A"`
			Q []named             `ddb:"sk=A"`
			R map[time.Month]int  `ddb:"sk=A"`
		}](), []string{
			`struct.A: attributevalue would drop the chan int in it without a word: tag it ddb:"-"`,
			`struct.B: attributevalue would drop the func() in it without a word: tag it ddb:"-"`,
			`struct.C: attributevalue would drop the complex128 in it without a word: tag it ddb:"-"`,
			`struct.D: the struct big.Rat has no exported fields, so that nothing of it would be stored: give it ` +
				`MarshalDynamoDBAttributeValue and its inverse, or store it in another type`,
			`schema.dropped.Callback: attributevalue would drop the func() in it without a word: tag it ddb:"-"`,
			`struct.F: big.Rat has no exported fields, so that attributevalue would store it empty: give it ` +
				`MarshalDynamoDBAttributeValue and its inverse, or store it in another type`,
			`struct.G: the interface schema.stringer can be written but not read back: use any, or a concrete type`,
			`struct.H: attributevalue has no map keys of type [2]int: use a string or a number`,
			`schema.withTags.A: a ddb tag means nothing inside the attribute J: remove it (to leave the field out, ` +
				`write dynamodbav:"-")`,
			`struct.K: attributevalue would drop the uintptr in it without a word: tag it ddb:"-"`,
			`struct.L: the map key schema.halfText has one of MarshalText and UnmarshalText: give it both, on the ` +
				`value and on its pointer`,
			`struct.M: attributevalue would drop the pointer to an interface *interface {} without a word: use ` +
				`interface {}`,
			`struct.N: schema.point encodes itself by a method on its pointer, which attributevalue does not call ` +
				`for the values of a map: put the method on the value, or use *schema.point`,
			`struct.Q: attributevalue panics on []schema.named, whose elements are named bytes: use []byte`,
			`struct.R: attributevalue writes the map key time.Month by its String method, which it cannot read back: ` +
				`give it MarshalText and UnmarshalText, or use another type`,
		}},
		{"dynamodbav where it means nothing", reflect.TypeFor[struct {
			_ table   `ddb:"table=models"`
			I string  `ddb:"pk={I}" dynamodbav:"-"`
			A address `ddb:"sk=A" dynamodbav:"home,omitempty"`
			B address `ddb:"sk=B" dynamodbav:",omitempty"`
			C string  `ddb:"sk=C" dynamodbav:"-"`
			D string  `ddb:"sk=D" dynamodbav:",omitempty,nullempty"`
			E string  `ddb:"-" dynamodbav:"-"`
		}](), []string{
			`struct.D: dynamodbav omitempty and nullempty exclude each other: keep one of them`,
			`struct.A: dynamodbav's options mean nothing on a struct whose fields are spread over its item: remove ` +
				`them, or add ddb option nested to store the struct as one map`,
			`struct.B: dynamodbav's options mean nothing on a struct whose fields are spread over its item: remove ` +
				`them, or add ddb option nested to store the struct as one map`,
			`struct.C: the field has a place, but dynamodbav:"-" would not store it: write ddb:"-" as well, or drop ` +
				`dynamodbav:"-"`,
		}},
		{"options inside a spread struct", reflect.TypeFor[struct {
			_ table      `ddb:"table=models"`
			I string     `ddb:"pk={I}"`
			A withTags   `ddb:"sk=A"`
			B innerTags  `ddb:"sk=B"`
			C innerLarge `ddb:"sk=C"`
		}](), []string{
			`schema.withTags.A: the option sk means nothing inside schema.withTags, whose fields are spread over an ` +
				`item: move it to the field of the model`,
			`schema.innerTags.A: stored is for fields that a key names; this one is stored anyhow: remove it`,
		}},
		{"large values that are none", reflect.TypeFor[struct {
			_ table             `ddb:"table=models"`
			_ struct{}          `ddb:"index=byTitle,hash=Title,pk={L},on=L"`
			I string            `ddb:"pk={I},compress=zstd"`
			A int               `ddb:"sk=A,compress=zstd"`
			B string            `ddb:"sk=A,chunk,s3=bucket"`
			C string            `ddb:"sk=A,preview=10"`
			D string            `ddb:"sk=A,inline=8KB,compress=gzip"`
			E map[string]string `ddb:"sk=A,chunk,preview=10"`
			F []string          `ddb:"sk=F#{.},compress=lz4"`
			G innerLarge        `ddb:"sk=G,compress=lz4"`
			H string            `ddb:"sk=A,chunk,preview=409600"`
			J []byte            `ddb:"sk=A,s3=bucket,inline=400KB"`
			L string            `ddb:"sk=L,compress=snappy" dynamodbav:"Title"`
		}](), []string{
			`struct.A: compress is for text, bytes, lists, maps and structs, and a int takes a few bytes: remove it`,
			`struct.B: chunk and s3 are two ways to store one value: keep one of them`,
			`struct.C: preview= is for values that lie outside their item: add chunk or s3`,
			`struct.D: inline= is for values that may lie outside their item: add chunk or s3`,
			`struct.E: preview= is the beginning of text or bytes, and not of map[string]string: put it on text ` +
				`or bytes`,
			`struct.H: preview= is what lies in the item, which holds 409600 bytes at most: give a number below 409600`,
			`struct.J: inline= is what lies in the item, which holds 409600 bytes at most: give a number below 409600`,
			`struct.L: compress would hide the value from the index byTitle, which has it as its key: remove it, or ` +
				`give the index another key`,
			`struct.I: compress is for large values, and keys hold this one: remove it`,
			`struct.F: compress is for a field that is stored in one attribute, and F is not: put it on the fields ` +
				`that are`,
			`struct.G: compress is for a field that is stored in one attribute, and G is not: put it on the fields ` +
				`that are`,
		}},
		{"a table of a time that there is not", reflect.TypeFor[struct {
			_ table  `ddb:"table=events_{At:month}"`
			I string `ddb:"pk={I}"`
			A string `ddb:"sk=A"`
		}](), []string{
			`struct._: {At:month} names no field of struct: write {A}`,
		}},
		{"a table of a field that is no time", reflect.TypeFor[struct {
			_ table  `ddb:"table=events_{I:month}"`
			I string `ddb:"pk={I}"`
			A string `ddb:"sk=A"`
		}](), []string{
			`struct._: {I:month} in the name of a table is no time, but a string: use a time.Time`,
		}},
		{"a table of a time that keys do not have", reflect.TypeFor[struct {
			_  table     `ddb:"table=events_{At:month}"`
			I  string    `ddb:"pk={I}"`
			At time.Time `ddb:"sk=A"`
		}](), []string{
			`struct._: {At:month} in the name of a table is no part of what an entity is known by, so that its key ` +
				`would not tell its table: name it in pk=, or in the key of the root`,
		}},
		{"a table of a finer time than keys have", reflect.TypeFor[struct {
			_  table     `ddb:"table=events_{At:date}"`
			I  string    `ddb:"pk={I}"`
			At time.Time `ddb:"sk={At:month}"`
		}](), []string{
			`struct.At: the key of At ({At:month}) does not tell the table, whose name has {At:date}: name At as ` +
				`finely there`,
		}},
		{"a table of a week that months do not tell", reflect.TypeFor[struct {
			_  table     `ddb:"table=events_{At:week}"`
			At time.Time `ddb:"pk=M#{At:month}"`
			A  string    `ddb:"sk=A"`
		}](), []string{
			`struct.A: the key of A (A) does not tell the table, whose name has {At:week}: name At as finely there`,
		}},
		{"a table of an instant", reflect.TypeFor[struct {
			_  table     `ddb:"table=events_{At}"`
			At time.Time `ddb:"pk={At}#x"`
			A  string    `ddb:"sk=A"`
		}](), []string{
			`struct._: {At} in the name of a table is no period that a table could hold: write {At:month}, or date, ` +
				`week or year`,
		}},
		{"a table of two periods", reflect.TypeFor[struct {
			_  table     `ddb:"table=events_{At:year}_{At:month}"`
			At time.Time `ddb:"pk={At}#x"`
			A  string    `ddb:"sk=A"`
		}](), []string{
			`struct._: the table name "events_{At:year}_{At:month}" has two placeholders, and a table is of one ` +
				`period: keep one`,
		}},
		{"a table of a day by another name", reflect.TypeFor[struct {
			_  table     `ddb:"table=events_{At:day}"`
			At time.Time `ddb:"pk={At}#x"`
			A  string    `ddb:"sk=A"`
		}](), []string{
			`struct._: the table name "events_{At:day}": unknown format in "{At:day}": a table may be of a ` +
				`{Field:date}, :week, :month or :year`,
		}},
		{"a table with braces alone", reflect.TypeFor[struct {
			_ table  `ddb:"table=events{{x}}"`
			I string `ddb:"pk={I}"`
			A string `ddb:"sk=A"`
		}](), []string{
			`struct._: the table name "events{{x}}" has braces, and no placeholder: write a field and a period, as ` +
				`in events_{At:month}`,
		}},
		{"a table with a sign that none has", reflect.TypeFor[struct {
			_  table     `ddb:"table=events {At:month}"`
			At time.Time `ddb:"pk={At}#x"`
			A  string    `ddb:"sk=A"`
		}](), []string{
			`struct._: the table name "events {At:month}" has ' ': DynamoDB takes letters, digits, '_', '-' and '.'`,
		}},
		{"one table that follows the time, and one that does not", reflect.TypeFor[struct {
			_  table     `ddb:"table=events_{At:month}"`
			_  table     `ddb:"table=bodies,name=Bodies"`
			At time.Time `ddb:"pk={At}#x"`
			A  string    `ddb:"sk=A"`
			B  string    `ddb:"table=bodies,sk=B"`
		}](), []string{
			`struct._: the table bodies does not follow the time, and would keep what belongs to tables that are ` +
				`dropped: write {At:month} into the names of all tables`,
		}},
		{"zero times that are to be omitted", reflect.TypeFor[struct {
			_     table      `ddb:"table=things,ttl=gone"`
			ID    string     `ddb:"pk={ID}#x"`
			At    time.Time  `ddb:"sk=A" dynamodbav:",omitempty"`
			Unix  time.Time  `ddb:"sk=A" dynamodbav:",omitempty,unixtime"`
			Ptr   *time.Time `ddb:"sk=A" dynamodbav:",omitempty"`
			Until time.Time  `ddb:"sk=A,ttl" dynamodbav:"gone,omitempty,unixtime"`
		}](), []string{
			`struct.At: attributevalue stores the zero time in spite of omitempty: use *time.Time, which is left out ` +
				`where it is nil`,
			`struct.Unix: attributevalue stores the zero time in spite of omitempty: use *time.Time, which is left ` +
				`out where it is nil`,
		}},
		{"values outside their items, in tables that follow the time", reflect.TypeFor[struct {
			_  table     `ddb:"table=events_{At:month}"`
			At time.Time `ddb:"pk={At}#x"`
			A  string    `ddb:"sk=A,chunk"`
		}](), []string{
			`struct.A: values that lie outside their items need a table that stays, and those of the model follow ` +
				`the time: store it in its item (compress=), or in a model of its own`,
		}},
		{"two tables that follow two times", reflect.TypeFor[struct {
			_  table     `ddb:"table=events_{At:month}"`
			_  table     `ddb:"table=bodies_{At:year},name=Bodies"`
			At time.Time `ddb:"pk={At}#x"`
			A  string    `ddb:"sk=A"`
			B  string    `ddb:"table=bodies_{At:year},sk=B"`
		}](), []string{
			`struct._: the tables of a model follow one time, and those of events_{At:month} follow {At:month}: ` +
				`write {At:month}`,
		}},
		{"shards without a number", reflect.TypeFor[struct {
			_ table  `ddb:"table=models"`
			D string `ddb:"pk={D}#{shard}"`
			I string `ddb:"sk={I}"`
			A string `ddb:"sk={I}"`
		}](), []string{
			`struct.D: pk= names {shard}, and nothing says how many there are: add shards=N,shardby=FIELD to the ` +
				`blank field of the table`,
		}},
		{"shards without a place", reflect.TypeFor[struct {
			_ table  `ddb:"table=models,shards=200,shardby=I"`
			D string `ddb:"pk={D}"`
			I string `ddb:"sk={I}"`
			A string `ddb:"sk={I}"`
		}](), []string{
			`struct._: the template of pk= does not name {shard}: write it into the template, as in ` +
				`EVENTS#{At:date}.{shard}`,
		}},
		{"shards without a field", reflect.TypeFor[struct {
			_ table  `ddb:"table=models,shards=200"`
			D string `ddb:"pk={D}#{shard}"`
			I string `ddb:"sk={I}"`
			A string `ddb:"sk={I}"`
		}](), []string{
			`struct._: nothing says how an entity's shard is chosen: add shardby=FIELD, or shardby=random where ` +
				`entities are only added`,
		}},
		{"shards by what no key holds", reflect.TypeFor[struct {
			_ table  `ddb:"table=models,shards=200,shardby=A"`
			D string `ddb:"pk={D}#{shard}"`
			I string `ddb:"sk={I}"`
			A string `ddb:"sk={I}"`
		}](), []string{
			`struct._: A is no field that an entity is known by, so that it could not be found by its key: write one ` +
				`of I, D, random`,
		}},
		{"shards by a field alone", reflect.TypeFor[struct {
			_ table  `ddb:"table=models,shardby=I"`
			D string `ddb:"pk={D}"`
			I string `ddb:"sk={I}"`
			A string `ddb:"sk={I}"`
		}](), []string{
			`struct._: shardby= says how shards are chosen, and the model has none: add shards=N, and {shard} to pk=`,
		}},
		{"shards of partitions with one entity", reflect.TypeFor[struct {
			_ table  `ddb:"table=models,shards=200,shardby=D"`
			D string `ddb:"pk={D}#{shard}"`
			A string `ddb:"sk=A"`
		}](), []string{
			`struct._: shards spread the many entities of a partition, and this model's partitions hold one each: ` +
				`name fields in the sort key of the root, as in sk={At}#{ID}`,
		}},
		{"a shard where there is none", reflect.TypeFor[struct {
			_ table  `ddb:"table=models,shards=200,shardby=I"`
			D string `ddb:"pk={D}#{shard:02}"`
			I string `ddb:"sk={I}"`
			A string `ddb:"sk={I}"`
			B string `ddb:"sk={I}#{shard}"`
		}](), []string{
			`struct.D: {shard:02}: the number of a shard has no format: write {shard}`,
			`struct.B: {shard} belongs into the partition key: use it in pk=`,
		}},
		{"a shard twice", reflect.TypeFor[struct {
			_ table  `ddb:"table=models,shards=200,shardby=I"`
			D string `ddb:"pk={D}#{shard}#{shard}"`
			I string `ddb:"sk={I}"`
			A string `ddb:"sk={I}"`
		}](), []string{
			`struct.D: the template of pk= names {shard} twice: name it once`,
		}},
		{"shards and a local index, and too many", reflect.TypeFor[struct {
			_ table  `ddb:"table=models,shards=20000,shardby=I"`
			_ table  `ddb:"index=byA,local,range=A,sk={A}"`
			D string `ddb:"pk={D}#{shard}"`
			I string `ddb:"sk={I}"`
			A string `ddb:"sk={I}"`
		}](), []string{
			`struct._: the local index byA would lie on every shard, and its queries be of each: declare a global ` +
				`one, with pk= of its own`,
			`struct._: 20000 shards: a query asks each of them: write 10000 at most`,
		}},
		{"big numbers where only attributevalue looks", reflect.TypeFor[struct {
			_ table   `ddb:"table=models"`
			I big.Int `ddb:"pk={I}"`
			A struct {
				N *big.Int
				V any
			} `ddb:"sk=A,nested"`
			B []*big.Float        `ddb:"sk=A" dynamodbav:",numberset"`
			D map[string]*big.Int `ddb:"sk=A"`
			E []big.Float         `ddb:"sk=A"`
		}](), []string{
			`struct.I: {I} cannot be in a key, being a big.Int: use an integer type, or attributevalue.Number as a ` +
				`bare key, which has 38 digits too`,
			`struct.A: only attributevalue knows what struct becomes, and it would store the big number in it empty: ` +
				`keep the big number apart from types that encode themselves and from interfaces, or use ` +
				`attributevalue.Number`,
			`struct.B: numberset is of numbers that attributevalue reads back, and not of *big.Float: remove it, ` +
				`which makes a list, or use []attributevalue.Number`,
		}},
		{"one key attribute", reflect.TypeFor[struct {
			_ table  `ddb:"table=models,range=PK"`
			_ table  `ddb:"table=prices,hash=K,range=K,name=Price"`
			I string `ddb:"pk={I}"`
			A string `ddb:"sk=A"`
			B string `ddb:"table=prices,sk=B"`
		}](), []string{
			`struct._: the partition key and the sort key of the table models are one attribute, "PK": name them ` +
				`differently, or write range=- for a table without a sort key`,
			`struct._: the partition key and the sort key of the table prices are one attribute, "K": name them ` +
				`differently, or write range=- for a table without a sort key`,
		}},
		{"tables", reflect.TypeFor[struct {
			_ table  `ddb:"table=models,range=-"`
			_ table  `ddb:"table=prices,range=-,name=Price"`
			_ table  `ddb:"table=prices,name=Again"`
			_ table  `ddb:"name=Lonely"`
			_ table  `ddb:"table=unused,name=Unused"`
			I string `ddb:"pk={I}"`
			A string
			B string   `ddb:"table=nowhere"`
			C string   `ddb:"table=prices,sk=X"`
			D string   `ddb:"sk=X"`
			E []string `ddb:"sk=E#{.}"`
		}](), []string{
			`struct._: the table prices is declared twice: name each table once`,
			`struct._: name= on a blank field names a further table or a segment: add table=NAME, or prefix=SEGMENT`,
			`struct.C: the table prices has no sort key: remove it, or declare the table with range=ATTR`,
			`struct.D: the table models has no sort key: remove it, or declare the table with range=ATTR`,
			`struct.E: the table models has no sort key, and so room for one item only: declare the table with ` +
				`range=ATTR`,
			"struct.B: the model has no table nowhere: declare it: _ struct{} " +
				"`ddb:\"table=nowhere,hash=ATTR,range=ATTR,name=Word\"`",
			`struct._: no field lies in the table prices: remove it, or add table=prices to a field`,
			`struct._: no field lies in the table unused: remove it, or add table=unused to a field`,
		}},
		{"the library's own names", reflect.TypeFor[struct {
			_ table  `ddb:"table=models,version=SK,ttl=_v"`
			I string `ddb:"pk=~X#{I}"`
			A string `ddb:"sk=A#~B"`
		}](), []string{
			`struct.I: the key segment "~X" begins with ~, which is the library's own: begin it with another sign`,
			`struct.A: the key segment "~B" begins with ~, which is the library's own: begin it with another sign`,
			`struct._: the attribute "SK" of version= is a key attribute of the table models: choose another name`,
			`struct._: the attribute "_v" of ttl= is the library's own: choose another name`,
		}},
		{"embedding", reflect.TypeFor[struct {
			_ table  `ddb:"table=models"`
			I string `ddb:"pk={I}"`
			left
			right
			*onlyPrivate
			A string `ddb:"sk=A"`
			b string `ddb:"sk=A"`
		}](), []string{
			`struct.onlyPrivate: an embedded pointer to an unexported struct cannot be loaded: embed the struct ` +
				`itself, or export its type`,
			`struct.b: an unexported field cannot be stored: export the field, or remove the tag`,
			`schema.right.Same: Same is also a field of schema.left at the same depth, and each hides the other: ` +
				`rename one of them, or tag one ddb:"-"`,
		}},
		{"an entity is what lies under its prefix", reflect.TypeFor[struct {
			_ table  `ddb:"table=models,pk=ORDERS"`
			N int    `ddb:"sk=ORDER#{N:06}#HEAD"`
			L []wish `ddb:"sk=ORDER#LINE#{Rank:03}"`
			M []wish `ddb:"sk=ORDER#{^N:06}x{Rank:03}"`
		}](), []string{
			`struct.L: the key of L (ORDER#LINE#{Rank:03}) does not name N, which entities of one partition are told ` +
				`apart by: add {^N}`,
			`struct.M: the key of M (ORDER#{^N:06}x{Rank:03}) goes on right behind what its entity is known by, so ` +
				`that entities would mix: put the delimiter # behind it`,
		}},
		{"former names", reflect.TypeFor[struct {
			_ table     `ddb:"table=models,ttl=gone"`
			I string    `ddb:"pk={I},was=i"`
			A string    `ddb:"sk=A,was=A"`
			B string    `ddb:"sk=A,was=C"`
			C string    `ddb:"sk=A,was='x,_v,PK,'"`
			D string    `ddb:"sk=A,was=x"`
			E time.Time `ddb:"sk=A,ttl,was=e"`
			F hooked    `ddb:"sk=F,was=f"`
			G hooked    `ddb:"sk=G,nested,was=g"`
		}](), []string{
			`struct.A: the old name "A" is the attribute's name of now: write the names that stored items have for ` +
				`this field alone`,
			`struct.B: the old name "C" is the attribute of C: write the names that stored items have for this ` +
				`field alone`,
			`struct.C: the old name "_v" is the library's own: write the names that stored items have for this ` +
				`field alone`,
			`struct.C: the old name "PK" is a key attribute of the table models: write the names that stored items ` +
				`have for this field alone`,
			`struct.C: the old name "" is empty: write the names that stored items have for this field alone`,
			`struct.D: the old name "x" is also that of C: write the names that stored items have for this field alone`,
			`struct.E: the item's expiry names the field, so that its attribute cannot be read under two names: keep ` +
				`the attribute's name, with dynamodbav:"oldName"`,
			`struct.I: was= is for a field that is stored in one attribute, and I is not: put it on the fields ` +
				`that are`,
			`struct.F: was= is for a field that is stored in one attribute, and F is not: put it on the fields ` +
				`that are`,
			`schema.hooked: its method AfterLoad would not be called after a load, or would change a copy: declare ` +
				`it func (x *hooked) AfterLoad()`,
		}},
		{"one fault, one message", reflect.TypeFor[struct {
			_  table  `ddb:"table=models"`
			Id string `ddb:"pk=X#{ID}"`
			J  string `ddb:"pk=X#{J}"`
			left
			K string   `ddb:"sk=A"`
			M []int    `ddb:"sk=A" dynamodbav:",stringset"`
			N []string `ddb:"sk=A" dynamodbav:",binaryset"`
			O string   `ddb:"sk=A" dynamodbav:",stringset"`
			P []wish   `ddb:"sk=P,nested" dynamodbav:",stringset"`
		}](), []string{
			`struct.J: a second partition key; Id has one already: keep one of them`,
			`struct.Id: {ID} names no field of struct: write {Id}`,
			`struct.left: the fields of the embedded schema.left have no place: tag the embedding ` +
				`(ddb:"sk=TEMPLATE"), or its fields one by one, or leave it out (ddb:"-")`,
			`struct.P: nested is for structs, and []schema.wish does not encode as one: remove it`,
			`struct.M: stringset makes a set of other values than []int has: write numberset`,
			`struct.N: binaryset makes a set of other values than []string has: write stringset`,
			`struct.O: stringset is for slices, and means nothing on string: remove it`,
			`struct.P: stringset makes a set, and DynamoDB has no sets of schema.wish: remove it`,
		}},
		{"types inside attributes that have no end, or embed themselves", reflect.TypeFor[struct {
			_  table     `ddb:"table=models"`
			ID string    `ddb:"pk={ID}"`
			A  endless   `ddb:"sk=A"`
			B  Embedding `ddb:"sk=B,nested"`
			C  Embedding `ddb:"sk=C"`
		}](), []string{
			`struct.A: schema.endless points to itself, so that it holds no value: use a struct with a pointer in it`,
			`schema.Embedding.Embedding: schema.Embedding embeds itself: give the field a name`,
		}},
		{"a struct that contains itself", reflect.TypeFor[loop](), []string{
			`schema.loop.Next: a schema.loop would be stored inside itself, without an end: store the key of the ` +
				`other value (such as NextID string, or NextIDs []string), or declare another type for what it holds`,
		}},
		{"a generic model", reflect.TypeFor[box[int]](), []string{
			`schema.box[int]: a generic type cannot be a model: declare a struct for each instance`,
		}},
		{"no struct", reflect.TypeFor[string](), []string{
			`string: a model is a struct whose fields say where they lie: use a struct`,
		}},
		{"a model without a name", reflect.TypeFor[struct {
			I string `ddb:"pk={I}"`
			A string `ddb:"sk=A"`
		}](), []string{
			"struct: the type has no name to call its table by: add _ struct{} `ddb:\"table=NAME\"`",
		}},
	} {
		_, err := Of(c.model)
		var got []string
		if err != nil {
			got = strings.Split(err.Error(), "\n")
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

type endless *endless

type Embedding struct {
	*Embedding
	X int
}

// tree contains itself, inside an attribute.
type tree struct {
	Name     string
	Children []tree
	Next     *tree
	By       map[string]forest
}

type forest []forest

// Types that contain themselves may lie inside attributes.
func TestRecursiveTypes(t *testing.T) {
	e, err := Of(reflect.TypeFor[struct {
		_     table  `ddb:"table=models"`
		ID    string `ddb:"pk={ID}"`
		Tree  tree   `ddb:"sk=HEAD,nested"`
		Other []tree `ddb:"sk=T#{Name}"`
	}]())
	if err != nil {
		t.Fatal(err)
	}
	const want = "struct{Name string Name; Children []recursive1 Children; Next *recursive1 Next; By " +
		"map[string][]recursive1 By}"
	if got := e.Items[0].Attributes[0].Value.Type.describe(); got != want {
		t.Errorf("described as %s, want %s", got, want)
	}
	if n := len(e.Items[1].Attributes); n != 3 {
		t.Errorf("an element has %d attributes, want 3", n)
	}
}

// hooked has a hook that would change a copy.
type hooked struct{ A string }

func (hooked) AfterLoad() {}
