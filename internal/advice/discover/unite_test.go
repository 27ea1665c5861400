package discover

import (
	"fmt"
	"strings"
	"testing"

	"github.com/itemize/itemize/internal/model/item"
)

// Keys whose words are data, such as names of time zones, are of one type; types with attributes of their own stay
// apart, also if the keys of others only vary.
func TestWordsInKeysThatAreData(t *testing.T) {
	zone := func(id string, i int) item.Attributes {
		history := str(strings.Repeat("x", 3000))
		return item.Attributes{"PK": str(id), "offset": num(i), "name": str(id), "history": history}
	}
	order := func(id string, i int) item.Attributes {
		return item.Attributes{"PK": str(id), "total": num(i), "lines": str(strings.Repeat("x", 3000)), "paid": num(1)}
	}
	for _, c := range []struct {
		name  string
		items func(i int) []item.Attributes
		want  []string
	}{
		{"names of zones", func(i int) []item.Attributes {
			return []item.Attributes{
				zone(fmt.Sprint("Europe/City", i), i), zone(fmt.Sprint("Asia/City", i), i),
				zone(fmt.Sprintf("Region%d/City%d", i, i), i), zone(fmt.Sprint("UTC", i), i),
			}
		}, []string{"{name}"}},
		{"with three parts", func(i int) []item.Attributes {
			return []item.Attributes{
				zone(fmt.Sprint("America/City", i), i), zone(fmt.Sprint("America/Indiana/City", i), i),
				zone(fmt.Sprintf("Region%d/City%d", i, i), i),
			}
		}, []string{"{name}"}},
		{"words and a rest of other attributes", func(i int) []item.Attributes {
			return []item.Attributes{
				order(fmt.Sprint("ORDER#", i), i), zone(fmt.Sprintf("Region%d#City%d", i, i), i),
			}
		}, []string{"{...}#{...}", "ORDER#{...}"}},
		{"words alone", func(i int) []item.Attributes {
			return []item.Attributes{zone(fmt.Sprint("USER#", i), i), zone(fmt.Sprint("ADMIN#", i), i)}
		}, []string{"ADMIN#{...}", "USER#{...}"}},
	} {
		var items []item.Attributes
		for i := range 20 {
			items = append(items, c.items(i)...)
		}
		s := sampled(items...)
		s.Table.Range = ""
		var got []string
		for _, typ := range reported(t, s).Types {
			got = append(got, typ.Keys)
			if len(c.want) == 1 && typ.NoModel != "" {
				t.Errorf("%s: %s", c.name, typ.NoModel)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
