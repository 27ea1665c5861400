package generated

import "time"

// Grid holds the same cells under keys of each kind that has ranges of values.
type Grid struct {
	_        struct{}       `ddb:"table=grids"`
	_        struct{}       `ddb:"table=ints,name=IntTable,range=SK"`
	_        struct{}       `ddb:"table=uints,name=UintTable,range=SK"`
	_        struct{}       `ddb:"table=blobs,name=BlobTable,range=SK"`
	ID       string         `ddb:"pk=G#{ID}"`
	Name     string         `ddb:"sk=HEAD"`
	Digits   []Cell         `ddb:"sk=D#{N:03}"`
	Middle   []Cell         `ddb:"sk=M#{T}#{N:03}#{K:02}"`
	Signed   []Cell         `ddb:"sk=S#{I:sortable}#{T}"`
	Tailed   []Cell         `ddb:"sk=TAIL#{N:03}#{T}#x"`
	Unsigned []Cell         `ddb:"sk=U#{W:sortable}"`
	Joined   []Cell         `ddb:"sk=J#{N:03}{K:02}"`
	Texts    []Cell         `ddb:"sk=T#{T}#{K:02}"`
	Raws     []Cell         `ddb:"sk=R#{T:raw}"`
	Keyed    map[int32]Cell `ddb:"sk=K#{key:sortable}"`
	Named    map[Word]Cell  `ddb:"sk=N#{key}"`
	Ints     []Cell         `ddb:"table=ints,sk={I}"`
	Uints    []Cell         `ddb:"table=uints,sk={W}"`
	Blobs    []Cell         `ddb:"table=blobs,sk={B}"`
}

// Cell is an element whose fields are in keys.
type Cell struct {
	K int
	N uint16
	I int64
	W uint64
	T Word
	B []byte
	X string
}

// Word is a text.
type Word string

// Draft is one entity of several in a partition: the keys of its lines begin with its own.
type Draft struct {
	_     struct{} `ddb:"table=drafts"`
	Doc   string   `ddb:"pk=DOC#{Doc}"`
	N     int      `ddb:"sk=V#{N:04}"`
	Text  string   `ddb:"sk=V#{N:04}"`
	Lines []Line   `ddb:"sk=V#{^N:04}#{Line:02}"`
}

// Line is a line of a draft.
type Line struct {
	Line int
	Text string
}

// Level is one of several entities in a partition whose sort key is a number.
type Level struct {
	_    struct{} `ddb:"table=levels"`
	Map  string   `ddb:"pk=MAP#{Map}"`
	N    int64    `ddb:"sk={N}"`
	Text string   `ddb:"sk={N}"`
}

// Label is one of several entities in a partition, by its text.
type Label struct {
	_     struct{} `ddb:"table=labels"`
	Map   string   `ddb:"pk=MAP#{Map}"`
	Text  string   `ddb:"sk=L#{Text}#HEAD"`
	Lines []Line   `ddb:"sk=L#{^Text}#LINE#{Line:02}"`
	Size  int      `ddb:"sk=L#{Text}#HEAD"`
}

// Moment is one of several entities whose lines have keys that begin with its own.
type Moment struct {
	_     struct{}  `ddb:"table=moments"`
	Doc   string    `ddb:"pk=DOC#{Doc}"`
	At    time.Time `ddb:"sk=AT#{At:seconds}"`
	Text  string    `ddb:"sk=AT#{At:seconds}"`
	Lines []Line    `ddb:"sk=AT#{^At:seconds}#{Line:02}"`
}
