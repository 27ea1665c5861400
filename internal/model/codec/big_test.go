package codec_test

import (
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/codec"
)

func bigInt(s string) *big.Int {
	n, ok := new(big.Int).SetString(s, 0)
	if !ok {
		panic(s)
	}
	return n
}

func bigFloat(s string, prec uint) *big.Float {
	f, _, err := big.ParseFloat(s, 10, prec, big.ToNearestEven)
	if err != nil {
		panic(err)
	}
	return f
}

// Big numbers are stored with all their digits, and come back as they were, whatever form a number of
// DynamoDB has.
func TestBig(t *testing.T) {
	ints, floats := codec.BigOf[big.Int]().Form, codec.BigOf[big.Float]().Form
	for _, c := range []struct{ in, stored string }{
		{"0", "0"},
		{"-1", "-1"},
		{strings.Repeat("9", 38), strings.Repeat("9", 38)},
		{"1" + strings.Repeat("0", 125), "1" + strings.Repeat("0", 125)},
		{"-12345678901234567890123456789012345678", "-12345678901234567890123456789012345678"},
	} {
		av, err := ints.Encode(bigInt(c.in), 0)
		if n, ok := av.(*types.AttributeValueMemberN); err != nil || !ok || n.Value != c.stored {
			t.Errorf("%s: %v %v", c.in, av, err)
		}
		var back big.Int
		if err := ints.Decode(&back, av, 0); err != nil || back.Cmp(bigInt(c.in)) != 0 {
			t.Errorf("%s: %s %v", c.in, &back, err)
		}
	}
	for stored, want := range map[string]string{
		"1.20E+3": "1200", "12.0": "12", "-0": "0",
		"5E+37": "5" + strings.Repeat("0", 37),
	} {
		var n big.Int
		if err := ints.Decode(&n, &types.AttributeValueMemberN{Value: stored}, 0); err != nil || n.String() != want {
			t.Errorf("%s: %s %v", stored, &n, err)
		}
	}
	for _, c := range []struct {
		in     *big.Float
		stored string
	}{
		{bigFloat("0.1", 53), "0.1"},
		{bigFloat("0.1", 128), "0.1"},
		{bigFloat("-0", 53), "0"},
		{bigFloat("0.12345678901234567890123456789012345678", 128), "0.12345678901234567890123456789012345678"},
		{
			bigFloat("9.9999999999999999999999999999999999999E+125", 128),
			strings.Repeat("9", 38) + strings.Repeat("0", 88),
		},
		{bigFloat("1E-130", 128), "0." + strings.Repeat("0", 129) + "1"},
		{bigFloat("9007199254740993", 64), "9007199254740993"},
	} {
		av, err := floats.Encode(c.in, 0)
		if n, ok := av.(*types.AttributeValueMemberN); err != nil || !ok || n.Value != c.stored {
			t.Errorf("%s: %v %v", c.in, av, err)
			continue
		}
		var back big.Float
		if err := floats.Decode(&back, av, 0); err != nil || !floats.Same(&back, c.in, 0) {
			t.Errorf("%s: %s %v", c.in, back.Text('g', -1), err)
		}
	}
}

// Numbers that DynamoDB cannot store are refused, and so are texts that are no numbers.
func TestBigRefused(t *testing.T) {
	ints, floats := codec.BigOf[big.Int]().Form, codec.BigOf[big.Float]().Form
	refused := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	_, err := ints.Encode(bigInt("1"+strings.Repeat("0", 37)+"1"), 0)
	refused(err, "significant digits, but DynamoDB keeps")
	_, err = ints.Encode(bigInt("1"+strings.Repeat("0", 126)), 0)
	refused(err, "the magnitudes of DynamoDB are 1E-130 to 9.99E+125")
	_, err = floats.Encode(new(big.Float).SetInf(true), 0)
	refused(err, "the number is too large or too small")
	_, err = floats.Encode(new(big.Float).SetPrec(500).Quo(big.NewFloat(1).SetPrec(500), big.NewFloat(3).SetPrec(500)),
		0)
	refused(err, "significant digits, but DynamoDB keeps")
	refused(ints.Decode(new(big.Int), &types.AttributeValueMemberN{Value: "1.5"}, 0),
		"the stored number is not an integer, as big.Int needs")
	refused(ints.Decode(new(big.Int), &types.AttributeValueMemberS{Value: "1"}, 0),
		"the stored type is wrong: a big.Int takes a number, but a S is stored")
}

// A copy shares no digits, and keeps the precision.
func TestBigCopy(t *testing.T) {
	ints, floats := codec.BigOf[big.Int]().Form, codec.BigOf[big.Float]().Form
	a, b := bigInt("12345678901234567890123"), new(big.Int)
	ints.Clone(b, a)
	a.Add(a, big.NewInt(1))
	if b.Cmp(bigInt("12345678901234567890123")) != 0 || ints.Same(a, b, 0) {
		t.Errorf("%s %s", a, b)
	}
	x, y := bigFloat("0.3", 200), new(big.Float)
	floats.Clone(y, x)
	x.Add(x, x)
	if y.Prec() != 200 || y.Text('g', -1) != "0.3" {
		t.Errorf("%s of %d", y, y.Prec())
	}
}

// Zero is left out, or NULL, where that is asked for; a NULL that is stored is zero.
func TestBigEmpty(t *testing.T) {
	ints := codec.BigOf[big.Int]().Form
	if av, err := ints.Encode(new(big.Int), codec.OmitEmpty); av != nil || err != nil {
		t.Errorf("%v %v", av, err)
	}
	av, err := ints.Encode(new(big.Int), codec.NullEmpty)
	if _, null := av.(*types.AttributeValueMemberNULL); !null || err != nil {
		t.Errorf("%v %v", av, err)
	}
	n := bigInt("7")
	if err := ints.Decode(n, av, 0); err != nil || n.Sign() != 0 {
		t.Errorf("%s %v", n, err)
	}
	if av, err := ints.Encode(bigInt("7"), codec.AsString); err != nil ||
		!reflect.DeepEqual(av, &types.AttributeValueMemberS{Value: "7"}) {
		t.Errorf("%v %v", av, err)
	}
}
