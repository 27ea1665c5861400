package generated

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/itemize/itemize/internal/testing/testengine"
	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/query"
	"github.com/itemize/itemize/tables"
)

// The generated queries of indexes yield the items of their ranges: by numbers, texts, times, and step
// by step.
func TestIndexNodes(t *testing.T) {
	ctx := context.Background()
	client := testengine.Start(t).Client()
	m := must(mapper.New[Score](client, mapper.Table(fmt.Sprintf("scores-%d", time.Now().UnixNano()))))(t)
	must(client.CreateTable(ctx, tables.Of(m)[0].Create))(t)
	monday := time.Date(2021, time.November, 15, 8, 0, 0, 0, time.UTC)
	for i, player := range []string{"ann", "anna", "bob", "eve", "ann"} {
		at := monday.AddDate(0, 0, 3*i)
		must(m.Save(ctx, m.New(Score{
			ID: fmt.Sprint(i), Game: []string{"go", "chess"}[i/4], Player: player, Points: i * 7, At: at,
			Wins: []Win{{At: at, Series: "winter"}},
		})))(t)
	}
	ids := func(q interface {
		Collect(context.Context, query.Source[Score], ...query.ReadOption) ([]Score, error)
	},
	) string {
		var all []string
		for _, s := range must(q.Collect(ctx, m))(t) {
			all = append(all, s.ID)
		}
		return strings.Join(all, " ")
	}
	wins := func(q interface {
		Refs(context.Context, query.Source[Score], ...query.ReadOption) iter.Seq2[query.Ref[Win], error]
	},
	) string {
		var all []string
		for ref, err := range q.Refs(ctx, m) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, ref.Placeholders["^ID"].(string))
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	game, player := ScoreByGame("go"), ScoreByGamePlayer("go")
	daily := ScoreDaily(monday)
	for _, c := range []struct{ name, got, want string }{
		{"all", ids(game), "0 1 2 3"},
		{"reverse", ids(game.Reverse()), "3 2 1 0"},
		{"points between", ids(game.Between(7, 14)), "1 2"},
		{"points at least", ids(game.AtLeast(14)), "2 3"},
		{"points at most", ids(game.AtMost(7)), "0 1"},
		{"reversed bounds", ids(game.Between(14, 7)), ""},
		{"one number", ids(game.Points(14)), "2"},
		{"players", ids(player.BeginsWith("ann")), "0 1"},
		{"no beginning", ids(player.BeginsWith("")), "0 1 2 3"},
		{"players between", ids(player.Between("anna", "bob")), "1 2"},
		{"a day", ids(daily), "0"},
		{"its game", ids(daily.Game("go")), "0"},
		{"another", ids(daily.Game("chess")), ""},
		{"its player", ids(daily.Game("go").Player("ann").AtLeast(0)), "0"},
		{"points beyond", ids(daily.Game("go").Player("ann").AtLeast(1)), ""},
		{"one score", ids(daily.Game("go").Player("ann").Points(0)), "0"},
		{"wins", wins(ScoreWinsBySeries("winter")), "0 1 2 3 4"},
		{"wins of a week", wins(ScoreWinsBySeries("winter").Week(2021, 46)), "0 1 2"},
		{"wins since", wins(ScoreWinsBySeries("winter").Since(monday.AddDate(0, 0, 4))), "2 3 4"},
		{"one entity's players", ids(ScoreByIDPlayer("3").BeginsWith("e")), "3"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.name, c.got, c.want)
		}
	}
}
