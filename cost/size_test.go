package cost

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The vectors of the cost rules: numbers, whose size is the one that is not
// plain from their text.
func TestNumberSize(t *testing.T) {
	for number, want := range map[string]int{
		"0": 1, "-0": 1, "1": 2, "12": 2, "123": 3, "1234": 3, strings.Repeat("1", 38): 20, "0042": 2, "100": 2,
		"1010": 3, "1E125": 2, "1E-100": 2, "0.0000001": 2, "1.5": 3, "1.234": 4, "3.14159": 5, "123456": 4,
		"100.5": 4, "0.15": 2, "-42": 3, "1.0": 2, "120": 2, "0.012": 2,
	} {
		if got := NumberSize(number); got != want {
			t.Errorf("NumberSize(%s) = %d; want %d", number, got, want)
		}
	}
}

// Each type of value counts as the Developer Guide says.
func TestValueSize(t *testing.T) {
	s := &types.AttributeValueMemberS{Value: "héllo"} // 6 bytes in UTF-8
	n := &types.AttributeValueMemberN{Value: "123"}   // 3
	for _, c := range []struct {
		name  string
		value types.AttributeValue
		want  int
	}{
		{"string", s, 6},
		{"number", n, 3},
		{"binary", &types.AttributeValueMemberB{Value: []byte{1, 2}}, 2},
		{"bool", &types.AttributeValueMemberBOOL{}, 1},
		{"null", &types.AttributeValueMemberNULL{Value: true}, 1},
		{"empty list", &types.AttributeValueMemberL{}, 3},
		{"list", &types.AttributeValueMemberL{Value: []types.AttributeValue{s, n}}, 3 + 1 + 6 + 1 + 3},
		{"map", &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"é": n}}, 3 + 1 + 2 + 3},
		{"string set", &types.AttributeValueMemberSS{Value: []string{"a", "bc"}}, 3},
		{"number set", &types.AttributeValueMemberNS{Value: []string{"1", "123"}}, 5},
		{"binary set", &types.AttributeValueMemberBS{Value: [][]byte{{1}, {2, 3}}}, 3},
		{"nothing", nil, 0},
	} {
		if got := ValueSize(c.value); got != c.want {
			t.Errorf("%s: %d bytes; want %d", c.name, got, c.want)
		}
	}
	if got := ItemSize(map[string]types.AttributeValue{"PK": s, "n": n}); got != 2+6+1+3 {
		t.Errorf("item: %d bytes", got)
	}
}

// Units are rounded up by item, at the sizes where they change.
func TestUnits(t *testing.T) {
	for _, c := range []struct {
		bytes       int
		write, read float64
	}{{0, 1, 1}, {1, 1, 1}, {1024, 1, 1}, {1025, 2, 1}, {4096, 4, 1}, {4097, 5, 2}, {MaxItem, 400, 100}} {
		if w, r := WriteUnits(c.bytes), ReadUnits(c.bytes); w != c.write || r != c.read {
			t.Errorf("%d bytes: %v WCU, %v RCU; want %v, %v", c.bytes, w, r, c.write, c.read)
		}
	}
	if got := Put(3000, 100); got != 3 {
		t.Errorf("an update that shrinks an item costs by its old size: %v", got)
	}
}

// FuzzNumberSize: any text gives a size, and equal numbers one size.
func FuzzNumberSize(f *testing.F) {
	for _, s := range []string{"0", "1.50", "-1E-130", "00012.3400e+5", "x", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n := NumberSize(s)
		if n < 1 || n > 1+max(len(s), 39)+1 {
			t.Fatalf("%q has %d bytes", s, n)
		}
		if strings.ContainsAny(s, ".eE") || s == "" {
			return
		}
		if m := NumberSize(s + ".0"); n != m && NumberSize(s) != 1+len(s) {
			t.Fatalf("%q has %d bytes, with .0 %d", s, n, m)
		}
	})
}
