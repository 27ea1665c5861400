package generated

import (
	"context"
	"math/big"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
)

func bigInt(s string) *big.Int {
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		panic(s)
	}
	return n
}

// Big numbers are stored and loaded with all their digits, in every place. A save without changes sends
// nothing, and one more digit is a change.
func TestBigNumbers(t *testing.T) {
	ctx := context.Background()
	m := must(mapper.New[Ledger](testengine.Start(t).Client(), mapper.Table(testengine.Table(t, "PK:S", "SK:S"))))(t)
	most := strings.Repeat("9", 38)
	rate, _, _ := big.ParseFloat("0.12345678901234567890123456789012345678", 10, 128, big.ToNearestEven)
	must(m.Save(ctx, m.New(Ledger{
		ID: "1", Sum: bigInt(most), Rate: *rate, Last: []*big.Int{bigInt("-" + most), nil, new(big.Int)},
		By: map[string]big.Float{"EUR": *big.NewFloat(0.1)}, Limits: Limits{
			Most:  *bigInt("7"),
			Share: big.NewFloat(0.5),
		},
		Entries: []LedgerEntry{{1, *bigInt("12345678901234567890123")}, {2, big.Int{}}},
	})))(t)
	e := must(m.Load(ctx, LedgerByID("1")))(t)
	v := &e.Value
	eur, share := v.By["EUR"], v.Limits.Share
	for name, c := range map[string]struct{ got, want string }{
		"Sum": {v.Sum.String(), most}, "Rate": {v.Rate.Text('g', -1), "0.12345678901234567890123456789012345678"},
		"Last": {v.Last[0].String(), "-" + most}, "Last of zero": {v.Last[2].String(), "0"},
		"By":   {eur.Text('g', -1), "0.1"},
		"Most": {v.Limits.Most.String(), "7"}, "Least": {v.Limits.Least.String(), "0"}, "Share": {
			share.Text('g', -1),
			"0.5",
		},
		"Amount": {v.Entries[0].Amount.String(), "12345678901234567890123"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", name, c.got, c.want)
		}
	}
	if v.Last[1] != nil {
		t.Errorf("Last: %v", v.Last)
	}
	if r := must(m.Save(ctx, e))(t); r.Predicted().Requests != 0 {
		t.Errorf("nothing has changed: %v", r)
	}
	v.Sum.Sub(v.Sum, big.NewInt(1)) // in place, which the snapshot must not share
	v.Entries[0].Amount.Add(&v.Entries[0].Amount, big.NewInt(1))
	if r := must(m.Save(ctx, e))(t); len(r.Predicted().Items) != 2 {
		t.Errorf("%v", r)
	}
	must(LedgerByID("1").Patch(LedgerFields.Rate.Set(*big.NewFloat(0.25))).Exec(ctx, m))(t)
	e = must(m.Load(ctx, LedgerByID("1")))(t)
	if e.Value.Sum.String() != strings.Repeat("9", 37)+"8" ||
		e.Value.Entries[0].Amount.String() != "12345678901234567890124" || e.Value.Rate.Text('g', -1) != "0.25" {
		t.Errorf("%+v", e.Value)
	}
	e.Value.Sum = bigInt("1" + most)
	_, err := m.Save(ctx, e)
	if err == nil || !strings.Contains(err.Error(), "generated.Ledger.Sum") ||
		!strings.Contains(err.Error(), "significant digits, but DynamoDB keeps") {
		t.Error(err)
	}
}
