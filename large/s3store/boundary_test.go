package s3store_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/itemize/itemize/internal/testing/draws"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/large"
	"github.com/itemize/itemize/large/compress"
	"github.com/itemize/itemize/large/s3store"
	"github.com/itemize/itemize/mapper"
)

// vault has values of any size: read with their item, and when they are asked for; in parts, and as objects.
type vault struct {
	_      struct{}            `ddb:"table=vaults"`
	ID     string              `ddb:"pk=VAULT#{ID}"`
	Head   string              `ddb:"sk=HEAD"`
	Plain  []byte              `ddb:"sk=PLAIN,chunk"`
	Packed string              `ddb:"sk=PACKED,compress=lz4,chunk,inline=2KB,preview=16"`
	Lazy   large.Value[[]byte] `ddb:"sk=LAZY,chunk,inline=1KB,preview=16"`
	Object large.Value[[]byte] `ddb:"sk=OBJECT,s3=vault,compress=snappy,inline=1KB"`
}

// Values of every size close to the limits of the forms of storage are read back with the same hashes.
// These are nothing, the preview, the inline limits, one part, 25 and 100 parts, the largest item, a
// page of 1 MB, and up to 25 MB. .ci/full adds larger ones, ITEMIZE_DRAWS=long the largest.
func TestLargeBoundaries(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	gateway, bucket := testengine.S3(t)
	m := must(mapper.New[vault](testengine.Start(t).Client(), compress.LZ4(), compress.Snappy(),
		mapper.Table(testengine.Table(t, "PK:S", "SK:S")),
		s3store.Objects(clientOf(gateway), s3store.Buckets(func(string) string { return bucket }))))(t)
	rnd := rand.New(rand.NewPCG(10, 11))
	sizes := []int{0, 1, 15, 16, 17, 1023, 1024, 1025, 2047, 2048, 2049, 4096}
	for _, around := range []int{256 << 10, 400 << 10, 512 << 10, 1 << 20} {
		sizes = append(sizes, around-150, around-1, around, around+1)
	}
	if draws.Times(0, 1, 1) == 0 { // fewer
		drawn := draws.Some(draws.Seed(t), len(sizes)-1, 5)
		slices.Sort(drawn)
		for i, at := range drawn {
			drawn[i] = sizes[1+at]
		}
		sizes = append([]int{0}, drawn...)
	}
	sizes = append(sizes, 25*(256<<10)+1)
	if draws.Times(0, 1, 1) > 0 {
		sizes = append(sizes, 10<<20)
	}
	if draws.Times(0, 0, 1) > 0 {
		sizes = append(sizes, 16<<20, 25<<20, 100*(256<<10)+1)
	}
	for _, n := range sizes {
		b := noise(rnd, n)
		want := sha256.Sum256(b)
		e := m.New(vault{
			ID: "x", Head: "h", Plain: b, Packed: words(rnd, n+1)[:n], Lazy: large.Of(b),
			Object: large.Of(b),
		})
		if n > 0 { // replaced, not inserted
			e = must(m.Load(ctx, m.Key("x")))(t)
			e.Value.Plain, e.Value.Packed = b, words(rnd, n+1)[:n]
			e.Value.Lazy.Set(b)
			e.Value.Object.Set(b)
		}
		packed := sha256.Sum256([]byte(e.Value.Packed))
		must(m.Save(ctx, e))(t)
		got := must(m.Load(ctx, m.Key("x")))(t)
		v := &got.Value
		if sha256.Sum256(v.Plain) != want || sha256.Sum256([]byte(v.Packed)) != packed {
			t.Fatalf("%d bytes came back as %d, packed ones as %d", n, len(v.Plain), len(v.Packed))
		}
		for name, x := range map[string]large.Value[[]byte]{"lazy": v.Lazy, "object": v.Object} {
			whole, err := x.Get(ctx)
			r, openErr := x.Reader(ctx)
			var stream []byte
			if openErr == nil {
				stream, openErr = io.ReadAll(r)
				openErr = errors.Join(openErr, r.Close())
			}
			if err := errors.Join(err, openErr); err != nil || sha256.Sum256(whole) != want ||
				!bytes.Equal(stream, whole) {
				t.Fatalf("%s: %d bytes came back as %d, as a stream %d: %v", name, n, len(whole), len(stream), err)
			}
		}
		if p := v.Lazy.Preview(); n > 1100 && !bytes.Equal(p, b[:16]) {
			t.Errorf("the preview of %d bytes has %d", n, len(p))
		}
	}
}
