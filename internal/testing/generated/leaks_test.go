package generated

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	exp "github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/field"
	"github.com/itemize/itemize/internal/testing/leaks"
	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
	"github.com/itemize/itemize/tables"
)

// No error of a patch, a query, a transaction, a bulk load or a decoded item contains a value, and no
// cursor contains a key. Each case is an error.
func TestNoErrorContainsValuesOfCalls(t *testing.T) {
	ctx := context.Background()
	client := testengine.Start(t).Client()
	ledgerTable := testengine.Table(t, "PK:S", "SK:S")
	ledgers := must(mapper.New[Ledger](client, mapper.Table(ledgerTable)))(t)
	shelves := must(mapper.New[Shelf](client, mapper.Table(testengine.Table(t, "PK:S", "SK:S"))))(t)
	scores := must(mapper.New[Score](client, mapper.Table(fmt.Sprintf("scores-%d", time.Now().UnixNano()))))(t)
	must(client.CreateTable(ctx, tables.Of(scores)[0].Create))(t)
	marker, _ := new(big.Int).SetString(leaks.Number, 10)
	huge, _ := new(big.Int).SetString(leaks.Number+"0000000000000000000000000000000000000000000000000000001", 10)
	rate := *big.NewFloat(7351907.5)
	ledger := Ledger{
		ID: "1", Sum: marker, Rate: rate, Last: []*big.Int{marker},
		By: map[string]big.Float{leaks.Text: rate}, Entries: []LedgerEntry{{N: 1}},
	}
	must(ledgers.Save(ctx, ledgers.New(ledger)))(t)
	must(shelves.Save(ctx,
		shelves.New(Shelf{ID: "1", Name: leaks.Text, Level: 7351907, Notes: &Extra{7351907, leaks.Text}})))(t)
	at := time.Date(2021, time.November, 15, 8, 0, 0, 0, time.UTC)
	must(scores.Save(ctx, scores.New(Score{ID: "1", Game: leaks.Text, Player: leaks.Text, Points: 735190, At: at})))(t)
	lf, sf, cf := LedgerFields, ShelfFields, ScoreFields
	one, shelf, score := LedgerByID("1"), ShelfByID("1"), ScoreByID("1")
	raw := func(values map[string]types.AttributeValue, update string, names map[string]string) error {
		_, err := mapper.Transact(ctx, mapper.RawPart(client, types.TransactWriteItem{Update: &types.Update{
			TableName: &ledgerTable, Key: map[string]types.AttributeValue{"PK": text("other"), "SK": text("HEAD")},
			UpdateExpression: &update, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		}}))
		return err
	}
	indexed := func(of query.Selection[Score]) error {
		_, err := query.Of[Score](of).Count(ctx, scores)
		return err
	}
	stale := func(change func(l *Ledger)) error {
		e := must(ledgers.Load(ctx, one))(t)
		must(client.UpdateItem(ctx, &dynamodb.UpdateItemInput{ // a program that leaves the version
			TableName: &ledgerTable, Key: map[string]types.AttributeValue{"PK": text("LEDGER#1"), "SK": text("HEAD")},
			UpdateExpression:         aws.String("SET #s = #s + :one"),
			ExpressionAttributeNames: map[string]string{"#s": "Sum"},
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":one": &types.AttributeValueMemberN{Value: "1"},
			},
		}))(t)
		change(&e.Value)
		_, err := ledgers.Save(ctx, e)
		return err
	}
	bulk := func(l Ledger) error {
		r, err := ledgers.BulkLoad(ctx, func(yield func(Ledger, error) bool) { yield(l, nil) })
		if b := must(json.Marshal(r))(t); err != nil || len(r.Failures) != 1 || leaks.In(b) {
			t.Errorf("the report is %s: %v", b, err)
		}
		return r.Failures[0].Err
	}
	for name, err := range map[string]error{
		"an unmet condition": done(one.Patch(lf.Rate.Set(rate)).If(lf.Sum.Equal(huge)).Exec(ctx, ledgers)),
		"an unmet condition of a number": done(shelf.Patch(sf.Name.Set("x")).If(sf.Level.Less(7351),
			sf.Name.BeginsWith("y")).Exec(ctx, shelves)),
		"an unmet condition of an entry": done(
			one.Patch(lf.Rate.Set(rate)).If(lf.By.Key(leaks.Text).Equal(*big.NewFloat(1))).Exec(ctx, ledgers),
		),
		"an unmet expression": done(
			shelf.Patch(sf.Name.Set("x")).If(field.Raw[Shelf](exp.Name("Name").Equal(exp.Value(leaks.Text+"x")))).
				Exec(ctx, shelves),
		),
		"an overflow":               done(shelf.Patch(sf.Level.Decrement(7351908)).Exec(ctx, shelves)),
		"an overflow of a patch":    done(shelf.Patch(sf.Level.Increment(math.MaxUint)).Exec(ctx, shelves)),
		"a number that is too long": done(one.Patch(lf.Sum.Set(huge)).Exec(ctx, ledgers)),
		"an entry that is too long": done(
			one.Patch(lf.By.Key(leaks.Text).Set(*new(big.Float).SetPrec(500).SetInt(huge))).Exec(ctx, ledgers),
		),
		"no UTF-8": done(shelf.Patch(sf.Name.Set(leaks.Text+"\xff")).Exec(ctx, shelves)),
		"no UTF-8 in a condition": done(shelf.Patch(sf.Level.Set(1)).If(sf.Name.Equal(leaks.Text+"\xff")).
			Exec(ctx, shelves)),
		"two changes of an entry": done(one.Patch(lf.By.Key(leaks.Text).Set(rate), lf.By.Set(nil)).Exec(ctx,
			ledgers)),
		"an entry in another struct": done(one.Patch(lf.By.Key(leaks.Text+"\xff").Set(rate)).Exec(ctx, ledgers)),
		"an index key in a patch":    done(score.Patch(cf.Points.Set(-7351907)).Exec(ctx, scores)),
		"an index key too long in digits": func() error {
			_, err := scores.Save(ctx, scores.New(Score{ID: "2", Game: "g", Player: "p", Points: 7351907, At: at}))
			return err
		}(),
		"an index key without UTF-8": func() error {
			_, err := scores.Save(ctx, scores.New(Score{ID: "2", Game: leaks.Text + "\xff", Player: "p", At: at}))
			return err
		}(),
		"an index query of a wrong type":  indexed(scores.Index("byGame", 7351907)),
		"an index query of another type":  indexed(scores.Index("byGame", []string{leaks.Text})),
		"an index query without UTF-8":    indexed(scores.Index("byGame", leaks.Text+"\xff")),
		"an index query too long":         indexed(scores.Index("byDay", at, "g", "p", 7351907)),
		"a conflict with another program": stale(func(l *Ledger) { l.Sum = big.NewInt(1) }),
		"a save of a number too long":     stale(func(l *Ledger) { l.Sum = huge }),
		"a raw number": raw(
			map[string]types.AttributeValue{":v": &types.AttributeValueMemberN{Value: leaks.Number + "x"}},
			"SET v = :v", nil,
		),
		"a raw set with duplicates": raw(
			map[string]types.AttributeValue{":v": &types.AttributeValueMemberSS{Value: []string{
				leaks.Text,
				leaks.Text,
			}}}, "SET v = :v", nil,
		),
		"a raw name": raw(map[string]types.AttributeValue{":v": text("x")}, "SET #n = :v",
			map[string]string{"#n": ""}),
		"a bulk load": bulk(Ledger{ID: "3", Sum: huge}),
		"a decoded item": func() error {
			_, err := ledgers.Decode(map[string]types.AttributeValue{
				"PK": text("LEDGER#1"), "SK": text("HEAD"),
				"Sum": text(leaks.Text),
			})
			return err
		}(),
		"a decoded change": func() error {
			_, err := ledgers.DecodeChange(map[string]types.AttributeValue{
				"PK": text("LEDGER#1"), "SK": text("HEAD"),
				"Last": text(leaks.Text),
			}, nil)
			return err
		}(),
		"items": func() error {
			_, err := ledgers.FromItems(ledgers.Key("1"),
				map[string][]map[string]types.AttributeValue{ledgerTable: {{
					"PK": text("LEDGER#1"), "SK": text("HEAD"),
					"By": text(leaks.Text),
				}}})
			return err
		}(),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		leaks.Error(t, err, "%s", name)
		if d := mapper.Detail(err); err != nil && d == "" {
			t.Errorf("%s: no details", name)
		}
	}
	for i := range 3 {
		must(scores.Save(ctx,
			scores.New(Score{
				ID: fmt.Sprint("more", i), Game: leaks.Text, Player: leaks.Text + fmt.Sprint(i),
				At: at,
			})))(t)
	}
	page := must(ScoreByGamePlayer(leaks.Text).Limit(2).Page(ctx, scores))(t)
	if page.Next == "" || leaks.In([]byte(page.Next)) {
		t.Errorf("the cursor is %s: %s", page.Next, must(base64.RawURLEncoding.DecodeString(string(page.Next)))(t))
	}
}

func done(_ any, err error) error { return err }

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
