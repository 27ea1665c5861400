package extern_test

import (
	"crypto/sha256"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/large/compression"
	"github.com/itemize/itemize/internal/large/extern"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/schema"
	"github.com/itemize/itemize/internal/testing/draws"
)

// value draws a value of any type.
func value(r *rand.Rand, depth int) types.AttributeValue {
	text := func() string { return strings.Repeat([]string{"a", "é", "~", "v", "0"}[r.IntN(5)], r.IntN(40)) }
	switch n := r.IntN(10); {
	case n == 0:
		return &types.AttributeValueMemberS{Value: text()}
	case n == 1:
		return &types.AttributeValueMemberB{Value: []byte(text())}
	case n == 2:
		return &types.AttributeValueMemberN{Value: "12.5"}
	case n == 3:
		return &types.AttributeValueMemberBOOL{Value: r.IntN(2) == 0}
	case n == 4:
		return &types.AttributeValueMemberNULL{Value: true}
	case n == 5:
		return &types.AttributeValueMemberSS{Value: []string{"b", "a", text() + "c"}}
	case n == 6:
		return &types.AttributeValueMemberNS{Value: []string{"3", "1"}}
	case n == 7:
		return &types.AttributeValueMemberBS{Value: [][]byte{{2}, {1}}}
	case n == 8 && depth < 4:
		l := &types.AttributeValueMemberL{Value: []types.AttributeValue{}}
		for range r.IntN(5) {
			l.Value = append(l.Value, value(r, depth+1))
		}
		return l
	}
	m := map[string]types.AttributeValue{}
	for range r.IntN(5) {
		// Among them the names that the library itself uses in such maps.
		m[[]string{"~", "v", "S", "B", "J", "id", text() + "x"}[r.IntN(7)]] = value(r, depth+1)
	}
	return &types.AttributeValueMemberM{Value: m}
}

// A stored value is read back unchanged, with any codec, and is not mistaken for another value.
func TestPack(t *testing.T) {
	r := rand.New(rand.NewPCG(draws.Seed(t), 0))
	for range draws.Times(1_000, 6_000, 100_000) {
		v := value(r, 0)
		codec := []compression.Name{compression.Gzip, compression.Zlib, ""}[r.IntN(3)]
		_, isText := v.(*types.AttributeValueMemberS)
		packed, err := extern.Pack(v, nil, codec, isText)
		if err != nil {
			t.Fatal(err)
		}
		if attr.ValueSize(packed) > attr.ValueSize(v)+20 {
			t.Errorf("%d bytes became %d", attr.ValueSize(v), attr.ValueSize(packed))
		}
		if _, out := extern.PointerOf(packed); out {
			t.Fatalf("%#v looks like a pointer", packed)
		}
		back, err := extern.Unpack(packed, nil, isText)
		if err != nil || !attr.Same(v, back) {
			t.Fatalf("%s: %#v came back as %#v, %v", codec, v, back, err)
		}
		if !extern.Same(packed, v, nil, isText, attr.Same) {
			t.Errorf("%#v is not the same as it is stored", v)
		}
		c, err := extern.ContentOf(v)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := c.Value(); err != nil || !attr.Same(v, again) {
			t.Fatalf("the bytes of %#v are those of %#v, %v", v, again, err)
		}
	}
}

// Text and bytes are compressed into formats that other languages can read: the frame alone, or
// together with the codec's name.
func TestForms(t *testing.T) {
	long := strings.Repeat("words ", 200)
	text, _ := extern.Pack(&types.AttributeValueMemberS{Value: long}, nil, compression.Gzip, true)
	if b, ok := text.(*types.AttributeValueMemberB); !ok || compression.Detect(b.Value) != compression.Gzip {
		t.Errorf("%#v", text)
	}
	bytes, _ := extern.Pack(&types.AttributeValueMemberB{Value: []byte(long)}, nil, compression.Zlib, false)
	m, ok := bytes.(*types.AttributeValueMemberM)
	if !ok || m.Value["~"].(*types.AttributeValueMemberS).Value != "zlib" ||
		compression.Detect(m.Value["B"].(*types.AttributeValueMemberB).Value) != compression.Zlib {
		t.Errorf("%#v", bytes)
	}
	for _, wrong := range []types.AttributeValue{
		&types.AttributeValueMemberB{Value: []byte("no frame")},
		&types.AttributeValueMemberM{
			Value: map[string]types.AttributeValue{
				"~": &types.AttributeValueMemberS{Value: "lzma"},
				"B": &types.AttributeValueMemberB{Value: []byte{1}},
			},
		},
		&types.AttributeValueMemberM{
			Value: map[string]types.AttributeValue{"~": &types.AttributeValueMemberS{Value: "gzip"}, "B": m.Value["B"]},
		},
	} {
		if v, err := extern.Unpack(wrong, nil, true); err == nil {
			t.Errorf("%#v was read as %#v", wrong, v)
		}
	}
	bomb, _ := compression.Codecs(nil).Compress(compression.Gzip, make([]byte, extern.MaxPacked+1))
	if _, err := extern.Unpack(&types.AttributeValueMemberB{Value: bomb}, nil, true); err == nil ||
		!strings.Contains(err.Error(), "decompresses to more than") {
		t.Errorf("a bomb: %v", err)
	}
}

// A value of a codec that was not given is no damage: the error names the option that reads it.
func TestMissingCodec(t *testing.T) {
	frame := []byte("\x28\xb5\x2f\xfd\x24\x03\x19\x00\x00abc") // of zstd
	for _, v := range []types.AttributeValue{
		&types.AttributeValueMemberB{Value: frame},
		&types.AttributeValueMemberM{
			Value: map[string]types.AttributeValue{
				"~": &types.AttributeValueMemberS{Value: "zstd"},
				"B": &types.AttributeValueMemberB{Value: frame},
			},
		},
	} {
		_, err := extern.Unpack(v, nil, true)
		if !errors.As(err, new(*compression.MissingError)) || errors.As(err, new(*extern.Damaged)) ||
			!strings.Contains(err.Error(), "compress.Zstd()") {
			t.Errorf("%#v: %v", v, err)
		}
	}
}

func attribute(l schema.Large) *schema.Attribute {
	return &schema.Attribute{
		Name: "Text", Large: &l,
		Value: schema.Value{Type: schema.TypeOf(reflect.TypeFor[string]())},
	}
}

// A pointer has the digest of its value, and its preview ends at a whole character.
func TestPointers(t *testing.T) {
	parent := item.Place{
		Table: &item.Table{Name: "t"}, PK: key.Scalar{Type: 'S', Text: "A#1"},
		SK: key.Scalar{Type: 'S', Text: "HEAD"},
	}
	text := strings.Repeat("é", 1000)
	for preview := range 6 {
		a := attribute(schema.Large{Chunk: true, Preview: preview})
		e, err := extern.Encode(&types.AttributeValueMemberS{Value: text}, nil, a)
		if err != nil {
			t.Fatal(err)
		}
		v := e.External(a, parent, time.Now(), 300)
		p, ok := extern.PointerOf(v.Pointer.Attribute())
		if !ok || !reflect.DeepEqual(*p, v.Pointer) {
			t.Fatalf("%+v came back as %+v", v.Pointer, p)
		}
		if p.Parts != 7 || p.Length != 2000 || p.Sum != sha256.Sum256([]byte(text)) || !utf8.Valid(p.Preview) ||
			len(p.Preview) != preview/2*2 {
			t.Errorf("%+v", p)
		}
		if !extern.Same(v.Pointer.Attribute(), &types.AttributeValueMemberS{Value: text}, nil, true, attr.Same) ||
			extern.Same(v.Pointer.Attribute(), &types.AttributeValueMemberS{Value: text + "x"}, nil, true, attr.Same) {
			t.Error("what it points to is not the same")
		}
	}
}

// Ids are ULIDs: 26 signs, in the order of time, and never the same.
func TestIDs(t *testing.T) {
	seen := map[string]bool{}
	last := ""
	for i := range 1000 {
		id := extern.NewID(time.UnixMilli(int64(i) * 1e9))
		if len(id) != 26 || id <= last || id[0] > '7' {
			t.Fatalf("%q after %q", id, last)
		}
		last = id
	}
	now := time.Now()
	for range 10_000 {
		id := extern.NewID(now)
		if seen[id] {
			t.Fatal("twice:", id)
		}
		seen[id] = true
	}
}

// A record comes back as it was written, and the keys of parts fit whatever their parent's is.
func TestRecords(t *testing.T) {
	own := &item.Table{Name: "own", Hash: "PK", Range: "SK"}
	parts := map[string]*item.Table{"Parts": {Name: "parts", Hash: "PK"}}
	h := &extern.Locations{Records: own, Parts: parts, Delim: '#'}
	for _, pk := range []key.Scalar{
		{Type: 'S', Text: "A#1"},
		{Type: 'S', Text: strings.Repeat("x", 2048)},
		{Type: 'N', Text: "17"},
		{Type: 'B', Text: "\xff\x00"},
	} {
		parent := item.Place{Table: own, PK: pk, SK: key.Scalar{Type: 'S', Text: strings.Repeat("y", 1024)}}
		var values []*extern.Value
		for _, l := range []schema.Large{{Chunk: true}, {Chunk: true, Parts: "Parts"}, {Bucket: "b"}} {
			a := attribute(l)
			e, err := extern.Encode(&types.AttributeValueMemberS{Value: strings.Repeat("z", 5000)}, nil, a)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, e.External(a, parent, time.Now(), 1000))
		}
		r := h.NewRecord(values, time.UnixMilli(1e12), time.Hour)
		back, err := extern.RecordOf(r.Place, r.Put("m").Put)
		if err != nil || !reflect.DeepEqual(back.Values, r.Values) || !back.Until.Equal(r.Until) ||
			back.State != extern.Open {
			t.Errorf("%+v came back as %+v, %v", r, back, err)
		}
		for _, v := range values[:2] {
			for _, q := range h.PartsOf(v, r, "m") {
				if len(q.PK.Text) > 2048 || !utf8.ValidString(q.PK.Text) {
					t.Errorf("the key of a part has %d bytes", len(q.PK.Text))
				}
			}
		}
	}
}
