package migrate

import "github.com/itemize/itemize/internal/moving"

// Mover is what moves the entities.
func (m *Migration) Mover() *moving.Mover { return m.mover }
