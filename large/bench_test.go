package large_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/large"
	"github.com/itemize/itemize/mapper"
)

func TestMain(m *testing.M) { testengine.Run(m) }

// film has one value in parts, which is read when it is asked for.
type film struct {
	_     struct{}            `ddb:"table=films"`
	ID    string              `ddb:"pk=FILM#{ID}"`
	Title string              `ddb:"sk=HEAD"`
	Reel  large.Value[[]byte] `ddb:"sk=REEL,chunk,inline=1KB"`
}

func newFilms(t testing.TB) (m *mapper.Mapper[film], client *dynamodb.Client, table string) {
	t.Helper()
	table, client = testengine.Table(t, "PK:S", "SK:S"), testengine.Start(t).Client()
	m, err := mapper.New[film](client, mapper.Table(table))
	if err != nil {
		t.Fatal(err)
	}
	return m, client, table
}

// heap runs a function, and returns the growth of the heap, in bytes, as far as samples show it. The
// garbage collector runs often, so that the result is the memory in use.
func heap(do func() error) (most uint64, err error) {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	done, sampled := make(chan bool), make(chan bool)
	go func() {
		defer close(sampled)
		for {
			select {
			case <-done:
				return
			case <-time.After(2 * time.Millisecond):
			}
			runtime.ReadMemStats(&now)
			if now.HeapAlloc > before.HeapAlloc {
				most = max(most, now.HeapAlloc-before.HeapAlloc)
			}
		}
	}()
	err = do()
	close(done)
	<-sampled
	return most, err
}

// readerOf is a reader without end.
type readerOf func([]byte)

func (r readerOf) Read(b []byte) (int, error) {
	r(b)
	return len(b), nil
}

// BenchmarkLarge writes a value of 10 MB (or of ITEMIZE_MB), and reads it as a whole and as a stream.
// It compares with parallel GetItems of the same parts by hand, in turn, five times each. It reports
// the medians in MB/s, and the growth of the heap.
func BenchmarkLarge(b *testing.B) {
	ctx := context.Background()
	mb := 10
	if n, err := strconv.Atoi(os.Getenv("ITEMIZE_MB")); err == nil {
		mb = n
	}
	m, client, table := newFilms(b)
	reel := make([]byte, mb<<20)
	for i := range reel {
		reel[i] = byte(rand.Uint32())
	}
	e := m.New(film{ID: "a", Title: "x", Reel: large.Of(reel)})
	begun := time.Now()
	grown, err := heap(func() error {
		_, err := m.Save(ctx, e)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("written at %.0f MB/s, the heap larger by %d MB", float64(mb)/time.Since(begun).Seconds(), grown>>20)
	other := m.New(film{ID: "b"})
	other.Value.Reel.SetReader(io.LimitReader(readerOf(func(b []byte) { rand.NewChaCha8([32]byte{}).Read(b) }),
		int64(mb)<<20))
	begun = time.Now()
	grown, err = heap(func() error {
		_, err := m.Save(ctx, other)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("streamed in at %.0f MB/s, the heap larger by %d MB", float64(mb)/time.Since(begun).Seconds(), grown>>20)
	if _, err := m.Delete(ctx, other); err != nil {
		b.Fatal(err)
	}
	var parts []map[string]types.AttributeValue
	for p := dynamodb.NewScanPaginator(client,
		&dynamodb.ScanInput{
			TableName: &table, ProjectionExpression: aws.String("PK, SK"),
			FilterExpression:         aws.String("attribute_exists(#d) and begins_with(PK, :a)"),
			ExpressionAttributeNames: map[string]string{"#d": "~data"},
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":a": &types.AttributeValueMemberS{Value: "FILM#a#"},
			},
		}); p.HasMorePages(); {
		page, err := p.NextPage(ctx)
		if err != nil {
			b.Fatal(err)
		}
		parts = append(parts, page.Items...)
	}
	size := len(reel)
	reel, e = nil, nil // its memory is none of the readers'
	got, err := m.Load(ctx, m.Key("a"))
	if err != nil {
		b.Fatal(err)
	}
	ways := []struct {
		name string
		read func() error
	}{
		{"by hand", func() error {
			all := make([]byte, size)
			return request.AtOnce(ctx, len(parts), func(ctx context.Context, i int) error {
				out, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: parts[i]})
				if err != nil {
					return err
				}
				n, err := strconv.Atoi(parts[i]["SK"].(*types.AttributeValueMemberS).Value)
				if err == nil {
					copy(all[n*(256<<10):], out.Item["~data"].(*types.AttributeValueMemberB).Value)
				}
				return err
			})
		}},
		{"Get", func() error {
			v, err := got.Value.Reel.Get(ctx)
			if err == nil && len(v) != size {
				err = fmt.Errorf("%d bytes", len(v))
			}
			return err
		}},
		{"Reader", func() error {
			r, err := got.Value.Reel.Reader(ctx)
			if err != nil {
				return err
			}
			defer r.Close()
			_, err = io.Copy(io.Discard, r)
			return err
		}},
	}
	speeds, grew := map[string][]float64{}, map[string]uint64{}
	for range 5 {
		for _, w := range ways {
			begun := time.Now()
			n, err := heap(w.read)
			if err != nil {
				b.Fatal(w.name, err)
			}
			speeds[w.name] = append(speeds[w.name], float64(mb)/time.Since(begun).Seconds())
			grew[w.name] = max(grew[w.name], n)
		}
	}
	for _, w := range ways {
		all := speeds[w.name]
		slices.Sort(all)
		b.Logf("%-8s %5.0f MB/s (%.0f to %.0f), the heap larger by up to %d MB", w.name, all[2], all[0], all[4],
			grew[w.name]>>20)
	}
}
