package unique_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/unique"
)

// meter adds up what an engine reports as consumed.
type meter struct {
	mu       sync.Mutex
	rcu, wcu float64
}

// option has a client ask for the consumed capacity of each request, and adds it up.
func (m *meter) option(o *dynamodb.Options) {
	count := func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
		middleware.InitializeOutput, middleware.Metadata, error,
	) {
		ask := reflect.ValueOf(in.Parameters).Elem().FieldByName("ReturnConsumedCapacity")
		if ask.IsValid() && ask.String() == "" {
			ask.Set(reflect.ValueOf(types.ReturnConsumedCapacityTotal))
		}
		out, data, err := next.HandleInitialize(ctx, in)
		if err == nil && ask.IsValid() {
			m.add(in.Parameters, reflect.ValueOf(out.Result).Elem().FieldByName("ConsumedCapacity").Interface())
		}
		return out, data, err
	}
	o.APIOptions = append(o.APIOptions, func(s *middleware.Stack) error {
		return s.Initialize.Add(middleware.InitializeMiddlewareFunc("meter", count), middleware.After)
	})
}

func (m *meter) add(request, consumed any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all, ok := consumed.([]types.ConsumedCapacity)
	if one, single := consumed.(*types.ConsumedCapacity); single && one != nil {
		all, ok = []types.ConsumedCapacity{*one}, true
	}
	for _, c := range all {
		switch request.(type) {
		case *dynamodb.GetItemInput, *dynamodb.ScanInput, *dynamodb.QueryInput, *dynamodb.BatchGetItemInput:
			m.rcu += aws.ToFloat64(c.CapacityUnits)
		default:
			m.wcu += aws.ToFloat64(c.CapacityUnits)
		}
	}
	if !ok {
		panic(fmt.Sprintf("no capacity of %T", request))
	}
}

// is compares the consumed units with a report: wcu are those of the writes, refused those that are not reported.
func (m *meter) is(t *testing.T, what string, r *unique.Report, wcu, refused float64) {
	t.Helper()
	fits := func(u cost.Units, n float64) bool { return u.Expected == n && u.Contains(n) }
	if !fits(r.RCU, m.rcu) || !fits(r.WCU, m.wcu+refused) || m.wcu != wcu {
		t.Errorf("%s: consumed %v RCU, %v WCU, want %v WCU; predicted %v, %v", what, m.rcu, m.wcu, wcu, r.RCU, r.WCU)
	}
	m.rcu, m.wcu = 0, 0
}

// The passes consume what their reports say, and what docs/recipes/unique-values.md says.
func TestPricesOfPasses(t *testing.T) {
	t.Parallel()
	if !testengine.ReportsTransactions(t) {
		return // DynamoDB Local reports other units for transactions
	}
	const entities = 20
	for name, w := range map[string]float64{"": 1, strings.Repeat("x", 1000): 2, strings.Repeat("x", 5000): 5} {
		ctx, table := context.Background(), testengine.Table(t, "PK:S", "SK:S")
		var consumed meter
		client := testengine.Start(t).Client(consumed.option)
		old := kit.Must(mapper.New[oldUser](testengine.Start(t).Client(), mapper.Table(table)))(t)
		for i := range entities {
			v := oldUser{ID: fmt.Sprint(i), Email: fmt.Sprint("e", i), Name: name, Notes: []note{{1}}}
			kit.Must(old.Save(ctx, old.New(v)))(t)
		}
		m := kit.Must(mapper.New[user](client, mapper.Table(table)))(t)
		pass := func(what string, call func(context.Context, *mapper.Mapper[user], ...unique.Option) (*unique.Report,
			error), wcu, refused float64,
		) {
			t.Helper()
			consumed.is(t, fmt.Sprint(what, " of ", w, " WCU"), kit.Must(call(ctx, m))(t), wcu, refused)
		}
		pass("verify without guards", unique.Verify[user], 2, 0) // it deletes the notes of both values
		pass("run", unique.Run[user], entities*(2*w+2), 0)
		pass("second run", unique.Run[user], 0, 0)
		pass("verify", unique.Verify[user], 2, 0)
		kit.Must(old.Save(ctx, old.New(oldUser{ID: "d", Email: "e1", Name: name})))(t)
		pass("run with a duplicate", unique.Run[user], 0, 2*w+2)
		pass("verify with a duplicate", unique.Verify[user], 2, 0)
		r := kit.Must(unique.Drop(ctx, client, unique.Table{Name: table, Hash: "PK", Range: "SK"}, "user#Email"))(t)
		consumed.is(t, "drop", r, entities+1, 0)
	}
}
