package migrate

import (
	"github.com/itemize/itemize/internal/migration/protocol"
	"github.com/itemize/itemize/internal/migration/report"
)

// Mover returns the mover of the entities.
func (m *Migration) Mover() *protocol.Mover { return m.mover }

// Full returns the plan in full.
func (p *Plan) Full() *report.Plan { return p.full }
