package layout_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/migration/layout"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/schema"
)

type problemHive struct {
	_       struct{} `ddb:"table=bees,ttl=expires"`
	_       struct{} `ddb:"index=byDay,hash=DayPK,range=DaySK,pk=DAY#{At:date},sk={At},on=Weights"`
	ID      string   `ddb:"pk={ID}"`
	Name    string   `ddb:"sk=HEAD"`
	Weights []struct {
		N       int
		At      time.Time
		Expires time.Time `ddb:"ttl"`
	} `ddb:"sk=WEIGHT#{N:05}"`
	Names map[string]struct{ Seen time.Time } `ddb:"sk=NAME#{key}"`
	Purge time.Time                           `ddb:"sk=TEXT"`
}

// Problems of elements are said once with their number, and a problem of several items is said once.
func TestSummarySaysEachProblemOnce(t *testing.T) {
	e, err := schema.Of(reflect.TypeFor[problemHive]())
	if err != nil {
		t.Fatal(err)
	}
	l, err := layoutOf(t, e)
	if err != nil {
		t.Fatal(err)
	}
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	list, names := &types.AttributeValueMemberL{}, item.Attributes{}
	for i := range 300 {
		list.Value = append(list.Value, &types.AttributeValueMemberM{Value: item.Attributes{
			"N": &types.AttributeValueMemberN{Value: fmt.Sprint(i)}, "At": text("2021-11-14T00:00:00Z"),
			"Expires": text("soon"),
		}})
		names[fmt.Sprintf(`a "name"] %d`, i)] = &types.AttributeValueMemberM{Value: item.Attributes{
			"Seen": text("never"),
		}}
	}
	_, err = l.Split(item.Attributes{
		"ID": text("a"), "Name": text("b"), "Weights": list, "Names": &types.AttributeValueMemberM{Value: names},
	})
	const want = `Weights[0].Expires and 299 more: it is not a time of RFC 3339, so that a load of the field Expires ` +
		`would fail: change the value, or the field's type
Weights[0].Expires and 299 more: the text is not a time, but it is the expiry
Names["a \"name\"] 0"].Seen and 299 more: it is not a time of RFC 3339, so that a load of the field Seen would ` +
		`fail: change the value, or the field's type`
	if err = layout.Summary(err); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}
