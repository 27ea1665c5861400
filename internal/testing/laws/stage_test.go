package laws

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/testing/handmade"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
)

type marked struct {
	ID   string      `ddb:"pk=P#{ID}"`
	Name string      `ddb:"sk=H"`
	Rows []markedRow `ddb:"sk=R#{N:02}"`
	Note string      `ddb:"sk=NOTE"`
}

type markedRow struct {
	N    int
	Text string
}

// Readers ignore the stage of an item that is not the root item, as format.md says. It belongs to the entity
// if it has no incarnation, or the root item's.
func TestStageOfOtherItemsIsIgnored(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, stage := range map[string]types.AttributeValue{
		"mark": &types.AttributeValueMemberBOOL{Value: true}, "text": text("shipped"), "number": number("1"),
		"map": object(attributes{"state": text("live")}), "null": null(),
	} {
		for _, rooted := range []attributes{{"Name": text("n")}, {
			"Name": text("n"),
			"_a":   &types.AttributeValueMemberB{Value: []byte("12345678")},
		}} {
			s := open[marked](t)
			s.put("P#1", "H", rooted)
			s.put("P#1", "R#01", attributes{"Text": text("t"), "_s": stage})
			s.put("P#1", "R#02", attributes{"Text": text("u")})
			s.put("P#1", "NOTE", attributes{"Note": text("x"), "_s": stage})
			e := s.load("1")
			if len(e.Value.Rows) != 2 || e.Value.Note != "x" {
				t.Errorf("%s: %+v", name, e.Value)
				continue
			}
			part := must(s.Load(ctx, s.Key("1").Prefix("R#"), mapper.Strong()))(t)
			if len(part.Value.Rows) != 2 {
				t.Errorf("%s: a part has %+v", name, part.Value)
			}
			if all := must(query.Of[markedRow](query.Selection[marked](s.Key("1").Prefix("R#"))).Collect(ctx,
				s.Mapper))(t); len(
				all,
			) != 2 {
				t.Errorf("%s: a query has %+v", name, all)
			}
			for x, err := range s.Scan(ctx) {
				if err != nil || len(x.Value.Rows) != 2 {
					t.Errorf("%s: a scan has %+v, %v", name, x, err)
				}
			}
			e.Value.Rows[0].Text = "changed"
			e.Value.Note = "changed"
			s.save(e)
			s.put("P#1", "R#01", attributes{"Text": text("t"), "_s": stage})
			s.put("P#1", "NOTE", attributes{"Note": text("x"), "_s": stage})
			note := handmade.String("Note", "", func(v *marked) *string { return &v.Note })
			must(handmade.EntityOf(s.Key("1")).Patch(note.Set("patched")).Exec(ctx, s.Mapper))(t)
			s.want("P#1", "NOTE", "Note", text("patched"))
			e = s.load("1")
			e.Value.Rows = e.Value.Rows[1:]
			s.save(e)
			if got := s.get("P#1", "R#01"); got != nil {
				t.Errorf("%s: %v", name, got)
			}
		}
	}
}
