package mapper_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/engines"
	"github.com/itemize/itemize/internal/testing/kit"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

// picture has a vector that an index of its table holds, of which the model does not know.
type picture struct {
	_    struct{}  `ddb:"table=pictures"`
	ID   string    `ddb:"pk=PICTURE#{ID}"`
	Form []float32 `ddb:"sk=FORM"`
}

// pictureTable creates a table with a vector index.
func pictureTable(t *testing.T) string {
	t.Helper()
	name := t.Name()
	key := func(name string, kind types.KeyType) types.KeySchemaElement {
		return types.KeySchemaElement{AttributeName: &name, KeyType: kind}
	}
	text := func(name string) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeTypeS}
	}
	kit.Must(testengine.Start(t).Client().CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{key("PK", types.KeyTypeHash), key("SK", types.KeyTypeRange)},
		AttributeDefinitions: []types.AttributeDefinition{text("PK"), text("SK")},
		VectorIndexes: []types.VectorIndex{{
			IndexName: aws.String("near"), Dimensions: aws.Int64(3),
			DistanceFunction: types.VectorDistanceFunctionCosine,
			VectorAttribute:  &types.VectorAttributeDefinition{AttributeName: aws.String("Form")},
			Projection:       &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}},
	}))(t)
	return name
}

// The bytes of vector indexes are in receipts, totals and reports of every write: single, in a
// transaction, and in bulk loads of both forms. Reads have none: only SearchVectors reports bytes. (Of
// the engines, dynoxide has vector indexes.)
func TestVectorBytesAreCountedForEveryWrite(t *testing.T) {
	t.Parallel()
	e := testengine.Start(t)
	if e.Name != engines.Dynoxide {
		return
	}
	ctx, table := t.Context(), pictureTable(t)
	const each = 1024 // bytes of a small vector
	var totals mapper.Totals
	m := kit.Must(mapper.New[picture](e.Client(), mapper.Table(table), mapper.Observe(&totals)))(t)
	check := func(what string, bytes map[string]float64, want float64) {
		t.Helper()
		if bytes[table+"/near"] != want {
			t.Errorf("%s: %v, want %v", what, bytes, want)
		}
	}
	r := kit.Must(m.Save(ctx, m.New(picture{ID: "a", Form: []float32{1, 2, 3}})))(t)
	check("save", r.Consumed.VectorBytes, each)
	r = kit.Must(mapper.Transact(ctx, m.SavePart(m.New(picture{ID: "x", Form: []float32{1, 2, 3}})),
		m.SavePart(m.New(picture{ID: "y", Form: []float32{3, 2, 1}}))))(t)
	check("transaction", r.Consumed.VectorBytes, 2*each)
	for x, options := range [][]mapper.BulkOption{nil, {mapper.Overwrite()}} {
		all := []picture{{ID: "b", Form: []float32{1, 2, float32(x)}}, {ID: "c", Form: []float32{3, 2, float32(x)}}}
		r := kit.Must(m.BulkLoad(ctx, mapper.NoErrors(slices.Values(all)), options...))(t)
		check("bulk load", r.VectorBytes, 2*each)
	}
	var read mapper.Receipt
	kit.Must(m.Load(ctx, m.Key("a"), mapper.ReceiptTo(&read)))(t)
	check("load", read.Consumed.VectorBytes, 0)
	var sums []struct {
		Operation string
		Requests  int
		Consumed  mapper.Consumed
	}
	if err := json.Unmarshal(kit.Must(json.Marshal(&totals))(t), &sums); err != nil {
		t.Fatal(err)
	}
	if s := sums[0]; s.Operation != "BulkLoad" || s.Requests != 2 || s.Consumed.WCU != 4 {
		t.Errorf("%+v", s)
	}
	check("totals", sums[0].Consumed.VectorBytes, 4*each)
}
