package compress_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/itemize/itemize/internal/large/compression"
	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/large/compress"
)

func inputs(seed uint64) [][]byte {
	r := rand.New(rand.NewPCG(seed, 0))
	noise := make([]byte, 700_000)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	text := bytes.Repeat([]byte("to change an e-mail address in an item of 150 KB costs 150 write units. "), 9000)
	return [][]byte{nil, {0}, []byte("short"), text, noise, append(text, noise...)}
}

// What a codec compresses comes back, is known by its frame, and may be read in any pieces.
func TestCodecs(t *testing.T) {
	for _, c := range compression.Names() {
		for _, in := range inputs(draws.Seed(t)) {
			packed, err := compress.Codecs.Compress(c, in)
			if err != nil {
				t.Fatal(c, err)
			}
			if len(in) > 0 && compression.Detect(packed) != c {
				t.Errorf("%s is taken for %q", c, compression.Detect(packed))
			}
			out, err := compress.Codecs.Decompress(c, packed, int64(len(in)))
			if err != nil && len(in) > 0 || !bytes.Equal(out, in) {
				t.Fatalf("%s: %d bytes came back as %d: %v", c, len(in), len(out), err)
			}
			r, err := compress.Codecs.NewReader(c, iotest.DataErrReader(iotest.HalfReader(bytes.NewReader(packed))),
				1<<30)
			if err != nil {
				t.Fatal(err)
			}
			if out, err := io.ReadAll(r); err != nil && len(in) > 0 || !bytes.Equal(out, in) {
				t.Errorf("%s: in pieces %d bytes came back as %d: %v", c, len(in), len(out), err)
			}
			r.Close()
		}
	}
}

// The frames are the standard's: what the standard library writes is read, and the other way round.
func TestStandardLibrary(t *testing.T) {
	for _, in := range inputs(1) {
		var g, z bytes.Buffer
		w := gzip.NewWriter(&g)
		_, _ = w.Write(in)
		w.Close()
		x := zlib.NewWriter(&z)
		_, _ = x.Write(in)
		x.Close()
		for c, b := range map[compression.Name][]byte{compression.Gzip: g.Bytes(), compression.Zlib: z.Bytes()} {
			if out, err := compress.Codecs.Decompress(c, b, 1<<30); err != nil || !bytes.Equal(out, in) {
				t.Errorf("%s: %d bytes came back as %d: %v", c, len(in), len(out), err)
			}
		}
		packed, _ := compress.Codecs.Compress(compression.Gzip, in)
		r, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		if out, err := io.ReadAll(r); err != nil || !bytes.Equal(out, in) {
			t.Errorf("gzip of the standard library: %d bytes for %d, %v", len(out), len(in), err)
		}
	}
}

// More than the limit is an error, and not read.
func TestLimit(t *testing.T) {
	in := bytes.Repeat([]byte{'a'}, 1<<20)
	for _, c := range compression.Names() {
		packed, _ := compress.Codecs.Compress(c, in)
		out, err := compress.Codecs.Decompress(c, packed, 1<<20-1)
		var limit *compression.LimitError
		if !errors.As(err, &limit) || limit.Limit != 1<<20-1 || len(out) > 1<<20-1 {
			t.Errorf("%s: %d bytes, %v", c, len(out), err)
		}
	}
}

// A byte that is another, a cut, something behind the end and another codec's frame are errors, or change nothing.
func TestDamage(t *testing.T) {
	in := inputs(2)[3][:3000]
	for _, c := range compression.Names() {
		packed, _ := compress.Codecs.Compress(c, in)
		check := func(b []byte, what string) {
			t.Helper()
			out, err := compress.Codecs.Decompress(c, b, 1<<20)
			if err == nil && !bytes.Equal(out, in) {
				t.Errorf("%s, %s: %d bytes and no error", c, what, len(out))
			}
			var limit *compression.LimitError
			if err != nil && !errors.Is(err, compression.ErrDamaged) && !errors.As(err, &limit) {
				t.Errorf("%s, %s: %v", c, what, err)
			}
		}
		for i := range packed {
			b := bytes.Clone(packed)
			b[i] ^= 1 << (i % 8)
			check(b, fmt.Sprintf("byte %d", i))
			// A frame of snappy has no end: between two of its chunks a cut does not show.
			if out, err := compress.Codecs.Decompress(c, packed[:i], 1<<20); err == nil &&
				(c != compression.Snappy || len(out) > 0) {
				t.Errorf("%s, cut at %d of %d: no error", c, i, len(packed))
			}
		}
		if _, err := compress.Codecs.Decompress(c, append(bytes.Clone(packed), 'x'), 1<<20); err == nil {
			t.Errorf("%s: what follows is passed over", c)
		}
		for _, o := range compression.Names() {
			if _, err := compress.Codecs.Decompress(o, packed, 1<<20); (err == nil) != (o == c) {
				t.Errorf("%s read as %s: %v", c, o, err)
			}
		}
	}
}

func FuzzDecompress(f *testing.F) {
	for i, c := range compression.Names() {
		packed, _ := compress.Codecs.Compress(c, []byte("an item, an item, and an item collection"))
		f.Add(packed, uint8(i))
	}
	f.Fuzz(func(t *testing.T, b []byte, i uint8) {
		out, _ := compress.Codecs.Decompress(compression.Names()[int(i)%len(compression.Names())], b, 1<<16)
		if len(out) > 1<<16 {
			t.Fatalf("%d bytes", len(out))
		}
	})
}
