package histories

import (
	"context"
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/request"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/tables"
)

// lab has the tables of all histories.
type lab struct {
	base   func(...func(*dynamodb.Options)) *dynamodb.Client
	prefix string
	tables []string
	rename *strings.Replacer
	runs   int
}

func newLab(t *testing.T) *lab {
	e := testengine.Start(t)
	l := &lab{base: e.Client, prefix: "H" + strings.ToLower(cryptorand.Text()[:12]) + "-"}
	l.rename = strings.NewReplacer(l.prefix, "")
	create[invoice](t, l)
	create[indexed](t, l)
	create[timed](t, l)
	create[chunked](t, l)
	return l
}

// create creates the tables of a layout, as far as they are missing.
func create[T model](t *testing.T, l *lab) {
	m, err := mapper.New[T](l.base(), l.names())
	if err != nil {
		t.Fatal(err)
	}
	all := tables.Of(m)
	if is[timed, T]() {
		if all, err = tables.At(m, months...); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range all {
		name := *d.Create.TableName
		var exists *types.ResourceInUseException
		_, err := l.base().CreateTable(t.Context(), d.Create)
		if err != nil && !errors.As(err, &exists) {
			t.Fatal(err)
		}
		if err == nil {
			l.tables = append(l.tables, name)
			t.Cleanup(func() {
				_, _ = l.base().DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name})
			})
		}
	}
}

func (l *lab) names() mapper.Option {
	return mapper.Tables(func(name string) string { return l.prefix + name })
}

// wipe deletes all items.
func (l *lab) wipe(ctx context.Context) error {
	for _, name := range l.tables {
		out, err := l.base().Scan(ctx, &dynamodb.ScanInput{
			TableName: &name, ProjectionExpression: aws.String("PK, SK"), ConsistentRead: aws.Bool(true),
		})
		for err == nil && len(out.Items) > 0 {
			var deletes []types.WriteRequest
			for _, key := range out.Items[:min(25, len(out.Items))] {
				deletes = append(deletes, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: key}})
			}
			out.Items = out.Items[len(deletes):]
			_, err = l.base().BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
				RequestItems: map[string][]types.WriteRequest{name: deletes},
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// player plays a history.
type player interface {
	beginning(ctx context.Context)
	step(ctx context.Context)
	ending(ctx context.Context)
}

// players makes a player of each layout.
var players = []struct {
	name string
	make func(*stage) player
}{
	{"first", newCast[first]},
	{"last", newCast[last]},
	{"invoice", newCast[invoice]},
	{"flat", newCast[flat]},
	{"separate", newCast[separate]},
	{"mortal", newCast[mortal]},
	{"lasting", newCast[lasting]},
	{"bare", newCast[bare]},
	{"indexed", newCast[indexed]},
	{"sharded", newCast[sharded]},
	{"spread", newCast[spread]},
	{"chunked", newCast[chunked]},
	{"timed", newCast[timed]},
}

// stage has the parts of a history that do not depend on its layout.
type stage struct {
	*lab
	*wire
	r    *rand.Rand
	seed uint64
}

// play plays the history of a seed, and returns its record.
func (l *lab) play(seed uint64) (string, error) {
	before := cryptorand.Reader
	l.runs++
	// Random texts are those of the seed: partitions with random keys are scanned in the order of their keys.
	cryptorand.Reader = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16), byte(seed >> 24)})
	defer func() { cryptorand.Reader = before }()
	r := rand.New(rand.NewPCG(seed, 1))
	w := &wire{engine: renewed{l.runs}, rename: l.rename, numbers: map[string]string{}, end: func() {}}
	w.page = []int{0, 0, 1, 2}[r.IntN(4)]
	s := &stage{l, w, r, seed}
	p := players[int(seed)%len(players)]
	w.note(fmt.Sprintf("# %d %s, pages of %d", seed, p.name, w.page))
	ctx := request.InOrder(context.Background())
	x := p.make(s)
	s.during(ctx, x.beginning)
	for range 6 + r.IntN(10) {
		s.during(ctx, x.step)
	}
	w.faults = nil
	w.arrive(w.sent + 100)
	x.ending(ctx)
	w.note(fmt.Sprintf("# %d requests", w.sent))
	return w.record.String(), l.wipe(ctx)
}

// during makes a step, whose requests meet faults.
func (s *stage) during(ctx context.Context, step func(context.Context)) {
	s.faults, s.sinceCall = map[int]fault{}, 0
	if s.r.IntN(5) < 2 {
		for range 1 + s.r.IntN(3) {
			f := fault(1 + s.r.IntN(int(faults)-1))
			if s.r.IntN(4) == 0 {
				f = meddled
			}
			s.faults[s.sent+s.r.IntN(6)] = f
		}
	}
	ctx, s.end = context.WithCancel(ctx)
	defer s.end()
	s.guarded(ctx, step)
}

// guarded makes a step, and records a panic.
func (s *stage) guarded(ctx context.Context, step func(context.Context)) {
	defer func() {
		if p := recover(); p != nil {
			s.note(fmt.Sprintf("< panic: %v", p))
		}
	}()
	step(ctx)
}

// open returns a mapper with the clock of the history, and small parts of large values.
func open[T any](s *stage, client mapper.Client, options ...mapper.Option) *mapper.Mapper[T] {
	m, err := mapper.New[T](client, append(options, s.names())...)
	if err != nil {
		panic(err)
	}
	door.Mapper.Model(m).Now = s.Now
	door.Mapper.Model(m).PartSize = 1000
	return m
}
