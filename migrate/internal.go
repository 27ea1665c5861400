package migrate

import (
	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/migration/report"
)

// Internal is for the command itemize. No other code can call its methods.
var Internal internal

type internal struct{}

// Tables returns the tables of a layout.
func (internal) Tables(_ door.Key, l *Layout) []string {
	var names []string
	for _, t := range l.of.Tables {
		names = append(names, t.Name)
	}
	return names
}

// Plan returns the complete plan.
func (internal) Plan(_ door.Key, p *Plan) *report.Plan { return p.full }

// OnProgress calls f with the progress of a run.
func (internal) OnProgress(_ door.Key, f func(report.Progress)) Option {
	return optionFunc(func(o *options) {
		o.progress = append(o.progress, func(_ Report, p report.Progress) { f(p) })
	})
}
