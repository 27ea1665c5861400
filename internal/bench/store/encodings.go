package store

import (
	"errors"
	"time"
)

// Word and Count are named types without methods.
type (
	Word  string
	Count int
)

// Code is a type with a text form.
type Code bool

// MarshalText writes yes or no.
func (c Code) MarshalText() ([]byte, error) {
	if c {
		return []byte("yes"), nil
	}
	return []byte("no"), nil
}

// UnmarshalText reads the text that MarshalText writes.
func (c *Code) UnmarshalText(text []byte) error {
	if s := string(text); s != "yes" && s != "no" {
		return errors.New("invalid code: write yes or no")
	}
	*c = string(text) == "yes"
	return nil
}

// Inner is a struct in a value.
type Inner struct {
	A string
	B int
}

// Encodings has the types of the encoding tables of attributevalue and guregu/dynamo, with the tags of both.
type Encodings struct {
	Text        string
	Word        Word
	Bool        bool
	Int         int
	Count       Count
	Int8        int8
	Uint64      uint64
	Float       float64
	Float32     float32
	IntPtr      *int
	TextPtr     *string
	Map         map[string]int
	WordMap     map[Word]string
	PtrMap      map[string]*string
	StructMap   map[string]Inner
	ListMap     map[string][]int
	CodeMap     map[Code]string
	Struct      Inner
	StructPtr   *Inner
	Bytes       []byte
	ByteArray   [4]byte
	List        []string
	Array       [3]int
	PtrList     []*string
	StructList  []Inner
	BytesList   [][]byte
	MapList     []map[string]string
	Code        Code
	Time        time.Time
	TimePtr     *time.Time
	Unix        time.Time  `dynamo:",unixtime"       dynamodbav:",unixtime"`
	UnixPtr     *time.Time `dynamo:",unixtime"       dynamodbav:",unixtime"`
	Any         any
	Renamed     string           `dynamo:"other_name"      dynamodbav:"other_name"`
	Omitted     string           `dynamo:",omitempty"      dynamodbav:",omitempty"`
	OmittedInt  int              `dynamo:",omitempty"      dynamodbav:",omitempty"`
	OmittedList []string         `dynamo:",omitempty"      dynamodbav:",omitempty"`
	Null        string           `dynamo:",null"           dynamodbav:",nullempty"`
	Texts       []string         `dynamo:",set"            dynamodbav:",stringset"`
	Words       []Word           `dynamo:",set"            dynamodbav:",stringset"`
	Ints        []int            `dynamo:",set"            dynamodbav:",numberset"`
	Floats      []float64        `dynamo:",set"            dynamodbav:",numberset"`
	Blobs       [][]byte         `dynamo:",set"            dynamodbav:",binaryset"`
	BoolMap     map[string]bool  `dynamo:",set"`
	Allowed     map[string]Count `dynamo:",allowemptyelem"`
}

// Encoded stores the types of [Encodings] in each place.
type Encoded struct {
	_        struct{}              `ddb:"table=bench"`
	ID       string                `ddb:"pk=ENCODED#{ID}"`
	Root     string                `ddb:"sk=HEAD"`
	Item     Encodings             `ddb:"sk=ITEM"`
	Nested   Encodings             `ddb:"sk=NESTED,nested"`
	Elements []EncodedElement      `ddb:"sk=ELEMENT#{Key}"`
	ByName   map[string]Encodings  `ddb:"sk=NAME#{key}"`
	Attrs    []Encodings           `ddb:"sk=ATTRS"`
	Values   map[string]*Encodings `ddb:"sk=VALUES"`
}

// EncodedElement is an element with the types of [Encodings].
type EncodedElement struct {
	Key string
	Encodings
}
