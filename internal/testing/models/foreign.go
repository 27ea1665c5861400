package models

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/attr"
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
