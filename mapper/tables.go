package mapper

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/model/key"
	"github.com/itemize/itemize/internal/model/tabledef"
)

// Tables returns the tables that the model needs now.
func (g *engine) Tables() []*tabledef.Table {
	if g.model.Schema.Periods == nil {
		return g.TablesOf("")
	}
	var all []*tabledef.Table
	for n := range g.model.Times.Ahead + 1 {
		all = append(all, g.TablesOf(g.model.PeriodAt(g.model.Now(), n))...)
	}
	return all
}

// TablesAt returns the tables that the model needs for some times.
func (g *engine) TablesAt(times []time.Time) ([]*tabledef.Table, error) {
	if g.model.Schema.Periods == nil {
		return g.TablesOf(""), nil
	}
	var all []*tabledef.Table
	var names []string
	for _, at := range times {
		p, err := g.model.Schema.Periods.Of(key.OfTime(at))
		if err != nil {
			return nil, g.model.Errorf("the table of %s: %w", at.Format(time.DateOnly), err)
		}
		if !slices.Contains(names, p) {
			names, all = append(names, p), append(all, g.TablesOf(p)...)
		}
	}
	return all, nil
}

// TablesOf returns the tables of a period.
func (g *engine) TablesOf(period string) []*tabledef.Table {
	var names []string
	for i := range g.model.Tables {
		names = append(names, g.model.Table(i, period).Name)
	}
	all := tabledef.Of(g.model.Schema, names)
	more := slices.Collect(maps.Values(g.model.GuardTables))
	slices.SortFunc(more, func(a, b *item.Table) int { return strings.Compare(a.Name, b.Name) })
	if g.env.External != nil {
		more = append(more, g.env.External.Locations.Tables()...)
	}
	for _, t := range more {
		if !slices.ContainsFunc(all, func(d *tabledef.Table) bool { return d.Name == t.Name }) {
			all = append(all, tabledef.Plain(t.Name, t.Hash, t.Range))
		}
	}
	return all
}
