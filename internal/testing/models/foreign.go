package models

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/model/attr"
)

// Foreign returns a value as another program may have stored it: with more digits, more entries and
// longer lists. NULL is in place of nothing, and some have other types that decode to the same Go type.
func Foreign(r *rand.Rand, v types.AttributeValue) types.AttributeValue {
	if r.IntN(12) == 0 {
		return &types.AttributeValueMemberNULL{Value: true}
	}
	switch v := v.(type) {
	case *types.AttributeValueMemberN:
		switch r.IntN(6) {
		case 0:
			return &types.AttributeValueMemberN{Value: "9007199254740993"}
		case 1:
			return &types.AttributeValueMemberN{Value: "0.1234567890123456789012345"}
		}
	case *types.AttributeValueMemberS:
		if r.IntN(6) == 0 {
			return &types.AttributeValueMemberN{Value: "5"}
		}
	case *types.AttributeValueMemberNS:
		set := &types.AttributeValueMemberNS{Value: append([]string(nil), v.Value...)}
		for _, n := range []string{"9007199254740993", "123456789012345678.25"} {
			if r.IntN(3) == 0 && !strings.Contains(strings.Join(set.Value, " "), n) {
				set.Value = append(set.Value, n)
			}
		}
		return set
	case *types.AttributeValueMemberL:
		l := &types.AttributeValueMemberL{}
		for _, e := range v.Value {
			l.Value = append(l.Value, Foreign(r, e))
		}
		if r.IntN(6) == 0 && len(l.Value) > 0 {
			l.Value = append(l.Value, attr.Copy(l.Value[0]))
		}
		return l
	case *types.AttributeValueMemberM:
		m := &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}}
		for _, k := range slices.Sorted(maps.Keys(v.Value)) {
			if r.IntN(10) > 0 {
				m.Value[k] = Foreign(r, v.Value[k])
			}
			if _, err := strconv.ParseFloat(k, 64); err == nil && r.IntN(3) == 0 { // another text of the key
				m.Value["0"+k] = Foreign(r, v.Value[k])
			}
		}
		if r.IntN(3) == 0 {
			m.Value["unknown"] = &types.AttributeValueMemberN{Value: "123456789012345678901234567890"}
		}
		return m
	}
	return attr.Copy(v)
}

// Distorted returns a value in which parts have another type, or do not fit the Go type that they were encoded from.
func Distorted(r *rand.Rand, v types.AttributeValue) types.AttributeValue {
	if v == nil || r.IntN(3) == 0 {
		return other(r, 2)
	}
	switch v := v.(type) {
	case *types.AttributeValueMemberL:
		l := &types.AttributeValueMemberL{Value: append([]types.AttributeValue(nil), v.Value...)}
		if r.IntN(4) == 0 || len(l.Value) == 0 {
			l.Value = append(l.Value, other(r, 1))
		}
		i := r.IntN(len(l.Value))
		l.Value[i] = Distorted(r, l.Value[i])
		return l
	case *types.AttributeValueMemberM:
		m := &types.AttributeValueMemberM{Value: maps.Clone(v.Value)}
		names := slices.Sorted(maps.Keys(m.Value))
		if r.IntN(4) == 0 || len(names) == 0 {
			m.Value[texts[r.IntN(len(texts))]] = other(r, 1)
			return m
		}
		name := names[r.IntN(len(names))]
		m.Value[name] = Distorted(r, m.Value[name])
		return m
	}
	return other(r, 2)
}

var (
	texts   = []string{"", "x", "12", "300", "1.5", "true", "2024-02-29T01:02:03Z", "1e999", "-1"}
	numbers = []string{
		"0", "1", "-1", "1.5", "300", "70000", "3000000000", "1E30", "12345678901234567890123456789",
		"1000000000000000000000000000000000000000000000",
	}
)

// other returns a value of any type, with others in it to a depth.
func other(r *rand.Rand, depth int) types.AttributeValue {
	some := func(of []string) []string {
		return []string{of[r.IntN(len(of)/2)], of[len(of)/2+r.IntN(len(of)/2)]}[:1+r.IntN(2)]
	}
	bytes := func() []byte { return make([]byte, []int{0, 1, 2, 3, 4, 16}[r.IntN(6)]) }
	n := 8
	if depth > 0 {
		n = 12
	}
	switch r.IntN(n) {
	case 0:
		return &types.AttributeValueMemberNULL{Value: true}
	case 1:
		return &types.AttributeValueMemberBOOL{Value: r.IntN(2) == 0}
	case 2:
		return &types.AttributeValueMemberB{Value: bytes()}
	case 3:
		return &types.AttributeValueMemberSS{Value: some(texts[1:])}
	case 4:
		return &types.AttributeValueMemberNS{Value: some(numbers)}
	case 5:
		return &types.AttributeValueMemberBS{Value: [][]byte{bytes()}}
	case 6:
		return &types.AttributeValueMemberN{Value: numbers[r.IntN(len(numbers))]}
	case 7:
		return &types.AttributeValueMemberS{Value: texts[r.IntN(len(texts))]}
	case 8, 9:
		l := &types.AttributeValueMemberL{Value: []types.AttributeValue{}}
		for range r.IntN(4) {
			l.Value = append(l.Value, other(r, depth-1))
		}
		return l
	}
	m := &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}}
	for range r.IntN(3) {
		m.Value[texts[r.IntN(len(texts))]] = other(r, depth-1)
	}
	return m
}
