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
				`project, root, stored, was, nested, name, one, prefix, version, noversion, state, incarnation, ` +
				`migration, ttl, all, delim, ` +
				`compress, chunk, s3, preview, inline, shards, shardby, unique, as, guards and -`,
		}},
		{"an option twice, a malformed tag, a repeated key", tagged(
			`ddb:"sk=X,sk=Y"`, `ddb:"sk=X" ddb:"sk=Y"`, `ddb:sk=X`, `ddb:"sk=X"dynamodbav:"d"`, `ddb:"sk=X, root"`,
		), []string{
			`struct.A: the tag has the option sk twice: keep one of them`,
			`struct.B: the struct tag has the key ddb twice: keep one of them`,
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
			`struct.B: the field has no item: add the item's key (ddb:"sk=TEMPLATE"), or leave it out (ddb:"-")`,
		}},
		{"templates that can meet", reflect.TypeFor[struct {
			_  table    `ddb:"table=models"`
			ID string   `ddb:"pk={ID}"`
			H  address  `ddb:"sk=U#Home"`
			U  []wish   `ddb:"sk=U#{SKU}"`
			V  []string `ddb:"sk=U#{.}"`
		}](), []string{
			`struct.U: key collision of H (U#Home) and U (U#{SKU}): both make "U#Home" with {SKU} = "Home": begin ` +
				`one of them with a constant segment`,
			`struct.V: key collision of H (U#Home) and V (U#{.}): both make "U#Home" with {.} = "Home": begin one ` +
				`of them with a constant segment`,
			`struct.V: key collision of U (U#{SKU}) and V (U#{.}): both make "U#A" with {SKU} = "A", {.} = "A": ` +
				`begin one of them with a constant segment`,
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
			`struct.A: the template "A#{^ID}" has no placeholder of the element, so that all elements would be one ` +
				`item: add a placeholder such as {Field}`,
			`struct.B: the template "B#{SKU}" does not contain the map's key, which would be lost: add {key}`,
			`struct.C: {key} is only for maps: name a field of the element, or use {.}`,
			`struct.D: {.} is only for slices: use {key}`,
			`struct.E: {Nope} does not name a field of the element schema.wish: its fields are AddedAt, SKU, Rank`,
			`struct.F: {H} does not name a field of the element schema.wish: write {^H} for the field of struct, or ` +
				`{key} for the key of a map`,
			`struct.G: {SKU} names a field, but string has no fields: use {key} of a map or {.} of a slice of scalars`,
			`struct.I: the number {Rank} needs a width to sort: write {Rank:010}, or :sortable for any sign`,
			`struct.J: {SKU:raw} can contain the delimiter, so that it must be the last placeholder: move it to the ` +
				`end, or drop :raw`,
			`struct.K: the format of {SKU:date} is only for times, unlike string: remove it`,
			`struct.L: the format of {SKU:04} is only for integers, unlike string: remove it`,
			`struct.M: elements that are pointers to pointers cannot be items: use *schema.wish`,
			`struct.O: the map's key cannot be read back from the template "O#{key:date}": use {key}`,
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
			`struct._: {A} cannot be in a key, since it is a float64: floats do not compare exactly: use an ` +
				`integer, or attributevalue.Number as the whole key`,
			`struct._: {B} cannot be in a key, since it is a bool: use a string or an integer`,
			`struct._: {C} cannot be in a key, since it is a []string: use a string, an integer, a time.Time, or a ` +
				`type with MarshalText and UnmarshalText`,
			`struct._: {D} cannot be in a key, since it is a map[string]int: use a string, an integer, a time.Time, ` +
				`or a type with MarshalText and UnmarshalText`,
			`struct._: {E} cannot be in a key, since it is a *string: a pointer can be nil, but a key always has a ` +
				`value: use string`,
			`struct._: the number {F} needs a width to sort: write {F:010}, or :sortable for any sign`,
			`struct._: the bytes {G} cannot be part of a key's text: use it as the whole key, or declare MarshalText`,
			`struct._: schema.halfText has one of MarshalText and UnmarshalText, but a key needs both: add the ` +
				`other method`,
		}},
		{"a string beside a number in one key attribute", reflect.TypeFor[struct {
			_  table  `ddb:"table=models"`
			ID string `ddb:"pk={ID}"`
			N  int    `ddb:"sk={N}"`
			S  string `ddb:"sk=HEAD"`
		}](), []string{
			`struct.S: the sort key "HEAD" has the type S, but "{N}" has N: the key attribute SK has one type: give ` +
				`one of them a text form (a width, or a literal)`,
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
				`dynamodbav:"other", or rename the library's attribute with version= on _`,
			`struct.E: the attribute "_a" of E is also the item's incarnation of the item "X": rename it: ` +
				`dynamodbav:"other", or rename the library's attribute with incarnation= on _`,
			`struct.F: the attribute "gone" of F is the table's TTL attribute, by which DynamoDB would delete ` +
				`items: rename one of them, or tag a time field ttl and dynamodbav unixtime`,
			`struct.H: the attribute "City" of H is also that of G.City of the item "X": rename it: dynamodbav:"other"`,
		}},
		{"partition keys", reflect.TypeFor[struct {
			_ table  `ddb:"table=models"`
			A string `ddb:"pk={A}"`
			B string `ddb:"pk={B}"`
			C string `ddb:"sk=HEAD"`
		}](), []string{
			`struct.B: a second partition key: A has one already: keep one pk=`,
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
			"struct: the model has no single item in its main table that shows that an entity exists: add a " +
				"constant sort key to a field, or add _ struct{} `ddb:\"sk=HEAD,root\"`",
		}},
		{"roots", reflect.TypeFor[struct {
			_ table    `ddb:"table=models"`
			I string   `ddb:"pk={I}"`
			A string   `ddb:"sk=A,root"`
			B string   `ddb:"sk=B,root"`
			C []string `ddb:"sk=C#{.},root"`
		}](), []string{
			`struct.C: the root is a single item: put it on a field with a constant sort key`,
			`struct.B: a second root: the first is "A": keep one root`,
			`struct.C: a second root: the first is "A": keep one root`,
		}},
		{"expiries", reflect.TypeFor[struct {
			_ table     `ddb:"table=models"`
			I string    `ddb:"pk={I}"`
			A string    `ddb:"sk=A,ttl"`
			B time.Time `ddb:"sk=B,ttl"`
			C time.Time `ddb:"sk=C,all"`
		}](), []string{
			`struct.C: all is for ttl: write ttl,all`,
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
			`struct.A: an expiry is a time, unlike string: use a time.Time`,
			`struct.C: a second expiry for the item "B": the first is B: keep one ttl`,
			`struct.D: an expiry is a time, unlike []schema.wish: put it on a time field of the element`,
			`struct.E: ttl,all is for a field of the root: put the field on the root A`,
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
			`struct.A: attributevalue would silently drop the chan int in it: tag it ddb:"-"`,
			`struct.B: attributevalue would silently drop the func() in it: tag it ddb:"-"`,
			`struct.C: attributevalue would silently drop the complex128 in it: tag it ddb:"-"`,
			`struct.D: the struct big.Rat has no exported fields, so that nothing would be stored: declare ` +
				`MarshalDynamoDBAttributeValue and its inverse, or store another type`,
			`schema.dropped.Callback: attributevalue would silently drop the func() in it: tag it ddb:"-"`,
			`struct.F: big.Rat has no exported fields, so that attributevalue would store it empty: declare ` +
				`MarshalDynamoDBAttributeValue and its inverse, or store another type`,
			`struct.G: the interface schema.stringer can be written, but not read back: use any, or a concrete type`,
			`struct.H: attributevalue has no map keys of type [2]int: use a string or a number`,
			`schema.withTags.A: a ddb tag has no effect inside the attribute J: remove it (to leave the field out, ` +
				`write dynamodbav:"-")`,
			`struct.K: attributevalue would silently drop the uintptr in it: tag it ddb:"-"`,
			`struct.L: the map key schema.halfText has only one of MarshalText and UnmarshalText: declare both, on ` +
				`the value and on its pointer`,
			`struct.M: attributevalue would silently drop the pointer to an interface *interface {}: use interface {}`,
			`struct.N: schema.point encodes itself by a method of its pointer, but attributevalue does not call ` +
				`that for values of a map: declare the method on the value, or use *schema.point`,
			`struct.Q: attributevalue panics on []schema.named, whose elements are named bytes: use []byte`,
			`struct.R: attributevalue writes the map key time.Month by its String method, but cannot read it back: ` +
				`declare MarshalText and UnmarshalText, or use another type`,
		}},
		{"elements behind pointers, and of arrays", reflect.TypeFor[struct {
			_ table               `ddb:"table=models"`
			I string              `ddb:"pk={I}"`
			A *[]address          `ddb:"sk=A#{Street}"`
			B [2]address          `ddb:"sk=B#{Street}"`
			C *map[string]address `ddb:"sk=C#{key}"`
		}](), []string{
			`struct.A: {Street} names no field of the model, and the elements of *[]schema.address are not items: ` +
				`use a slice or map of values or pointers`,
			`struct.B: {Street} names no field of the model, and the elements of [2]schema.address are not items: ` +
				`use a slice or map of values or pointers`,
			`struct.C: {key} is only for the elements of slices and maps: use a slice or map of values or pointers`,
		}},
		{"dynamodbav where it means nothing", reflect.TypeFor[struct {
			_ table   `ddb:"table=models"`
			I string  `ddb:"pk={I}" dynamodbav:"-"`
			A address `ddb:"sk=A" dynamodbav:"home,omitempty"`
			B address `ddb:"sk=B" dynamodbav:",omitempty"`
			C string  `ddb:"sk=C" dynamodbav:"-"`
			D string  `ddb:"sk=D" dynamodbav:",omitempty,nullempty"`
			E string  `ddb:"-" dynamodbav:"-"`
			F []any   `ddb:"sk=F" dynamodbav:",omitemptyelem,nullemptyelem"`
		}](), []string{
			`struct.D: dynamodbav omitempty and nullempty exclude each other: keep one of them`,
			`struct.F: dynamodbav omitemptyelem and nullemptyelem exclude each other: keep one of them`,
			`struct.A: dynamodbav's options have no effect on a struct whose fields are spread over its item: ` +
				`remove them, or add ddb option nested to store the struct as one map`,
			`struct.B: dynamodbav's options have no effect on a struct whose fields are spread over its item: ` +
				`remove them, or add ddb option nested to store the struct as one map`,
			`struct.C: the field has an item, but dynamodbav:"-" would not store it: write ddb:"-" as well, or drop ` +
				`dynamodbav:"-"`,
		}},
		{"options inside a spread struct", reflect.TypeFor[struct {
			_ table      `ddb:"table=models"`
			I string     `ddb:"pk={I}"`
			A withTags   `ddb:"sk=A"`
			B innerTags  `ddb:"sk=B"`
			C innerLarge `ddb:"sk=C"`
		}](), []string{
			`schema.withTags.A: the option sk has no effect inside schema.withTags, whose fields are spread over an ` +
				`item: move it to the field of the model`,
			`schema.innerTags.A: stored is for fields in keys: this field is stored anyway: remove it`,
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
			`struct.A: compress is for text, bytes, lists, maps and structs, but a int takes a few bytes: remove it`,
			`struct.B: chunk and s3 are two ways to store one value: keep one of them`,
			`struct.C: preview= is for external values: add chunk or s3`,
			`struct.D: inline= is for external values: add chunk or s3`,
			`struct.E: preview= is the beginning of text or bytes, not of map[string]string: put it on text or bytes`,
			`struct.H: preview= is a number of bytes in the item, which holds at most 409600: write a number below ` +
				`409600`,
			`struct.J: inline= is a number of bytes in the item, which holds at most 409600: write a number below ` +
				`409600`,
			`struct.L: compress would hide the value from the index byTitle, of which it is a key: remove it, or ` +
				`declare another key of the index`,
			`struct.I: compress is for large values, but a key names this one: remove it`,
			`struct.F: compress is for a field that is stored in one attribute, unlike F: put it on the fields in it`,
			`struct.G: compress is for a field that is stored in one attribute, unlike G: put it on the fields in it`,
		}},
		{"a table of a time that there is not", reflect.TypeFor[struct {
			_ table  `ddb:"table=events_{At:month}"`
			I string `ddb:"pk={I}"`
			A string `ddb:"sk=A"`
		}](), []string{
			`struct._: {At:month} does not name a field of struct: write {A:month}`,
		}},
		{"a table of a field that is no time", reflect.TypeFor[struct {
			_ table  `ddb:"table=events_{I:month}"`
			I string `ddb:"pk={I}"`
			A string `ddb:"sk=A"`
		}](), []string{
			`struct._: {I:month} in the name of a table is a string, not a time: use a time.Time`,
		}},
		{"a table of a time that keys do not have", reflect.TypeFor[struct {
			_  table     `ddb:"table=events_{At:month}"`
			I  string    `ddb:"pk={I}"`
			At time.Time `ddb:"sk=A"`
		}](), []string{
			`struct._: {At:month} in the name of a table is not part of the entity's key, from which its table ` +
				`could not be derived: name it in pk=, or in the key of the root`,
		}},
		{"a table of a finer time than keys have", reflect.TypeFor[struct {
			_  table     `ddb:"table=events_{At:date}"`
			I  string    `ddb:"pk={I}"`
			At time.Time `ddb:"sk={At:month}"`
		}](), []string{
			`struct.At: the table cannot be derived from the key of At ({At:month}): its name has {At:date}: name ` +
				`At as finely there`,
		}},
		{"a table of a week that months do not tell", reflect.TypeFor[struct {
			_  table     `ddb:"table=events_{At:week}"`
			At time.Time `ddb:"pk=M#{At:month}"`
			A  string    `ddb:"sk=A"`
		}](), []string{
			`struct.A: the table cannot be derived from the key of A (A): its name has {At:week}: name At as finely ` +
				`there`,
		}},
		{"a table of an instant", reflect.TypeFor[struct {
			_  table     `ddb:"table=events_{At}"`
			At time.Time `ddb:"pk={At}#x"`
			A  string    `ddb:"sk=A"`
		}](), []string{
			`struct._: {At} in the name of a table is not a period: write {At:month}, or date, week or year`,
		}},
		{"a table of two periods", reflect.TypeFor[struct {
			_  table     `ddb:"table=events_{At:year}_{At:month}"`
			At time.Time `ddb:"pk={At}#x"`
			A  string    `ddb:"sk=A"`
		}](), []string{
			`struct._: the table name "events_{At:year}_{At:month}" has two placeholders, but a table is of one ` +
				`period: keep one`,
		}},
		{"a table of a day by another name", reflect.TypeFor[struct {
			_  table     `ddb:"table=events_{At:day}"`
			At time.Time `ddb:"pk={At}#x"`
			A  string    `ddb:"sk=A"`
		}](), []string{
			`struct._: the table name "events_{At:day}": unknown format in "{At:day}": write {Field:date}, :week, ` +
				`:month or :year`,
		}},
		{"a table with braces alone", reflect.TypeFor[struct {
			_ table  `ddb:"table=events{{x}}"`
			I string `ddb:"pk={I}"`
			A string `ddb:"sk=A"`
		}](), []string{
			`struct._: the table name "events{{x}}" has braces, but no placeholder: write a field and a period, as ` +
				`in events_{At:month}`,
		}},
		{"a table with a sign that none has", reflect.TypeFor[struct {
			_  table     `ddb:"table=events {At:month}"`
			At time.Time `ddb:"pk={At}#x"`
			A  string    `ddb:"sk=A"`
		}](), []string{
			`struct._: the table name "events {At:month}" contains ' ': DynamoDB takes letters, digits, '_', '-' ` +
				`and '.'`,
		}},
		{"one table that follows the time, and one that does not", reflect.TypeFor[struct {
			_  table     `ddb:"table=events_{At:month}"`
			_  table     `ddb:"table=bodies,name=Bodies"`
			At time.Time `ddb:"pk={At}#x"`
			A  string    `ddb:"sk=A"`
			B  string    `ddb:"table=bodies,sk=B"`
		}](), []string{
			`struct._: the table bodies does not rotate, and would keep items of entities in dropped tables: write ` +
				`{At:month} into the names of all tables`,
		}},
		{"zero times that are to be omitted", reflect.TypeFor[struct {
			_     table      `ddb:"table=things,ttl=gone"`
			ID    string     `ddb:"pk={ID}#x"`
			At    time.Time  `ddb:"sk=A" dynamodbav:",omitempty"`
			Unix  time.Time  `ddb:"sk=A" dynamodbav:",omitempty,unixtime"`
			Ptr   *time.Time `ddb:"sk=A" dynamodbav:",omitempty"`
			Until time.Time  `ddb:"sk=A,ttl" dynamodbav:"gone,omitempty,unixtime"`
		}](), []string{
			`struct.At: attributevalue stores the zero time despite omitempty: use *time.Time, which is left out ` +
				`where it is nil`,
			`struct.Unix: attributevalue stores the zero time despite omitempty: use *time.Time, which is left out ` +
				`where it is nil`,
		}},
		{"values outside their items, in tables that follow the time", reflect.TypeFor[struct {
			_  table     `ddb:"table=events_{At:month}"`
			At time.Time `ddb:"pk={At}#x"`
			A  string    `ddb:"sk=A,chunk"`
		}](), []string{
			`struct.A: external values need a table that stays, but the model has rotating tables: store it in its ` +
				`item (compress=), or in a separate model`,
		}},
		{"two tables that follow two times", reflect.TypeFor[struct {
			_  table     `ddb:"table=events_{At:month}"`
			_  table     `ddb:"table=bodies_{At:year},name=Bodies"`
			At time.Time `ddb:"pk={At}#x"`
			A  string    `ddb:"sk=A"`
			B  string    `ddb:"table=bodies_{At:year},sk=B"`
		}](), []string{
			`struct._: the tables of a model rotate by one time, but those of events_{At:month} rotate by ` +
				`{At:month}: write {At:month}`,
		}},
		{"shards without a number", reflect.TypeFor[struct {
			_ table  `ddb:"table=models"`
			D string `ddb:"pk={D}#{shard}"`
			I string `ddb:"sk={I}"`
			A string `ddb:"sk={I}"`
		}](), []string{
			`struct.D: pk= names {shard}, but the number of shards is missing: add shards=N,shardby=FIELD to the ` +
				`blank field of the table`,
		}},
		{"shards without a place", reflect.TypeFor[struct {
			_ table  `ddb:"table=models,shards=200,shardby=I"`
			D string `ddb:"pk={D}"`
			I string `ddb:"sk={I}"`
			A string `ddb:"sk={I}"`
		}](), []string{
			`struct._: the template of pk= does not name {shard}: write it into the template, such as ` +
				`EVENTS#{At:date}.{shard}`,
		}},
		{"shards without a field", reflect.TypeFor[struct {
			_ table  `ddb:"table=models,shards=200"`
			D string `ddb:"pk={D}#{shard}"`
			I string `ddb:"sk={I}"`
			A string `ddb:"sk={I}"`
		}](), []string{
			`struct._: shards without shardby=: an entity's shard cannot be chosen: add shardby=FIELD, or ` +
				`shardby=random where entities are only added`,
		}},
		{"shards by what no key holds", reflect.TypeFor[struct {
			_ table  `ddb:"table=models,shards=200,shardby=A"`
			D string `ddb:"pk={D}#{shard}"`
			I string `ddb:"sk={I}"`
			A string `ddb:"sk={I}"`
		}](), []string{
			`struct._: A is not a field of the entity's key, so that the entity's shard could not be found by its ` +
				`key: write one of I, D, random`,
		}},
		{"shards by a field alone", reflect.TypeFor[struct {
			_ table  `ddb:"table=models,shardby=I"`
			D string `ddb:"pk={D}"`
			I string `ddb:"sk={I}"`
			A string `ddb:"sk={I}"`
		}](), []string{
			`struct._: shardby= chooses a shard, but the model has none: add shards=N, and {shard} to pk=`,
		}},
		{"shards of partitions with one entity", reflect.TypeFor[struct {
			_ table  `ddb:"table=models,shards=200,shardby=D"`
			D string `ddb:"pk={D}#{shard}"`
			A string `ddb:"sk=A"`
		}](), []string{
			`struct._: shards spread the many entities of a partition, but a partition of this model has one: name ` +
				`fields in the sort key of the root, such as sk={At}#{ID}`,
		}},
		{"a shard where there is none", reflect.TypeFor[struct {
			_ table  `ddb:"table=models,shards=200,shardby=I"`
			D string `ddb:"pk={D}#{shard:02}"`
			I string `ddb:"sk={I}"`
			A string `ddb:"sk={I}"`
			B string `ddb:"sk={I}#{shard}"`
		}](), []string{
			`struct.D: {shard:02}: the number of a shard has no format: write {shard}`,
			`struct.B: {shard} is for the partition key: write it in pk=`,
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
			`struct._: the local index byA would be split over the shards, and each query would read all: declare a ` +
				`global index, with its own pk=`,
			`struct._: 20000 shards: a query reads all of them: write at most 10000`,
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
			`struct.I: {I} cannot be in a key, since it is a big.Int: use an integer type, or attributevalue.Number ` +
				`as the whole key, which has 38 digits too`,
			`struct.A: only attributevalue knows the encoding of struct, and it would store the big number in it ` +
				`empty: do not combine the big number with types that encode themselves or with interfaces, or use ` +
				`attributevalue.Number`,
			`struct.B: numberset is of numbers that attributevalue reads back, unlike *big.Float: remove it, which ` +
				`makes a list, or use []attributevalue.Number`,
		}},
		{"one key attribute", reflect.TypeFor[struct {
			_ table  `ddb:"table=models,range=PK"`
			_ table  `ddb:"table=prices,hash=K,range=K,name=Price"`
			I string `ddb:"pk={I}"`
			A string `ddb:"sk=A"`
			B string `ddb:"table=prices,sk=B"`
		}](), []string{
			`struct._: the table models has one attribute, "PK", as its partition key and its sort key: name them ` +
				`differently, or write range=- for a table without a sort key`,
			`struct._: the table prices has one attribute, "K", as its partition key and its sort key: name them ` +
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
			`struct._: name= on a blank field needs the option of a further table or of a segment: add table=NAME, ` +
				`or prefix=SEGMENT`,
			`struct.C: the table prices has no sort key: remove it, or declare the table with range=ATTR`,
			`struct.D: the table models has no sort key: remove it, or declare the table with range=ATTR`,
			`struct.E: the table models has no sort key, so that an entity can have one item only: declare the ` +
				`table with range=ATTR`,
			"struct.B: the model has no table nowhere: declare it: _ struct{} " +
				"`ddb:\"table=nowhere,hash=ATTR,range=ATTR,name=Word\"`",
			`struct._: no field is stored in the table prices: remove it, or add table=prices to a field`,
			`struct._: no field is stored in the table unused: remove it, or add table=unused to a field`,
		}},
		{"reserved by the library names", reflect.TypeFor[struct {
			_ table  `ddb:"table=models,version=SK,state=rev,incarnation=rev,migration=_v,ttl=rev"`
			I string `ddb:"pk=~X#{I}"`
			A string `ddb:"sk=A#~B"`
		}](), []string{
			`struct.I: the key segment "~X" begins with ~, which is reserved by the library: begin it with another ` +
				`character`,
			`struct.A: the key segment "~B" begins with ~, which is reserved by the library: begin it with another ` +
				`character`,
			`struct._: the attribute "SK" of version= is a key attribute of the table models: use another name`,
			`struct._: the attribute "rev" of incarnation= is also that of state=: use another name`,
			`struct._: the attribute "rev" of ttl= is also that of state=: use another name`,
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
			`struct.onlyPrivate: an embedded pointer to an unexported struct cannot be loaded: embed the struct, or ` +
				`export its type`,
			`struct.b: an unexported field cannot be stored: export the field, or remove the tag`,
			`schema.right.Same: Same is also a field of schema.left at the same depth: each hides the other: rename ` +
				`one of them, or tag one ddb:"-"`,
		}},
		{"an entity has the items under its prefix", reflect.TypeFor[struct {
			_ table  `ddb:"table=models,pk=ORDERS"`
			N int    `ddb:"sk=ORDER#{N:06}#HEAD"`
			L []wish `ddb:"sk=ORDER#LINE#{Rank:03}"`
			M []wish `ddb:"sk=ORDER#{^N:06}x{Rank:03}"`
		}](), []string{
			`struct.L: the key of L (ORDER#LINE#{Rank:03}) lacks N, which distinguishes the entities of a ` +
				`partition: add {^N}`,
			`struct.M: the key of M (ORDER#{^N:06}x{Rank:03}) continues without a delimiter after the entity's own ` +
				`part, so that entities would mix: put the delimiter # behind it`,
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
			`struct.A: the old name "A" is the attribute's current name: write only names under which items store ` +
				`this field`,
			`struct.B: the old name "C" is the attribute of C: write only names under which items store this field`,
			`struct.C: the old name "_v" is reserved by the library: write only names under which items store this ` +
				`field`,
			`struct.C: the old name "PK" is a key attribute of the table models: write only names under which items ` +
				`store this field`,
			`struct.C: the old name "" is empty: write only names under which items store this field`,
			`struct.D: the old name "x" is also that of C: write only names under which items store this field`,
			`struct.E: the item's expiry names the field, so that its attribute cannot have two names: keep the ` +
				`attribute's name, with dynamodbav:"oldName"`,
			`struct.I: was= is for a field that is stored in one attribute, unlike I: put it on the fields in it`,
			`struct.F: was= is for a field that is stored in one attribute, unlike F: put it on the fields in it`,
			`schema.hooked: its method AfterLoad would not be called after a load, or would change a copy: declare ` +
				`func (x *hooked) AfterLoad()`,
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
			`struct.J: a second partition key: Id has one already: keep one pk=`,
			`struct.Id: {ID} does not name a field of struct: write {Id}`,
			`struct.left: the fields of the embedded schema.left have no item: tag the embedding ` +
				`(ddb:"sk=TEMPLATE"), or its fields one by one, or leave it out (ddb:"-")`,
			`struct.P: nested is for structs, and the encoding of []schema.wish is not a map: remove it`,
			`struct.M: stringset makes a set of values of another type than []int has: write numberset`,
			`struct.N: binaryset makes a set of values of another type than []string has: write stringset`,
			`struct.O: stringset is for slices, and has no effect on string: remove it`,
			`struct.P: stringset makes a set, but DynamoDB has no sets of schema.wish: remove it`,
		}},
		{"types inside attributes that have no end, or embed themselves", reflect.TypeFor[struct {
			_  table     `ddb:"table=models"`
			ID string    `ddb:"pk={ID}"`
			A  endless   `ddb:"sk=A"`
			B  Embedding `ddb:"sk=B,nested"`
			C  Embedding `ddb:"sk=C"`
		}](), []string{
			`struct.A: schema.endless points to itself, so that it has no value: use a struct with a pointer in it`,
			`schema.Embedding.Embedding: schema.Embedding embeds itself: add a name to the field`,
		}},
		{"a struct that contains itself", reflect.TypeFor[loop](), []string{
			`schema.loop.Next: a schema.loop would contain itself without end: store the key of the other value ` +
				`(such as NextID string, or NextIDs []string), or use another type`,
		}},
		{"a generic model", reflect.TypeFor[box[int]](), []string{
			`schema.box[int]: a generic type cannot be a model: declare a struct for each instance`,
		}},
		{"no struct", reflect.TypeFor[string](), []string{
			`string: a model is a struct whose fields say where they are stored: use a struct`,
		}},
		{"a model without a name", reflect.TypeFor[struct {
			I string `ddb:"pk={I}"`
			A string `ddb:"sk=A"`
		}](), []string{
			"struct: the type has no name that can name its table: add _ struct{} `ddb:\"table=NAME\"`",
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

// Types that contain themselves may be inside attributes.
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
