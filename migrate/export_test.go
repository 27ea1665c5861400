package migrate

import "github.com/itemize/itemize/internal/migration/protocol"

// Mover is what moves the entities.
func (m *Migration) Mover() *protocol.Mover { return m.mover }
