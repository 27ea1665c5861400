package record

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/advice/trace"
)

// Each form of an update expression counts as writes of attributes, or as added, changed and removed elements.
func TestUpdateExpressions(t *testing.T) {
	two := &types.AttributeValueMemberL{Value: []types.AttributeValue{nil, nil}}
	values := attributes{":two": two, ":none": &types.AttributeValueMemberL{}, ":v": &types.AttributeValueMemberS{}}
	for expression, want := range map[string]string{
		"SET a = :v, #b = :v":                                  `{"writes":["a","bee"]}`,
		"set a = if_not_exists(a, :v) remove c add d :v":       `{"writes":["a","c","d"]}`,
		"SET a = list_append(a, :two)":                         `{"add":{"a":2}}`,
		"SET a = list_append(:two, a)":                         `{"add":{"a":2}}`,
		"SET #b = list_append(if_not_exists(#b, :none), :two)": `{"add":{"bee":2}}`,
		"SET a = list_append(:two, if_not_exists(a, :none))":   `{"add":{"a":2}}`,
		"SET a = list_append(c, :two)":                         `{"writes":["a"]}`,
		"SET a = list_append(:two, :two)":                      `{"writes":["a"]}`,
		"SET a = list_append(a, :none)":                        `{"writes":["a"]}`,
		"SET a[0].x = :v, a[0].y = :v, a[3] = :v":              `{"change":{"a":2}}`,
		"REMOVE a[0], a[1].y":                                  `{"change":{"a":1},"remove":{"a":1}}`,
		"SET m.#b = :v REMOVE m.c.d":                           `{"change":{"m":2}}`,
		"DELETE tags :v":                                       `{"writes":["tags"]}`,
		"SET a = b + :v, c = :v - d":                           `{"writes":["a","c"]}`,
		"SET remove = :v":                                      `{"writes":["remove"]}`,
	} {
		o := &trace.Operation{}
		names, elements := map[string]string{"#b": "bee"}, map[string]bool{}
		for _, c := range changesOf(expression, names) {
			addChange(o, c, names, values, elements)
		}
		text, err := json.Marshal(struct {
			Writes []string       `json:"writes,omitempty"`
			Add    map[string]int `json:"add,omitempty"`
			Change map[string]int `json:"change,omitempty"`
			Remove map[string]int `json:"remove,omitempty"`
		}{o.Writes, o.Add, o.Change, o.Remove})
		if err != nil || string(text) != want {
			t.Errorf("%s: %s, want %s", expression, text, want)
		}
	}
}

// FuzzExpressions checks that no expression makes the recorder panic.
func FuzzExpressions(f *testing.F) {
	f.Add("SET a = list_append(a, :v) REMOVE b[0].c", "a = :v AND begins_with(b, :w)")
	f.Fuzz(func(_ *testing.T, update, condition string) {
		names := map[string]string{"#n": "name"}
		for _, c := range changesOf(update, names) {
			addChange(&trace.Operation{}, c, names, attributes{":v": nil}, map[string]bool{})
		}
		projectionOf(&condition, names)
		comparedIn(&condition, names)
		keyConditionOf(condition, names, "a")
		(&Recorder{}).isInsert("t", &condition, names)
	})
}
