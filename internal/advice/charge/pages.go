package charge

import "github.com/itemize/itemize/cost"

// Pages returns the RCU and the number of answers of a Query or Scan over items of these sizes in
// bytes, in their order. An answer ends with the item that takes it to 1 MB, and is rounded up by
// itself (Developer Guide, "Paginating table query results"). Measured on DynamoDB Local, and confirmed
// by published scans on DynamoDB, whose answers of 1,007 items of 1,042 bytes cost 128.5 RCU.
func Pages(c Consistency, sizes ...int) (u cost.Units, answers int) {
	var p Answers
	for _, n := range sizes {
		p.Add(n)
	}
	units := p.End()
	return c.times(units), p.answers
}

// Answers adds up the answers of a strongly consistent Query, item by item.
type Answers struct {
	bytes   int // of the present answer
	units   float64
	answers int
}

// Add adds an item of that size.
func (p *Answers) Add(bytes int) {
	if p.bytes += bytes; p.bytes >= cost.MaxPage {
		p.answer()
	}
}

func (p *Answers) answer() {
	p.units += cost.ReadUnits(p.bytes)
	p.answers++
	p.bytes = 0
}

// End returns the units of all answers. There is at least one.
func (p *Answers) End() float64 {
	if p.bytes > 0 || p.answers == 0 {
		p.answer()
	}
	return p.units
}
