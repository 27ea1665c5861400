package compress

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"

	library "github.com/anchore/go-lzo"

	"github.com/itemize/itemize/internal/testing/draws"
)

// lzoInputs returns difficult inputs for compressors: no bytes, runs close to the limits of
// instructions, matches at their maximum distances, noise, and text.
func lzoInputs(t testing.TB, seed uint64) [][]byte {
	r := rand.New(rand.NewPCG(seed, 0))
	noise := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	all := [][]byte{nil, {0}, []byte("abc"), bytes.Repeat([]byte{'a'}, 1<<20)}
	for _, n := range []int{1, 3, 4, 5, 17, 18, 19, 20, 237, 238, 239, 255, 256, 273, 274, 529, 1000} {
		all = append(all, noise(n), bytes.Repeat([]byte{'x'}, n))
	}
	for _, back := range []int{
		1, 2, 8, 9, 0x7ff, 0x800, 0x801, 0x3fff, 0x4000, 0x4001, 0x7fff, 0x8000, 0xbffe, 0xbfff,
		0xc000,
	} {
		for _, n := range []int{4, 5, 8, 9, 10, 33, 34, 288, 289, 600} {
			b := noise(back)
			for range n {
				b = append(b, b[len(b)-back])
			}
			all = append(all, append(b, noise(int(r.Uint32()%12))...))
		}
	}
	words := []string{"item ", "attribute ", "partition ", "key ", "\n", "sort "}
	var text []byte
	for len(text) < 600_000 {
		text = append(text, words[r.IntN(len(words))]...)
		if r.IntN(20) == 0 {
			text = append(text, noise(r.IntN(40))...)
		}
	}
	return append(all, text, noise(300_000))
}

// The library decompresses the output to the input, and the output has at most the promised size.
func TestLZOBlocks(t *testing.T) {
	for _, in := range lzoInputs(t, draws.Seed(t)) {
		packed := lzoCompress(nil, in)
		out := make([]byte, len(in))
		n, err := library.Decompress(packed, out)
		if err != nil || !bytes.Equal(out[:n], in) {
			t.Fatalf("%d bytes became %d, then %d: %v", len(in), len(packed), n, err)
		}
		if len(packed) > lzoMaxSize(len(in)) {
			t.Errorf("%d bytes became %d, more than %d", len(in), len(packed), lzoMaxSize(len(in)))
		}
	}
}

func lzoFile(t testing.TB, in []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := newLZOWriter(&b)
	if _, err := w.Write(in); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A file comes back, in whatever pieces it is read.
func TestLZOFiles(t *testing.T) {
	for _, in := range lzoInputs(t, draws.Seed(t)) {
		out, err := io.ReadAll(newLZOReader(bytes.NewReader(lzoFile(t, in))))
		if err != nil || !bytes.Equal(out, in) {
			t.Fatalf("%d bytes came back as %d: %v", len(in), len(out), err)
		}
	}
}

// A file of lzop 1.04 (lzop -1, -5 and -9 of testdata/text) is read.
func TestReadsLzop(t *testing.T) {
	want, err := os.ReadFile("testdata/text")
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range []int{1, 5, 9} {
		f, err := os.Open(fmt.Sprintf("testdata/text.%d.lzo", level))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if got, err := io.ReadAll(newLZOReader(f)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("level %d gave %d bytes, %v", level, len(got), err)
		}
	}
}

// A file in which a byte is another, or that is cut or longer, is an error or what it was: never something else.
func TestLZODamage(t *testing.T) {
	in := lzoInputs(t, 1)
	text := in[len(in)-2][:5000]
	whole := lzoFile(t, text)
	check := func(b []byte, what string) {
		t.Helper()
		if got, err := io.ReadAll(newLZOReader(bytes.NewReader(b))); err == nil && !bytes.Equal(got, text) {
			t.Errorf("%s: %d bytes and no error", what, len(got))
		}
	}
	for i := range whole {
		for _, bit := range []byte{1, 0x80} {
			b := bytes.Clone(whole)
			b[i] ^= bit
			check(b, fmt.Sprintf("byte %d", i))
		}
		check(whole[:i], fmt.Sprintf("cut at %d", i))
		if got, err := io.ReadAll(newLZOReader(bytes.NewReader(whole[:i]))); err == nil {
			t.Errorf("cut at %d: %d bytes and no error", i, len(got))
		}
	}
	if _, err := io.ReadAll(newLZOReader(bytes.NewReader(append(whole, 0)))); err == nil {
		t.Error("what follows the end is passed over")
	}
}

func FuzzLZOBlock(f *testing.F) {
	for _, in := range lzoInputs(f, 2)[:60] {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		out := make([]byte, len(in))
		if n, err := library.Decompress(lzoCompress(nil, in), out); err != nil || !bytes.Equal(out[:n], in) {
			t.Fatalf("%d bytes came back as %d: %v", len(in), n, err)
		}
	})
}

func FuzzLZOReader(f *testing.F) {
	f.Add(lzoFile(f, []byte("an item, an item, and an item collection")))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = io.Copy(io.Discard, io.LimitReader(newLZOReader(bytes.NewReader(b)), 32<<20))
	})
}
