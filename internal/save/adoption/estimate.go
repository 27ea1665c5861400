package adoption

import (
	"context"

	"github.com/itemize/itemize/cost"
	"github.com/itemize/itemize/internal/model"
	"github.com/itemize/itemize/internal/model/attr"
	"github.com/itemize/itemize/internal/model/item"
	"github.com/itemize/itemize/internal/read"
)

// Estimate is the expected work of a pass, from a sample of a table.
type Estimate struct {
	// Items are about those of the table, Sampled those that were read. Entities and Values are about the numbers of
	// entities and of their unique values.
	Items    int `json:"items"`
	Sampled  int `json:"sampled"`
	Entities int `json:"entities"`
	Values   int `json:"values"`
	// RunRCU, RunWCU and VerifyRCU are about the units of a run that writes all guards, and of a verification.
	RunRCU    float64 `json:"runRcu"`
	RunWCU    float64 `json:"runWcu"`
	VerifyRCU float64 `json:"verifyRcu"`
}

// sampleSize is the number of items that an estimate reads.
const sampleSize = 1000

// Estimate estimates the work of a pass on a table that has about so many items and bytes. It reads 1,000 items.
func (p *Pass) Estimate(ctx context.Context, items, bytes int) (*Estimate, error) {
	m := p.Env.Model
	e := &Estimate{}
	var u read.Usage
	size, wcu := 0, 0.0
	at := read.Segment{Table: m.Tables[m.Root().Table.Index], Rate: p.Rate}
	err := p.Reader.Sample(ctx, at, read.Draw{Number: sampleSize, Items: items}, &u, func(f item.Image) bool {
		e.Sampled++
		size += f.Size
		if f.Kind != m.Root() || model.IsGuard(f.PK) || !f.Header.Live() {
			return true
		}
		if _, own := m.Whose(&f); !own {
			return true
		}
		e.Entities++
		for _, unique := range p.Uniques {
			if guard, ok, err := m.Guard(unique, f.Attributes()); err == nil && ok {
				e.Values++
				own := m.GuardItem(guard, model.Owner{Root: f.Place, Incarnation: f.Header.Incarnation})
				wcu += 2*cost.WriteUnits(f.Size) + 2*cost.WriteUnits(attr.ItemSize(own))
			}
		}
		return true
	})
	if err != nil || e.Sampled == 0 {
		return e, err
	}
	factor := max(float64(items)/float64(e.Sampled), 1)
	all := max(float64(bytes), float64(size)*factor)
	e.Items = max(items, e.Sampled)
	e.Entities, e.Values = int(float64(e.Entities)*factor), int(float64(e.Values)*factor)
	scan := all / 4096
	e.RunRCU, e.RunWCU = scan+0.5*float64(e.Values), wcu*factor
	e.VerifyRCU = scan + float64(e.Values)
	return e, nil
}
