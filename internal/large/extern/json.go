package extern

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// jsonOf returns a value in DynamoDB's JSON. Equal values give the same bytes, whose SHA-256 identifies
// the value.
func jsonOf(av types.AttributeValue) ([]byte, error) {
	v, err := jsonValue(av)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{entry: v}) // which sorts the names of maps
}

func sorted(all []string) []string {
	all = slices.Clone(all)
	slices.Sort(all)
	return all
}

func jsonValue(av types.AttributeValue) (map[string]any, error) {
	base64Of := base64.StdEncoding.EncodeToString
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return map[string]any{"S": v.Value}, nil
	case *types.AttributeValueMemberN:
		return map[string]any{"N": v.Value}, nil
	case *types.AttributeValueMemberB:
		return map[string]any{"B": base64Of(v.Value)}, nil
	case *types.AttributeValueMemberBOOL:
		return map[string]any{"BOOL": v.Value}, nil
	case *types.AttributeValueMemberNULL:
		return map[string]any{"NULL": v.Value}, nil
	case *types.AttributeValueMemberSS:
		return map[string]any{"SS": sorted(v.Value)}, nil
	case *types.AttributeValueMemberNS:
		return map[string]any{"NS": sorted(v.Value)}, nil
	case *types.AttributeValueMemberBS:
		all := make([]string, len(v.Value))
		for i, b := range v.Value {
			all[i] = base64Of(b)
		}
		return map[string]any{"BS": sorted(all)}, nil
	case *types.AttributeValueMemberL:
		all := make([]any, len(v.Value))
		for i, e := range v.Value {
			var err error
			if all[i], err = jsonValue(e); err != nil {
				return nil, err
			}
		}
		return map[string]any{"L": all}, nil
	case *types.AttributeValueMemberM:
		all := make(map[string]any, len(v.Value))
		for name, e := range v.Value {
			var err error
			if all[name], err = jsonValue(e); err != nil {
				return nil, err
			}
		}
		return map[string]any{"M": all}, nil
	}
	return nil, fmt.Errorf("the type %T is not a type of DynamoDB: use one of S, N, B, BOOL, NULL, L, M, SS, NS "+
		"and BS", av)
}
